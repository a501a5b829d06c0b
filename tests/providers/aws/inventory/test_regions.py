"""Regions, zones, and the types that each zone offers."""

from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.aws_pages import LandedPages, element, line, price_list, xml
from tests.helpers.cases import cases

from hwprices.landing.pages import NO_ANSWER
from hwprices.providers.aws.inventory.regions import currency_of, region_of
from hwprices.specs import sheets


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


@cases("aws/wavelength")
def test_a20_a_wavelength_zone_is_named_as_in_the_price_list(zone, region):
    assert region_of(zone) == region


def test_a20_wavelength_zones_meet_their_prices_and_have_a_country(tmp_path):
    """Atlanta's prices, offers and spot quotes are of one region, which the sheet has too."""
    zone, code = "us-east-1-wl1-atl-wlz-1", "us-east-1-wl1-atl1"
    listed = line(
        "0.0520000000",
        Location="US East (Verizon) - Atlanta",
        **{
            "Location Type": "AWS Wavelength Zone",
            "Region Code": code,
            "Instance Type": "t3.medium",
        },
    )
    offers = [{"instanceType": "t3.medium", "locationType": "availability-zone", "location": zone}]
    described_zone = {
        "zoneName": zone,
        "zoneId": "use1-wl1-atl-wlz1",
        "zoneType": "wavelength-zone",
        "regionName": "us-east-1",
    }
    landed = (
        LandedPages(tmp_path)
        .add("prices", code, price_list([listed]))
        .add(
            "offerings",
            "us-east-1",
            xml("DescribeInstanceTypeOfferings", element("instanceTypeOfferingSet", offers)),
            suffix="xml",
        )
        .add(
            "zones",
            "us-east-1",
            xml("DescribeAvailabilityZones", element("availabilityZoneInfo", [described_zone])),
            suffix="xml",
        )
    )
    (price,) = landed.table("prices").to_dicts()
    (region,) = landed.table("regions").to_dicts()
    assert (price["region"], region["kind"], region["parent_region"]) == (
        code,
        "wavelength",
        "us-east-1",
    )
    assert landed.table("availability")["region"].to_list() == [code]
    assert landed.table("zones").select("region", "kind").rows() == [(code, "wavelength")]
    sheet = sheets.load("region_footprint").filter(provider="aws", region=code)
    assert sheet.select("country", "parent_region").rows() == [("US", "us-east-1")]


def test_a18_the_sovereign_cloud_is_a_partition_of_its_own():
    assert [currency_of(code) for code in ("eusc-de-east-1", "cn-north-1", "us-gov-west-1")] == [
        "EUR",
        "CNY",
        "USD",
    ]
    assert currency_of("us-east-1-wl1-atl1") == "USD"
    assert currency_of("xx-moon-9") is None
