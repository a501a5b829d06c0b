"""Measure the normaliser on a full-size AWS price list, beside a bare copy of the same columns.

    python bench/aws_price_list.py [--gigabytes 1.2] [--runs 3]

Writes a CSV in the vendor's format (90 columns, every SKU on demand and with 12 reserved terms,
other capacities between), lands it as a live run would, and measures, each in a process of its own:
(a) the least a reader must do, polars' scan of the landed file, projected to the columns that the
normaliser reads and written as Parquet; (b) the normaliser, its rows written as Parquet. Prints
seconds, peak memory and the ratio (b) / (a) with its limit. Fails above the limit of the ratio
or of memory, never by seconds. The file is deleted afterwards.
"""

import argparse
import itertools
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

RATIO_LIMIT = 1.5
MEMORY_LIMIT = 1000  # MB: a region is normalised beside others on a machine of 4 GB

REGION = "us-east-1"
GIGABYTE = 1e9

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


def main() -> int:
    """Measure both steps, print the ratio, and return 1 above a limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=1.2, help="size of the CSV")
    parser.add_argument("--runs", type=int, default=3, help="runs of each; the fastest counts")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        {"project": project, "normalise": normalise}[options.step](Path(options.folder))
        return 0
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        rows = generate(Path(folder) / "index.csv", options.gigabytes * GIGABYTE)
        size = (Path(folder) / "index.csv").stat().st_size / GIGABYTE
        land(Path(folder))
        (Path(folder) / "index.csv").unlink()
        best = {
            step: min(measure(step, folder) for _ in range(options.runs))
            for step in ("project", "normalise")
        }
    print(f"price list of {size:.2f} GB, {rows:,} lines, {os.cpu_count()} cores")
    for step, (seconds, peak) in best.items():
        print(f"{step:10} {seconds:6.2f} s   peak {peak:6.0f} MB")
    ratio, peak = best["normalise"][0] / best["project"][0], best["normalise"][1]
    print(f"ratio {ratio:.2f} (limit {RATIO_LIMIT}), peak {peak:.0f} MB (limit {MEMORY_LIMIT})")
    return 0 if ratio <= RATIO_LIMIT and peak < MEMORY_LIMIT else 1


def generate(path: Path, size: float) -> int:
    """Write a CSV of at least ``size`` bytes; return the number of its lines."""
    from hwprices.providers.aws.prices.price_list import COLUMNS

    header = [*COLUMNS, *(f"Attribute {n}" for n in range(90 - len(COLUMNS)))]
    rows = 0
    with path.open("w", buffering=1 << 20) as file:
        for name in ("FormatVersion", "Disclaimer", "Publication Date", "Version", "OfferCode"):
            file.write(f'"{name}","x"\n')
        file.write(",".join(f'"{name}"' for name in header) + "\n")
        for line in lines(header):
            file.write(line)
            rows += 1
            if rows % 10_000 == 0 and file.tell() >= size:
                return rows
    return rows


def lines(header: list[str]) -> Iterator[str]:
    """Yield lines without end. Each round over the types uses families of its own.

    SKUs and prices are random, so that they compress as badly as real ones, and always the same.
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
    """Fill in the columns that all lines of a SKU share."""
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
    from hwprices.landing.download import Downloaded
    from hwprices.landing.pages import Landing, Run, Unit, UnitResult

    unit, now = Unit("aws", "prices", REGION), datetime(2026, 7, 20, tzinfo=UTC)
    url = "https://bench.test/index.csv"
    body = Downloaded(folder / "index.csv", "identity", url, {}, 200, "text/csv", now)
    landing = Landing(folder / "raw")
    page = landing.land(unit, body, suffix="csv")
    landing.write_run(Run("bench", "aws", "live", now, "bench", (UnitResult(unit, "ok", (page,)),)))


def measure(step: str, folder: str) -> tuple[float, float]:
    """Run one step in a process of its own; return its seconds, without imports, and peak MB."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", step, "--folder", folder],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def report(began: float) -> None:
    """Print seconds since ``began`` and the peak of memory in MB, for ``measure``."""
    print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def project(folder: Path) -> None:
    """Copy the columns that are read to Parquet."""
    import polars as pl

    from hwprices.landing.pages import Landing
    from hwprices.providers.aws.prices.price_list import COLUMNS

    landing = Landing(folder / "raw")
    page = landing.run("aws", "bench").of("prices")[0]
    began = time.perf_counter()
    path = landing.store.local(page.key)
    assert path is not None
    pl.scan_csv(path, skip_lines=5, infer_schema=False).select(list(COLUMNS)).sink_parquet(
        folder / "projected.parquet"
    )
    report(began)


def normalise(folder: Path) -> None:
    """Normalise the run and write its rows as Parquet."""
    import polars as pl

    from hwprices.landing.pages import Landing
    from hwprices.providers import Pages
    from hwprices.providers.aws.normalise import normalise as parts

    landing = Landing(folder / "raw")
    run = landing.run("aws", "bench")
    began = time.perf_counter()
    for part in parts(Pages(run, landing)):
        frame = part.frame if isinstance(part.frame, pl.LazyFrame) else part.frame.lazy()
        frame.sink_parquet(folder / f"{part.table}.parquet")
    report(began)


if __name__ == "__main__":
    sys.exit(main())
