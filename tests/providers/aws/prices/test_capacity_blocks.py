"""Capacity blocks: the fee by the hour and machine."""

from decimal import Decimal

from tests.helpers.aws_pages import LandedPages


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
