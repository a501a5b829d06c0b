"""SKUs as they are read: amounts, tiers, units, and what is not understood."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import (
    Tables,
    core_and_ram,
    machine_type,
    n2_skus,
    n2_zones,
    normalise_skus,
    sku,
)

from hwprices.providers.gcp.listings import SkuList


def test_g8_whole_dollars_nanos_free_tier_and_no_time(tmp_path: Path) -> None:
    gpu = sku("Nvidia H100 80GB GPU running in Iowa", "9.796550569")
    found = gpu["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]
    assert found == {"currencyCode": "USD", "units": "9", "nanos": 796550569}
    core, ram = core_and_ram("N2", "0.031611", "2")
    money = ram["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]
    del money["nanos"]  # left out when 0
    tiers = core["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    tiers[0]["startUsageAmount"] = 744
    tiers.insert(
        0, {"unitPrice": {"currencyCode": "USD"}}
    )  # a free allowance: units, nanos and start are all 0
    del core["pricingInfo"][0]["effectiveTime"]
    tables = normalise_skus(tmp_path, [gpu, core, ram], n2_zones())
    assert tables.hourly("n2-standard-2") == 2 * Decimal("0.031611") + 8 * 2
    parts = {r["component"]: r for r in tables.table("component_prices").to_dicts()}
    assert parts["gpu:nvidia-h100-80gb"]["hourly"] == Decimal("9.796550569")
    assert parts["core"]["effective_from"] is None
    assert parts["ram"]["effective_from"].isoformat() == "2026-07-01T00:00:00.500000+00:00"


def test_g8_the_first_paid_tier_is_that_of_one_machine_and_the_newest_price_holds(tmp_path) -> None:
    core = sku("N2 Instance Core running in Iowa", "0.04")
    old = {
        "effectiveTime": "2020-01-01T00:00:00Z",
        "pricingExpression": sku("x", "9")["pricingInfo"][0]["pricingExpression"],
    }
    core["pricingInfo"].insert(0, old)
    core["pricingInfo"][1]["pricingExpression"]["tieredRates"].append(
        {"startUsageAmount": 1000, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 1}}
    )
    tables = normalise_skus(
        tmp_path, [core, sku("N2 Instance Ram running in Iowa", "0.01")], n2_zones()
    )
    assert tables.hourly("n2-standard-2") == Decimal("0.16")


def test_g8_the_second_page_and_a_zone_with_a_warning(tmp_path: Path) -> None:
    tables = normalise_skus(
        tmp_path, n2_skus()[:1], {**n2_zones(), "us-central1-x": []}, more_pages=[n2_skus()[1:]]
    )
    assert tables.hourly("n2-standard-2") == 2 * Decimal("0.031611") + 8 * Decimal("0.004237")


def test_a_price_of_nothing_or_of_an_unknown_unit_is_refused(tmp_path) -> None:
    in_rupiah = sku("C3 Instance Core running in Iowa", "1")
    tiers = in_rupiah["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    tiers[0]["unitPrice"]["currencyCode"] = "IDR"
    skus = [
        sku("N2 Instance Core running in Iowa", "0"),
        sku("N2 Instance Ram running in Iowa", "0.01", unit="By.s"),
        in_rupiah,
        {**n2_skus()[0], "pricingInfo": []},
    ]
    tables = normalise_skus(tmp_path, skus, n2_zones())
    assert sorted((row["reason"], row["word"] or "") for row in tables.refused) == [
        ("no_price", ""),
        ("unknown_currency", "IDR"),
        ("unknown_unit", "By.s"),
        ("zero_price", ""),
    ]
    row = tables.prices("n2-standard-2")["on_demand", 0]
    assert row["price_reason"] == "core_sku_missing,ram_sku_missing"


@cases("gcp/amounts", amount=yaml.safe_load)
def test_an_amount_that_is_no_price_is_refused(tmp_path: Path, amount: dict[str, Any]) -> None:
    core = n2_skus()[0]
    tiers = core["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    tiers[0]["unitPrice"] = {"currencyCode": "USD", **amount}
    tables = normalise_skus(tmp_path, [core, n2_skus()[1]], n2_zones())
    assert [row["reason"] for row in tables.refused] == ["unreadable_price"]
    assert tables.prices("n2-standard-2")[("on_demand", 0)]["price_reason"] == "core_sku_missing"


def test_a_tier_without_a_start_is_the_first(tmp_path: Path) -> None:
    """Google leaves out a start of 0, and nothing says that tiers come in order."""
    core = sku("N2 Instance Core running in Iowa", "0.04")
    later = {"startUsageAmount": 1, "unitPrice": {"currencyCode": "USD", "nanos": 10_000_000}}
    core["pricingInfo"][0]["pricingExpression"]["tieredRates"].insert(0, later)
    skus = [core, sku("N2 Instance Ram running in Iowa", "0.01")]
    tables = normalise_skus(tmp_path, skus, n2_zones())
    assert tables.hourly("n2-standard-2") == Decimal("0.16")


def test_g11_unknown_skus_are_quarantined_and_counted(tmp_path: Path) -> None:
    unknown = [
        sku("N9 Instance Core running in Iowa", "0.03", sku_id="ODD"),
        sku("Network Egress", "0.04", family="Network", group="PremiumInternetEgress"),
    ]
    tables = normalise_skus(
        tmp_path, [*n2_skus(), *unknown, sku("Reserved N2 Core in Iowa", "0")], n2_zones()
    )
    (refused,) = tables.refused
    assert refused["message"] == "unknown_series: N9 Instance Core running in Iowa (CPU, OnDemand)"
    assert (refused["table"], refused["dependants"]) == ("prices", 0)
    assert '"sku_id":"ODD"' in refused["row"]
    found = tables.counts
    assert found == {"not_a_machine_price:reserved": 1, "out_of_scope:resource_family=Network": 1}


@pytest.mark.parametrize(
    ("unit", "by_gib", "line_unit"),
    [("GBy.h", "0.003753348", "gb"), ("GBy.mo", "2.739944", "gb_month")],
)
def test_g13_memory_sold_by_the_decimal_gigabyte(tmp_path, unit, by_gib, line_unit) -> None:
    """C4D in Iowa: 0.003495578 for a GB is 0.003753348 for a GiB, 2^30 / 10^9 times as much.

    Known wrong number G13 (docs/known-wrong-numbers.md).
    """
    per_gb = {"GBy.h": "0.003495578", "GBy.mo": "2.55177194"}[unit]
    core = sku("C4D Instance Core running in Iowa", "0.035")
    zones = {"us-central1-a": [machine_type("c4d-standard-2", 2, 8192)]}

    def tables(memory: dict[str, Any], folder: str) -> Tables:
        return normalise_skus(tmp_path / folder, [core, memory], zones)

    words = "C4D Instance Ram running in Iowa"
    decimal = tables(sku(words, per_gb, unit=unit), "gb")
    binary = tables(sku(words, by_gib, unit=unit.replace("GBy", "GiBy")), "gib")
    hourly = decimal.hourly("c4d-standard-2")
    assert decimal.refused == []
    assert abs(hourly - binary.hourly("c4d-standard-2")) < Decimal("1e-8")
    price = decimal.prices("c4d-standard-2")[("on_demand", 0)]
    line = decimal.components(price["price_id"])["ram"]
    assert (line["unit"], line["unit_price"]) == (line_unit, Decimal(per_gb))
    if unit == "GBy.h":
        assert line["quantity"] == Decimal("8.589934592")
        assert hourly == Decimal("0.1000267864")  # 2 × 0.035 + 8.589934592 × 0.003495578
    rates = decimal.table("component_prices").filter(component="ram")
    assert abs(rates["hourly"][0] * 8 + Decimal("0.07") - hourly) < Decimal("1e-9")
    assert rates["unit"].to_list() == ["gib"]


@pytest.mark.parametrize(
    "sku_text",
    [
        "{}",
        '{"category":{},"geoTaxonomy":{},"pricingInfo":[{}]}',
        '{"pricingInfo":[{"pricingExpression":{"tieredRates":[{},{"unitPrice":{}}]}}]}',
    ],
)
def test_what_a_page_leaves_out_is_not_counted_as_a_name(sku_text: str) -> None:
    body = f'{{"skus":[{sku_text}]}}'.encode()
    assert msgspec.json.encode(msgspec.json.decode(body, type=SkuList)) == body
