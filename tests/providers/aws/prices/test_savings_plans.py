"""Savings plans: rates joined to the price list's SKUs, every rate accounted for."""

import json
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.aws_pages import (
    ONE_YEAR,
    LandedPages,
    line,
    one_plan,
    price_list,
    quotes,
    savings_plans,
)

from hwprices.providers import UnreadablePageError
from hwprices.providers.aws import savings_plans as reader
from hwprices.providers.aws.savings_plans import read_page, savings_plan_rows

WINDOWS = {"Operating System": "Windows", "operation": "RunInstances:0002"}


SKU = "6C86BEPQVG73ZGGR"


def plan_prices(tmp_path, body: bytes, *lines) -> tuple[pl.DataFrame, LandedPages]:
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list(list(lines) or [line()]))
    landed.add("savings_plans", "us-east-1", body, suffix="json")
    return landed.table("prices").filter(purchase_option="savings_plan"), landed


@pytest.mark.parametrize("usage", ["BoxUsage:any", "EBSOptimized:any"])
def test_a_sku_that_the_price_list_describes_in_two_ways_is_ambiguous(tmp_path, usage):
    """Which of the two systems the rate is for is not known, whatever the usage is called."""
    body = one_plan((SKU, "0.07"), ("OTHER", "0.08"))
    body = body.replace(b"BoxUsage:any", usage.encode(), 1)
    others = [line(SKU="OTHER"), line(SKU="OTHER")]  # alike: known
    prices, landed = plan_prices(tmp_path, body, line(), line(**WINDOWS), *others)
    assert prices["sku_id"].to_list() == ["OTHER"]
    assert landed.refused().filter(reason="ambiguous_sku")["message"].to_list() == [
        f"the price list describes SKU {SKU} in two ways"
    ]


def test_every_rate_is_accounted_for(tmp_path):
    body = json.loads(one_plan((SKU, "0.07"), ("GONE", "0.1"), ("IDLE", "0.1")))
    rates = body["terms"]["savingsPlan"][0]["rates"]
    rates[2]["discountedUsageType"] = "UnusedBox:m5.large"
    rates += [
        {**rates[0], "discountedServiceCode": "AWSLambda"},
        {**rates[0], "discountedRate": {"price": "free"}, "rateCode": "P.X"},
    ]
    learning = {"sku": "ML", "productFamily": "MachineLearningSavingsPlans", "attributes": {}}
    body["products"].append(learning)
    others = [{"sku": sku, "rates": [dict(rates[0])]} for sku in ("ML", "LOST")]
    body["terms"]["savingsPlan"] += others
    prices, landed = plan_prices(tmp_path, json.dumps(body).encode())
    assert prices.height == 1
    assert sorted(landed.refused()["reason"]) == ["unknown_plan", "unknown_sku", "unreadable_price"]
    assert landed.counts() == {
        "out_of_scope:savings_plan_service=AWSLambda": 1,
        "out_of_scope:savings_plan_usage=idle_capacity": 1,
        "out_of_scope:savings_plan_family=MachineLearningSavingsPlans": 1,
    }


def test_terms_before_products_read_the_same(tmp_path):
    body = json.loads(one_plan())
    turned = {"version": 12, "empty": [], "none": {}}
    turned |= {"terms": body["terms"], "products": body["products"]}
    prices, _ = plan_prices(tmp_path, json.dumps(turned, indent=3).encode())
    assert prices["hourly"].to_list() == [Decimal("0.07")]


def read_alone(tmp_path, body: bytes) -> None:
    """Read a file without a price list."""
    landed = LandedPages(tmp_path).add("savings_plans", "us-east-1", body, suffix="json").pages()
    (page,) = landed.of("savings_plans")
    savings_plan_rows(read_page(landed, page), page, "us-east-1", None)


COMPLETE = one_plan()
OTHER_SHAPES = {
    "product": b'{"products": [5], "terms": {}}',
    "300 digits": COMPLETE.replace(b'"0.07"', b"1e300"),
}


@pytest.mark.parametrize("body", OTHER_SHAPES)
def test_a_file_of_another_shape_is_an_error(tmp_path, body):
    with pytest.raises(UnreadablePageError, match="aws/savings_plans/us-east-1/"):
        read_alone(tmp_path, OTHER_SHAPES[body])


@pytest.mark.parametrize("style", [{}, {"indent": 2, "separators": (",", " : ")}])
def test_a_usual_file_is_not_parsed_twice_to_find_names_that_are_repeated(
    tmp_path, monkeypatch, style
) -> None:
    """Their number tells: a second parser takes ten times as long. AWS writes the second style."""
    monkeypatch.setattr(reader, "refuse_repeated_names", None)
    other = ("Q", "ComputeSavingsPlans", "3yr", "No Upfront", [(SKU, "0.06")])
    usual = savings_plans("us-east-1", (*ONE_YEAR, [(SKU, "0.07")]), other)
    written = json.dumps(json.loads(usual), **style).encode()
    assert plan_prices(tmp_path, written)[0].height == 2


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        (b'"rates":', b'"rates": [], "rates":'),
        (b'"products":', b'"products": [], "products":'),
        (b'"rateCode":', b'"rateCode": "X", "rate\\u0043ode":'),
        (b'"purchaseTerm":', b'"purchaseTerm": "3yr", "purchaseTerm" :'),
    ],
)
def test_a_name_that_comes_twice_makes_the_file_unreadable(tmp_path, once, twice):
    assert once in COMPLETE
    with pytest.raises(UnreadablePageError, match="comes twice"):
        read_alone(tmp_path, COMPLETE.replace(once, twice))


def test_plans_without_a_price_list_are_counted(tmp_path):
    body = one_plan(("A", "0.07"), ("B", "0.08"))
    landed = LandedPages(tmp_path).add("savings_plans", "us-east-1", body, suffix="json")
    landed.add("spot", "us-east-1", quotes(), suffix="xml")
    assert landed.counts() == {"out_of_scope:savings_plan_without_price_list": 2}
