"""Compare the sample's prices with recorded meters, and read recorded answers.

Tests marked ``shared`` make the same checks on all meters of the research folder.
"""

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.azure_pages import (
    RECORDINGS,
    Landed,
    frame,
    item_rows,
    recording,
    refused,
    sample_prices,
)

REGIONS = ["francecentral", "westeurope"]
ANSWERS = sorted(path.name for path in (RECORDINGS / "retail").glob("*.json.gz"))
OUT_OF_SCOPE = re.compile("Cloud ?Services|promo", re.IGNORECASE)
WITHOUT_SIZE = re.compile("L160ias")  # no list of sizes has it: see data/sample/README.md
Meters = dict[tuple[str, str], dict[str, Any]]  # (skuId, meterId) → meter


def read_meters(content: bytes) -> Meters:
    meters = json.loads(content, parse_float=Decimal)
    keys = {key: tuple(key.split("|")[:2]) for key in meters}
    return {(sku, meter): meters[key] for key, (sku, meter) in keys.items()}


def all_meters(shared: Path, region: str) -> Meters:
    path = shared / "recordings/azure/radar" / f"vm-{region}.json.gz"
    return read_meters(gzip.decompress(path.read_bytes()))


def option_of(sku_name: str) -> str:
    """The purchase option that the end of a SKU's name says."""
    if sku_name.endswith("Spot"):
        return "spot"
    return "low_priority" if sku_name.endswith("Low Priority") else "on_demand"


def check_rows_against_meters(region: str, meters: Meters) -> None:
    """Each meter has one row with its price, or is out of scope; other rules than the project's."""
    rows = {
        (row["sku_id"], row["sku_price_id"]): row
        for row in item_rows(sample_prices()).filter(region=region).iter_rows(named=True)
    }
    unused = [meter for key, meter in meters.items() if key not in rows]
    names = [meter["productName"] + meter["skuName"] for meter in unused]
    assert all(OUT_OF_SCOPE.search(name) or WITHOUT_SIZE.search(name) for name in names)
    for key in meters.keys() & rows.keys():
        row, meter = rows[key], meters[key]
        product = meter["productName"]
        assert row["hourly"] == Decimal(meter["retailPrice"]), meter
        assert (row["os"] == "windows") == product.endswith(("Windows", " Win")), meter
        assert row["purchase_option"] == option_of(meter["skuName"]), meter
        assert (row["tenancy"] == "host") == ("Dedicated" in product), meter


def check_no_cloud_services(meters: Meters, at_least: int) -> None:
    """No row, listed or derived, comes from a Cloud Services meter."""
    cloud = {key for key, m in meters.items() if re.search("Cloud ?Services", m["productName"])}
    assert len(cloud) >= at_least
    assert not cloud & set(sample_prices().select("sku_id", "sku_price_id").iter_rows())


@pytest.mark.parametrize("region", REGIONS)
def test_rows_have_the_prices_of_their_recorded_meters(region: str) -> None:
    meters = read_meters(recording(f"meters_{region}_2026-08-20.json.gz"))
    assert len(meters) > 390
    check_rows_against_meters(region, meters)
    check_no_cloud_services(meters, at_least=60)


@pytest.mark.shared
@pytest.mark.parametrize("region", REGIONS)
def test_rows_have_the_prices_of_all_their_meters(shared: Path, region: str) -> None:
    meters = all_meters(shared, region)
    check_rows_against_meters(region, meters)
    check_no_cloud_services(meters, at_least=100)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_item_of_a_recorded_answer_is_a_price_or_out_of_scope(name, tmp_path) -> None:
    body = recording(f"retail/{name}")
    part = Landed(tmp_path).add("retail_consumption_usd", "eastus", body).parts()["prices"]
    assert refused(part) == []
    counted = item_rows(frame(part)).height + sum(part.counts.values())
    assert counted == json.loads(body)["Count"]
