"""What AWS's lists did not have before: refused by its word, and nothing else is lost.

Inputs: tests/recordings/aws. Ids such as a16 are those of docs/known-wrong-numbers.md.
"""

from decimal import Decimal

import polars as pl
import yaml
from tests.helpers.aws_pages import (
    LandedPages,
    line,
    one_plan,
    price_list,
    reserved,
    savings_plans,
)
from tests.helpers.cases import cases, optional


def test_a16_a_machine_without_its_windows_is_no_windows_price(refresh, recorded):
    """Box lines and their rates are left out on purpose; the provider goes on."""
    table = refresh(
        "us-east-1", recorded("box_price_list.csv"), recorded("box_savings_plans.json")
    ).table
    prices = table("prices")
    windows = prices.filter(os="windows", purchase_option="on_demand", license_model="included")
    assert windows.filter(software="none").select("instance_type", "hourly").rows() == [
        ("m5.large", Decimal("0.18816"))
    ]
    assert prices["license_model"].unique().sort().to_list() == ["byol", "included"]
    assert table("quarantine").is_empty()


@cases("aws/new_platforms", columns=yaml.safe_load)
def test_a17_a_new_word_is_one_row_with_all_that_depends_on_it(tmp_path, reason, word, columns):
    """A SKU of a new platform has an on-demand line, reserved terms and savings-plan rates."""
    sku = {"SKU": "NEW", **columns}
    terms = [
        *reserved("1yr", "standard", "No Upfront", "0.06", None, **sku),
        *reserved("1yr", "standard", "Partial Upfront", "0.029", "252", **sku),
    ]
    rates = [("NEW", "0.05"), ("6C86BEPQVG73ZGGR", "0.07")]
    kinds = [("ComputeSavingsPlans", term, "No Upfront") for term in ("1yr", "3yr")]
    plans = [(f"P{number}", *kind, rates) for number, kind in enumerate(kinds)]
    pages = LandedPages(tmp_path).add(
        "prices", "us-east-1", price_list([line(), *terms, line(**sku)])
    )
    pages.add("savings_plans", "us-east-1", savings_plans("us-east-1", *plans))
    assert pages.table("prices")["sku_id"].unique().to_list() == ["6C86BEPQVG73ZGGR"]
    by_sku, by_rates = pages.refused().sort(pl.col("reason") == "refused_sku").to_dicts()
    assert (by_sku["reason"], by_sku["word"], by_sku["dependants"]) == (reason, word, 3)
    found = (by_rates["reason"], by_rates["word"], by_rates["dependants"])
    assert found == ("refused_sku", word, 2)
    assert '"term_type":"OnDemand"' in by_sku["row"]


@cases("aws/new_words_of_lines", word=optional, columns=yaml.safe_load)
def test_a_new_word_of_one_line_takes_nothing_else_with_it(tmp_path, reason, word, columns):
    lines = [line(), line(SKU="OTHER", **{"Instance Type": "m5.xlarge"}, **columns)]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines))
    pages.add("savings_plans", "us-east-1", one_plan(("OTHER", "0.05")))
    assert pages.refused().select("reason", "word", "dependants").rows() == [(reason, word, 0)]
    found = pages.table("prices").select("instance_type", "purchase_option").rows()
    assert found == [("m5.large", "on_demand"), ("m5.xlarge", "savings_plan")]


@cases("aws/new_terms")
def test_a17_a_new_term_is_one_row_of_its_sku(tmp_path, word, lease, payment, offering):
    new = reserved(lease, offering, payment, "0.02", "300")
    known = reserved("3yr", "standard", "Partial Upfront", "0.0190000000", "505")
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line(), *new, *known]))
    assert pages.refused().select("reason", "word", "dependants").rows() == [
        ("unknown_term", word, 1)
    ]
    assert pages.table("prices")["term_months"].sort().to_list() == [0, 36]


def test_a17_each_kind_of_uneven_pair_passes_through_the_stage(refresh):
    term = ("1yr", "standard", "Partial Upfront")
    double = reserved(*term, "0.029", "252")
    lines = [
        line(),
        *double,
        {**double[1], "PricePerUnit": "253"},
        *reserved(*term, None, "100", SKU="FEE", **{"Instance Type": "m5.xlarge"}),
        *reserved(*term, "0.03", None, SKU="RATE", **{"Instance Type": "m5.2xlarge"}),
    ]
    table = refresh("us-east-1", price_list(lines)).table
    assert table("prices").height == 1
    found = sorted(table("quarantine")["reason"])
    assert found == [*["double_upfront"] * 2, "missing_hourly", *["missing_upfront"] * 2]


def test_a17_a_fee_whose_rate_is_refused_is_no_price(tmp_path):
    """The rates of both terms have a new unit; the rate of a third is refused, not its price."""
    by_cycle = {"SKU": "NEW", "Instance Type": "m5.xlarge"}
    terms = [
        *reserved("1yr", "standard", "All Upfront", "0.01", "490", **by_cycle),
        *reserved("1yr", "standard", "Partial Upfront", "0.058", "252", **by_cycle),
    ]
    for rate in terms[::2]:
        rate["Unit"] = "Cycles"
    known = reserved("3yr", "standard", "Partial Upfront", "0.019", "505")
    beside = {**known[0], "Unit": "Cycles", "RateCode": "beside"}
    body = price_list([line(), *terms, *known, beside])
    pages = LandedPages(tmp_path).add("prices", "us-east-1", body)
    assert pages.table("prices")["instance_type"].to_list() == ["m5.large", "m5.large"]
    found = sorted(pages.refused().select("reason", "word", "dependants").rows())
    assert found == [("unknown_unit", "Cycles", 0), ("unknown_unit", "Cycles", 3)]


def test_a19_recorded_rhel_block(recorded, tmp_path):
    body = recorded("capacity_block_rhel.csv")
    prices = LandedPages(tmp_path).add("prices", "us-east-1", body).table("prices")
    known = prices.filter(pl.col("hourly").is_not_null())
    found = sorted(known.select("instance_type", "hourly").rows())
    assert found == [("m5.large", Decimal("0.096")), ("p5.48xlarge", Decimal("55.04"))]


def test_a18_the_sovereign_cloud_is_in_euros_for_spot_and_plans_too(recorded, tmp_path):
    region, pages = "eusc-de-east-1", LandedPages(tmp_path)
    plans = one_plan(("6C86BEPQVG73ZGGR", "0.0858")).replace(b', "currency": "USD"', b"")
    pages.add("prices", region, recorded("sovereign_price_list.csv"))
    pages.add("savings_plans", region, plans)
    pages.add("spot", region, recorded("sovereign_spot.xml"), suffix="xml")
    prices = pages.table("prices").sort("purchase_option")
    assert prices.select("purchase_option", "currency", "hourly").rows() == [
        ("on_demand", "EUR", Decimal("0.1176")),
        ("savings_plan", "EUR", Decimal("0.0858")),
        ("spot", "EUR", Decimal("0.05")),
    ]
    assert pages.table("regions").select("kind", "parent_region").rows() == [("sovereign", None)]


def test_rates_by_another_unit_or_of_a_new_family_of_plans_are_new(tmp_path):
    rates = [("6C86BEPQVG73ZGGR", "0.07")]
    body = savings_plans(
        "us-east-1",
        ("DAY", "ComputeSavingsPlans", "1yr", "No Upfront", rates),
        ("NEW", "RackSavingsPlans", "1yr", "No Upfront", rates),
        ("OLD", "ComputeSavingsPlans", "3yr", "No Upfront", rates),
    ).replace(b'"Hrs"', b'"Days"', 1)
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line()]))
    pages.add("savings_plans", "us-east-1", body)
    plans = pages.table("prices").filter(purchase_option="savings_plan")
    assert plans["term_months"].to_list() == [36]
    found = sorted(pages.refused().select("reason", "word").rows())
    assert found == [("unknown_plan", "RackSavingsPlans"), ("unknown_unit", "Days")]
