"""A real bill of September 2024, anonymized: FinOps Foundation, CC BY 4.0."""

from pathlib import Path

import polars as pl
import pytest
from tests.conftest import SHARED

import hwprices
from hwprices.read.dataset import Dataset

RECORDED = Path(__file__).parents[2] / "recordings" / "bills" / "focus_bill.csv"
WHOLE = SHARED / "bills" / "focus_1.0_aws_oci_a.csv"

RATE_CODE = r"^[A-Z0-9]{16}\.[A-Z0-9]{10}\.[A-Z0-9]{10}$"


@pytest.mark.parametrize(
    ("path", "rate_codes"),
    [(RECORDED, 26), pytest.param(WHOLE, 476, marks=pytest.mark.shared)],
    ids=["recorded", "whole"],
)
def test_every_machine_of_a_collected_region_costs_the_list_price(
    path: Path, rate_codes: int
) -> None:
    found = hwprices.open("sample").bill(path).check(nearest=True)

    lines = found.lines.with_columns(pl.col("class").cast(str)).collect()
    codes = lines.filter(provider="aws")["rate"].drop_nulls()
    assert codes.str.contains(RATE_CODE).all()
    assert codes.len() == rate_codes
    machines = lines.filter(pl.col("type").is_not_null())
    here = machines.filter(region="us-east-1")
    assert sorted(here["class"]) == ["commitment"] + ["equal"] * 11
    assert set(here["matched_by"]) == {"type, region, OS, tenancy, option"}
    assert set(machines.filter(pl.col("region") != "us-east-1")["class"]) == {"not_collected"}
    # the SKUs of Oracle are those of its list of today: B92307 and B97384
    oracle = lines.filter(provider="oracle", category="usage", unit="GB Hours")
    assert oracle.select("class", "matched_by").rows() == [("equal", "SKU")]
    assert not set(lines["class"]) & {"differs", "billed_twice", "idle_commitment"}


@pytest.mark.parametrize(
    ("path", "lines"),
    [(RECORDED, 17), pytest.param(WHOLE, 87, marks=pytest.mark.shared)],
    ids=["recorded", "whole"],
)
def test_a_bill_that_is_older_than_the_history_is_not_checked(path: Path, lines: int) -> None:
    found = hwprices.open("sample").bill(path).check()

    classes = dict(found.totals.select("class", "lines").rows())
    assert classes["no_price_then"] == lines
    assert found.coverage.row(0, named=True)["lines_checked"] == 1  # of a machine with a past


PARTS = [
    ("JG3KUJMBRGHV3N8G.JRTCKXETXF.6YS6EN2CT7", "0.08", "gb", "month"),  # gp3
    ("HY3BZPP2B6K8MSJF.JRTCKXETXF.6YS6EN2CT7", "0.10", "gb", "month"),  # gp2
    ("7U7TWP44UP36AT3R.JRTCKXETXF.6YS6EN2CT7", "0.05", "gb", "month"),  # snapshots
    ("7Q58NR58VQEASA4W.JRTCKXETXF.6YS6EN2CT7", "0.005", "iops", "month"),
    ("SQUFRQX4K92S4SBB.JRTCKXETXF.6YS6EN2CT7", "40.96", "gibps", "month"),
    ("4GQUNXTFWVSGPUZK.JRTCKXETXF.6YS6EN2CT7", "0.005", "sku_unit", "hour"),  # IPv4 in use
    ("HQEH3ZWJVT46JHRG.JRTCKXETXF.Q3Z75P77EN", "0.09", "gb", "use"),  # transfer, first 10 TB
    ("HQEH3ZWJVT46JHRG.JRTCKXETXF.VF6T3GAUKQ", "0.085", "gb", "use"),  # the next 40 TB
    ("PNUBVW4CPC8XA46W.JRTCKXETXF.6YS6EN2CT7", "0.01", "gb", "use"),  # between zones
    ("NW4B786HNAH6HZ7R.JRTCKXETXF.6YS6EN2CT7", "0.02", "gb", "use"),  # to Ireland
]
"""Rate codes and prices of AWS's lists of us-east-1 of August 2026."""


class WithParts(Dataset):
    """The sample with prices of what is billed beside machines."""

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table; component_prices with PARTS."""
        frame = super().scan(table)
        if table != "component_prices":
            return frame
        rate = pl.col("sku_price_id")
        return pl.LazyFrame(
            PARTS, schema=["sku_price_id", "price", "unit", "per"], orient="row"
        ).with_columns(
            pl.col("price").cast(pl.Decimal(20, 10)),
            sku_id=rate.str.split(".").list.first(),
            provider=pl.lit("aws"),
            region=pl.lit("us-east-1"),
            currency=pl.lit("USD"),
            purchase_option=pl.lit("on_demand"),
            effective_from=pl.datetime(2026, 8, 1, time_zone="UTC"),
            observed_at=pl.datetime(2026, 8, 20, time_zone="UTC"),
            raw_sha256=pl.lit("0" * 64),
        )


@pytest.mark.parametrize(
    ("path", "expected"),
    [(RECORDED, 4), pytest.param(WHOLE, 74, marks=pytest.mark.shared)],
    ids=["recorded", "whole"],
)
def test_what_is_billed_beside_machines_is_matched_by_rate_code_and_tier(
    path: Path, expected: int
) -> None:
    sample = hwprices.open("sample")
    found = WithParts(sample.store, sample.version).bill(path).check(nearest=True)

    lines = found.lines.filter(matched_by="rate or meter id").collect()
    assert dict(lines.group_by(pl.col("class").cast(str)).len().rows()) == {"equal": expected}
    assert set(found.proofs["citation"].str.contains("SKU ")) == {True}
