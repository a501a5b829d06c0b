"""Cases Z1–Z5 and Z8: which items are prices, and of what."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.azure_pages import Landed, answer, frame, item, refused, sku

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def one(prices: pl.DataFrame, **where: object) -> dict[str, object]:
    found = prices.filter(**where)
    assert found.height == 1, found
    return found.row(0, named=True)


def test_z1_reservation_is_the_whole_term(tmp_path: Path) -> None:
    """B16als v2, australiacentral: 3478 for a year under the unit "1 Hour"."""
    b16 = {
        "armRegionName": "australiacentral",
        "armSkuName": "Standard_B16als_v2",
        "skuName": "B16als v2",
        "productName": "Virtual Machines Basv2 Series",
    }
    reservation = item(3478.0, type="Reservation", reservationTerm="1 Year", **b16)
    plans = [
        {"unitPrice": 0.34323, "retailPrice": 0.34323, "term": "3 Years"},
        {"unitPrice": 0.49129, "retailPrice": 0.49129, "term": "1 Year"},
    ]
    landed = (
        Landed(tmp_path)
        .retail([reservation], "retail_reservation_usd", "australiacentral")
        .retail([item(0.673, savingsPlan=plans, **b16)], region="australiacentral")
    )
    prices = landed.prices()
    at_once = one(prices, payment_option="all_upfront", os="linux")
    assert (at_once["upfront"], at_once["hourly"], at_once["effective_hourly"]) == (
        Decimal(3478),
        Decimal(0),
        Decimal("0.3970319635"),
    )
    assert (
        at_once["commitment_plan"],
        at_once["term_months"],
        at_once["billing_unit"],
        at_once["basis"],
    ) == ("standard", 12, "term", "listed")
    monthly = one(prices, purchase_option="reserved", payment_option="monthly", os="linux")
    assert (
        monthly["upfront"],
        monthly["hourly"],
        monthly["effective_hourly"],
        monthly["basis"],
    ) == (
        None,
        Decimal("0.3970319635"),
        Decimal("0.3970319635"),
        "derived",
    )
    assert one(prices, purchase_option="savings_plan", term_months=12, os="linux")[
        "effective_hourly"
    ] == Decimal("0.49129")
    assert one(prices, purchase_option="savings_plan", term_months=36, os="linux")[
        "effective_hourly"
    ] == Decimal("0.34323")


@pytest.mark.parametrize(
    ("term", "months", "hourly"),
    [("1 Year", 12, "1"), ("3 Years", 36, "0.3333333333"), ("5 Years", 60, "0.2")],
)
def test_z1_every_term(tmp_path: Path, term: str, months: int, hourly: str) -> None:
    prices = (
        Landed(tmp_path)
        .retail([item(8760.0, type="Reservation", reservationTerm=term)], "retail_reservation_usd")
        .prices()
    )
    assert one(prices, payment_option="all_upfront")["term_months"] == months
    assert abs(
        one(prices, payment_option="all_upfront")["effective_hourly"] - Decimal(hourly)
    ) < Decimal("1e-9")  # type: ignore[operator]


def test_z2_cloud_services_carry_the_windows_price(tmp_path: Path) -> None:
    e32 = {
        "armRegionName": "westeurope",
        "armSkuName": "Standard_E32as_v5",
        "skuName": "E32as v5",
        "meterName": "E32as v5",
    }
    items = [
        item(3.664, productName="Easv5 Series CloudServices", meterId="cs", skuId="P/cs", **e32),
        item(2.192, productName="Virtual Machines Easv5 Series", meterId="li", skuId="P/li", **e32),
        item(
            3.664,
            productName="Virtual Machines Easv5 Series Windows",
            meterId="wi",
            skuId="P/wi",
            **e32,
        ),
        item(9.0, productName="Basv2 Series Cloud Services", meterId="c2", skuId="P/c2", **e32),
    ]
    part = Landed(tmp_path).retail(items, region="westeurope").parts()["prices"]
    prices = frame(part)
    linux = one(prices, os="linux")
    assert (linux["effective_hourly"], linux["sku_price_id"], linux["sku_id"]) == (
        Decimal("2.192"),
        "li",
        "P/li",
    )
    assert one(prices, os="windows", license_model="included")["effective_hourly"] == Decimal(
        "3.664"
    )
    assert part.counts == {"out_of_scope:cloud_services": 2}
    byol = one(prices, os="windows", license_model="byol")
    assert (byol["effective_hourly"], byol["basis"], byol["sku_price_id"]) == (
        Decimal("2.192"),
        "derived",
        "li",
    )


def z3() -> list[dict[str, object]]:
    return [
        item(0.123, isPrimaryMeterRegion=False, meterId="b", skuId="P/b"),
        item(0.096, isPrimaryMeterRegion=True, meterId="a", skuId="P/a"),
        item(9.9, isPrimaryMeterRegion=False, meterId="c", skuId="P/c", unitOfMeasure="1/Month"),
    ]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]])
def test_z3_three_rows_for_one_key(tmp_path: Path, order: list[int]) -> None:
    part = Landed(tmp_path).retail([z3()[i] for i in order]).parts()["prices"]
    assert one(frame(part))["effective_hourly"] == Decimal("0.096")
    assert part.counts == {
        "out_of_scope:not_primary_meter": 1,
        "out_of_scope:unit_other_than_hour": 1,
    }


def test_z4_not_primary_but_the_only_row(tmp_path: Path) -> None:
    assert one(Landed(tmp_path).retail([item(0.096, isPrimaryMeterRegion=False)]).prices())[
        "effective_hourly"
    ] == Decimal("0.096")


def test_z5_placeholders(tmp_path: Path) -> None:
    gpu = {
        "armSkuName": "Standard_ND96isr_H200_v5",
        "skuName": "ND96isrH200v5",
        "productName": "Virtual Machines NDsrH200v5 Series",
    }
    spot = {**gpu, "skuName": "ND96isrH200v5 Spot", "meterName": "ND96isrH200v5 Spot"}
    part = (
        Landed(tmp_path)
        .retail(
            [
                item(0.01, **gpu),
                item(0.002, meterId="s", **spot),
                item(0.0, armSkuName="Standard_D4s_v3"),
                item(-1.0, armSkuName="Standard_D8s_v3"),
            ]
        )
        .parts()["prices"]
    )
    assert frame(part).is_empty()
    assert refused(part) == [
        "placeholder",
        "placeholder",
        "price_not_positive",
        "price_not_positive",
    ]


def test_z5_a_small_machine_may_cost_0_002_on_spot(tmp_path: Path) -> None:
    part = (
        Landed(tmp_path)
        .retail([item(0.0104), item(0.002, meterId="s", skuName="D2s v3 Spot")])
        .parts()["prices"]
    )
    assert one(frame(part), purchase_option="spot")["effective_hourly"] == Decimal("0.002")


def test_z5_spot_equal_to_on_demand_is_flagged(tmp_path: Path) -> None:
    prices = (
        Landed(tmp_path)
        .skus(sku("Standard_D2s_v3"))
        .retail(
            [item(98.32), item(98.32, meterId="s", skuName="D2s v3 Spot", meterName="D2s v3 Spot")]
        )
        .prices()
    )
    assert one(prices, purchase_option="spot")["flags"] == ["spot_equals_on_demand"]
    assert one(prices, purchase_option="on_demand")["flags"] == []


@pytest.mark.parametrize(
    ("product", "os"),
    [
        ("Virtual Machines NCCadsv5 Srs Win", "windows"),
        ("Virtual Machines NCCadsv5 Srs", "linux"),
        ("Virtual Machines Dsv7-series Linux", "linux"),
        ("Virtual Machines Ebsv6-Series Windows", "windows"),
        ("Virtual Machines DSv3\u00a0Series\u00a0Windows", "windows"),
        ("Virtual\u00a0Machines DSv3 Series ", "linux"),
        ("DCsv3 Series Linux", "linux"),
        ("NCads A100 v4 Series Windows", "windows"),
        ("Virtual Machines A Series Basic Windows", "windows"),
        ("Virtual Machines DSv3 Series Red Hat Enterprise Linux", "rhel"),
        ("Virtual Machines DSv3 Series RHEL for SAP", "rhel_sap"),
        ("Virtual Machines DSv3 Series SUSE Linux Enterprise", "sles"),
    ],
)
def test_z8_operating_system_of_a_product(tmp_path: Path, product: str, os: str) -> None:
    assert one(Landed(tmp_path).retail([item(0.096, productName=product)]).prices())["os"] == os


def test_z8_region_in_another_case(tmp_path: Path) -> None:
    prices = (
        Landed(tmp_path)
        .skus(sku("Standard_D2s_v3", location="westus3"), region="westus3")
        .retail([item(0.1, armRegionName="WestUS3")], region="westus3")
        .prices()
    )
    assert (one(prices)["region"], one(prices)["flags"]) == ("westus3", [])


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"armSkuName": ""}, "no_size_name"),
        ({"armSkuName": None}, "no_size_name"),
        ({"armRegionName": ""}, "no_region"),
        ({"productName": "Easv9 Series"}, "unknown_product"),
        ({"type": "Surprise"}, "unknown_price_type"),
        ({"type": "Reservation", "reservationTerm": "7 Years"}, "unknown_term"),
        ({"retailPrice": "much"}, "price_not_a_number"),
        ({"currencyCode": None}, "no_currency"),
    ],
)
def test_what_is_not_understood_is_refused(
    tmp_path: Path, odd: dict[str, object], reason: str
) -> None:
    part = Landed(tmp_path).retail([item(0.096, **odd)]).parts()["prices"]
    assert (frame(part).height, refused(part)) == (0, [reason])
    assert part.refused is not None
    assert part.refused["source_url"][0].startswith("https://prices.azure.com")


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"skuName": "D2 v2 Promo"}, "promo"),
        ({"productName": "Virtual Machines Dv2 promo Series"}, "promo"),
        ({"tierMinimumUnits": 100.0}, "later_tier"),
        ({"effectiveEndDate": "2026-10-31T23:59:59Z"}, "expired"),
        ({"effectiveStartDate": "2026-12-01T00:00:00Z"}, "not_yet_in_force"),
        ({"serviceName": "Storage"}, "another_service"),
        ({"type": "DevTestConsumption", "skuName": "D2s v3 Spot"}, "dev_test_of_spot"),
    ],
)
def test_what_is_none_of_ours_is_counted(
    tmp_path: Path, odd: dict[str, object], reason: str
) -> None:
    part = Landed(tmp_path).retail([item(0.096, **odd)]).parts()["prices"]
    assert (frame(part).height, refused(part), dict(part.counts)) == (
        0,
        [],
        {f"out_of_scope:{reason}": 1},
    )


def test_two_survivors_are_both_refused(tmp_path: Path) -> None:
    part = (
        Landed(tmp_path)
        .retail([item(0.096, meterId="a"), item(0.1, meterId="b")])
        .parts()["prices"]
    )
    assert (frame(part).height, refused(part)) == (0, ["duplicate_key", "duplicate_key"])
    assert part.refused is not None
    assert "0.0960000000, 0.1000000000" in part.refused["message"][0]


def test_two_rows_that_agree_are_one(tmp_path: Path) -> None:
    part = (
        Landed(tmp_path)
        .retail([item(0.096, meterId="b"), item(0.096, meterId="a")])
        .parts()["prices"]
    )
    assert one(frame(part))["sku_price_id"] == "a"
    assert part.counts == {"out_of_scope:same_price_again": 1}


def test_purchase_options_dates_and_hosts(tmp_path: Path) -> None:
    host = {
        "productName": "DSv3 Series Dedicated Host",
        "skuName": "Dsv3 Type1",
        "meterName": "Dsv3 Type1",
        "armSkuName": "Dsv3_Type1",
        "meterId": "h",
    }
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3"))
    landed.retail(
        [
            item(0.096),
            item(0.0188, skuName="D2s v3 Spot", meterId="s"),
            item(0.019, meterName="D2s v3 Low Priority", meterId="l"),
            item(4.0, **host),
        ]
    )
    landed.retail(
        [
            item(
                0.096, type="DevTestConsumption", productName="Virtual Machines DSv3 Series Windows"
            )
        ],
        "retail_devtest_usd",
    )
    landed.retail(
        [item(20363.0, type="Reservation", reservationTerm="1 Year", **host)],
        "retail_reservation_usd",
    )
    prices = landed.prices()
    rows = {
        (r["purchase_option"], r["os"], r["tenancy"], r["payment_option"])
        for r in prices.iter_rows(named=True)
    }
    assert rows == {
        ("on_demand", "linux", "shared", "none"),
        ("spot", "linux", "shared", "none"),
        ("low_priority", "linux", "shared", "none"),
        ("dev_test", "windows", "shared", "none"),
        ("on_demand", "linux", "host", "none"),
        ("reserved", "linux", "host", "all_upfront"),
        ("reserved", "linux", "host", "monthly"),
    }
    assert str(one(prices, purchase_option="spot")["effective_from"]) == "2017-12-15 00:00:00+00:00"
    assert set(prices.filter(tenancy="host")["flags"].explode()) == {"availability_unknown"}
    split = validate.split(prices, TABLES["prices"], {})
    assert split.refused.is_empty(), split.refused


def test_an_offer_needs_the_size_in_the_region(tmp_path: Path) -> None:
    landed = Landed(tmp_path).skus(
        sku("Standard_D2s_v3"), sku("Standard_D4s_v3", location="westus")
    )
    landed.retail(
        [
            item(0.096),
            item(0.2, armSkuName="Standard_D4s_v3"),
            item(0.1, armRegionName="polandcentral"),
        ]
    )
    flags = {
        (r["region"], r["instance_type"]): r["flags"] for r in landed.prices().iter_rows(named=True)
    }
    assert flags == {
        ("eastus", "Standard_D2s_v3"): [],
        ("eastus", "Standard_D4s_v3"): ["not_offered_here"],
        ("polandcentral", "Standard_D2s_v3"): ["availability_unknown"],
    }


def test_currencies_are_apart(tmp_path: Path) -> None:
    landed = (
        Landed(tmp_path)
        .retail([item(0.096)])
        .retail([item(0.089, currencyCode="EUR")], "retail_consumption_eur")
    )
    assert sorted(landed.prices().select("currency", "hourly").rows()) == [
        ("EUR", Decimal("0.089")),
        ("USD", Decimal("0.096")),
    ]


def test_an_odd_savings_plan_is_refused_and_its_item_kept(tmp_path: Path) -> None:
    plans = [{"term": "2 Years", "retailPrice": 0.05}, {"term": "1 Year", "retailPrice": 0.06}]
    part = Landed(tmp_path).retail([item(0.096, savingsPlan=plans)]).parts()["prices"]
    assert sorted(frame(part)["purchase_option"].to_list()) == ["on_demand", "savings_plan"]
    assert refused(part) == ["unknown_savings_plan"]


def test_money_is_exact_whatever_it_looks_like(tmp_path: Path) -> None:
    texts = ["0.0123456789", "3.4E-05", "20363.0", "549999.9912345678", "0.1"]
    items = [item(0, armSkuName=f"Standard_D{i}s_v3") for i in range(len(texts))]
    body = json.dumps(answer(items))
    for text in texts:
        body = body.replace('"retailPrice": 0,', f'"retailPrice": {text},', 1)
    prices = (
        Landed(tmp_path)
        .add("retail_consumption_usd", "eastus", body.encode())
        .prices()
        .sort("instance_type")
    )
    assert prices["hourly"].to_list() == [
        Decimal("0.0123456789"),
        Decimal("0.000034"),
        Decimal(20363),
        Decimal("549999.9912345678"),
        Decimal("0.1"),
    ]
