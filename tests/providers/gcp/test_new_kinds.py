"""What Google sells since the sheets were written: known rows stay, new ones are refused by name.

docs/known-wrong-numbers.md G19 to G25.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import (
    Tables,
    core_and_ram,
    machine_type,
    n2_skus,
    n2_zones,
    normalise_pages,
    normalise_skus,
    sku,
    spot_core_and_ram,
)

from hwprices.providers import UnreadablePageError, gcp
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

M4N = core_and_ram("M4N", "0.0351", "0.0051")


def on_demand(tables: Tables, name: str, region: str = "us-central1") -> dict[str, Any]:
    return tables.prices(name, region)[("on_demand", 0)]


def words(tables: Tables) -> set[tuple[str, str | None]]:
    return {(row["reason"], row["word"]) for row in tables.refused}


# -- G19: sizes with SKUs of their own


@pytest.mark.parametrize(
    "name", ["M4NMegamem28", "M4N Megamem 28", "M4N-MEGAMEM-28", "m4n-megamem-28", "M4N Megamem"]
)
def test_g19_a_type_that_a_refused_sku_names_has_no_price(tmp_path, name) -> None:
    """Nor by another option; other sizes keep theirs."""
    skus = [*M4N, *spot_core_and_ram("M4N", "0.01", "0.001")]
    skus.append(sku(f"{name} Instance Core running in Iowa", "0.09"))
    types = [
        machine_type("m4n-megamem-28", 28, 380928),
        machine_type("m4n-hypermem-64", 64, 1015808),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    rows = tables.prices("m4n-megamem-28")
    found = {key: (row["hourly"], row["price_reason"]) for key, row in rows.items()}
    refused = (None, "named_by_refused_sku")
    assert found == {("on_demand", 0): refused, ("spot", 0): refused}
    assert tables.hourly("m4n-hypermem-64") == 64 * Decimal("0.0351") + 992 * Decimal("0.0051")
    assert len(tables.refused) == 1


# -- G20: local disks that no sheet knows


@cases("gcp/unknown_disks", members=yaml.safe_load)
def test_g20_unknown_local_disks_leave_no_price(tmp_path, name, members) -> None:
    skus = [
        *core_and_ram("C4D", "0.03", "0.004"),
        sku("C4D Instance Local SSD running in Iowa", "0.1"),
        sku("Commitment v1: C4D Cpu in Iowa for 1 Year", "0.02", usage="Commit1Yr"),
        sku("Commitment v1: C4D Ram in Iowa for 1 Year", "0.002", usage="Commit1Yr", group="RAM"),
    ]
    plain = machine_type("c4d-standard-4", 4, 16384)
    types = [machine_type(name, 8, 32768, **members), plain]
    tables = normalise_skus(tmp_path, skus, types)
    reasons = {key: row["price_reason"] for key, row in tables.prices(name).items()}
    assert reasons == dict.fromkeys([("on_demand", 0), ("committed_use", 12)], "unknown_local_ssd")
    assert tables.flexible(name) == {}
    row = tables.instance_type(name)
    assert (row["local_disk_count"], row["local_disk_gib"], row["local_disk_kind"]) == (None,) * 3
    assert tables.hourly("c4d-standard-4") == Decimal("0.184")
    assert tables.instance_type("c4d-standard-4")["local_disk_count"] == 0


# -- G23: series of 2026


def test_g23_z4d_has_no_price_and_unknown_disks(tmp_path: Path) -> None:
    skus = [
        *n2_skus(),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Core running in Iowa", "0.05"),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Ram running in Iowa", "0.005"),
        sku("Z4D-HIGHMEM-HIGHLSSD Instance Local SSD running in Iowa", "0.1632"),
        sku("SSD backed Local Storage in Iowa", "0.08"),
    ]
    disks = {"bundledLocalSsds": {"defaultInterface": "NVME", "partitionCount": 1}}
    types = [machine_type("z4d-highmem-8-highlssd", 8, 64512, **disks)]
    tables = normalise_skus(tmp_path, skus, types + n2_zones()["us-central1-a"])
    row = on_demand(tables, "z4d-highmem-8-highlssd")
    assert (row["hourly"], row["price_reason"]) == (None, "unknown_local_ssd,unknown_series")
    spec = tables.instance_type("z4d-highmem-8-highlssd")
    assert (spec["series"], spec["local_disk_count"], spec["local_disk_gib"]) == ("z4d", None, None)
    assert words(tables) == {("unknown_series", "Z4D")}
    assert sorted(row["dependants"] for row in tables.refused) == [0, 0, 0, 1]
    for name in ("prices", "instance_types"):
        assert validate.split(tables.table(name), TABLES[name], {}).refused.is_empty()
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")


# -- members that are missing, new or renamed


def price_of(listed: dict[str, Any]) -> dict[str, Any]:
    """Return the amount of a SKU, to change it."""
    tiers = listed["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    amount: dict[str, Any] = tiers[0]["unitPrice"]
    return amount


@pytest.mark.parametrize(
    ("change", "reason", "word"),
    [
        (lambda broken: broken.pop("skuId"), "sku_without_name", None),
        (lambda broken: broken.pop("description"), "sku_without_name", None),
        (lambda broken: broken.pop("category"), "sku_without_name", None),
        (lambda broken: broken.pop("serviceRegions"), "no_region", None),
        (lambda broken: broken.update(serviceRegions=["mars"]), "unknown_location", "mars"),
        (lambda broken: broken.pop("pricingInfo"), "no_price", None),
        (lambda broken: broken.update(description=7), "unreadable_line", None),
        (lambda broken: broken.update(category=None), "unreadable_line", None),
        (lambda broken: broken.update(serviceRegions="us-east4"), "unreadable_line", None),
        (lambda broken: price_of(broken).pop("currencyCode"), "no_currency", None),
        (
            lambda broken: price_of(broken).update(nanoUnits=price_of(broken).pop("nanos")),
            "unknown_column",
            "nanoUnits",
        ),
    ],
)
def test_a_sku_that_lacks_a_member_costs_itself_only(tmp_path, change, reason, word) -> None:
    broken = sku("N2 Instance Core running in Virginia", "1.5", regions=["us-east4"])
    change(broken)
    tables = normalise_skus(tmp_path, [*n2_skus(), broken], n2_zones())
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")
    assert [(row["reason"], row["word"]) for row in tables.refused] == [(reason, word)]
    assert set(tables.table("component_prices")["region"]) == {"us-central1"}


def test_members_that_are_new_and_amounts_in_quotes_change_nothing(tmp_path: Path) -> None:
    plain = normalise_skus(tmp_path / "plain", n2_skus(), n2_zones())
    skus = n2_skus()
    for listed in skus:
        amount = price_of(listed)
        amount |= {"nanos": str(amount["nanos"]), "taxIncluded": False}
        listed |= {"newMember": {"a": [1]}, "serviceLevel": "x"}
    zones = n2_zones()
    zones["us-central1-a"][0] |= {"guestCpus": "2", "memoryMb": "8192", "newMember": 1}
    changed = normalise_skus(tmp_path / "changed", skus, zones)
    columns = ["price_id", "hourly", "price_reason", "flags"]
    before, after = (t.table("prices").select(columns).sort("price_id") for t in (plain, changed))
    assert after.equals(before)
    new = ["a", "newMember", "serviceLevel"]
    assert sorted((r["table"], r["reason"], r["word"]) for r in changed.refused) == [
        ("instance_types", "unknown_column", "newMember"),
        *(("prices", "unknown_column", name) for name in [*new, "taxIncluded"]),
    ]


def test_a_member_renamed_in_every_row_leaves_the_page_unread(tmp_path: Path) -> None:
    skus = n2_skus()
    for listed in skus:
        price_of(listed)["nanoUnits"] = price_of(listed).pop("nanos")
    with pytest.raises(UnreadablePageError, match="nanoUnits"):
        normalise_skus(tmp_path, skus, n2_zones())


@cases("gcp/unreadable_types", change=yaml.safe_load)
def test_a_machine_type_that_cannot_be_read_costs_itself_only(tmp_path, change, reason) -> None:
    broken = {**machine_type("n2-standard-4", 4, 16384), **change}
    removed = {name: value for name, value in broken.items() if value is not None}
    zones = {"us-central1-a": [removed, *n2_zones()["us-central1-a"]], "us-central1-b": []}
    zones["us-central1-b"] = [machine_type("n2-standard-8", 8, 32768)]
    tables = normalise_skus(tmp_path, n2_skus(), zones)
    assert tables.hourly("n2-standard-2") == Decimal("0.097118")
    assert [(r["table"], r["reason"], r["word"]) for r in tables.refused] == [
        ("instance_types", reason, None)
    ]
    assert tables.table("instance_types").height == 2


def test_a_page_that_is_no_list_is_still_unreadable(tmp_path: Path) -> None:
    for body in (b"[]", b'{"skus": 7}', b'{"skus": [1, 2]}', b"null"):
        with pytest.raises(UnreadablePageError, match="a list of SKUs"):
            normalise_pages(
                tmp_path, {gcp.SKUS: [body], gcp.MACHINE_TYPES: [json.dumps({}).encode()]}
            )
