"""A real bill of September 2024, anonymized (FinOps Foundation, CC BY 4.0), and the command."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import SHARED
from tests.helpers import terminal

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
    assert ((ec2["class"] != "not_collected").sum(), ec2.height) == ec2_of_us_east_1
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
    assert dict(found.totals.select("class", "lines").rows())["no_price_then"] == lines
    assert found.coverage.row(0, named=True)["lines_checked"] == 1  # of a machine with a past


def run(*arguments: str) -> tuple[int, str, str]:
    result = terminal.run("bill", *arguments, root="sample")
    return result.exit_code, result.stdout, result.stderr


def test_check_prints_coverage_first_and_writes_all_lines(tmp_path: Path) -> None:
    out = tmp_path / "lines.csv"
    code, said, _ = run("check", str(RECORDED), "--nearest", "--out", str(out))
    assert code == 0
    assert "usage lines" in said.splitlines()[1]
    assert len(out.read_text().splitlines()) == 34


def test_both_actions_print_json() -> None:
    _, checked, _ = run("check", str(RECORDED), "--json")
    answer = json.loads(checked)
    assert answer["coverage"][0]["lines_checked"] == 1
    assert {row["class"] for row in answer["totals"]} == {
        "commitment",
        "no_price_then",
        "not_collected",
        "not_usage",
    }
    _, repriced, _ = run("reprice", str(RECORDED), "--on", "gcp,azure", "--json")
    assert [row["on"] for row in json.loads(repriced)["totals"]] == ["gcp", "azure"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", str(RECORDED), "--on", "gcp"),
        ("reprice", str(RECORDED), "--nearest"),
        ("reprice", str(RECORDED), "--on", "no-cloud"),
        ("check", "no.csv"),
        ("check", str(RECORDED), "--out", "lines.doc"),
    ],
)
def test_what_does_not_fit_is_one_line(arguments: tuple[str, ...]) -> None:
    code, _, error = run(*arguments)
    assert (code, error.count("error: ")) == (2, 1)


@pytest.mark.parametrize("name", ["checked.csv", "checked.parquet"])
def test_lines_are_written_in_the_order_of_the_bill(tmp_path: Path, name: str) -> None:
    """Joins of polars' streaming engine keep no order unless asked to."""
    heading, *lines = RECORDED.read_text(encoding="utf-8").splitlines(keepends=True)
    bill = tmp_path / "bill.csv"
    bill.write_text("".join([heading, *lines * 300]), encoding="utf-8")
    written = hwprices.open("sample").bill(bill).check().write(tmp_path / name)
    rows = pl.read_csv(written) if name.endswith("csv") else pl.read_parquet(written)
    assert rows["line"].is_sorted()
    assert rows.height > 9000
