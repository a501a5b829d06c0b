"""Spot quotes, what the Spot Instance Advisor says, and capacity blocks."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.aws_pages import LandedPages, line, price_list, quotes
from tests.helpers.cases import cases

from hwprices.providers.aws.spot import read_band
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

WINDOWS = {"Operating System": "Windows", "operation": "RunInstances:0002"}


def spot(tmp_path, *rows, lines=()) -> tuple[pl.DataFrame, LandedPages]:
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list(list(lines) or [line()]))
    landed.add("spot", "us-east-1", quotes(*rows), suffix="xml")
    return landed.table("prices").filter(purchase_option="spot"), landed


def test_spot_is_by_zone_with_the_time_of_the_quote(tmp_path):
    at = "2021-02-08T23:58:38.000Z"
    prices, landed = spot(
        tmp_path,
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.042300", at),
        ("us-east-1a", "m5.large", "Linux/UNIX (Amazon VPC)", "0.041", "2021-02-08T20:00:00+00:00"),
        ("us-east-1b", "m5.large", "Windows", "0.130000", at),
        ("us-west-2-lax-1a", "m5.large", "SUSE Linux", "0.099000", at),
        ("us-east-1a", "m5.large", "BeOS", "0.130000", at),
        ("us-east-1c", "m5.large", "Linux/UNIX", "", at),
    )
    columns = ("zone", "region", "os", "hourly", "effective_from")
    when = datetime(2021, 2, 8, 23, 58, 38, tzinfo=UTC)
    assert sorted(prices.select(columns).rows()) == [
        ("us-east-1a", "us-east-1", "linux", Decimal("0.0423"), when),
        ("us-east-1b", "us-east-1", "windows", Decimal("0.13"), when),
        ("us-west-2-lax-1a", "us-west-2-lax-1", "sles", Decimal("0.099"), when),
    ]
    assert landed.counts() == {"out_of_scope:superseded_spot_quote": 1}
    assert sorted(landed.refused()["reason"]) == ["unknown_platform", "unreadable_price"]


@cases("aws/incomplete_quotes")
def test_a_quote_that_lacks_an_element_is_refused(tmp_path, missing, reason, message):
    quote = ("us-east-1a", "m5.large", "Linux/UNIX", "0.04", "2021-02-08T23:58:38Z")
    other = ("us-east-1b", *quote[1:])
    body = quotes(quote, other).decode()
    whole = body.index(f"<{missing}>"), body.index(f"</{missing}>") + len(f"</{missing}>")
    body = body[: whole[0]] + body[whole[1] :]
    landed = LandedPages(tmp_path).add("spot", "us-east-1", body.encode(), suffix="xml")
    assert landed.table("prices")["zone"].to_list() == ["us-east-1b"]
    assert landed.refused().select("reason", "message").rows() == [(reason, message)]
    assert landed.counts() == {}


def test_a_quote_of_an_unreadable_time_does_not_count_as_superseded(tmp_path):
    quote = ("us-east-1a", "m5.large", "Linux/UNIX", "0.04", "2021-02-08T23:58:38Z")
    prices, landed = spot(tmp_path, quote, (*quote[:3], "0.09", "yesterday"))
    assert prices["hourly"].to_list() == [Decimal("0.04")]
    assert landed.refused()["reason"].to_list() == ["unreadable_time"]
    assert landed.counts() == {}


def test_two_spot_prices_at_one_time_are_both_refused(tmp_path):
    """Networks have equal quotes. Where they differ, neither the cheaper nor the first is right."""
    at = "2026-07-01T00:00:00.000Z"
    prices, landed = spot(
        tmp_path,
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.040000", at),
        ("us-east-1a", "m5.large", "Linux/UNIX (Amazon VPC)", "0.041000", at),
        ("us-east-1b", "m5.large", "Linux/UNIX", "0.040000", at),
        ("us-east-1b", "m5.large", "Linux/UNIX (Amazon VPC)", "0.040000", at),
    )
    assert prices["zone"].to_list() == ["us-east-1b"]
    rows = landed.unchecked("prices").filter(purchase_option="spot")
    refused = validate.split(rows, TABLES["prices"], {}).refused
    assert refused["reason"].to_list() == ["duplicate_key", "duplicate_key"]


def test_a8_spot_that_equals_on_demand_is_flagged(tmp_path):
    lines = [
        line("0.0510000000", **{"Instance Type": "a1.large"}),
        line("0.0960000000", SKU="M"),
        line("0.1880000000", SKU="W", **WINDOWS),
    ]
    expected = {
        ("a1.large", "us-east-1a", "Linux/UNIX", "0.051"): ["spot_equals_on_demand"],
        ("m5.large", "us-east-1a", "Linux/UNIX", "0.040"): [],
        ("m5.large", "us-east-1b", "Linux/UNIX", "0.120"): ["spot_above_on_demand"],
        ("m5.large", "us-east-1b", "Windows", "0.120"): [],
        ("m5.large", "us-east-1c", "Linux/UNIX", "0.00001"): ["placeholder"],
    }
    rows = [(zone, name, os, price, "2026-07-01T00:00:00Z") for name, zone, os, price in expected]
    prices, _ = spot(tmp_path, *rows, lines=lines)
    found = prices.sort("instance_type", "zone", "os").select("flags").to_series().to_list()
    assert found == list(expected.values())


@pytest.mark.parametrize(
    ("quote", "flags"),
    [
        ("0.211800", ["spot_equals_on_demand"]),
        ("0.211900", ["spot_above_on_demand"]),
        ("0.211700", []),
    ],
)
def test_a15_a_rounded_spot_price_equals_on_demand(tmp_path, quote, flags):
    """Known wrong number A15: 0.2118 is 0.21181 rounded to the four decimals of a quote."""
    at = "2026-07-01T00:00:00.000Z"
    quoted = ("us-east-1a", "m5.large", "Linux/UNIX", quote, at)
    prices, _ = spot(tmp_path, quoted, lines=[line("0.2118100000")])
    assert prices["flags"].to_list() == [flags]


def test_capacity_blocks_cost_their_fee_by_the_hour_and_machine(tmp_path):
    offer = {
        "instanceType": "p5.48xlarge",
        "availabilityZone": "us-east-1a",
        "currencyCode": "USD",
        "startDate": "2026-08-01T11:30:00Z",
        "instanceCount": 1,
        "capacityBlockDurationHours": 24,
    }
    fees = [{"upfrontFee": fee} for fee in ("800.00", "755.136", "oops")]
    landed = LandedPages(tmp_path)
    landed.add_list("capacity_blocks", "us-east-1", *(offer | fee for fee in [*fees, {}]))
    columns = ("zone", "hourly", "basis", "billing_unit", "flags")
    assert landed.table("prices").select(columns).rows() == [
        ("us-east-1a", Decimal("31.464"), "derived", "term", ["block_of_24_hours"])
    ]
    assert landed.counts() == {"out_of_scope:dearer_capacity_block": 1}
    assert sorted(landed.refused().select("reason", "message").rows()) == [
        ("unreadable_price", "offer of 24 hours for p5.48xlarge at ?"),
        ("unreadable_price", "offer of 24 hours for p5.48xlarge at oops"),
    ]


def test_bands_and_savings_are_read_by_system(tmp_path):
    systems = {
        "Linux": {"m5.large": {"s": 61, "r": 4}},
        "Windows": {"m5.large": {"s": 40, "r": 0}, "m5.xlarge": {"s": 41, "r": 1}},
        "SUSE": {name: {"s": 40, "r": 0} for name in ("m5.large", "m5.xlarge")},
    }
    bands = {0: "<5%", 1: "5-10%", 4: ">20%"}
    ranges = [{"index": index, "label": label, "max": 1} for index, label in bands.items()]
    body = json.dumps({"ranges": ranges, "spot_advisor": {"us-east-1": systems}}).encode()
    landed = LandedPages(tmp_path).add("spot_advisor", "global", body, suffix="json")
    assert landed.counts() == {"out_of_scope:spot_advice_system=SUSE": 2}
    limits = ("interruption_percent_from", "interruption_percent_to", "saving_percent")
    advice = landed.table("spot_advice").select("os", "interruption_band", *limits)
    assert advice.sort("saving_percent").rows() == [
        ("windows", "<5%", 0, 5, 40),
        ("windows", "5-10%", 5, 10, 41),
        ("linux", ">20%", 20, 100, 61),
    ]


def test_a_band_written_in_another_way_is_an_error():
    with pytest.raises(ValueError, match="band 'often' is not understood"):
        read_band("often")
