"""Measure a complete refresh of AWS, Azure and Google Cloud from full-size local servers.

    python -m bench.refresh                                              at full size, with goals
    python -m bench.refresh --scale 0.125 0.25 [--regions 4] [--minutes 30]   at other sizes

Starts tools.fullsize at each scale, runs the command against it with an empty root, and prints the
wall-clock and processor time, the peak memory of the command with all its processes (the sum of
their resident memory, which counts shared pages several times), the size on disk, and the digest of
the release. The server is a separate process that is not counted and uses about a third of the
processor time; its pages are sized before the clock starts. `--regions` uses only the largest
regions of each vendor, `--minutes` limits the time of a run.
"""

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tools.fullsize import aws_bulk
from tools.fullsize.aws_world import World
from tools.fullsize.sizes import Size

from bench.measure import Cost, Goal, Row, compare, make_row, run_script
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.aws import PRICE_LIST, SAVINGS_PLANS
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage import layout

GOAL = Goal(seconds=480, megabytes=4000)
LINEAR = Goal(ratio=1.05)  # 2.1 times the time for 2 times the rows
QUARTER = 0.25
LARGEST = 2  # us-east-1's price list of 1.26 GB, twice that of today's machine types
AT = datetime(2026, 11, 1, tzinfo=UTC)
RUN_ID = "20261101T000000.000000Z"

PROVIDERS = ("aws", "azure", "gcp")
GIGABYTE = 1e9
SAMPLE_SECONDS = 0.2
CHECKOUT = Path(__file__).resolve().parents[1]


@dataclass
class Memory:
    """Resident memory of a process and all its descendants, sampled until the process ends."""

    samples: list[tuple[float, int]] = field(default_factory=list)

    def watch(self, process: "subprocess.Popen[str]") -> None:
        """Take samples: (time of day, bytes)."""
        while process.poll() is None:
            self.samples.append((time.time(), _resident(process.pid)))
            time.sleep(SAMPLE_SECONDS)

    def peak(self, since: float = 0, until: float = float("inf")) -> float:
        """Return the largest sample of a period, in GB."""
        return (
            max((size for at, size in self.samples if since <= at <= until), default=0) / GIGABYTE
        )


@dataclass(frozen=True)
class Phase:
    """A part of the run: its name, seconds, and peak memory in GB."""

    name: str
    seconds: float
    peak: float


@dataclass(frozen=True)
class Refresh:
    """Cost and result of one refresh. Sizes are in GB; ``served`` is that of AWS's bulk files."""

    scale: float
    served: float
    seconds: float
    cpu_seconds: float
    peak: float
    prices: int
    disk: Mapping[str, float]
    digest: str
    exit_status: int
    phases: Sequence[Phase]
    output: str


def rows(is_small: bool) -> Iterator[Row]:
    """Measure staging a region at two sizes, and a refresh at a quarter and at full size.

    The small size has only the first, because starting Prefect takes longer than a small refresh.

    Raises:
        RuntimeError: a refresh failed.
    """
    yield linearity(*((0.02, 0.04) if is_small else (1, LARGEST)), is_small=is_small)
    if not is_small:
        yield whole_refresh()


def linearity(half: float, full: float, *, is_small: bool) -> Row:
    """Measure staging us-east-1's price list and savings plans, compared with twice half of it."""
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        roots = {name: f"{folder}/{name}" for name in ("half", "full")}
        for root, scale in zip(roots.values(), (half, full), strict=True):
            land_region(root, scale)
        costs = compare({name: (stage_region, root) for name, root in roots.items()})
    twice = Cost(2 * costs["half"].seconds, 2 * costs["half"].cpu_seconds, 0)
    return make_row(
        "staging a region of AWS, twice the rows",
        f"{costs['full'].result:,} prices",
        costs["full"],
        baseline=twice,
        baseline_name="twice the time of half the rows",
        goal=LINEAR,
        is_small=is_small,
    )


def land_region(root: str, scale: float) -> None:
    """Land the two bulk files of us-east-1 at a scale, and write the manifest of their run."""
    world = World(Size(scale, regions=1))
    landing = Landing(layout.landing_root(root))
    results = []
    for kind, suffix, make in (
        (PRICE_LIST, "csv", aws_bulk.price_list),
        (SAVINGS_PLANS, "json", aws_bulk.savings_plans),
    ):
        unit = Unit("aws", kind, "us-east-1")
        body = "".join(make(world, unit.region)).encode()
        page = landing.land_bytes(
            unit, body, url="https://bench.example", retrieved_at=AT, suffix=suffix
        )
        results.append(UnitResult(unit, "ok", (page,)))
    landing.write_run(Run(RUN_ID, "aws", "live", AT, "bench", tuple(results)))


def stage_region(root: str) -> int:
    """Stage what ``land_region`` landed; return the number of prices.

    Deletes the result of an earlier run first, because its unchanged parts would be taken over.
    """
    staged = Path(root) / layout.STAGED
    if staged.exists():
        shutil.rmtree(staged)
    run = Landing(layout.landing_root(root)).run("aws", RUN_ID)
    return stage_run(load(source="live", root=root), run).rows("prices")


def whole_refresh() -> Row:
    """Measure a quarter and the full size; the ratio is that of the time per price."""
    quarter, full = (_succeeded(refresh(scale, None, 1500)) for scale in (QUARTER, 1))
    share = full.prices / quarter.prices
    per_price = Cost(quarter.seconds * share, quarter.cpu_seconds * share, 0)
    return make_row(
        "whole refresh of three clouds",
        f"{full.served:.0f} GB of bulk files, {full.prices / 1e6:.1f} million prices",
        Cost(full.seconds, full.cpu_seconds, full.peak * 1000),
        baseline=per_price,
        baseline_name="a quarter of it, for each price",
        goal=GOAL,
    )


def _succeeded(result: Refresh) -> Refresh:
    if result.exit_status:
        raise RuntimeError(report(result))
    return result


def main() -> int:
    """Measure each scale and print a table; return 1 if a refresh failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, nargs="+", required=True)
    parser.add_argument("--regions", type=int, help="default: all")
    parser.add_argument("--minutes", type=float, default=30, help="limit of one run")
    options = parser.parse_args()
    results = []
    for scale in options.scale:
        results.append(refresh(scale, options.regions, options.minutes * 60))
        print(report(results[-1]), flush=True)
    print(table(results))
    return int(any(result.exit_status for result in results))


def refresh(scale: float, regions: int | None, limit: float) -> Refresh:
    """Run one refresh against a new server.

    Raises:
        subprocess.TimeoutExpired: it took longer than ``limit`` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        root = Path(folder) / "data"
        with served(scale, regions) as (environment, megabytes):
            inherited = _compiled_libraries()
            began, cpu_began = time.time(), _cpu_of_children()
            memory, process = Memory(), _start(root, {**inherited, **environment})
            watcher = threading.Thread(target=memory.watch, args=(process,), daemon=True)
            watcher.start()
            try:
                output, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # Prefect's server with it
                process.communicate()
                raise
            ended, cpu_ended = time.time(), _cpu_of_children()
            watcher.join()
        manifest = _manifest(root)
        return Refresh(
            scale=scale,
            served=megabytes / 1000,
            seconds=ended - began,
            cpu_seconds=cpu_ended - cpu_began,
            peak=memory.peak(),
            prices=_rows(root),
            disk={name: _size(root / name) for name in ("raw", "staged", "releases")},
            digest=manifest.get("content_sha256", ""),
            exit_status=process.returncode,
            phases=tuple(_phases(root, memory, began, ended)),
            output=output,
        )


@contextmanager
def served(scale: float, regions: int | None) -> Iterator[tuple[dict[str, str], float]]:
    """Run the server; yield the variables that lead to it, and the MB of AWS's bulk files."""
    command = [sys.executable, "-m", "tools.fullsize", "--scale", str(scale)]
    command += ["--regions", str(regions)] if regions else []
    server = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        variables, megabytes = {}, 0.0
        for line in server.stdout:
            if line.startswith("# ready"):
                megabytes = float(line.split()[5].replace(",", ""))
                break
            name, _, value = shlex.split(line)[1].partition("=")
            variables[name] = value
        yield variables, megabytes
    finally:
        server.terminate()
        server.wait()


def _compiled_libraries() -> dict[str, str]:
    """Compile the libraries once; return the environment of a run.

    If Python may not write bytecode, each start takes 20 s more.
    """
    dropped = ("HWPRICES_", "PREFECT_", "AWS_", "AZURE_", "GOOGLE_", "PYTHONDONTWRITEBYTECODE")
    dropped += ("_RJEM_MALLOC_CONF",)  # polars set it when this process imported it
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    libraries = "import prefect.server.api.server, hwprices.flows.refresh, azure.mgmt.compute"
    subprocess.run([sys.executable, "-c", libraries], cwd=CHECKOUT, env=inherited, check=True)
    return inherited


def _start(root: Path, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "hwprices", "refresh", "--source", "live", "--root", str(root)]
    for provider in PROVIDERS:
        command += ["--provider", provider]
    return subprocess.Popen(
        [*command, "--strict"],
        cwd=CHECKOUT,
        env={**environment, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _cpu_of_children() -> float:
    """Return the processor seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _resident(pid: int) -> int:
    """Return the resident bytes of a process and its descendants, without ended ones."""
    process = Path("/proc") / str(pid)
    if_running = suppress(FileNotFoundError, ProcessLookupError)
    total = 0
    with if_running:
        total = int((process / "statm").read_text().split()[1]) * resource.getpagesize()
        for task in (process / "task").iterdir():
            with if_running:  # another thread inherits the children of an ended one
                for child in (task / "children").read_text().split():
                    total += _resident(int(child))
    return total


def _phases(root: Path, memory: Memory, began: float, ended: float) -> Iterator[Phase]:
    """Derive the phases from the times at which manifests were written."""
    last = began
    for provider in PROVIDERS:
        recorded = next(iter((root / "raw" / provider / "runs").glob("*.json")), None)
        staged = root / "staged" / provider / "latest.json"
        if recorded is None or not staged.exists():
            continue
        started_at = json.loads(recorded.read_bytes())["started_at"]
        started = datetime.fromisoformat(started_at).timestamp()
        if provider == PROVIDERS[0]:
            yield Phase("start Prefect", started - last, memory.peak(last, started))
        fetched, last = recorded.stat().st_mtime, staged.stat().st_mtime
        yield Phase(f"{provider}: fetch", fetched - started, memory.peak(started, fetched))
        yield Phase(f"{provider}: stage", last - fetched, memory.peak(fetched, last))
    pointer = root / "latest.json"
    published = pointer.stat().st_mtime if pointer.exists() else ended
    yield Phase("publish", published - last, memory.peak(last, published))
    yield Phase("report", ended - published, memory.peak(published, ended))


def _manifest(root: Path) -> dict[str, str]:
    manifests = sorted((root / "releases").glob("*/manifest.json"))
    return dict(json.loads(manifests[-1].read_bytes())) if manifests else {}


def _rows(root: Path) -> int:
    """Count the staged prices."""
    staged = [json.loads(path.read_bytes()) for path in (root / "staged").glob("*/latest.json")]
    files = [file for manifest in staged for file in manifest["files"]]
    return sum(file["rows"] for file in files if file["table"] == "prices")


def _size(folder: Path) -> float:
    files = folder.rglob("*") if folder.exists() else []
    return sum(file.stat().st_size for file in files if file.is_file()) / GIGABYTE


def report(result: Refresh) -> str:
    """Write the phases of one run, and the command's output if it failed."""
    lines = [f"scale {result.scale:g}: exit status {result.exit_status}, digest {result.digest}"]
    lines += [f"  {p.name:14} {p.seconds:7.1f} s  peak {p.peak:.2f} GB" for p in result.phases]
    return "\n".join([*lines, result.output] if result.exit_status else lines)


def table(results: Sequence[Refresh]) -> str:
    """Write all runs as a Markdown table; the last column is time per row, relative to run 1."""
    lines = [
        "| scale | bulk files | prices | time | CPU | peak | raw | staged | release | per row |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    first = results[0].cpu_seconds / max(results[0].prices, 1)
    for run in results:
        per_row = run.cpu_seconds / max(run.prices, 1) / first
        sizes = " | ".join(f"{run.disk[name]:.2f} GB" for name in ("raw", "staged", "releases"))
        lines.append(
            f"| {run.scale:g} | {run.served:.2f} GB | {run.prices:,} | {run.seconds:.0f} s"
            f" | {run.cpu_seconds:.0f} s | {run.peak:.2f} GB | {sizes} | {per_row:.2f} × |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main() if "--scale" in sys.argv else run_script(rows))
