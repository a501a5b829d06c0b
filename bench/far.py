"""Count the requests and bytes of queries to an object store, and time them at 50 ms a request.

    python -m bench.far [--root data] [--type p5.48xlarge] [--past m5.large] [--devices 8xH100]
        [--region us-east-1] [--duckdb python]

Serves the bundled release, or that of a root, on loopback (``tools.object_store``). Every query
runs in a separate process; seconds are wall-clock time including the start of the program. At
50 Mbit/s, add bytes / 6.25 million. ``--duckdb`` is a Python with DuckDB and its extension httpfs,
to query the release without this program; otherwise that row is left out.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import object_store

import hwprices
from bench import measure
from hwprices.release.versions import sample_root

DELAY = 0.05
COMMAND = (sys.executable, "-m", "hwprices")
PYTHON = (sys.executable, "-c")

OPEN = "import hwprices; hwprices.open({root!r})"

BARE = """
import duckdb, os
connection = duckdb.connect()
connection.load_extension("httpfs")
connection.execute(
    "create secret (type s3, key_id 'test', secret 'test', region 'us-east-1', url_style 'path',"
    f" use_ssl false, endpoint '{{os.environ['AWS_ENDPOINT_URL'].removeprefix('http://')}}')"
)
connection.sql(
    "create table answer as select * from read_parquet('{root}/releases/{version}/prices/**')"
    " where instance_type = '{type}'"
)
"""
"""DuckDB without this program; its extension httpfs must be installed."""


@dataclass(frozen=True)
class Names:
    """Machine types and devices in the queries."""

    type: str = "p5.48xlarge"
    past: str = "m5.large"
    devices: str = "8xH100"
    region: str = "us-east-1"


@dataclass(frozen=True)
class Count:
    """The cost of one query."""

    requests: int
    bytes: int
    seconds: float


def questions(
    root: str, names: Names, version: str = "", duckdb: str | None = None
) -> Mapping[str, tuple[str, ...]]:
    """Return the command of each query."""
    store = ("--root", root)
    filters = ("--os", "linux", "--option", "on_demand", "--region", names.region)
    bare = BARE.format(root=root, version=version, type=names.type)
    without_program = {"DuckDB alone": (duckdb, "-c", bare)} if duckdb else {}
    return {
        "open": (*PYTHON, OPEN.format(root=root)),
        "price": (*COMMAND, "price", names.type, *store),
        "history": (*COMMAND, "history", names.past, *store),
        "explain": (*COMMAND, "explain", names.type, *filters, *store),
        "find": (*COMMAND, "find", names.devices, *store),
        "recommend": (*COMMAND, "recommend", "llama-3.3-70b", *store),
        **without_program,
    }


def count(
    folder: Path, names: Names, *, delay: float = DELAY, duckdb: str | None = None
) -> Iterator[tuple[str, Count]]:
    """Run every query on the release in a folder."""
    version = hwprices.open(folder).version
    with object_store.served(folder, delay) as store:
        for name, command in questions(object_store.ROOT, names, version, duckdb).items():
            store.counter.reset()
            began = time.perf_counter()
            done = subprocess.run(
                command,
                env={**os.environ, **store.environment, "COLUMNS": "120"},
                capture_output=True,
                check=False,
            )
            seconds = time.perf_counter() - began
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            yield name, Count(len(store.counter.requests), store.counter.bytes, seconds)


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Time the queries on the sample. Tests check the counts."""
    for name, cost in count(Path(sample_root()), Names(), delay=0 if is_small else DELAY):
        size = f"{cost.requests} requests, {cost.bytes / 1e6:.2f} MB"
        yield measure.make_row(f"{name} from far away", size, measure.Cost(cost.seconds, 0, 0))


def main() -> int:
    """Print a table of the queries on a root."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, required=True)
    for name in ("type", "past", "devices", "region"):
        parser.add_argument(f"--{name}", default=getattr(Names, name))
    parser.add_argument("--duckdb", help="a Python with DuckDB and httpfs")
    options = parser.parse_args()
    names = Names(options.type, options.past, options.devices, options.region)
    print("| question | requests | MB | seconds |\n|---|---:|---:|---:|")
    for name, cost in count(options.root, names, duckdb=options.duckdb):
        print(f"| {name} | {cost.requests} | {cost.bytes / 1e6:.2f} | {cost.seconds:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main() if "--root" in sys.argv else measure.run_script(rows))
