"""Measure steps in processes of their own, and give the results as rows of one table.

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

Rows = Callable[[bool], Iterator["Row"]]
"""Yields the rows of a script; with True of its small sizes, which take seconds."""

Step = Callable[..., Any]
"""A function on the top level of a module, whose arguments and result can be written as JSON."""

COLUMNS = ("name", "size", "seconds", "MB", "ratio", "CPU", "to", "goal", "met")

_RUN_STEP = "import sys; from bench import measure; measure.run_step(*sys.argv[1:])"


@dataclass(frozen=True)
class Cost:
    """What a step took: seconds on the clock, seconds of processor, peak of memory, its result."""

    seconds: float
    cpu_seconds: float
    megabytes: float
    result: Any = None


@dataclass(frozen=True)
class Row:
    """One line of the table.

    ``ratio`` is seconds divided by those of a baseline in the same run, ``cpu_ratio`` the same of
    processor time, which other programs hardly change. ``baseline`` says what was compared with.
    ``is_met`` is None without a goal, and for small sizes.
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
    """The most that a row may have. All the limits that are given must hold."""

    ratio: float | None = None
    seconds: float | None = None
    megabytes: float | None = None

    def __str__(self) -> str:
        parts = ((self.ratio, "{:g} ×"), (self.seconds, "{:g} s"), (self.megabytes, "{:g} MB"))
        return ", ".join("≤ " + form.format(most) for most, form in parts if most is not None)

    def is_met(self, row: Row) -> bool:
        """Return whether a row has no more than allowed."""
        pairs = (
            (self.ratio, row.ratio),
            (self.seconds, row.seconds),
            (self.megabytes, row.megabytes),
        )
        return all(most is None or (got is not None and got <= most) for most, got in pairs)


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
    """Make a row of a cost, beside that of the baseline. A small size has no goal to meet."""
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
    """Run steps in turn, some times; return for each the least it took.

    Each value is a step and its arguments. They take turns, so that what else the machine does
    falls on all of them. Every run has a process of its own, which imports the step's module before
    the clock starts; with ``in_process`` they run here, and no memory is measured.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in steps}
    for _ in range(runs):
        for name, (step, *arguments) in steps.items():
            run = _run_here if in_process else run_apart
            costs[name].append(run(step, *arguments))
    return {name: _least(of_step) for name, of_step in costs.items()}


def run_apart(step: Step, *arguments: Any) -> Cost:
    """Run a step once in a process of its own.

    polars' allocator has the options of a flow, for baselines too. They replace what polars has put
    into the environment when this process imported it.

    Raises:
        RuntimeError: the step failed; holds what it wrote to its error output.
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

    Python looks for garbage as seldom as in a command (``hwprices.cli.main``).
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


def load_pandera() -> None:
    """Check an empty table, with which pandera loads what it checks with.

    It loads hypothesis too, where that is installed for the tests, which takes 0.3 s. A refresh has
    checked tables before it normalises or publishes, so scripts that measure these call this when
    they are imported, before the clock starts.
    """
    from hwprices.rows import frames
    from hwprices.schemas.inventory import Regions
    from hwprices.stage import validate

    validate.check(frames.empty(Regions), Regions)


def peak_megabytes() -> float:
    """Return the peak of this process's memory.

    Linux hands ``ru_maxrss`` down from the process that started this one, so its own counter is
    read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(li for li in status.read_text().splitlines() if li.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _least(costs: Sequence[Cost]) -> Cost:
    return Cost(
        min(cost.seconds for cost in costs),
        min(cost.cpu_seconds for cost in costs),
        min(cost.megabytes for cost in costs),
        costs[-1].result,
    )


def run_script(rows: Rows) -> int:
    """Be the ``main`` of a script: print its rows, return 1 where a goal is missed."""
    module = sys.modules["__main__"]
    parser = argparse.ArgumentParser(
        description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="small sizes, which have no goals")
    parser.add_argument("--json", type=Path, help="append the rows to this file, one a line")
    options = parser.parse_args()
    made = []
    for row in rows(options.small):
        made.append(row)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    print(table(made))
    return int(any(row.is_met is False for row in made))


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
