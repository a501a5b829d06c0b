"""What AWS's lists did not have before: refused by its word, and nothing else is lost.

Inputs: tests/recordings/aws. Ids such as a16 are those of docs/known-wrong-numbers.md.
"""

from decimal import Decimal

import polars as pl
import pytest
import yaml
from tests.helpers.aws_pages import (
    LandedPages,
    line,
    one_plan,
    price_list,
    quotes,
    reserved,
    savings_plans,
)
from tests.helpers.cases import cases, optional
from tools.sample.aws import HEADER

WINDOWS = {"Operating System": "Windows", "operation": "RunInstances:0002"}
BOX = {
    "Operating System": "Windows",
    "License Model": "License Included - Infrastructure",
    "operation": "RunInstances:0002:box",
}


def accounted(pages: LandedPages) -> int:
    """Count the lines of which the refused rows tell."""
    refused = pages.refused()
    return int(refused["occurrences"].sum() + refused["dependants"].sum())


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


@pytest.mark.parametrize("step", [1, -1])
def test_a16_the_licensed_price_stays_whatever_is_beside_it(tmp_path, step):
    m5 = {"Instance Type": "m5.xlarge"}
    lines = [
        line("0.1920000000", SKU="AWJMJ73C9RDQFD5N", **m5, **BOX),
        line("0.3760000000", SKU="LICENSED", **m5, **WINDOWS),
    ]
    plans = one_plan(("AWJMJ73C9RDQFD5N", "0.15"), ("LICENSED", "0.33"))
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines[::step]))
    pages.add("savings_plans", "us-east-1", plans, suffix="json")
    prices = pages.table("prices").sort("hourly")
    found = prices.select("purchase_option", "hourly").rows()
    assert found == [("savings_plan", Decimal("0.33")), ("on_demand", Decimal("0.376"))]
    assert pages.refused().is_empty()


NEW = [
    # reason, word, columns of the on-demand line
    ("unknown_operation", "RunInstances:0006:box", {**BOX, "operation": "RunInstances:0006:box"}),
    ("platform_disagrees", None, {**BOX, "operation": "RunInstances:0002"}),
    ("platform_disagrees", None, {**WINDOWS, "operation": "RunInstances:0002:box"}),
    ("unknown_platform", "Plan 9", {"Operating System": "Plan 9"}),
    ("unknown_platform", "Db2", {"Pre Installed S/W": "Db2"}),
    ("unknown_license", "License by the Day", {"License Model": "License by the Day"}),
    ("unknown_operation", "RunInstances:0g10", {"operation": "RunInstances:0g10"}),
    ("unknown_tenancy", "Lunar", {"Tenancy": "Lunar"}),
    ("unknown_market_option", "FutureBlock", {"MarketOption": "FutureBlock"}),
    ("unknown_option", "Lent", {"CapacityStatus": "Lent"}),
    ("unknown_product", "Compute Rack", {"Product Family": "Compute Rack"}),
    ("unknown_location", "AWS Balloon", {"Location Type": "AWS Balloon"}),
    ("unknown_unit", "Minutes", {"Unit": "Minutes"}),
]


@pytest.mark.parametrize(("reason", "word", "columns"), NEW)
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
    refused = pages.refused().sort("reason", descending=reason < "refused_sku")
    shown = word or f"{columns['operation']} beside windows/none/" + (
        "infrastructure" if "License Model" in columns else "included"
    )
    by_sku, by_rates = refused.sort(pl.col("reason") == "refused_sku").to_dicts()
    assert (by_sku["reason"], by_sku["word"], by_sku["dependants"]) == (reason, shown, 3)
    found = (by_rates["reason"], by_rates["word"], by_rates["dependants"])
    assert found == ("refused_sku", shown, 2)
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


def test_a17_a_reserved_rate_is_joined_with_the_fee_in_its_currency(tmp_path):
    """Both currencies have one SKU and one term; a fee is listed without its rate in a third."""
    term = ("1yr", "standard", "Partial Upfront")
    lines = [
        line(),
        *reserved(*term, "0.0290000000", "252", Currency="USD"),
        *reserved(*term, "0.2030000000", "1764", Currency="CNY"),
        *reserved(*term, None, "300", Currency="EUR"),
    ]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines))
    terms = pages.table("prices").filter(purchase_option="reserved").sort("hourly")
    assert terms.select("currency", "hourly", "upfront").rows() == [
        ("USD", Decimal("0.029"), Decimal(252)),
        ("CNY", Decimal("0.203"), Decimal(1764)),
    ]
    assert pages.refused()["reason"].to_list() == ["missing_hourly"]


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


def test_without_the_capacity_status_idle_capacity_is_told_by_its_usage(tmp_path):
    idle = line(SKU="IDLE", usageType="UnusedBox:m5.large")
    allocated = line("0.0000000000", SKU="ZERO", usageType="USE1-Reservation:m5.large")
    header = [*(name for name in HEADER if name != "CapacityStatus"), "usageType"]
    body = price_list([line(), idle, allocated], [*dict.fromkeys(header)])
    pages = LandedPages(tmp_path).add("prices", "us-east-1", body)
    assert pages.table("prices")["hourly"].to_list() == [Decimal("0.096")]
    assert pages.refused().is_empty()


def test_lines_that_a_list_has_twice_are_published_once(tmp_path):
    term = reserved("1yr", "standard", "Partial Upfront", "0.029", "252")
    lines = [line(), *term, line(), *term]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines))
    assert pages.table("prices").height == 2
    assert pages.refused().select("reason", "word", "dependants").rows() == [
        ("duplicate_key", None, 2)
    ]
    assert pages.table("prices").height + 1 + accounted(pages) == len(lines)  # a fee is merged


@pytest.mark.parametrize("system", ["RHEL", "Windows", "SUSE", "Ubuntu Pro", "Linux"])
@pytest.mark.parametrize("price", ["0.0000000000", "2.7648000000"])
def test_a19_a_list_line_of_a_capacity_block_has_no_price(tmp_path, system, price):
    p5 = {"Instance Type": "p5.48xlarge"}
    block = {"operation": "RunInstances:CB:0010", "MarketOption": "CapacityBlock"}
    lines = [
        line(price, SKU="BLOCK", **p5, **block, **{"Operating System": system}),
        line("55.04", SKU="OD", **p5),
    ]
    prices = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines)).table("prices")
    columns = ("purchase_option", "hourly", "effective_hourly", "price_reason")
    on_demand = Decimal("55.04")
    assert sorted(prices.select(columns).rows()) == [
        ("capacity_block", None, None, "capacity_block_priced_by_offering"),
        ("on_demand", on_demand, on_demand, None),
    ]


def test_a19_a_reserved_term_of_a_block_is_new(tmp_path):
    block = {"MarketOption": "CapacityBlock", "operation": "RunInstances:CB"}
    lines = [line(), *reserved("1yr", "standard", "No Upfront", "2.76", None, SKU="B", **block)]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines))
    assert pages.table("prices").height == 1
    assert pages.refused().select("reason", "word").rows() == [
        ("unknown_market_option", "Reserved CapacityBlock")
    ]


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


@pytest.mark.parametrize(
    ("region", "listed", "currency"),
    [("in-gov-1", "INR", "INR"), ("eusc-de-east-1", None, "EUR"), ("us-east-1", None, "USD")],
)
def test_a18_a_spot_quote_has_the_currency_of_its_region(tmp_path, region, listed, currency):
    quote = quotes((f"{region}a", "m5.large", "Linux/UNIX", "0.05", "2026-07-20T10:00:00Z"))
    pages = LandedPages(tmp_path).add("spot", region, quote, suffix="xml")
    if listed:
        pages.add("prices", region, price_list([line(Currency=listed, **{"Region Code": region})]))
    spot = pages.table("prices").filter(purchase_option="spot")
    assert spot["currency"].to_list() == [currency]


def test_a18_a_spot_quote_of_an_unknown_currency_is_refused(tmp_path):
    quote = quotes(("xx-moon-9a", "m5.large", "Linux/UNIX", "0.05", "2026-07-20T10:00:00Z"))
    pages = LandedPages(tmp_path).add("spot", "xx-moon-9", quote, suffix="xml")
    assert pages.table("prices").is_empty()
    assert pages.refused()["reason"].to_list() == ["no_currency"]


def test_a_column_more_is_one_row_and_not_read(tmp_path):
    lines = [line(SKU=f"S{n}", **{"Instance Type": f"m5.{n}xlarge"}) for n in range(3)]
    body = price_list([{**made, "Cooling": "liquid"} for made in lines], [*HEADER, "Cooling"])
    pages = LandedPages(tmp_path).add("prices", "us-east-1", body)
    assert pages.table("prices").height == 3
    assert pages.refused().select("reason", "word", "dependants").rows() == [
        ("unknown_column", "Cooling", 0)
    ]


def test_without_a_column_of_terms_only_reserved_prices_are_lost(tmp_path):
    terms = [
        *reserved("1yr", "standard", "No Upfront", "0.06", None),
        *reserved("3yr", "standard", "Partial Upfront", "0.019", "505"),
    ]
    header = [name for name in HEADER if name != "LeaseContractLength"]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line(), *terms], header))
    assert pages.table("prices")["purchase_option"].to_list() == ["on_demand"]
    assert pages.refused().select("reason", "word", "dependants").rows() == [
        ("unknown_column", "LeaseContractLength", 2)
    ]


def test_without_region_codes_a_zone_has_no_price_of_its_region(tmp_path):
    zone = line("0.12", SKU="ZONE", **{"Location Type": "AWS Local Zone"})
    header = [name for name in HEADER if name != "Region Code"]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line(), zone], header))
    assert pages.table("prices")["hourly"].to_list() == [Decimal("0.096")]
    assert pages.refused().select("reason", "word").rows() == [
        ("unknown_location", "AWS Local Zone without Region Code")
    ]


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
