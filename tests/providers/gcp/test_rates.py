"""One key, one price: which of two SKUs for one component holds."""

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.gcp_pages import machine_type, n2_skus, n2_zones, normalise_skus, sku


def shuffled(skus: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    orders = [skus, skus[::-1], list(skus)]
    random.Random(9).shuffle(orders[2])
    return orders


def test_g9_the_regions_own_name_holds_in_any_order(tmp_path: Path) -> None:
    tokyo = [
        sku(
            "Memory-optimized Instance Core running in Tokyo", "0.0426", regions=["asia-northeast1"]
        ),
        sku(
            "Memory-optimized Instance Core running in Japan",
            "0.0426489",
            regions=["asia-northeast1"],
        ),
        sku(
            "Memory-optimized Instance Ram running in Tokyo", "0.0062", regions=["asia-northeast1"]
        ),
        sku("N2 Instance Core running in Virginia", "0.9", regions=["us-east4"]),
        sku("N2 Instance Core running in Northern Virginia", "0.035", regions=["us-east4"]),
        sku(
            "N2 Instance Ram running in Virginia", "0.0047", regions=["us-east4"]
        ),  # has only the old name, so it is kept
    ]
    zones = {
        "asia-northeast1-a": [machine_type("m1-ultramem-40", 40, 984064)],
        "us-east4-a": [machine_type("n2-standard-2", 2, 8192)],
    }
    for i, order in enumerate(shuffled(tokyo)):
        tables = normalise_skus(tmp_path / str(i), order, zones)
        assert tables.hourly("m1-ultramem-40", region="asia-northeast1") == 40 * Decimal(
            "0.0426"
        ) + 961 * Decimal("0.0062")
        assert tables.hourly("n2-standard-2", region="us-east4") == 2 * Decimal(
            "0.035"
        ) + 8 * Decimal("0.0047")
        assert tables.refused == []


def test_g9_a_contradiction_that_no_rule_decides_is_refused(tmp_path: Path) -> None:
    first, second = (
        sku(
            "N2 Instance Core running in Singapore",
            price,
            regions=["asia-southeast1"],
            sku_id=price,
        )
        for price in ("0.03", "0.04")
    )
    ram = sku("N2 Instance Ram running in Singapore", "0.004", regions=["asia-southeast1"])
    for i, order in enumerate(shuffled([first, second, ram])):
        tables = normalise_skus(
            tmp_path / str(i),
            order,
            {"asia-southeast1-a": [machine_type("n2-standard-2", 2, 8192)]},
        )
        row = tables.prices("n2-standard-2", "asia-southeast1")[("on_demand", 0)]
        assert (row["hourly"], row["price_reason"]) == (None, "core_sku_ambiguous")
        assert [r["reason"] for r in tables.refused] == ["ambiguous_sku", "ambiguous_sku"]


def test_g9_two_skus_that_agree_are_one(tmp_path: Path) -> None:
    twice = [
        sku("N2 Instance Core running in Iowa", "0.031611", sku_id=name) for name in ("B", "A")
    ]
    for i, order in enumerate(shuffled([*twice, n2_skus()[1]])):
        tables = normalise_skus(tmp_path / str(i), order, n2_zones())
        assert (
            tables.components(tables.prices("n2-standard-2")[("on_demand", 0)]["price_id"])["core"][
                "sku_id"
            ]
            == "A"
        )


@pytest.mark.parametrize(("part", "units"), [("Core", ("h", "mo")), ("Ram", ("GiBy.h", "GBy.h"))])
def test_equal_numbers_for_different_units_contradict_each_other(
    tmp_path: Path, part: str, units: tuple[str, str]
) -> None:
    """0.03 for an hour is not 0.03 for a month."""
    description = f"N2 Instance {part} running in Iowa"
    skus = [sku(description, "0.03", unit=unit, sku_id=unit) for unit in units]
    others = [one for one in n2_skus() if f" {part} " not in one["description"]]
    tables = normalise_skus(tmp_path, [*skus, *others], n2_zones())
    row = tables.prices("n2-standard-2")[("on_demand", 0)]
    reason = f"{part.lower()}_sku_ambiguous"
    assert (row["hourly"], row["price_reason"]) == (None, reason)
    assert [r["reason"] for r in tables.refused] == ["ambiguous_sku", "ambiguous_sku"]


def test_g10_europe_west1_is_not_the_beginning_of_europe_west10(tmp_path: Path) -> None:
    skus = [
        s
        for region, core in (
            ("europe-west1", "0.01"),
            ("europe-west10", "0.02"),
            ("europe-west12", "0.03"),
        )
        for s in (
            sku("N2 Instance Core running in X", core, regions=[region], sku_id=region),
            sku("N2 Instance Ram running in X", "0.001", regions=[region], sku_id=f"r{region}"),
        )
    ]
    zones = {
        f"{region}-b": [machine_type("n2-standard-2", 2, 8192)]
        for region in ("europe-west1", "europe-west10", "europe-west12")
    }
    tables = normalise_skus(tmp_path, skus, zones)
    hourly = {
        region: tables.hourly("n2-standard-2", region=region)
        for region in ("europe-west1", "europe-west10", "europe-west12")
    }
    assert hourly == {
        "europe-west1": Decimal("0.028"),
        "europe-west10": Decimal("0.048"),
        "europe-west12": Decimal("0.068"),
    }
