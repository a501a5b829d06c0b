"""Measure the normaliser on a full-size AWS price list, beside a bare copy of the same columns.

Writes a CSV in the vendor's format (90 columns, every SKU on demand and with 12 reserved terms,
mixed with other capacities), lands it like a live run, and measures

- the minimum work of a reader: polars' scan of the landed file, projected to the columns that the
  normaliser reads and written as Parquet;
- the normaliser, with its rows written as Parquet;
- pandas, which reads all lines and the same columns of the CSV before it is landed;
- gpuhunt, which reads that CSV and keeps Linux on demand, if it is installed
  (``.venv/bin/uv pip install gpuhunt``), and only at full size: recorded ratios must not depend on
  it.

The files are deleted afterwards.
"""

import importlib.util
import itertools
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from bench import measure
from hwprices.landing.download import Downloaded
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages
from hwprices.providers.aws.normalise import normalise as parts
from hwprices.providers.aws.price_list import COLUMNS
from hwprices.rows import parquet
from hwprices.storage.packed import PIECE, Writer

measure.load_pandera()

GOAL = measure.Goal(ratio=1.2, megabytes=800)
BESIDE_GPUHUNT = measure.Goal(ratio=0.6)
LINEAR = measure.Goal(ratio=2.1)

REGION = "us-east-1"
RUNS = 8
"""Runs of the projection and of the normaliser, whose ratio is close to its goal. For either one,
the fastest of three runs was at times a tenth slower than the fastest of eight."""

SMALL = 0.02e9
FULL = 1.2e9  # bytes of the CSV: us-east-1 with all terms

FAMILIES = [
    f"{letter}{generation}{more}"
    for letter in "cmrixgtz"
    for generation in range(3, 9)
    for more in ("", "a", "d", "dn", "g", "gd", "i", "id")
]
SIZES = ["large", "xlarge", *(f"{n}xlarge" for n in (2, 4, 8, 9, 12, 16, 18, 24, 32, 48)), "metal"]
PLATFORMS = [
    ("Linux", "NA", "No License required", "RunInstances"),
    ("Linux", "SQL Std", "No License required", "RunInstances:0004"),
    ("Linux", "SQL Web", "No License required", "RunInstances:0200"),
    ("Linux", "SQL Ent", "No License required", "RunInstances:0100"),
    ("RHEL", "NA", "No License required", "RunInstances:0010"),
    ("Red Hat Enterprise Linux with HA", "NA", "No License required", "RunInstances:1010"),
    ("SUSE", "NA", "No License required", "RunInstances:000g"),
    ("Ubuntu Pro", "NA", "No License required", "RunInstances:0g00"),
    ("Windows", "NA", "No License required", "RunInstances:0002"),
    ("Windows", "SQL Std", "No License required", "RunInstances:0006"),
    ("Windows", "NA", "Bring your own license", "RunInstances:0800"),
]
TERMS = list(
    itertools.product(
        ("1yr", "3yr"),
        ("standard", "convertible"),
        ("No Upfront", "Partial Upfront", "All Upfront"),
    )
)
SKU_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CAPACITIES = ["Used", "UnusedCapacityReservation", "AllocatedCapacityReservation"]


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the copy of the columns and the normaliser."""
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as top:
        folder, half = f"{top}/all", f"{top}/half"
        size = make_page(folder, SMALL if is_small else FULL)
        make_page(half, (SMALL if is_small else FULL) / 2)
        steps = {
            "project": (project, folder),
            "normalise": (normalise, folder),
            "half": (normalise, half),
        }
        others = {"pandas": (read_with_pandas, folder)}
        if importlib.util.find_spec("gpuhunt") and not is_small:
            others["gpuhunt"] = (read_with_gpuhunt, folder)
        costs = {
            **measure.compare(steps, runs=3 if is_small else RUNS, in_process=is_small),
            **measure.compare(others, in_process=is_small),
        }
    yield measure.make_row("bare projection of an AWS price list", size, costs["project"])
    baselines = {
        "normalise an AWS price list": ("project", "bare projection", GOAL),
        "the same, twice the lines": ("half", "half the lines", LINEAR),
        "the same, beside pandas": ("pandas", "pandas", None),
        "the same, beside gpuhunt": ("gpuhunt", "gpuhunt, Linux on demand", BESIDE_GPUHUNT),
    }
    for name, (baseline, baseline_name, goal) in baselines.items():
        if baseline in costs:
            yield measure.make_row(
                name,
                size,
                costs["normalise"],
                baseline=costs[baseline],
                baseline_name=baseline_name,
                goal=goal,
                is_small=is_small,
            )


def make_page(folder: str, size: float) -> str:
    """Write and land a CSV of ``size`` bytes in a new folder; describe its size."""
    Path(folder).mkdir()
    csv = Path(folder) / "index.csv"
    count = generate(csv, size)
    words = f"{csv.stat().st_size / 1e9:.2f} GB, {count:,} lines"
    land(Path(folder))
    return words


def generate(path: Path, size: float) -> int:
    """Write a CSV of at least ``size`` bytes; return the number of its lines."""
    header = [*COLUMNS, *(f"Attribute {n}" for n in range(90 - len(COLUMNS)))]
    count = 0
    with path.open("w", buffering=1 << 20) as file:
        for name in ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode"):
            file.write(f'"{name}","x"\n')
        file.write(",".join(f'"{name}"' for name in header) + "\n")
        for line in lines(header):
            file.write(line)
            count += 1
            if count % 10_000 == 0 and file.tell() >= size:
                return count
    return count


def lines(header: list[str]) -> Iterator[str]:
    """Yield endless lines. Each round over the types uses new families.

    SKUs and prices are random, so that they compress as badly as real ones, but with a fixed seed.
    """
    draw = random.Random(7)
    for round_number in itertools.count():
        for family, size in itertools.product(FAMILIES, SIZES):
            name = f"{family}{round_number or ''}.{size}"
            for platform, tenancy, capacity in itertools.product(
                PLATFORMS, ("Shared", "Dedicated"), CAPACITIES
            ):
                yield from product(
                    header,
                    name,
                    platform,
                    tenancy,
                    capacity,
                    "".join(draw.choices(SKU_LETTERS, k=16)),
                    draw.uniform(0.05, 90),
                )


def product(
    header: list[str],
    name: str,
    platform: tuple[str, str, str, str],
    tenancy: str,
    capacity: str,
    sku: str,
    price: float,
) -> Iterator[str]:
    """Yield the lines of one SKU: on demand, and for used capacity 12 reserved terms."""
    columns = attributes(name, platform, tenancy, capacity) | {"SKU": sku}
    fixed = [columns.get(column, "") for column in header]
    places = {column: i for i, column in enumerate(header)}
    for dimension in dimensions(price, is_reserved=capacity == "Used"):
        code = "6YS6EN2CT7" if dimension["Unit"] == "Hrs" else "2TG2D8R56U"
        dimension["RateCode"] = f"{sku}.{dimension['OfferTermCode']}.{code}"
        row = fixed.copy()
        for column, value in dimension.items():
            row[places[column]] = value
        yield ",".join(f'"{value}"' if value else "" for value in row) + "\n"


def attributes(
    name: str, platform: tuple[str, str, str, str], tenancy: str, capacity: str
) -> dict[str, str]:
    """Return the columns that all lines of a SKU share."""
    system, software, license_model, operation = platform
    family = "Compute Instance (bare metal)" if name.endswith("metal") else "Compute Instance"
    return {
        "EffectiveDate": "2026-07-01",
        "Currency": "USD",
        "Product Family": family,
        "Location": "US East (N. Virginia)",
        "Location Type": "AWS Region",
        "Instance Type": name,
        "Current Generation": "Yes",
        "vCPU": "64",
        "Physical Processor": "Intel Xeon Platinum 8175 (Skylake)",
        "Clock Speed": "3.1 GHz",
        "Memory": "256 GiB",
        "Storage": "4 x 900 NVMe SSD",
        "Network Performance": "25 Gigabit",
        "Tenancy": tenancy,
        "Operating System": system,
        "License Model": license_model,
        "operation": operation,
        "CapacityStatus": capacity,
        "MarketOption": "OnDemand",
        "Pre Installed S/W": software,
        "Region Code": REGION,
        **{
            f"Attribute {n}": "Intel AVX; Intel AVX2; Intel AVX512; Intel Turbo"
            for n in range(0, 90, 9)
        },
        **{f"Attribute {n}": "Yes" for n in range(1, 90, 4)},
    }


def dimensions(price: float, *, is_reserved: bool) -> Iterator[dict[str, str]]:
    """Yield what differs between the lines of one SKU."""
    hourly = {"Unit": "Hrs", "StartingRange": "0", "EndingRange": "Inf"}
    on_demand = {"OfferTermCode": "JRTCKXETXF", "TermType": "OnDemand"}
    yield {**on_demand, **hourly, "PricePerUnit": f"{price:.5f}00000"}
    for number, (lease, offering, payment) in enumerate(TERMS if is_reserved else []):
        term = {
            "OfferTermCode": f"TERM{number:06}",
            "TermType": "Reserved",
            "LeaseContractLength": lease,
            "OfferingClass": offering,
            "PurchaseOption": payment,
        }
        rate = 0 if payment == "All Upfront" else price * 0.6
        yield {**term, **hourly, "PricePerUnit": f"{rate:.5f}00000"}
        if payment != "No Upfront":
            yield {**term, "Unit": "Quantity", "PricePerUnit": f"{price * 4000:.0f}"}


def land(folder: Path) -> None:
    """Land the CSV and write the manifest of a run that has it."""
    unit, now = Unit("aws", "prices", REGION), datetime(2026, 7, 20, tzinfo=UTC)
    url = "https://bench.test/index.csv"
    with Writer(folder / "page", "zstd") as writer, (folder / "index.csv").open("rb") as file:
        while piece := file.read(PIECE):
            writer.write(piece)
        body = Downloaded(writer.finish(), url, {}, 200, "text/csv", now)
    landing = Landing(folder / "raw")
    page = landing.land(unit, body, suffix="csv")
    landing.write_run(Run("bench", "aws", "live", now, "bench", (UnitResult(unit, "ok", (page,)),)))


def project(folder: str) -> None:
    """Copy the columns that are read to Parquet."""
    landing = Landing(f"{folder}/raw")
    page = landing.run("aws", "bench").of("prices")[0]
    path = landing.store.local(page.key)
    assert path is not None
    projected = pl.scan_csv(path, skip_lines=5, infer_schema=False).select(list(COLUMNS))
    write(projected, f"{folder}/projected.parquet")


def normalise(folder: str) -> None:
    """Normalise the run and, like ``stage``, write each table while the next one is read."""
    landing = Landing(f"{folder}/raw")
    run = landing.run("aws", "bench")
    with ThreadPoolExecutor(1) as executor:
        writing = [
            executor.submit(write, part.frame.lazy(), f"{folder}/{part.table}.parquet")
            for part in parts(Pages(run, landing))
        ]
    for written in writing:
        written.result()


def write(rows: pl.LazyFrame, path: str) -> None:
    """Compute rows and write them as Parquet, compressed like the project's tables."""
    rows.sink_parquet(path, compression="zstd", compression_level=parquet.LEVEL)


def read_with_pandas(folder: str) -> None:
    """Read the columns that the normaliser reads, as texts."""
    import pandas as pd

    pd.read_csv(
        f"{folder}/index.csv",
        skiprows=5,
        usecols=list(COLUMNS),
        dtype=str,
        keep_default_na=False,
    )


def read_with_gpuhunt(folder: str) -> None:
    """Read the machines with Linux on demand, without requests to AWS for other data."""
    from gpuhunt.providers.aws import AWSProvider

    class FromFile(AWSProvider):
        def _fill_gpu_details(self, offers: list[object]) -> None:
            """Request nothing."""

        def _with_spot_offers(self, offers: list[object]) -> list[object]:
            return offers

        # The names in older versions.
        fill_gpu_details = _fill_gpu_details
        add_spots = _with_spot_offers

    FromFile(f"{folder}/index.csv").get()


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
