"""Bills of three clouds whose machines are those of the sample release, at its list prices.

focus-data-toolkit writes them as the clouds would: with discounts, commitments, taxes, credits and
services that are not collected. Its machines are moved to a region and a month of which the sample
has prices.
"""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import polars as pl
from focus_data_toolkit import cli

import hwprices

COSTS = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
PRICES = ("ListUnitPrice", "ContractedUnitPrice")
MACHINE = (pl.col("ChargeCategory") == "Usage") & pl.col("SkuPriceDetails").str.contains(
    '"OperatingSystem"'
).fill_null(False)
ON_DEMAND = MACHINE & (pl.col("PricingCategory") == "Standard")


@dataclass(frozen=True)
class Cloud:
    """A cloud with the machine that its bills are about, and a region of the sample."""

    name: str
    machine: str
    region: str


CLOUDS = (
    Cloud("aws", "m6i.large", "us-east-1"),
    Cloud("azure", "Standard_D4s_v5", "westeurope"),
    Cloud("gcp", "e2-standard-4", "us-central1"),
)


def make(cloud: Cloud, version: str, folder: Path, rows: int = 300) -> pl.DataFrame:
    """Return a bill of December 2026 as FOCUS ``version`` (1.2 or 1.3), all columns as text.

    Its commitments are used to the full; a line that is unused is for a test to add.
    """
    arguments = ["--provider", cloud.name, "--focus-version", version, "--rows", str(rows)]
    assert not cli.main(["generate", *arguments, "--seed", "7", "--out", str(folder)])
    (path,) = folder.glob("*cost_and_usage*.csv")
    lines = pl.read_csv(path, infer_schema=False).with_columns(
        pl.col("^.*Period(Start|End)$").str.replace(r"^2026-0\d", "2026-12")
    )
    path.unlink()
    price = list_price(cloud)
    decimal = pl.Decimal(38, 12)
    factor = pl.lit(price).cast(decimal) / pl.col("ListUnitPrice").cast(decimal)
    moved = MACHINE & pl.col("SkuPriceDetails").str.contains(f'"{cloud.machine}"')
    scaled = [
        pl.when(moved)
        .then((pl.col(name).cast(decimal) * factor).cast(pl.String))
        .otherwise(name)
        .alias(name)
        for name in (*COSTS, *PRICES)
    ]
    return lines.filter(pl.col("CommitmentDiscountStatus").fill_null("") != "Unused").with_columns(
        *scaled, RegionId=pl.when(moved).then(pl.lit(cloud.region)).otherwise("RegionId")
    )


def list_price(cloud: Cloud) -> Decimal:
    """Return what an hour of the cloud's machine costs in the sample."""
    prices = hwprices.open("sample").prices.filter(
        provider=cloud.name,
        instance_type=cloud.machine,
        region=cloud.region,
        os="linux",
        purchase_option="on_demand",
    )
    return Decimal(prices.select("hourly").collect().item())


def with_values(lines: pl.DataFrame, row: int, **values: str) -> pl.DataFrame:
    """Return the lines with other values in one of them."""
    here = pl.int_range(pl.len()) == row
    return lines.with_columns(
        pl.when(here).then(pl.lit(value)).otherwise(name).alias(name)
        for name, value in values.items()
    )


def scaled(lines: pl.DataFrame, row: int, factor: str, *names: str) -> pl.DataFrame:
    """Return the lines with some amounts of one of them multiplied."""
    values = {name: str(Decimal(lines[name][row]) * Decimal(factor)) for name in names}
    return with_values(lines, row, **values)
