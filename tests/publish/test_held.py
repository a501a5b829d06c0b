"""Rows that the gate holds: what is published instead, who is told, and when they are published."""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers import manifests, releases
from tests.helpers.releases import machine, price, prices, rows, tables

import hwprices
from hwprices.publish import choose, gate, release
from hwprices.rows import parquet
from hwprices.stage import Staged, make_current
from hwprices.storage import layout
from hwprices.storage.store import Store

START = datetime(2026, 8, 1, 4, tzinfo=UTC)
TYPES = ("m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge")
REGIONS = ("us-east-1", "us-west-2", "eu-west-1")


def world(types: Sequence[str] = TYPES, **changed: str) -> dict[str, pl.DataFrame]:
    """On-demand prices of types in three regions, 0.1 a vCPU-pair; ``changed`` by m5_large."""
    sizes = {name: 2 ** (1 + number % len(TYPES)) for number, name in enumerate(types)}
    cost = {
        name: changed.get(name.replace(".", "_"), f"{n * 0.05:.2f}") for name, n in sizes.items()
    }
    return tables(
        [price("aws", place, name, cost[name]) for place in REGIONS for name in sizes],
        [machine("aws", name, vcpus=n, memory_gib=4.0 * n) for name, n in sizes.items()],
    )


def publish(store: Store, day: int, tables=None, accepted=()) -> release.Published:
    """Publish on a day, after staging the tables, whose pages were fetched on it."""
    seen = START + timedelta(days=day)
    dated = releases.seen_at(seen, tables or {})
    at = seen + timedelta(hours=1)
    return releases.publish(store, dated, run_id=f"r{day}", at=at, accepted=accepted)


def day(store: Store, number: int, **changed: str) -> release.Published:
    return publish(store, number, world(**changed))


@pytest.fixture(scope="module")
def first_day(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("first_day")
    day(Store(root), 0)
    return root


@pytest.fixture
def begun(first_day: Path, tmp_path: Path) -> Store:
    """A store with the release of the first day, of ``world()``."""
    shutil.copytree(first_day, tmp_path, dirs_exist_ok=True)
    return Store(tmp_path)


def rates(store: Store, name: str) -> list[tuple[str, list[str]]]:
    """The price of a type and its flags, by region."""
    rows = hwprices.open(store.path).prices.filter(pl.col("instance_type") == name).sort("region")
    return [
        (f"{row['effective_hourly']:.4f}".rstrip("0"), row["flags"])
        for row in rows.collect().iter_rows(named=True)
    ]


def held(store: Store) -> pl.DataFrame:
    return hwprices.open(store.path).scan("held").collect()


def test_a_wrong_type_is_held_and_the_rest_is_published(begun, tmp_path):
    published = day(begun, 1, m5_large="0.01", m5_xlarge="0.19")
    assert rates(begun, "m5.large") == [("0.1", ["held_back"])] * 3
    assert rates(begun, "m5.xlarge") == [("0.19", [])] * 3
    assert published.held_back == {}
    (result,) = published.held
    assert (result.check, result.value, result.accept) == ("leap", 3, "aws:m5.large")
    rows = held(begun)
    assert rows["part"].unique().to_list() == ["m5.large"]
    assert rows["region"].to_list() != []
    columns = ("published_value", "new_value", "reason", "since", "times_seen")
    assert set(rows.select(columns).iter_rows()) == {
        ("0.100000 USD", "0.010000 USD", "leap", START + timedelta(days=1), 1)
    }
    entry = json.loads((tmp_path / "status.json").read_text())["providers"]["aws"]
    assert (entry["outcome"], entry["held"]) == ("published", 3)
    assert entry["reason"].startswith("held, leap: 3 rows, m5.large: ")
    notes = (tmp_path / f"releases/{published.version}/notes.md").read_text()
    assert "Publish it with --accept aws:m5.large." in notes


def test_an_accepted_part_is_published(begun):
    day(begun, 1, m5_large="0.01")
    published = publish(begun, 2, accepted=("aws:m5.large", "aws:m5.metal"))
    assert rates(begun, "m5.large") == [("0.01", [])] * 3
    assert held(begun).is_empty()
    told = {(r.check, r.outcome) for r in published.results if r.outcome != "pass"}
    assert told == {("leap", "accepted"), ("accept", "warn")}


def test_a_new_row_stays_out(begun):
    new = price("aws", "sa-east-1", "m5.large", "0.01")
    made = world()
    publish(begun, 1, {**made, "prices": pl.concat([made["prices"], prices(new)])})
    assert rates(begun, "m5.large") == [("0.1", [])] * 3
    assert held(begun).select("region", "published_value", "reason").row(0) == (
        *("sa-east-1", None, "regions"),
    )


def test_only_a_value_that_comes_in_three_collections_is_released(store):
    """Only a person can tell a price that doubled from a mistake: P5's cut of 2025 was to 0.56."""
    names = [f"{family}.{size.split('.')[1]}" for family in ("m5", "c5", "r5") for size in TYPES]
    by_day = {
        "m5.large": ["0.155"] * 5,
        "m5.xlarge": ["0.31", "0.312", "0.314", "0.316", "0.318"],  # another one each time
        "c5.large": ["0.2"] * 5,  # twice the price
        "r5.large": ["73"] * 5,  # which only a mistake explains
    }
    before = {"m5.large": "0.1", "m5.xlarge": "0.2", "c5.large": "0.1", "r5.large": "0.1"}
    publish(store, 0, world(names))
    for number in range(1, 6):
        prices = {name.replace(".", "_"): values[number - 1] for name, values in by_day.items()}
        published = publish(store, number, world(names, **prices))
        is_held = {name: number < 3 or name != "m5.large" for name in by_day}
        for name, held_back in is_held.items():
            expected = (before[name], ["held_back"]) if held_back else ("0.155", [])
            assert rates(store, name) == [expected] * 3
        released = [(r.check, r.value) for r in published.results if r.outcome == "released"]
        assert released == ([("jump", 3)] if number == 3 else [])
        assert dict(held(store).select("part", "times_seen").iter_rows()) == {
            name: 1 if name == "m5.xlarge" else number for name, back in is_held.items() if back
        }
        if number < 3:
            assert not publish(store, number).new  # the same collection again is not counted


def test_a_held_row_that_is_right_again_is_published_without_the_flag(begun):
    day(begun, 1, m5_large="0.01")
    day(begun, 2, m5_large="0.11")
    assert rates(begun, "m5.large") == [("0.11", [])] * 3
    assert held(begun).is_empty()


def test_a_figure_of_a_machine_is_held_alone(begun):
    for number in (1, 2, 3):
        made = world(m5_large="0.11")
        memory = pl.when(pl.col("instance_type") == "m5.large").then(12.0).otherwise("memory_gib")
        types = made["instance_types"].with_columns(memory_gib=memory, family=pl.lit("m5n"))
        publish(begun, number, {**made, "instance_types": types})
        rows = hwprices.open(begun.path).scan("instance_types").collect()
        kept = rows.filter(instance_type="m5.large").select("memory_gib", "family").row(0)
        assert kept == (12.0 if number == 3 else 8.0, "m5n")
        assert rates(begun, "m5.large") == [("0.11", [])] * 3


def test_a_table_that_became_empty_stays(store):
    kind = {"kind": "availability_zone"}
    zones = [kind | {"region": r, "zone": f"{r}{letter}"} for r in REGIONS for letter in "abc"]
    publish(store, 0, {**world(), "zones": rows("zones", *zones)})
    published = day(store, 1, m5_large="0.11")
    assert hwprices.open(store.path).scan("zones").collect().height == 9
    (result,) = published.held
    assert (result.check, result.accept) == ("emptied", "aws:zones")


def test_the_machines_and_regions_of_held_prices_are_published_with_them(store):
    names = [f"m{number}.large" for number in range(5, 15)]

    def listed(types: Sequence[str], places: Sequence[str]) -> dict[str, pl.DataFrame]:
        return tables(
            [price("aws", place, name, "0.1") for place in places for name in types],
            [machine("aws", name, vcpus=2, memory_gib=8.0) for name in types],
        )

    publish(store, 0, listed(names, (*REGIONS, "sa-east-1")))
    for number in range(1, 4):
        publish(store, number, listed(names[2:], REGIONS))
        data = hwprices.open(store.path)
        priced = data.prices.select("region", "instance_type").collect()
        counts = []
        for table, name in (("instance_types", "instance_type"), ("regions", "region")):
            rows = set(data.scan(table).collect()[name])
            assert rows == set(priced[name])
            counts.append(len(rows))
        assert counts == ([8, 3] if number == 3 else [10, 4])


def test_a_machine_stays_until_the_last_of_its_prices_is_released(store):
    """Two types leave most regions on one day and the last region on the next."""
    names = [f"m{number}.large" for number in range(5, 15)]
    places = (*REGIONS, "sa-east-1")

    def listed(number: int) -> dict[str, pl.DataFrame]:
        left = {1: places[:1], 0: places}.get(number, ())
        prices = [
            price("aws", place, name, "0.1")
            for place in places
            for name in names
            if name not in names[:2] or place in left
        ]
        types = [
            machine("aws", name, vcpus=2, memory_gib=8.0) for name in names[2 * (number > 0) :]
        ]
        return tables(prices, types)

    for number in range(6):
        publish(store, number, listed(number))
        data = hwprices.open(store.path)
        priced = set(data.prices.collect()["instance_type"])
        assert priced <= set(data.scan("instance_types").collect()["instance_type"])
    assert len(priced) == 8


def test_a_provider_that_is_mostly_wrong_keeps_its_tables(begun):
    wrong = {name.replace(".", "_"): "7" for name in TYPES}
    assert list(day(begun, 1, **wrong).held_back) == ["aws"]
    assert rates(begun, "m5.large") == [("0.1", [])] * 3


def stage_by_region(begun: Store, number: int, tables: dict[str, pl.DataFrame]) -> None:
    """Stage tables with one file of prices for each region."""
    folder = layout.staged_directory("aws", f"r{number}")
    parts = tables["prices"].partition_by("region", as_dict=True)
    files = [
        parquet.write(begun, folder, "prices", rows, provider="aws", region=str(region))
        for (region,), rows in parts.items()
    ]
    for name in ("regions", "instance_types"):
        files.append(parquet.write(begun, folder, name, tables[name], provider="aws"))
    units = {"ok": 1}
    inputs = manifests.inputs(f"r{number}")
    make_current(begun, Staged("aws", f"r{number}", "live", tuple(files), units, inputs=inputs))


def test_only_the_files_with_held_rows_are_written_again(store):
    stage_by_region(store, 0, world())
    publish(store, 0)
    wrong = world(m5_large="0.01", m5_xlarge="0.21")
    is_lost = pl.col("region") == "eu-west-1"
    stage_by_region(store, 1, {**wrong, "prices": wrong["prices"].filter(~is_lost)})
    published = publish(store, 1)
    assert rates(store, "m5.large") == [("0.1", ["held_back"])] * 3
    assert rates(store, "m5.xlarge") == [("0.2", ["held_back"]), ("0.21", []), ("0.21", [])]
    assert {r.check: (r.value, r.accept) for r in published.held} == {
        "leap": (2, "aws:m5.large"),
        "closed": (4, "aws:m5"),
    }
    data = hwprices.open(store.path)
    parts = choose.parts_of(store, data.release)["aws"]
    assert list(parts.rewritten) == [f"prices/aws/{region}.parquet" for region in sorted(REGIONS)]
    assert data.verify() == []
    stage_by_region(store, 2, world())
    assert publish(store, 2).held == []
    assert rates(store, "m5.large") == [("0.1", [])] * 3


def test_the_parts_of_a_held_price_are_those_of_the_price_published(store):
    def tables(ram: str) -> dict[str, pl.DataFrame]:
        made = world(m5_large=f"{Decimal(ram) * 8 + Decimal('0.02')}")
        is_composed = pl.col("instance_type") == "m5.large"
        basis = pl.when(is_composed).then(pl.lit("composed")).otherwise("basis")
        prices = made["prices"].with_columns(basis=basis)
        composed = prices.filter(is_composed)
        key = ("price_id", "region", "instance_type", "purchase_option", "currency")
        parts = [
            row
            | {"component": name, "sku_id": name, "unit": unit, "quantity": n, "unit_price": cost}
            for row in composed.select(key).iter_rows(named=True)
            for name, unit, n, cost in (("core", "vcpu", 2, "0.01"), ("ram", "gib", 8, ram))
        ]
        return {**made, "prices": prices, "price_components": rows("price_components", *parts)}

    publish(store, 0, tables("0.01"))
    publish(store, 1, tables("0.1"))
    data = hwprices.open(store.path)
    parts = data.scan("price_components").filter(component="ram").collect()
    assert set(parts["unit_price"]) == {Decimal("0.01")}
    assert rates(store, "m5.large") == [("0.1", ["held_back"])] * 3


def in_currency(currency: str, rate: float, number: int) -> gate.Candidate:
    """A list of twenty prices, collected on a day."""
    amounts = {f"t{size}": str(round(size * rate, 4)) for size in range(1, 21)}
    rows = [price("ovh", "gra", name, usd, currency=currency) for name, usd in amounts.items()]
    dated = releases.seen_at(START + timedelta(days=number), tables(rows))
    return gate.Candidate("ovh", "live", {name: rows.lazy() for name, rows in dated.items()})


def test_a_list_whose_rate_moves_daily_changes_its_currency_as_a_whole() -> None:
    shown, waiting, currencies = in_currency("EUR", 1, 0), None, []
    for number in range(1, 5):
        new, now = in_currency("USD", 1.16 + 0.003 * number, number), START + timedelta(days=number)
        judged = gate.judge(new, shown, held_before=waiting, now=now)
        waiting = judged.held
        made = {name: judged.published(name).lazy() for name in new.tables}
        shown = gate.Candidate("ovh", "live", made)
        currencies.append(judged.published("prices")["currency"].to_list())
    assert currencies == [["EUR"] * 20, ["EUR"] * 20, ["USD"] * 20, ["USD"] * 20]
