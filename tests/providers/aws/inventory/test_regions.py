"""Regions, zones, and the types that each zone offers."""

from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.aws_pages import (
    LandedPages,
    element,
    line,
    price_list,
    xml,
)

from hwprices.landing.pages import NO_ANSWER
from hwprices.providers.aws.inventory.regions import region_of


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
        {"regionName": "eu-south-1", "optInStatus": "opted-in"},
    ]
    offers = [
        {"instanceType": "m5.large", "locationType": "availability-zone", "location": "us-east-1a"}
    ]
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line()]))
    landed.add(
        "zones",
        "us-east-1",
        xml("DescribeAvailabilityZones", element("availabilityZoneInfo", zones)),
        suffix="xml",
    )
    landed.add(
        "regions", "global", xml("DescribeRegions", element("regionInfo", regions)), suffix="xml"
    )
    landed.add(
        "offerings",
        "us-east-1",
        xml("DescribeInstanceTypeOfferings", element("instanceTypeOfferingSet", offers)),
        suffix="xml",
    )
    landed.skip("instance_types", "me-south-1", cause=NO_ANSWER)
    landed.skip("instance_types", "af-south-1")
    assert landed.table("zones").select("region", "zone", "zone_id", "kind").rows() == [
        ("us-east-1", "us-east-1a", "use1-az6", "zone"),
        ("us-west-2-lax-1", "us-west-2-lax-1a", "usw2-lax1-az1", "local_zone"),
    ]
    assert {r["region"]: r["status"] for r in landed.table("regions").to_dicts()} == {
        "us-east-1": "available",
        "af-south-1": "opt_in",
        "me-south-1": "unreachable",
        "eu-south-1": "opt_in",  # other accounts have to enable it as this one did
    }
    assert landed.table("availability").select(
        "region", "zone", "instance_type", "offered"
    ).rows() == [("us-east-1", "us-east-1a", "m5.large", True)]


@given(
    region=st.from_regex(r"[a-z]{2}(-[a-z]{3,9}){1,2}-[1-9](-[a-z]{3}-[1-9])?", fullmatch=True),
    letter=st.sampled_from("abcdef"),
)
def test_a_zone_is_its_region_and_a_letter(region, letter):
    assert region_of(region + letter) == region


def test_wavelength_zones_have_no_letter():
    assert region_of("us-east-1-wl1-bos-wlz-1") == "us-east-1-wl1-bos-wlz-1"
