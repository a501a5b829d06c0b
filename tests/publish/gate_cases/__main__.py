"""Run the cases over the latest release below a root, such as one of full size.

    python -m tests.publish.gate_cases ROOT EVERY [PART_OF_AN_ID ...]

Takes one in EVERY machine types, and all with accelerators: with all of Azure's 3.6 million prices
a case takes 20 GB. Prints what is wrong with each case, also that it alters nothing in the release.
"""

import sys
import time
from pathlib import Path

import polars as pl
from tests.publish.gate_cases import Case
from tests.publish.gate_cases.changes import EVENTS, MISTAKES
from tests.publish.test_gate_cases import Clouds, clouds_of, held, leaked, of_some_types


def result(case: Case, clouds: Clouds) -> str:
    """Return what is wrong with a case; empty if it comes out right."""
    if case in EVENTS:
        own, others = held(case, clouds)
        return f"holds {own:,} cells of its own, {others:,} rows of others" if own or others else ""
    count = leaked(case, clouds)
    return f"{count:,} wrong cells are published" if count else ""


def main(root: str, every: str, *names: str) -> None:
    """Run the cases of the release's providers."""
    clouds, counts = clouds_of(Path(root)), {"right": 0, "wrong": 0}
    clouds.began = max(tables["prices"]["observed_at"].top_k(1)[0] for tables in clouds.values())
    for name, tables in clouds.items():
        clouds[name] = of_some_types(tables, int(every), also=pl.col("accelerator_count") > 0)
    for case in (*EVENTS, *MISTAKES):
        if case.provider in clouds and (not names or any(name in case.id for name in names)):
            began = time.process_time()
            try:
                text = result(case, clouds)
            except Exception as error:
                text = f"cannot be run: {type(error).__name__}: {error}"
            counts["wrong" if text else "right"] += 1
            seconds = time.process_time() - began
            sys.stdout.write(f"{seconds:6.1f} s  {case.id}  {text}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{counts['right']} right, {counts['wrong']} wrong\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
