"""Regions, zones, and the types that each zone offers."""

from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.aws_pages import LandedPages, line, price_list
from tests.helpers.cases import cases

from hwprices.landing.pages import NO_ANSWER
from hwprices.providers.aws.regions import currency_of, region_of
from hwprices.specs import sheets


def zone_of(name: str, zone_id: str, kind: str, region: str) -> dict[str, str]:
    return {"zoneName": name, "zoneId": zone_id, "zoneType": kind, "regionName": region}


def offer_of(name: str, zone: str) -> dict[str, str]:
    return {"instanceType": name, "locationType": "availability-zone", "location": zone}


def test_zones_regions_and_offers_by_zone(tmp_path):
    zones = [
        zone_of("us-east-1a", "use1-az6", "availability-zone", "us-east-1"),
        zone_of("us-west-2-lax-1a", "usw2-lax1-az1", "local-zone", "us-west-2"),
    ]
    opted = {"us-east-1": "opt-in-not-required", "af-south-1": "not-opted-in"}
    opted |= {"eu-south-1": "opted-in"}
    regions = [{"regionName": name, "optInStatus": status} for name, status in opted.items()]
    landed = LandedPages(tmp_path).add("prices", "us-east-1", price_list([line()]))
    landed.add_list("zones", "us-east-1", *zones)
    landed.add_list("regions", "global", *regions, {"regionName": "me-south-1"})
    landed.add_list("offerings", "us-east-1", offer_of("m5.large", "us-east-1a"))
    landed.skip("instance_types", "me-south-1", cause=NO_ANSWER)
    landed.skip("instance_types", "af-south-1")
    assert landed.table("zones").select("region", "zone", "zone_id", "kind").rows() == [
        ("us-east-1", "us-east-1a", "use1-az6", "zone"),
        ("us-west-2-lax-1", "us-west-2-lax-1a", "usw2-lax1-az1", "local_zone"),
    ]
    assert dict(landed.table("regions").select("region", "status").rows()) == {
        "us-east-1": "available",
        "af-south-1": "opt_in",
        "me-south-1": "unreachable",
        "eu-south-1": "opt_in",  # other accounts have to enable it as this one did
    }
    offered = landed.table("availability").select("region", "zone", "instance_type", "offered")
    assert offered.rows() == [("us-east-1", "us-east-1a", "m5.large", True)]


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
    place = {"Location": "US East (Verizon) - Atlanta", "Location Type": "AWS Wavelength Zone"}
    machine = line(**place, **{"Region Code": code, "Instance Type": "t3.medium"})
    landed = LandedPages(tmp_path).add("prices", code, price_list([machine]))
    landed.add_list("offerings", "us-east-1", offer_of("t3.medium", zone))
    described = zone_of(zone, "use1-wl1-atl-wlz1", "wavelength-zone", "us-east-1")
    landed.add_list("zones", "us-east-1", described)
    assert landed.table("prices")["region"].to_list() == [code]
    (region,) = landed.table("regions").select("kind", "parent_region").rows()
    assert region == ("wavelength", "us-east-1")
    assert landed.table("availability")["region"].to_list() == [code]
    assert landed.table("zones").select("region", "kind").rows() == [(code, "wavelength")]
    sheet = sheets.load("region_footprint").filter(provider="aws", region=code)
    assert sheet.select("country", "parent_region").rows() == [("US", "us-east-1")]


def test_a18_the_sovereign_cloud_is_a_partition_of_its_own():
    found = [currency_of(code) for code in ("eusc-de-east-1", "cn-north-1", "us-gov-west-1")]
    assert found == ["EUR", "CNY", "USD"]
    assert currency_of("us-east-1-wl1-atl1") == "USD"
    assert currency_of("xx-moon-9") is None
