"""Capacity blocks: the fee by the hour and machine."""

from decimal import Decimal

from tests.helpers.aws_pages import LandedPages, element, xml


def test_capacity_blocks_cost_their_fee_by_the_hour_and_machine(tmp_path):
    def offer(fee: str, machines: int = 1, hours: int = 24) -> dict:
        start = {"startDate": "2026-08-01T11:30:00Z", "endDate": "2026-08-02T11:30:00Z"}
        columns = {
            "capacityBlockOfferingId": f"cb-{fee}",
            "instanceType": "p5.48xlarge",
            "availabilityZone": "us-east-1a",
            "currencyCode": "USD",
            "tenancy": "default",
        }
        return {
            **columns,
            **start,
            "instanceCount": machines,
            "capacityBlockDurationHours": hours,
            "upfrontFee": fee,
        }

    without_fee = {name: value for name, value in offer("").items() if name != "upfrontFee"}
    offers = [offer("800.00"), offer("755.136"), offer("oops"), without_fee]
    body = xml("DescribeCapacityBlockOfferings", element("capacityBlockOfferingSet", offers))
    landed = LandedPages(tmp_path).add("capacity_blocks", "us-east-1", body, suffix="xml")
    row = landed.table("prices").to_dicts()[0]
    assert (row["zone"], row["hourly"], row["basis"], row["billing_unit"]) == (
        "us-east-1a",
        Decimal("31.464"),
        "derived",
        "term",
    )
    assert row["flags"] == ["block_of_24_hours"]
    assert landed.counts() == {"out_of_scope:dearer_capacity_block": 1}
    assert set(landed.refused()["reason"]) == {"unreadable_price"}
    assert set(landed.refused()["message"]) == {
        "offer of 24 hours for p5.48xlarge at oops",
        "offer of 24 hours for p5.48xlarge at ?",
    }
