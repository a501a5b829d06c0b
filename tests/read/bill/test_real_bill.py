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
    ("path", "rate_codes", "parts", "ec2_of_us_east_1"),
    [
        (RECORDED, 26, 4, (16, 16)),
        pytest.param(WHOLE, 476, 74, (76, 120), marks=pytest.mark.shared),
    ],
    ids=["recorded", "whole"],
)
def test_every_machine_of_a_collected_region_costs_the_list_price(
    path: Path, rate_codes: int, parts: int, ec2_of_us_east_1: tuple[int, int]
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
    by_rate_code = lines.filter(matched_by="rate or meter id")
    assert dict(by_rate_code.group_by("class").len().rows()) == {"equal": parts}
    ec2 = lines.filter(
        pl.col("service").str.contains("Elastic Compute"), region="us-east-1", category="usage"
    )
    checked = (ec2["class"] != "not_collected").sum()
    assert (checked, ec2.height) == ec2_of_us_east_1
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
