"""One key, one price: which of two SKUs for one component holds."""

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.gcp_pages import fee, machine_type, n2_skus, n2_zones, normalise_skus, sku


def shuffled(skus: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    orders = [skus, skus[::-1], list(skus)]
    random.Random(9).shuffle(orders[2])
    return orders


def m1_skus(place: str, core: str, ram: str, **more: Any) -> list[dict[str, Any]]:
    mode = "Spot Preemptible " if more.get("usage") == "Preemptible" else ""
    words = f"{mode}Memory-optimized Instance"
    more = {"regions": ["us-east4"], **more}
    return [
        sku(f"{words} Core running in {place}", core, **more),
        sku(f"{words} Ram running in {place}", ram, **more),
    ]


OWN = m1_skus("Northern Virginia", "0.0392", "0.0058")
SPOT = {"usage": "Preemptible"}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (
            m1_skus("Virginia", "0.00826", "0.001212", **SPOT)
            + m1_skus("Northern Virginia", "0.00617", "0.00095", **SPOT),
            {("spot", 0): (Decimal("1.495132"), ["higher_of_two_skus"])},
        ),
        (m1_skus("Americas", "0.05", "0.009"), {}),
        (m1_skus("Americas", "0.05", "0.009", regions=["us-east4", "us-central1"]), {}),
    ],
    ids=["of one region", "of a continent", "of a continent with two regions"],
)
def test_g9_the_regions_own_sku_or_the_more_expensive_holds_in_any_order(
    tmp_path, others, expected
) -> None:
    """Google bills m1-ultramem-40 in us-east4 as Virginia: 40 × 0.00826 + 961 × 0.001212."""
    zones = {"us-east4-a": [machine_type("m1-ultramem-40", 40, 984064)]}
    for i, order in enumerate(shuffled([*others, *OWN])):
        tables = normalise_skus(tmp_path / str(i), order, zones)
        prices = tables.prices("m1-ultramem-40", "us-east4")
        found = {key: (row["hourly"], row["flags"]) for key, row in prices.items()}
        assert found == {**expected, ("on_demand", 0): (Decimal("7.1418"), [])}


def test_g9_two_skus_of_one_name_are_the_more_expensive(tmp_path: Path) -> None:
    """Also under a flexible commitment, and with a license."""
    first, second = (
        sku("N2 Instance Core running in Iowa", price, sku_id=price) for price in ("0.03", "0.04")
    )
    ram = sku("N2 Instance Ram running in Iowa", "0.004")
    windows = fee("Windows Server 2025 Datacenter Edition on VM", "0.046")
    for i, order in enumerate(shuffled([first, second, ram, windows])):
        tables = normalise_skus(tmp_path / str(i), order, n2_zones())
        row = tables.prices("n2-standard-2")[("on_demand", 0)]
        assert (row["hourly"], row["flags"]) == (Decimal("0.112"), ["higher_of_two_skus"])
        assert tables.components(row["price_id"])["core"]["sku_id"] == "0.04"
        flags = [price["flags"] for price in tables.table("prices").to_dicts()]
        assert len(flags) == 6  # Linux and Windows, on demand and flexible for 1 and 3 years
        assert all("higher_of_two_skus" in of_row for of_row in flags)
        assert tables.refused == []


def test_g9_two_skus_that_agree_are_one(tmp_path) -> None:
    core = "N2 Instance Core running in Iowa"
    skus = [*(sku(core, "0.031611", sku_id=name) for name in ("B", "A")), n2_skus()[1]]
    for i, order in enumerate(shuffled(skus)):
        tables = normalise_skus(tmp_path / str(i), order, n2_zones())
        assert tables.lines("n2-standard-2")["core"]["sku_id"] == "A"


@pytest.mark.parametrize(
    ("part", "units", "dearer"), [("Core", ("h", "mo"), "h"), ("Ram", ("GiBy.h", "GBy.h"), "GBy.h")]
)
def test_g9_prices_of_different_units_are_compared_by_the_hour_and_gib(
    tmp_path, part, units, dearer
) -> None:
    """0.03 for a month is less than for an hour, and for a GiB less than for a decimal GB."""
    description = f"N2 Instance {part} running in Iowa"
    skus = [sku(description, "0.03", unit=unit, sku_id=unit) for unit in units]
    others = [one for one in n2_skus() if f" {part} " not in one["description"]]
    tables = normalise_skus(tmp_path, [*skus, *others], n2_zones())
    row = tables.prices("n2-standard-2")[("on_demand", 0)]
    assert tables.components(row["price_id"])[part.lower()]["sku_id"] == dearer
    assert row["flags"] == ["higher_of_two_skus"]


def test_g10_europe_west1_is_not_the_beginning_of_europe_west10(tmp_path) -> None:
    rates = {"europe-west1": "0.01", "europe-west10": "0.02", "europe-west12": "0.03"}
    skus = []
    for region, core in rates.items():
        where = {"regions": [region]}
        skus.append(sku("N2 Instance Core running in X", core, sku_id=region, **where))
        skus.append(sku("N2 Instance Ram running in X", "0.001", sku_id=f"r{region}", **where))
    types = [machine_type("n2-standard-2", 2, 8192)]
    tables = normalise_skus(tmp_path, skus, {f"{region}-b": types for region in rates})
    hourly = [tables.hourly("n2-standard-2", region=region) for region in rates]
    assert hourly == [Decimal("0.028"), Decimal("0.048"), Decimal("0.068")]
