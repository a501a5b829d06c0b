"""Prices of one unit of a component: what a unit is, and which accelerator."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SHARED
from tests.helpers.gcp_pages import machine_type, normalise_skus, sku

from hwprices.schemas.tables import ComponentPrices
from hwprices.stage import validate


def test_a_commitment_of_a_component_is_for_resources(tmp_path: Path) -> None:
    skus = [
        sku("Nvidia L4 GPU running in Iowa", "0.56", group="GPU"),
        sku("Commitment v1: Nvidia L4 GPU in Iowa for 1 Year", "0.35", usage="Commit1Yr"),
    ]
    types = [machine_type("n2-standard-2", 2, 8192)]
    tables = normalise_skus(tmp_path, skus, types)
    columns = ("purchase_option", "term_months", "commitment_plan", "hourly")
    assert sorted(tables.table("component_prices").select(columns).rows()) == [
        ("committed_use", 12, "resource", Decimal("0.35")),
        ("on_demand", 0, None, Decimal("0.56")),
    ]


def disk(description: str, *tiers: tuple[float, str], **members: Any) -> dict[str, Any]:
    """Make a SKU of storage with tiers: from how many units on, and the price."""
    made = sku(description, "0", **{"family": "Storage", "group": "SSD", **members})
    made["pricingInfo"][0]["aggregationInfo"] = {"aggregationInterval": "MONTHLY"}
    made["pricingInfo"][0]["pricingExpression"]["tieredRates"] = [
        {
            "startUsageAmount": start,
            "unitPrice": {"currencyCode": "USD", "nanos": int(Decimal(price) * 10**9)},
        }
        for start, price in tiers
    ]
    return made


def disks(tmp_path: Path, *skus: dict[str, Any]) -> Any:
    types = {"us-central1-a": [machine_type("n2-standard-2", 2, 8192)]}
    return normalise_skus(tmp_path, list(skus), types)


def test_disks_and_addresses_keep_unit_tier_and_sku(tmp_path: Path) -> None:
    """Google's list: 30 GiB of standard disk are free; snapshots are sold in a whole area."""
    both = ["us-central1", "us-east1"]
    tables = disks(
        tmp_path,
        disk("Storage PD Capacity", (30, "0.04"), (0, "0"), unit="GiBy.mo", sku_id="D973"),
        disk("SSD backed PD Capacity in Iowa", (0, "0.17"), unit="GiBy.mo", regions=both),
        disk("Storage PD Snapshot in US", (0, "0.065"), unit="GiBy.mo", regions=["us"]),
        disk("Hyperdisk Balanced IOPS in Iowa", (0, "0.005"), unit="mo"),
        disk("Static Ip Charge in Iowa", (0, "0.01"), family="Network", group="IpAddress"),
        disk("PD Early Delete in Iowa", (0, "0.02"), unit="GiBy", sku_id="A"),
        disk("PD Early Delete in Council Bluffs", (0, "0.03"), unit="GiBy", sku_id="B"),
    )
    columns = ("region", "component", "unit", "per", "tier_from", "tier_to", "price", "hourly")
    rows = tables.table("component_prices").select(*columns, "purchase_option", "sku_id")
    pd, ssd = "sku:Storage_PD_Capacity", "sku:SSD_backed_PD_Capacity"
    assert sorted(row[:5] for row in rows.rows()) == [
        ("us", "sku:Storage_PD_Snapshot", "gib", "month", 0),
        ("us-central1", "sku:Hyperdisk_Balanced_IOPS", "sku_unit", "month", 0),
        ("us-central1", "sku:PD_Early_Delete/A", "gib", "use", 0),
        ("us-central1", "sku:PD_Early_Delete/B", "gib", "use", 0),
        ("us-central1", ssd, "gib", "month", 0),
        ("us-central1", "sku:Static_Ip_Charge", "sku_unit", "hour", 0),
        ("us-central1", pd, "gib", "month", 0),
        ("us-central1", pd, "gib", "month", 30),
        ("us-east1", ssd, "gib", "month", 0),
    ]
    tiers = rows.filter(component=pd).sort("tier_from").select(*columns[4:], "sku_id").rows()
    assert tiers == [
        (0, 30, Decimal(0), Decimal(0), "D973"),
        (30, None, Decimal("0.04"), Decimal("0.0000547945"), "D973"),
    ]
    assert set(rows["purchase_option"]) == {"on_demand"}
    assert tables.refused == []
    assert validate.split(tables.table("component_prices"), ComponentPrices, {}).refused.is_empty()


@pytest.mark.shared
def test_the_disks_that_google_listed_in_2020_are_read(tmp_path: Path) -> None:
    recorded = json.loads((SHARED / "recordings" / "gcp" / "skus_real_13.json").read_bytes())[
        "skus"
    ]
    of_storage = [one for one in recorded if one["category"]["resourceFamily"] == "Storage"]
    rows = disks(tmp_path, *of_storage).table("component_prices")
    assert sorted(rows.select("component", "region", "sku_id", "price", "per").rows()) == [
        ("sku:SSD_backed_PD_Capacity", "us-east4", "75B0-B95E-76A8", Decimal("0.187"), "month"),
        ("sku:Storage_PD_Capacity", "us-east4", "8AF1-1146-E7DA", Decimal("0.044"), "month"),
    ]


@pytest.mark.parametrize(
    ("members", "tiers", "reason"),
    [
        ({"unit": "By.s"}, [(0, "0.1")], "unknown_unit"),
        ({"usage": "Commit1Yr"}, [(0, "0.1")], "unknown_option"),
        ({"regions": []}, [(0, "0.1")], "no_region"),
        ({}, [], "no_price"),
        ({}, [(0, "-0.1")], "unreadable_price"),
        ({}, [(0, "0.1"), (0, "0.2")], "tier_not_a_number"),
    ],
)
def test_a_disk_that_is_not_understood_is_quarantined(members, tiers, reason, tmp_path) -> None:
    core = sku("N2 Instance Core running in Iowa", "0.03")
    tables = disks(tmp_path, core, disk("Extreme PD in Iowa", *tiers, **members))
    assert [
        (row["reason"], row["word"] in (None, *members.values())) for row in tables.refused
    ] == [(reason, True)]
    assert set(tables.table("component_prices")["component"]) == {"core"}
