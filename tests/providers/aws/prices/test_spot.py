"""Spot quotes, what the Spot Instance Advisor says, and capacity blocks."""

import json
from decimal import Decimal

import pytest
from tests.helpers.aws_pages import LandedPages, quotes
from tests.helpers.cases import cases

from hwprices.providers.aws.spot import read_band


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
