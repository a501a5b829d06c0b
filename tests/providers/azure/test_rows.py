"""Make price rows from items."""

from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.azure_pages import Landed, frame, item, one_row, refused, sku

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def test_z1_a_reservation_is_priced_for_the_whole_term(tmp_path) -> None:
    """Known wrong number Z1 (docs/known-wrong-numbers.md): B16als v2 in australiacentral.

    3478 is the price of a year, though the unit is "1 Hour".
    """
    region = "australiacentral"
    b16 = {"armRegionName": region, "armSkuName": "Standard_B16als_v2", "skuName": "B16als v2"}
    plans = [
        {"retailPrice": 0.34323, "term": "3 Years"},
        {"retailPrice": 0.49129, "term": "1 Year"},
    ]
    reservation = item(3478.0, type="Reservation", reservationTerm="1 Year", **b16)
    landed = Landed(tmp_path).retail([reservation], "retail_reservation_usd", region)
    landed.retail([item(0.673, savingsPlan=plans, **b16)], region=region)
    prices = landed.prices().filter(os="linux")
    columns = ("payment_option", "upfront", "hourly", "effective_hourly", "billing_unit", "basis")
    reserved = prices.filter(purchase_option="reserved", commitment_plan="standard", term_months=12)
    hourly = Decimal("0.3970319635")
    assert sorted(reserved.select(columns).rows()) == [
        ("all_upfront", Decimal(3478), Decimal(0), hourly, "term", "listed"),
        ("monthly", None, hourly, hourly, "hour", "derived"),
    ]
    plans = prices.filter(purchase_option="savings_plan").select("term_months", "effective_hourly")
    assert dict(plans.rows()) == {12: Decimal("0.49129"), 36: Decimal("0.34323")}


@pytest.mark.parametrize(
    ("term", "months", "hourly"),
    [("1 Year", 12, "1"), ("3 Years", 36, "0.3333333333"), ("5 Years", 60, "0.2")],
)
def test_z1_every_term_of_a_reservation(tmp_path, term, months, hourly) -> None:
    reservation = item(8760.0, type="Reservation", reservationTerm=term)
    prices = Landed(tmp_path).retail([reservation], "retail_reservation_usd").prices()
    row = one_row(prices, payment_option="all_upfront")
    assert (row["term_months"], row["effective_hourly"]) == (months, Decimal(hourly))


def test_z2_cloud_services_items_are_left_out(tmp_path) -> None:
    """Known wrong number Z2 (docs/known-wrong-numbers.md): they have the Windows price."""
    e32 = {"armRegionName": "westeurope", "armSkuName": "Standard_E32as_v5"}
    e32 |= {"skuName": "E32as v5", "meterName": "E32as v5"}
    products = {
        "Easv5 Series CloudServices": 3.664,
        "Virtual Machines Easv5 Series": 2.192,
        "Virtual Machines Easv5 Series Windows": 3.664,
        "Basv2 Series Cloud Services": 9.0,
    }
    items = [item(price, productName=name, meterId=name, **e32) for name, price in products.items()]
    part = Landed(tmp_path).retail(items, region="westeurope").parts()["prices"]
    columns = ("os", "license_model", "effective_hourly", "basis", "sku_price_id")
    linux = "Virtual Machines Easv5 Series"
    assert sorted(frame(part).select(columns).rows()) == [
        ("linux", "included", Decimal("2.192"), "listed", linux),
        ("windows", "byol", Decimal("2.192"), "derived", linux),
        ("windows", "included", Decimal("3.664"), "listed", f"{linux} Windows"),
    ]
    assert part.counts == {"out_of_scope:cloud_services": 2}


def test_z5_spot_equal_to_on_demand_is_flagged(tmp_path) -> None:
    items = [item(98.32), item(98.32, meterId="s", skuName="D2s v3 Spot", meterName="D2s v3 Spot")]
    prices = Landed(tmp_path).skus(sku("Standard_D2s_v3")).retail(items).prices()
    flags = dict(prices.select("purchase_option", "flags").rows())
    assert flags == {"spot": ["spot_equals_on_demand"], "on_demand": []}


def test_z8_a_region_in_another_case_is_the_same_region(tmp_path) -> None:
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3", location="westus3"), region="westus3")
    prices = landed.retail([item(0.1, armRegionName="WestUS3")], region="westus3").prices()
    assert prices.select("region", "flags").rows() == [("westus3", [])]


def test_purchase_options_dates_and_hosts(tmp_path) -> None:
    host = {"productName": "DSv3 Series Dedicated Host", "armSkuName": "Dsv3_Type1"}
    host |= {"skuName": "Dsv3 Type1", "meterName": "Dsv3 Type1", "meterId": "h"}
    windows = {"type": "DevTestConsumption", "productName": "Virtual Machines DSv3 Series Windows"}
    year = {"type": "Reservation", "reservationTerm": "1 Year"}
    consumption = [
        item(0.096),
        item(0.0188, skuName="D2s v3 Spot", meterId="s"),
        item(0.019, meterName="D2s v3 Low Priority", meterId="l"),
        item(4.0, **host),
    ]
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3")).retail(consumption)
    landed.retail([item(0.096, **windows)], "retail_devtest_usd")
    prices = landed.retail([item(20363.0, **year, **host)], "retail_reservation_usd").prices()
    unknown = ["availability_unknown", "whole_host"]
    columns = ("purchase_option", "os", "tenancy", "payment_option", "flags")
    assert sorted(prices.select(columns).rows()) == [
        ("dev_test", "windows", "shared", "none", []),
        ("low_priority", "linux", "shared", "none", []),
        ("on_demand", "linux", "host", "none", unknown),
        ("on_demand", "linux", "shared", "none", []),
        ("reserved", "linux", "host", "all_upfront", unknown),
        ("reserved", "linux", "host", "monthly", unknown),
        ("spot", "linux", "shared", "none", []),
    ]
    spot = one_row(prices, purchase_option="spot")
    assert str(spot["effective_from"]) == "2017-12-15 00:00:00+00:00"
    assert validate.split(prices, TABLES["prices"], {}).refused.is_empty()


def test_a_size_that_the_region_does_not_offer_is_flagged(tmp_path) -> None:
    sizes = sku("Standard_D2s_v3"), sku("Standard_D4s_v3", location="westus")
    landed = Landed(tmp_path).skus(*sizes)
    landed.retail([item(0.096), item(0.2, armSkuName="Standard_D4s_v3")])
    landed.retail([item(0.1, armRegionName="polandcentral")], region="polandcentral")
    assert sorted(landed.prices().select("region", "instance_type", "flags").rows()) == [
        ("eastus", "Standard_D2s_v3", []),
        ("eastus", "Standard_D4s_v3", ["not_offered_here"]),
        ("polandcentral", "Standard_D2s_v3", ["availability_unknown"]),
    ]


def test_of_two_spellings_of_a_size_the_first_in_the_alphabet_counts(tmp_path: Path) -> None:
    """200 sizes: polars keeps any of the two where it is not told which."""
    numbers = range(2, 202)
    sizes = [sku(f"Standard_D{n}{s}_v3") for n in numbers for s in "sS"]
    items = [item(0.1, armSkuName=f"standard_d{n}s_v3", meterId=str(n)) for n in numbers]
    prices = Landed(tmp_path).retail(items).skus(*sizes).prices()
    assert set(prices["instance_type"]) == {f"Standard_D{n}S_v3" for n in numbers}


def test_currencies_are_kept_apart(tmp_path) -> None:
    landed = Landed(tmp_path).retail([item(0.096)])
    landed.retail([item(0.089, currencyCode="EUR")], "retail_consumption_eur")
    found = sorted(landed.prices().select("currency", "hourly").rows())
    assert found == [("EUR", Decimal("0.089")), ("USD", Decimal("0.096"))]


def test_only_on_demand_prices_have_savings_plans(tmp_path: Path) -> None:
    plans = [{"term": "1 Year", "retailPrice": 0.06}]
    spot = item(0.02, skuName="D2s v3 Spot", meterName="D2s v3 Spot", savingsPlan=plans)
    prices = Landed(tmp_path).retail([item(0.096), spot]).prices()
    assert sorted(prices["purchase_option"]) == ["on_demand", "spot"]


def test_an_unknown_savings_plan_is_refused_and_its_item_kept(tmp_path: Path) -> None:
    plans = [{"term": "2 Years", "retailPrice": 0.05}, {"term": "1 Year", "retailPrice": 0.06}]
    part = Landed(tmp_path).retail([item(0.096, savingsPlan=plans)]).parts()["prices"]
    assert sorted(frame(part)["purchase_option"].to_list()) == ["on_demand", "savings_plan"]
    assert refused(part) == ["unknown_savings_plan"]


def test_an_item_of_another_region_than_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    """It is read with the pages of its own region, which may be unchanged and not read again."""
    landed = Landed(tmp_path)
    landed.retail([item(0.1), item(0.2, armRegionName="westus", meterId="w")])
    landed.retail([item(0.3, armRegionName="westus", meterId="w")], region="westus")
    prices = landed.prices()
    found = sorted(prices.select("region", "hourly").rows())
    assert found == [("eastus", Decimal("0.1")), ("westus", Decimal("0.3"))]
    assert refused(landed.parts()["prices"]) == ["another_region"]


def test_pages_of_a_region_in_two_cases_are_pages_of_one_region(tmp_path: Path) -> None:
    landed = Landed(tmp_path).retail([item(0.1)])
    landed.retail([item(0.1, armRegionName="EastUS")], region="EastUS")
    assert landed.prices()["region"].to_list() == ["eastus"]
    assert landed.parts()["prices"].counts == {"out_of_scope:same_price_again": 1}
