"""Catalogs of Google in tests/cases/gcp/catalogs.yaml, and the prices that come out."""

import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.helpers.cases import amount, named_cases
from tests.helpers.gcp_pages import (
    Tables,
    core_and_ram,
    fee,
    machine_type,
    normalise_skus,
    sku,
    spot_core_and_ram,
)

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

Case = Mapping[str, Any]

ROUNDING = Decimal("1e-8")
"""Sums of a case are of ten decimals, as prices are."""


def skus_of(case: Case) -> list[dict[str, Any]]:
    """Make the SKUs of a case."""
    by_series = ((core_and_ram, "series"), (spot_core_and_ram, "spot"))
    skus = [
        one
        for make, key in by_series
        for series, rates in case.get(key, {}).items()
        for one in make(series, *map(str, rates))
    ]
    for make_one, key in ((sku, "skus"), (fee, "fees")):
        for text, price, *members in case.get(key, []):
            skus.append(make_one(text, str(price), **(members[0] if members else {})))
    return skus


def machine(name: str, size: list[Any]) -> dict[str, Any]:
    """Make a machine type of vCPUs, MiB, and a GPU with its count or other members behind them."""
    vcpus, mib, *more = size
    members = more.pop() if more and isinstance(more[-1], dict) else {}
    return machine_type(name, vcpus, mib, tuple(more) or None, **members)


def zones_of(case: Case) -> dict[str, list[dict[str, Any]]]:
    """Make the machine types of each zone: the same ones, unless the case says which."""
    zones = case.get("zones", ["us-central1-a"])
    if not isinstance(zones, dict):
        zones = dict.fromkeys(zones, case["machines"])
    return {
        zone: [machine(name, size) for name, size in types.items()] for zone, types in zones.items()
    }


def offers(tables: Tables, name: str, *, flexible: bool = False) -> dict[Any, dict[str, Any]]:
    """Return prices by offer; a name is a type, with its system and software, "in" a region."""
    name, _, region = name.partition(" in ")
    instance_type, *system = name.split()
    os, software = (*system, *("linux", "none")[len(system) :])
    where = {"region": region or "us-central1", "os": os}
    if flexible:
        return dict(tables.flexible(instance_type, **where))
    rows = tables.prices(instance_type, **where, software=software)
    return {
        f"{option} {months}" if months else option: row for (option, months), row in rows.items()
    }


def assert_price(row: dict[str, Any], expected: Any) -> None:
    """Check the amount and the flags of a price, or why it has none."""
    figure, *flags = expected if isinstance(expected, list) else [expected]
    if isinstance(figure, str) and not figure.startswith("="):
        assert (row["hourly"], row["price_reason"]) == (None, figure)
    else:
        assert abs(row["hourly"] - amount(figure)) <= ROUNDING
        assert row["price_reason"] is None
    assert row["flags"] == flags


def assert_prices(tables: Tables, case: Case) -> None:
    """Check that the machines have these offers and no others."""
    for key in ("prices", "flexible"):
        for name, expected in case.get(key, {}).items():
            rows = offers(tables, name, flexible=key == "flexible")
            assert rows.keys() == expected.keys(), name
            for offer, price in expected.items():
                assert_price(rows[offer], price)


def offer_named(tables: Tables, text: str) -> dict[str, Any]:
    """Find the price of a machine and an offer, which is one word or two."""
    words = text.split()
    behind = 2 if words[-1].isdigit() else 1
    return offers(tables, " ".join(words[:-behind]))[" ".join(words[-behind:])]


def has(row: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    """Return whether a row has these members; numbers may be of another type."""
    return all(
        row[key] == (Decimal(str(value)) if isinstance(row[key], Decimal) else value)
        for key, value in members.items()
    )


def assert_components(tables: Tables, case: Case) -> None:
    """Check members of single offers and their parts, and the prices of one unit of a component."""
    for text, members in case.get("offers", {}).items():
        assert has(offer_named(tables, text), members)
    for text, parts in case.get("parts", {}).items():
        found = tables.components(offer_named(tables, text)["price_id"])
        for part, members in parts.items():
            assert has(found[part], members), part
    if case.get("no_parts"):
        assert tables.table("price_components").is_empty()
    if "rates" in case:
        columns = ("component", "unit", "hourly", "accelerator_id")
        rows = tables.table("component_prices").select(columns).sort("component").rows()
        assert [
            " ".join([name, unit, f"{hourly.normalize():f}", *filter(None, [device])])
            for name, unit, hourly, device in rows
        ] == case["rates"]


@named_cases(
    "gcp/catalogs",
    *("series", "spot", "skus", "fees", "zones", "machines", "types", "any_order"),
    *("flexible", "offers", "parts", "no_parts", "rates", "refused", "counts"),
)
def test_a_catalog_gives_these_prices(tmp_path: Path, case: Case) -> None:
    skus = skus_of(case)
    orders = [skus, skus[::-1], random.Random(9).sample(skus, len(skus))]
    for number, order in enumerate(orders if case.get("any_order") else orders[:1]):
        tables = normalise_skus(tmp_path / str(number), order, zones_of(case))
        assert_prices(tables, case)
        assert_components(tables, case)
        for name, members in case.get("types", {}).items():
            assert has(tables.instance_type(name), members)
        refused = [[row["reason"], row["word"]] for row in tables.refused]
        assert sorted(refused, key=str) == sorted(case.get("refused", []), key=str)
        assert case.get("counts", tables.counts) == tables.counts
        for name in ("prices", "instance_types", "component_prices"):
            if not (table := tables.table(name)).is_empty():
                assert validate.split(table, TABLES[name], {}).refused.is_empty()
