"""Run the scripts of the suite, print one table, and compare ratios with recorded ones.

    python -m bench [--small] [--check | --record] [script ...]

Every script runs in a separate process; one that fails or misses a goal does not stop the others.
``--check`` compares ratios with recorded.json, and runs a script with a slower ratio a second time
before it fails; ``--record`` writes the ratios there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Row, table

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "recorded.json"
NO_SCRIPTS = {"__init__", "__main__", "measure"}

SLOWER = 1.6
"""Factor by which a ratio may exceed the recorded one. On a busy machine, the ratios of processor
time of three runs differ by up to a third (docs/performance.md)."""

ADDED = 0.1
"""Amount by which it may exceed it in addition, because small sizes take milliseconds."""

MINUTES = 60
"""Limit of one script, after which it fails. The refresh takes the longest."""


@dataclass
class Results:
    """The rows of all scripts so far, by script, and the problems."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def ratios(self) -> dict[str, float]:
        """Return the ratios to compare: of processor time if it was measured."""
        return {
            f"{script}: {row.name}": round(_ratio(row), 2)
            for script, rows in sorted(self.rows.items())
            for row in rows
            if row.ratio is not None
        }


def main() -> int:
    """Run the scripts and print the table; return 1 if a script failed or missed a goal."""
    options = parse_options()
    results = Results()
    for script in options.scripts or scripts():
        run(script, results, is_small=options.small)
    if options.check:
        run_slower_again(results)
    print(table(row for rows in results.rows.values() for row in rows))
    if options.record:
        record(results.ratios())
    if options.check:
        results.problems += slower(results.ratios(), list(results.rows))
    for problem in results.problems:
        print(problem, file=sys.stderr)
    return int(bool(results.problems))


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", help="such as aws_price_list; all by default")
    parser.add_argument("--small", action="store_true", help="small sizes, which have no goals")
    parser.add_argument("--check", action="store_true", help="small; fail on slower ratios")
    parser.add_argument("--record", action="store_true", help="small; write the ratios down")
    options = parser.parse_args()
    options.small |= options.check or options.record
    return options


def scripts() -> list[str]:
    """List the scripts of this folder."""
    return sorted({path.stem for path in FOLDER.glob("*.py")} - NO_SCRIPTS)


def run(script: str, results: Results, *, is_small: bool) -> None:
    """Run one script, and add its rows or problems."""
    print(f"== {script}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        file = Path(folder) / "rows"
        file.touch()
        command = [sys.executable, "-m", f"bench.{script}", "--json", str(file)]
        command += ["--small"] * is_small
        try:
            done = subprocess.run(
                command, stdout=sys.stderr, check=False, timeout=60 * MINUTES, cwd=FOLDER.parent
            )
        except subprocess.TimeoutExpired:
            results.problems.append(f"{script} was ended after {MINUTES} minutes")
            return
        rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
    results.rows[script] = rows
    missed = [row.name for row in rows if row.is_met is False]
    results.problems += [f"{script}: {name} missed its goal" for name in missed]
    if done.returncode and not missed:
        results.problems.append(f"{script} failed with exit code {done.returncode}")


def record(ratios: dict[str, float]) -> None:
    """Write ratios to recorded.json; keep those of scripts that did not run."""
    ran = {_script(name) for name in ratios}
    others = {name: ratio for name, ratio in _recorded().items() if _script(name) not in ran}
    RECORDED.write_text(json.dumps(dict(sorted((others | ratios).items())), indent=2) + "\n")


def slower(ratios: dict[str, float], ran: Iterable[str]) -> list[str]:
    """Describe ratios above the recorded ones, and recorded ones that were not measured."""
    recorded = _recorded()
    expected = {name: ratio for name, ratio in recorded.items() if _script(name) in set(ran)}
    missing = [f"{name} was not measured" for name in expected if name not in ratios]
    new = [f"{name} has no recorded ratio (--record)" for name in ratios if name not in recorded]
    return [*missing, *new] + [
        f"{name}: {ratios[name]:.2f} × its baseline, recorded are {ratio:.2f} ×"
        for name, ratio in expected.items()
        if name in ratios and _is_slower(ratios[name], ratio)
    ]


def run_slower_again(results: Results) -> None:
    """Run scripts with a ratio above the recorded one a second time; the lower ratio counts.

    Other work on the machine makes ratios vary. Code that became slower is slower in both runs.
    """
    recorded = _recorded()
    for script in sorted(
        {
            _script(name)
            for name, ratio in results.ratios().items()
            if name in recorded and _is_slower(ratio, recorded[name])
        }
    ):
        first = {row.name: row for row in results.rows[script]}
        run(script, results, is_small=True)
        results.rows[script] = [
            min(row, first.get(row.name, row), key=_ratio) for row in results.rows[script]
        ]


def _recorded() -> dict[str, float]:
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {}


def _script(name: str) -> str:
    return name.partition(":")[0]


def _ratio(row: Row) -> float:
    return row.cpu_ratio or row.ratio or 0


def _is_slower(ratio: float, recorded: float) -> bool:
    return ratio > SLOWER * recorded + ADDED


if __name__ == "__main__":
    sys.exit(main())
