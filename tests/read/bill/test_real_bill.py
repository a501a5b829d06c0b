"""A real bill of September 2024, anonymized: FinOps Foundation, CC BY 4.0."""

from pathlib import Path

import polars as pl
import pytest
from tests.conftest import SHARED

import hwprices

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
