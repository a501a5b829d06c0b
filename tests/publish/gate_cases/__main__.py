"""Run the cases over the latest release below a root, such as one of full size.

    python -m tests.publish.gate_cases ROOT SAMPLE EVERY [PART_OF_AN_ID ...]

``SAMPLE`` is the root of the sample's release. A case has FAMILIES of the families of machine types
that it alters there, and one in EVERY of all: with all of Azure's 3.6 million prices a case takes
20 GB. Prints what is wrong with each case, also that it alters nothing in the release.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from tests.publish.gate_cases import Case, Tables
from tests.publish.gate_cases.changes import EVENTS, MISTAKES
from tests.publish.test_gate_cases import Clouds, clouds_of, held, leaked, scanned

FAMILIES = 12


def result(case: Case, clouds: Clouds) -> str:
    """Return what is wrong with a case; empty if it comes out right."""
    if case in EVENTS:
        own, others = held(case, clouds)
        return f"holds {own:,} cells of its own, {others:,} rows of others" if own or others else ""
    count = leaked(case, clouds)
    return f"{count:,} wrong cells are published" if count else ""


def families(case: Case, sample: Tables) -> list[str]:
    """Choose FAMILIES of which a case alters types, prices or offers in the sample, or copies."""
    after = case.apply(sample)
    altered = [pl.Series("instance_type", [], pl.String)]
    for name in ("prices", "instance_types", "availability"):
        before = sample.get(name)
        if before is not None and before is not after[name]:
            gone = before.join(after[name], on=before.columns, how="anti", nulls_equal=True)
            new = after[name].join(before, on=before.columns, how="anti", nulls_equal=True)
            altered += [gone["instance_type"], new["instance_type"]]
            if name == "prices":  # a copy has the SKU of what it is a copy of
                altered.append(before.join(new, on="sku_id", how="semi")["instance_type"])
    types = sample["instance_types"].filter(
        pl.col("instance_type").is_in(pl.concat(altered).implode())
    )
    found = types["family"].drop_nulls().unique().sort().to_list()
    return found[:: -(-len(found) // FAMILIES) or 1]


def tables_of(full: Mapping[str, pl.LazyFrame], every: int, families: Sequence[str]) -> Tables:
    """Read the machine types of one in ``every`` family, and of some families."""
    family = pl.coalesce("family", "instance_type")
    is_kept = ((family.rank("dense") - 1) % every == 0) | family.is_in(families)
    kept = full["instance_types"].filter(is_kept).select("instance_type")
    return {
        name: (
            frame.join(kept, on="instance_type", how="semi", maintain_order="left")
            if "instance_type" in frame.collect_schema()
            else frame
        ).collect()
        for name, frame in full.items()
    }


def main(root: str, sample: str, every: str, *names: str) -> None:
    """Run the cases of the release's providers."""
    clouds, counts = clouds_of(Path(sample)), {"right": 0, "wrong": 0}
    full = scanned(Path(root))
    small = {name: clouds[name] for name in full}
    last = None
    for case in (*EVENTS, *MISTAKES):
        if case.provider not in full or (names and not any(name in case.id for name in names)):
            continue
        began = time.process_time()
        try:
            also = families(case, small[case.provider])
            if last != (case.provider, also):
                clouds = Clouds({**clouds, **small})
                tables = tables_of(full[case.provider], int(every), also)
                clouds[case.provider] = tables
                clouds.began = tables["prices"]["observed_at"].top_k(1)[0]
                last = (case.provider, also)
            text = result(case, clouds) or "right"
        except Exception as error:
            text = f"cannot be run: {type(error).__name__}: {error}"
        counts["right" if text == "right" else "wrong"] += 1
        rows, seconds = clouds[case.provider]["prices"].height, time.process_time() - began
        sys.stdout.write(f"{seconds:6.1f} s  {rows:9,} prices  {case.id}  {text}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{counts['right']} right, {counts['wrong']} wrong\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
