"""Measure steps in separate processes, and print the results as rows of one table.

A script of the suite has a function ``rows(is_small)`` that yields ``Row``, and ends with
``sys.exit(measure.run_script(rows))``. See README.md.
"""

import argparse
import gc
import inspect
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from hwprices import flows
from hwprices.landing.pages import Landing
from hwprices.providers import Pages

Rows = Callable[[bool], Iterator["Row"]]
"""Yields the rows of a script; with True, of small sizes, which take seconds."""

Step = Callable[..., Any]
"""A top-level function whose arguments and result can be written as JSON."""

COLUMNS = ("name", "size", "seconds", "MB", "ratio", "CPU", "to", "goal", "met")

_RUN_STEP = "import sys; from bench import measure; measure.run_step(*sys.argv[1:])"


@dataclass(frozen=True)
class Cost:
    """The cost of a step: wall-clock seconds, processor seconds, peak memory; and its result."""

    seconds: float
    cpu_seconds: float
    megabytes: float
    result: Any = None


@dataclass(frozen=True)
class Row:
    """One line of the table.

    ``ratio`` is the seconds divided by those of a baseline in the same run. ``cpu_ratio`` is the
    ratio of processor times, which other programs hardly change. ``baseline`` describes the
    baseline. ``is_met`` is None without a goal, and for small sizes.
    """

    name: str
    size: str
    seconds: float
    megabytes: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    baseline: str = ""
    goal: str = ""
    is_met: bool | None = None


@dataclass(frozen=True)
class Goal:
    """Limits of a row. All limits that are set must hold."""

    ratio: float | None = None
    seconds: float | None = None
    megabytes: float | None = None

    def __str__(self) -> str:
        parts = ((self.ratio, "{:g} ×"), (self.seconds, "{:g} s"), (self.megabytes, "{:g} MB"))
        return ", ".join("≤ " + form.format(limit) for limit, form in parts if limit is not None)

    def is_met(self, row: Row) -> bool:
        """Check whether a row is within the limits."""
        pairs = (
            (self.ratio, row.ratio),
            (self.seconds, row.seconds),
            (self.megabytes, row.megabytes),
        )
        return all(
            limit is None or (figure is not None and figure <= limit) for limit, figure in pairs
        )


def make_row(
    name: str,
    size: str,
    cost: Cost,
    *,
    baseline: Cost | None = None,
    baseline_name: str = "",
    goal: Goal | None = None,
    is_small: bool = False,
) -> Row:
    """Make a row of a cost, compared with that of the baseline. Small sizes have no goal."""
    ratio = cost.seconds / baseline.seconds if baseline else None
    cpu_ratio = cost.cpu_seconds / baseline.cpu_seconds if baseline else None
    row = Row(name, size, cost.seconds, cost.megabytes, ratio, cpu_ratio, baseline_name)
    return row if goal is None or is_small else with_goal(row, goal)


def with_goal(row: Row, goal: Goal) -> Row:
    """Return a row with its goal, and whether it is met."""
    return replace(row, goal=str(goal), is_met=goal.is_met(row))


def compare(
    steps: Mapping[str, tuple[Any, ...]], *, runs: int = 3, in_process: bool = False
) -> dict[str, Cost]:
    """Run steps in turn, ``runs`` times each; return the lowest figures of each step.

    Each value is a step and its arguments. Steps take turns, so that other work on the machine
    affects all of them. Every run is a separate process, which imports the step's module before the
    clock starts; with ``in_process`` they run here, and no memory is measured.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in steps}
    for _ in range(runs):
        for name, (step, *arguments) in steps.items():
            run = _run_here if in_process else run_apart
            costs[name].append(run(step, *arguments))
    return {name: _lowest(step_costs) for name, step_costs in costs.items()}


def run_apart(step: Step, *arguments: Any) -> Cost:
    """Run a step once in a separate process.

    polars' allocator has the options of a flow, for baselines too. They replace those that polars
    set in the environment when this process imported it.

    Raises:
        RuntimeError: the step failed; the message has its error output.
    """
    module = inspect.getmodule(step)
    assert module is not None
    assert module.__file__ is not None
    name = f"bench.{Path(module.__file__).stem}"  # also where the script is __main__
    command = [sys.executable, "-c", _RUN_STEP, name, step.__name__, json.dumps(arguments)]
    allocator = {"_RJEM_MALLOC_CONF": flows.ALLOCATOR}
    done = subprocess.run(
        command, env={**os.environ, **allocator}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{name}.{step.__name__} failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def run_step(module: str, name: str, arguments: str) -> None:
    """Run a step in this process and print its cost: the other end of ``run_apart``.

    Garbage is collected as rarely as in a command (``hwprices.cli.main``).
    """
    gc.set_threshold(50_000)
    step = getattr(import_module(module), name)
    cost = _run_here(step, *json.loads(arguments))
    print(json.dumps(asdict(cost)))


def _run_here(step: Step, *arguments: Any) -> Cost:
    began, cpu_began = time.perf_counter(), time.process_time()
    result = step(*arguments)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    return Cost(seconds, cpu_seconds, peak_megabytes(), result)


def landed(folder: str, provider: str) -> Pages:
    """Open the run ``bench`` of a provider, landed in a folder."""
    landing = Landing(folder)
    return Pages(landing.run(provider, "bench"), landing)


def load_pandera() -> None:
    """Check an empty table, so that pandera loads the modules that it needs.

    It also loads hypothesis if that is installed for the tests, which takes 0.3 s. A refresh has
    checked tables before it normalises or publishes, so scripts that measure these steps call this
    on import, before the clock starts.
    """
    from hwprices.rows import frames
    from hwprices.schemas.tables import Regions
    from hwprices.stage import validate

    validate.check(frames.empty(Regions), Regions)


def peak_megabytes() -> float:
    """Return the peak memory of this process.

    On Linux, ``ru_maxrss`` is inherited from the parent process, so the process's status is read.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(li for li in status.read_text().splitlines() if li.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _lowest(costs: Sequence[Cost]) -> Cost:
    return Cost(
        min(cost.seconds for cost in costs),
        min(cost.cpu_seconds for cost in costs),
        min(cost.megabytes for cost in costs),
        costs[-1].result,
    )


def run_script(rows: Rows) -> int:
    """Run the ``main`` of a script: print its rows, return 1 if a goal is missed."""
    module = sys.modules["__main__"]
    parser = argparse.ArgumentParser(
        description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="small sizes, which have no goals")
    parser.add_argument("--json", type=Path, help="append the rows to this file, one a line")
    options = parser.parse_args()
    results = []
    for row in rows(options.small):
        results.append(row)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    print(table(results))
    return int(any(row.is_met is False for row in results))


def table(rows: Iterable[Row]) -> str:
    """Write rows as a Markdown table with columns of equal width."""
    lines = [COLUMNS, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    padded = [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    words = {True: "yes", False: "NO", None: ""}
    return (
        row.name,
        row.size,
        f"{row.seconds:.2f}",
        _figure(row.megabytes, "{:.0f}"),
        _figure(row.ratio, "{:.2f} ×"),
        _figure(row.cpu_ratio, "{:.2f} ×"),
        row.baseline,
        row.goal,
        words[row.is_met],
    )


def _figure(number: float | None, form: str) -> str:
    return "" if number is None else form.format(number)
