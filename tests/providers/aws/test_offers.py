"""Savings plans, spot quotes, capacity blocks, zones and offers by zone."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.aws_pages import World, element, line, price_list, quotes, savings_plans, xml

from hwprices.errors import HwpricesError
from hwprices.providers.aws import kinds
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

WINDOWS = {"Operating System": "Windows", "operation": "RunInstances:0002"}
BYOL = {
    "Operating System": "Windows",
    "License Model": "Bring your own license",
    "operation": "RunInstances:0800",
}


def plan_prices(tmp_path, body: bytes, *lines) -> tuple[pl.DataFrame, World]:
    world = (
        World(tmp_path)
        .add("prices", "us-east-1", price_list(list(lines) or [line()]))
        .add("savings_plans", "us-east-1", body, suffix="json")
    )
    return world.table("prices").filter(purchase_option="savings_plan"), world


def test_a3_compute_and_instance_plans_are_two(tmp_path):
    sku = "6C86BEPQVG73ZGGR"
    body = savings_plans(
        "us-east-1",
        ("EC2", "EC2InstanceSavingsPlans", "1yr", "No Upfront", [(sku, "0.0600000")]),
        ("COMPUTE", "ComputeSavingsPlans", "1yr", "No Upfront", [(sku, "0.0700000")]),
        ("ALL", "ComputeSavingsPlans", "3yr", "All Upfront", [(sku, "0.0440000")]),
    )
    prices, world = plan_prices(tmp_path, body)
    found = {
        (r["commitment_plan"], r["term_months"], r["payment_option"]): r for r in prices.to_dicts()
    }
    assert found["ec2_instance", 12, "no_upfront"]["hourly"] == Decimal("0.06")
    assert found["compute", 12, "no_upfront"]["hourly"] == Decimal("0.07")
    whole = found["compute", 36, "all_upfront"]
    assert (whole["hourly"], whole["upfront"], whole["effective_hourly"]) == (
        Decimal("0.044"),
        None,
        Decimal("0.044"),
    )
    assert (whole["sku_id"], whole["sku_price_id"]) == (sku, f"ALL.{sku}")
    assert world.refused().is_empty()


def test_a2_a_windows_plan_shows_the_windows_price(tmp_path):
    body = savings_plans(
        "us-east-1",
        (
            "P",
            "ComputeSavingsPlans",
            "1yr",
            "No Upfront",
            [("LI", "0.16"), ("BYOL", "0.07"), ("LIN", "0.07")],
        ),
    )
    prices, _ = plan_prices(
        tmp_path,
        body,
        line(SKU="LIN"),
        line("0.188", SKU="LI", **WINDOWS),
        line("0.096", SKU="BYOL", **BYOL),
    )
    assert {(r["os"], r["license_model"]): r["hourly"] for r in prices.to_dicts()} == {
        ("linux", "included"): Decimal("0.07"),
        ("windows", "included"): Decimal("0.16"),
        ("windows", "byol"): Decimal("0.07"),
    }


def test_every_rate_is_accounted_for(tmp_path):
    body = json.loads(
        savings_plans(
            "us-east-1",
            (
                "P",
                "ComputeSavingsPlans",
                "1yr",
                "No Upfront",
                [("6C86BEPQVG73ZGGR", "0.07"), ("GONE", "0.1"), ("IDLE", "0.1")],
            ),
        )
    )
    rates = body["terms"]["savingsPlan"][0]["rates"]
    rates[2]["discountedUsageType"] = "UnusedBox:m5.large"
    rates += [
        {**rates[0], "discountedServiceCode": "AWSLambda"},
        {**rates[0], "discountedRate": {"price": "free"}, "rateCode": "P.X"},
    ]
    body["products"].append(
        {"sku": "ML", "productFamily": "MachineLearningSavingsPlans", "attributes": {}}
    )
    body["terms"]["savingsPlan"] += [
        {"sku": "ML", "rates": [dict(rates[0])]},
        {"sku": "LOST", "rates": [dict(rates[0])]},
    ]
    prices, world = plan_prices(tmp_path, json.dumps(body).encode())
    assert prices.height == 1
    assert sorted(world.refused()["reason"]) == ["unknown_plan", "unknown_sku", "unreadable_price"]
    assert world.counts() == {
        "out_of_scope:savings_plan_service=AWSLambda": 1,
        "out_of_scope:savings_plan_usage=idle_capacity": 1,
        "out_of_scope:savings_plan_family=MachineLearningSavingsPlans": 1,
    }


def test_terms_before_products_read_the_same(tmp_path):
    body = json.loads(
        savings_plans(
            "us-east-1",
            ("P", "ComputeSavingsPlans", "1yr", "No Upfront", [("6C86BEPQVG73ZGGR", "0.07")]),
        )
    )
    turned = json.dumps(
        {
            "version": 12,
            "empty": [],
            "none": {},
            "terms": body["terms"],
            "products": body["products"],
        },
        indent=3,
    ).encode()
    assert plan_prices(tmp_path, turned)[0]["hourly"].to_list() == [Decimal("0.07")]


def test_a_savings_plan_file_cut_short_is_an_error(tmp_path):
    body = savings_plans(
        "us-east-1",
        ("P", "ComputeSavingsPlans", "1yr", "No Upfront", [("6C86BEPQVG73ZGGR", "0.07")]),
    )
    for cut in (body[:-1], body[: len(body) // 2], b"[]", b"<html>"):
        with pytest.raises(HwpricesError, match="not the JSON"):
            plan_prices(tmp_path, cut)


def test_plans_without_a_price_list_are_counted(tmp_path):
    body = savings_plans(
        "us-east-1",
        ("P", "ComputeSavingsPlans", "1yr", "No Upfront", [("A", "0.07"), ("B", "0.08")]),
    )
    world = (
        World(tmp_path)
        .add("savings_plans", "us-east-1", body, suffix="json")
        .add("spot", "us-east-1", quotes(), suffix="xml")
    )
    assert world.counts() == {"out_of_scope:savings_plan_without_price_list": 2}


def spot(tmp_path, *rows, lines=()) -> tuple[pl.DataFrame, World]:
    world = (
        World(tmp_path)
        .add("prices", "us-east-1", price_list(list(lines) or [line()]))
        .add("spot", "us-east-1", quotes(*rows), suffix="xml")
    )
    return world.table("prices").filter(purchase_option="spot"), world


def test_spot_is_by_zone_with_the_time_of_the_quote(tmp_path):
    prices, world = spot(
        tmp_path,
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.042300", "2021-02-08T23:58:38.000Z"),
        (
            "us-east-1a",
            "m5.large",
            "Linux/UNIX (Amazon VPC)",
            "0.041000",
            "2021-02-08T20:00:00+00:00",
        ),
        ("us-east-1b", "m5.large", "Windows", "0.130000", "2021-02-08T23:00:00.000Z"),
        ("us-west-2-lax-1a", "m5.large", "SUSE Linux", "0.099000", "2021-02-08T23:00:00.000Z"),
        ("us-east-1a", "m5.large", "BeOS", "0.130000", "2021-02-08T23:00:00.000Z"),
        ("us-east-1c", "m5.large", "Linux/UNIX", "", "2021-02-08T23:00:00.000Z"),
    )
    rows = {(r["zone"], r["os"]): r for r in prices.to_dicts()}
    assert rows["us-east-1a", "linux"]["hourly"] == Decimal("0.0423")
    assert rows["us-east-1a", "linux"]["effective_from"] == datetime(
        2021, 2, 8, 23, 58, 38, tzinfo=UTC
    )
    assert rows["us-east-1a", "linux"]["region"] == "us-east-1"
    assert rows["us-west-2-lax-1a", "sles"]["region"] == "us-west-2-lax-1"
    assert len(rows) == 3
    assert world.counts() == {"out_of_scope:superseded_spot_quote": 1}
    assert sorted(world.refused()["reason"]) == ["unknown_platform", "unreadable_price"]


def test_two_spot_prices_at_one_time_are_both_refused(tmp_path):
    """The networks quote alike; when they do not, neither the cheaper nor the first is the price."""
    at = "2026-07-01T00:00:00.000Z"
    prices, world = spot(
        tmp_path,
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.040000", at),
        ("us-east-1a", "m5.large", "Linux/UNIX (Amazon VPC)", "0.041000", at),
        ("us-east-1b", "m5.large", "Linux/UNIX", "0.040000", at),
        ("us-east-1b", "m5.large", "Linux/UNIX (Amazon VPC)", "0.040000", at),
    )
    assert prices["zone"].to_list() == ["us-east-1b"]
    given = pl.concat(
        [part.frame.lazy().collect() for part in world.parts() if part.table == "prices"]
    ).filter(purchase_option="spot")
    refused = validate.split(given, TABLES["prices"], {}).refused
    assert refused["reason"].to_list() == ["duplicate_key", "duplicate_key"]


def test_a8_spot_that_equals_on_demand_is_flagged(tmp_path):
    lines = [
        line("0.0510000000", **{"Instance Type": "a1.large"}),
        line("0.0960000000", SKU="M"),
        line("0.1880000000", SKU="W", **WINDOWS),
    ]
    prices, _ = spot(
        tmp_path,
        ("us-east-1a", "a1.large", "Linux/UNIX", "0.051000", "2026-07-01T00:00:00.000Z"),
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.040000", "2026-07-01T00:00:00.000Z"),
        ("us-east-1b", "m5.large", "Linux/UNIX", "0.120000", "2026-07-01T00:00:00.000Z"),
        ("us-east-1b", "m5.large", "Windows", "0.120000", "2026-07-01T00:00:00.000Z"),
        ("us-east-1c", "m5.large", "Linux/UNIX", "0.000010", "2026-07-01T00:00:00.000Z"),
        lines=lines,
    )
    flags = {(r["instance_type"], r["zone"], r["os"]): r["flags"] for r in prices.to_dicts()}
    assert flags == {
        ("a1.large", "us-east-1a", "linux"): ["spot_equals_on_demand"],
        ("m5.large", "us-east-1a", "linux"): [],
        ("m5.large", "us-east-1b", "linux"): ["spot_above_on_demand"],
        ("m5.large", "us-east-1b", "windows"): [],
        ("m5.large", "us-east-1c", "linux"): ["placeholder"],
    }


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
    def offer(fee: str, machines: int = 1, hours: int = 24) -> dict:
        start = {"startDate": "2026-08-01T11:30:00Z", "endDate": "2026-08-02T11:30:00Z"}
        said = {
            "capacityBlockOfferingId": f"cb-{fee}",
            "instanceType": "p5.48xlarge",
            "availabilityZone": "us-east-1a",
            "currencyCode": "USD",
            "tenancy": "default",
        }
        return {
            **said,
            **start,
            "instanceCount": machines,
            "capacityBlockDurationHours": hours,
            "upfrontFee": fee,
        }

    body = xml(
        "DescribeCapacityBlockOfferings",
        element("capacityBlockOfferingSet", [offer("800.00"), offer("755.136"), offer("oops")]),
    )
    world = World(tmp_path).add("capacity_blocks", "us-east-1", body, suffix="xml")
    row = world.table("prices").to_dicts()[0]
    assert (row["zone"], row["hourly"], row["basis"], row["billing_unit"]) == (
        "us-east-1a",
        Decimal("31.464"),
        "derived",
        "term",
    )
    assert row["flags"] == ["block_of_24_hours"]
    assert world.counts() == {"out_of_scope:dearer_capacity_block": 1}
    assert world.refused()["reason"].to_list() == ["unreadable_price"]


def test_zones_regions_and_offers_by_zone(tmp_path):
    zones = [
        {
            "zoneName": "us-east-1a",
            "zoneId": "use1-az6",
            "zoneType": "availability-zone",
            "regionName": "us-east-1",
        },
        {
            "zoneName": "us-west-2-lax-1a",
            "zoneId": "usw2-lax1-az1",
            "zoneType": "local-zone",
            "regionName": "us-west-2",
        },
    ]
    regions = [
        {"regionName": "us-east-1", "optInStatus": "opt-in-not-required"},
        {"regionName": "af-south-1", "optInStatus": "not-opted-in"},
        {"regionName": "me-south-1"},
    ]
    offers = [
        {"instanceType": "m5.large", "locationType": "availability-zone", "location": "us-east-1a"}
    ]
    world = World(tmp_path).add("prices", "us-east-1", price_list([line()]))
    world.add(
        "zones",
        "us-east-1",
        xml("DescribeAvailabilityZones", element("availabilityZoneInfo", zones)),
        suffix="xml",
    )
    world.add(
        "regions", "global", xml("DescribeRegions", element("regionInfo", regions)), suffix="xml"
    )
    world.add(
        "offerings",
        "us-east-1",
        xml("DescribeInstanceTypeOfferings", element("instanceTypeOfferingSet", offers)),
        suffix="xml",
    )
    world.skip("instance_types", "me-south-1", cause=kinds.NO_ANSWER)
    world.skip("instance_types", "af-south-1")
    assert world.table("zones").select("region", "zone", "zone_id", "kind").rows() == [
        ("us-east-1", "us-east-1a", "use1-az6", "zone"),
        ("us-west-2-lax-1", "us-west-2-lax-1a", "usw2-lax1-az1", "local_zone"),
    ]
    assert {r["region"]: r["status"] for r in world.table("regions").to_dicts()} == {
        "us-east-1": "available",
        "af-south-1": "opt_in",
        "me-south-1": "unreachable",
    }
    assert world.table("availability").select(
        "region", "zone", "instance_type", "offered"
    ).rows() == [("us-east-1", "us-east-1a", "m5.large", True)]


def test_the_spot_advisor_says_what_it_says(tmp_path):
    body = {
        "ranges": [
            {"index": 0, "label": "<5%", "max": 5},
            {"index": 4, "label": ">20%", "max": 100},
        ],
        "spot_advisor": {
            "us-east-1": {
                "Linux": {"m5.large": {"s": 61, "r": 4}},
                "Windows": {"m5.large": {"s": 40, "r": 0}},
            }
        },
    }
    table = (
        World(tmp_path)
        .add("spot_advisor", "global", json.dumps(body).encode(), suffix="json")
        .table("spot_advice")
    )
    assert table.select(
        "os",
        "interruption_band",
        "interruption_percent_from",
        "interruption_percent_to",
        "saving_percent",
    ).rows() == [
        ("linux", ">20%", 20, 100, 61),
        ("windows", "<5%", 0, 5, 40),
    ]
