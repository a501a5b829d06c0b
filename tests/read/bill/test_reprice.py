"""The machines of a bill are priced elsewhere, and nothing that stays is hidden."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.read.bill.test_check import line
from tests.read.bill.test_readers import FORMATS

import hwprices
from hwprices.errors import HwpricesError

SAMPLE = hwprices.open("sample")


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten hours of m6i.large, one of a type nobody knows, one line of a database."""
    path = tmp_path_factory.mktemp("bill") / "bill.csv"
    details = '{{"InstanceType":"{}","OperatingSystem":"Linux"}}'.format
    pl.concat(
        [
            line(PricingQuantity="10", BilledCost="0.96", SkuPriceDetails=details("m6i.large")),
            line(BilledCost="2", SkuPriceDetails=details("z9.large")),
            line(BilledCost="3", ServiceName="AmazonRDS"),
        ]
    ).write_csv(path)
    return path


def test_a_machine_moves_to_the_nearest_one_that_is_sold_on_its_continent(bill: Path) -> None:
    answer = SAMPLE.bill(bill).reprice(on=["gcp", "runpod"])

    gcp, runpod = answer.rows.to_dicts()
    there = SAMPLE.price(
        gcp["machine_there"], region=gcp["region_there"], option="on_demand", os="linux"
    )
    assert (gcp["region_there"], gcp["vcpus_there"], gcp["memory_gib_there"]) == (
        "us-central1",
        2,
        8,
    )
    assert gcp["cost_there"] == 10 * there["effective_hourly"][0]
    assert gcp["price_id"] == there["price_id"][0]
    assert (runpod["cost_there"], bool(runpod["why_not"])) == (None, True)


@pytest.mark.parametrize("on", [["gcp", "runpod"], []], ids=["other clouds", "own cloud"])
def test_totals_state_what_stays(on: list[str], bill: Path) -> None:
    answer = SAMPLE.bill(bill).reprice(on=on)
    assert answer.totals["on"].to_list() == (on or ["aws"])
    for row in answer.totals.to_dicts():
        parts = row["cost_now"] + row["cost_machines_left"] + row["cost_other"]
        assert parts == row["cost_bill"] == Decimal("5.96")
        assert row["cost_other"] == 5
        assert row["saving"] == row["cost_now"] - row["cost_there"]
    stays = answer.left.filter(pl.col("on").is_null())
    assert stays.select("why", "cost").rows() == [
        ("AmazonRDS: no machine", Decimal(3)),
        ("z9.large: unknown machine type", Decimal(2)),
    ]


def test_a_commitment_has_its_break_even(bill: Path) -> None:
    answer = SAMPLE.bill(bill).reprice(on=["gcp"], option="commitment")
    row = answer.rows.row(0, named=True)
    assert (row["option"], row["term_months"]) == ("committed_use", 36)
    assert 0.3 < row["break_even_utilisation"] < 0.7


def test_a_bill_in_another_currency_needs_a_rate(bill: Path, tmp_path: Path) -> None:
    path = tmp_path / "eur.csv"
    path.write_text(bill.read_text().replace("USD", "EUR"))
    opened = SAMPLE.bill(path)
    with pytest.raises(HwpricesError, match="EUR"):
        opened.reprice(on=["gcp"])
    answer = opened.reprice(on=["gcp"], usd_per={"EUR": "1.5"})
    assert answer.totals["cost_bill"].to_list() == [Decimal("8.94")]


def test_offers_in_a_currency_without_a_rate_are_said_to_be_left_out(bill: Path) -> None:
    """Scaleway asks for euros; the reason was that it has no equal machine."""
    opened = SAMPLE.bill(bill)
    assert "Offers in EUR are left out" in " ".join(opened.reprice(on=["scaleway"]).assumed)
    answer = opened.reprice(on=["scaleway"], usd_per={"EUR": "1.1"})
    assert "EUR" not in " ".join(answer.assumed)


def test_hybrid_benefit_of_azure_is_said_to_be_priced_as_linux(bill: Path, tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    details = '{"InstanceType":"Standard_D4s_v5","OperatingSystem":"Linux"}'
    azure = {"ProviderName": "Microsoft", "ServiceName": "Virtual Machines"}
    line(**azure, RegionId="westeurope", SkuPriceDetails=details).write_csv(path)
    answer = SAMPLE.bill(path).reprice()
    assert answer.rows["provider"].to_list() == ["azure"]
    assert "Hybrid Benefit" in answer.assumed[0]
    assert "Hybrid Benefit" not in " ".join(SAMPLE.bill(bill).reprice(on=["gcp"]).assumed)


def test_emissions_are_those_of_the_hours_here_and_there(tmp_path: Path) -> None:
    """p4d.24xlarge in Virginia moves to a2-highgpu-8g in Iowa: 1,474 and 1,700 gCO2e an hour."""
    path = tmp_path / "bill.csv"
    details = '{"InstanceType":"p4d.24xlarge","OperatingSystem":"Linux"}'
    line(PricingQuantity="10", SkuPriceDetails=details).write_csv(path)

    answer = SAMPLE.bill(path).reprice(on=["gcp"])

    row = answer.rows.row(0, named=True)
    assert row["machine_there"] == "a2-highgpu-8g"
    assert (row["gco2e_now"], row["gco2e_there"]) == pytest.approx((14740.56, 16997.9), rel=1e-5)
    totals = answer.totals.row(0, named=True)
    assert (totals["lines_with_gco2e"], totals["gco2e_now"]) == (1, row["gco2e_now"])


USED = {
    **FORMATS["AWS"],
    "line_item_usage_amount": "1",
    "product_region_code": "us-east-1",
    "line_item_line_item_description": "$0.096 per On Demand Linux m6i.large Instance Hour",
}
ON_DEMAND = {
    **USED,
    "line_item_line_item_type": "Usage",
    "line_item_unblended_cost": "0.096",
    "savings_plan_savings_plan_a_r_n": "",
    "savings_plan_savings_plan_effective_cost": "0",
}
FEE = {
    **USED,
    "line_item_line_item_type": "SavingsPlanRecurringFee",
    "line_item_unblended_cost": "0.1",
    "savings_plan_total_commitment_to_date": "0.1",
    "savings_plan_used_commitment": "0.03",
    "savings_plan_savings_plan_effective_cost": "0",
}


def test_the_unused_part_of_a_fee_stays_and_options_are_told_apart(tmp_path: Path) -> None:
    """The total was 0.126 of a bill of 0.196: the unused part of the fee was lost."""
    path = tmp_path / "bill.csv"
    pl.from_dicts([FEE, USED, ON_DEMAND]).with_columns(pl.all().fill_null("0")).write_csv(path)

    answer = SAMPLE.bill(path).reprice(on=["gcp"])

    assert answer.totals.select("cost_bill", "cost_other").row(0) == (
        Decimal("0.196"),
        Decimal("0.07"),
    )
    now = answer.rows.select("option_now", "cost_now").rows()
    assert now == [("on_demand", Decimal("0.096")), ("committed", Decimal("0.03"))]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"PricingQuantity": ""}, "m6i.large: no hours stated"),
        ({"PricingCategory": "Committed", "BilledCost": "0"}, "covered by a commitment whose cost"),
        ({"ChargeDescription": "m6i.large with BYOL Instance Hour"}, "m6i.large: with your own"),
    ],
    ids=["no hours", "no cost", "own license"],
)
def test_a_machine_without_hours_or_cost_saves_nothing(change, why, tmp_path: Path) -> None:
    path = tmp_path / "bill.csv"
    details = '{"InstanceType":"m6i.large","OperatingSystem":"Linux"}'
    line(**{"BilledCost": "0.096", "SkuPriceDetails": details, **change}).write_csv(path)
    answer = SAMPLE.bill(path).reprice(on=["gcp"])
    assert answer.rows.is_empty()
    assert answer.left["why"].item().startswith(why)


def test_credits_lower_the_bill_of_google(tmp_path: Path) -> None:
    path = tmp_path / "bill.csv"
    google = {"ProviderName": "Google", "ServiceName": "Compute Engine", "RegionId": "us-central1"}
    details = '{"InstanceType":"n2-standard-2","OperatingSystem":"Linux"}'
    row = {"BilledCost": "1", "EffectiveCost": "0.7", "SkuPriceDetails": details}
    line(**google, **row).write_csv(path)
    totals = SAMPLE.bill(path).reprice(on=["gcp"]).totals
    assert totals["cost_bill"].to_list() == [Decimal("0.7")]
