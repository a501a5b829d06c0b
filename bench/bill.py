"""Measure checking a bill of 10 million lines against the sample release.

    python -m bench.bill

Each line is an hour of a machine in us-east-1, with the columns of FOCUS 1.0 that a check reads, as
CSV (3.5 GB), gzip and Parquet. The baseline is reading all columns of the same files with polars.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import hwprices
from bench import measure

GOAL = measure.Goal(seconds=60, megabytes=2000)

BATCH = 500_000  # Lines of a file


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure checking a bill, as CSV, gzip and Parquet."""
    lines = 200_000 if is_small else 10_000_000
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        for suffix in ("csv", "csv.gz", "parquet"):
            path = f"{folder}/{suffix}"
            make(path, suffix, lines)
            costs = measure.compare(
                {"check": (check, path), "read": (read, path)}, in_process=is_small
            )
            assert costs["check"].result == lines, costs["check"].result
            yield measure.make_row(
                f"check a bill, {suffix}",
                f"{lines:,} lines",
                costs["check"],
                baseline=costs["read"],
                baseline_name="reading it",
                goal=GOAL,
                is_small=is_small,
            )
            for file in Path(path).iterdir():
                file.unlink()


def make(folder: str, suffix: str, lines: int) -> None:
    """Write a bill in files of ``BATCH`` different lines."""
    Path(folder).mkdir()
    machines = (
        hwprices.open("sample")
        .prices.filter(provider="aws", purchase_option="on_demand", os="linux")
        .sort("instance_type")
        .select("instance_type", "sku_id", "sku_price_id", price="hourly")
        .collect()
    )
    for first in range(0, lines, BATCH):
        count = min(BATCH, lines - first)
        number = pl.int_range(first, first + count, eager=True)
        machine = machines[(number % machines.height).to_list()]
        part = machine.with_columns(number=number).select(
            BillingCurrency=pl.lit("USD"),
            BilledCost="price",
            EffectiveCost="price",
            ListCost="price",
            ListUnitPrice="price",
            ChargeCategory=pl.lit("Usage"),
            ChargeDescription=pl.format(
                "${} per On Demand Linux {} Instance Hour", "price", "instance_type"
            ),
            ChargePeriodStart=pl.datetime(2026, 12, 1) + pl.duration(hours=pl.col("number") % 720),
            ChargePeriodEnd=pl.datetime(2026, 12, 1)
            + pl.duration(hours=pl.col("number") % 720 + 1),
            PricingCategory=pl.lit("Standard"),
            PricingQuantity=pl.lit(1.0),
            PricingUnit=pl.lit("Hours"),
            ProviderName=pl.lit("AWS"),
            RegionId=pl.lit("us-east-1"),
            ResourceId=pl.format("arn:aws:ec2:us-east-1:1:instance/i-{}", pl.col("number") // 720),
            ServiceName=pl.lit("Amazon Elastic Compute Cloud"),
            SkuId="sku_id",
            SkuPriceId="sku_price_id",
            SubAccountId=(pl.col("number") % 7).cast(pl.String),
            Tags=pl.lit('{"application": "GlobalSuite", "environment": "dev", "unit": "Sales"}'),
        )
        path = f"{folder}/{first:09}.{suffix}"
        if suffix == "parquet":
            part.write_parquet(path)
        else:
            part.write_csv(path, compression="gzip" if suffix == "csv.gz" else "uncompressed")


def check(path: str) -> int:
    """Check the bill; return how many of its lines equal the list price."""
    totals = hwprices.open("sample").bill(path).check().totals
    return int(totals.filter(pl.col("class") == "equal")["lines"].sum())


def read(path: str) -> int:
    """Read all columns with polars."""
    frame = pl.scan_parquet(f"{path}/*") if path.endswith("parquet") else pl.scan_csv(f"{path}/*")
    hashes = frame.select(pl.struct(pl.all()).hash().sum()).collect(engine="streaming")
    return int(hashes.item())


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
