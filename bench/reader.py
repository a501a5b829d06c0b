"""Measure the start of the command and of the reader, as multiples of importing polars.

    python -m bench.reader

Every command runs in a separate process with the bundled sample release. The figures are processor
time, which other programs hardly change; it excludes waiting for the disk.
"""

import os
import subprocess
import sys
from collections.abc import Iterator

from bench import measure

RUNS = 15

PYTHON = (sys.executable, "-c")
COMMAND = (sys.executable, "-m", "hwprices")

STEPS: dict[str, tuple[tuple[str, ...], measure.Goal | None]] = {
    "import polars": ((*PYTHON, "import polars"), None),
    "import hwprices, open": ((*PYTHON, "import hwprices; hwprices.open"), measure.Goal(ratio=1.1)),
    "hwprices --help": ((*COMMAND, "--help"), measure.Goal(seconds=0.3)),
    "hwprices find": (
        (*COMMAND, "find", "8xH100", "--root", "sample"),
        measure.Goal(seconds=0.7),
    ),
    "hwprices show": ((*COMMAND, "show", "--root", "sample"), measure.Goal(seconds=0.7)),
    "one type of all prices": (
        (
            *PYTHON,
            "import hwprices; d = hwprices.open('sample');"
            "d.prices.filter(instance_type='p5.48xlarge').collect()",
        ),
        None,
    ),
}
"""Each step with its goal, in seconds of processor time or as a multiple of importing polars."""


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the steps in turn, several times, and use the fastest run of each."""
    costs: dict[str, list[measure.Cost]] = {name: [] for name in STEPS}
    for _ in range(2 if is_small else RUNS):
        for name, (command, _) in STEPS.items():
            costs[name].append(processor_time(command))
    fastest = {name: min(runs, key=lambda cost: cost.seconds) for name, runs in costs.items()}
    baseline = fastest.pop("import polars")
    yield measure.make_row("import polars", "", baseline)
    for name, cost in fastest.items():
        yield measure.make_row(
            name,
            "cold",
            cost,
            baseline=baseline,
            baseline_name="import polars",
            goal=STEPS[name][1],
            is_small=is_small,
        )


def processor_time(command: tuple[str, ...]) -> measure.Cost:
    """Run a command and return the processor time and the memory of its process."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "120"},
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    seconds = usage.ru_utime + usage.ru_stime
    return measure.Cost(seconds, seconds, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
