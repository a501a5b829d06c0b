"""Small releases: rows from the few values that a test is about, published or in memory.

A row is a dict; ``rows`` fills in what it leaves out. ``tables`` makes a provider's tables of its
prices, ``publish`` stages and publishes tables below a root, and ``Release`` opens tables without
files.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.publish import release
from hwprices.release.release import NAMES
from hwprices.rows import parquet
from hwprices.rows.prices import DEFAULTS, price_id
from hwprices.schemas.tables import SHEETS, TABLES
from hwprices.stage import Staged, make_current
from hwprices.storage import layout
from hwprices.storage.store import Store
from tests.helpers import manifests

Row = dict[str, Any]

AT = datetime(2026, 7, 30, 12, tzinfo=UTC)
"""When the vendor's pages were fetched."""

PUBLISHED_AT = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)

SEEN = {"observed_at": AT, "raw_sha256": "0" * 64, "source_url": "https://vendor.example/prices"}
SOURCED = {
    "source_url": "https://example.org/",
    "as_of": date(2026, 11, 21),
    "confidence": "high",
    "verified": False,
}

PRICE = {
    **DEFAULTS,
    "region": "us-east-1",
    "instance_type": "m5.large",
    "purchase_option": "on_demand",
    "currency": "USD",
}

USUAL: Mapping[str, Row] = {
    "prices": PRICE,
    "price_history": PRICE,
    "instance_types": {
        "instance_type": "m5.large",
        "accelerators": [],
        "accelerator_kind": "none",
        "accelerator_count": 0.0,
        "spec_source": "api",
        "corrections": [],
    },
    "regions": {"region": "us-east-1", "kind": "region"},
}


def rows(table: str, *values: Row) -> pl.DataFrame:
    """Make a frame of a table or sheet. What a row leaves out is USUAL, or null.

    Amounts may be texts. A price has its id, and one of 9.6 cents where it states none.
    """
    schema = (SHEETS.get(table) or TABLES[table]).dtypes
    usual = SOURCED if table in SHEETS else {"provider": "aws", **SEEN, **USUAL.get(table, {})}
    is_priced = table in ("prices", "price_history")
    if is_priced:
        values = tuple(_with_both_amounts(row) for row in values)
    if unknown := {name for row in values for name in row} - set(schema):
        raise ValueError(f"{table} has no columns {unknown}")
    full = [{name: row.get(name, usual.get(name)) for name in schema} for row in values]
    for name in [name for name, dtype in schema.items() if isinstance(dtype, pl.Decimal)]:
        for row in full:
            row[name] = row[name] if row[name] is None else Decimal(row[name])
    frame = pl.DataFrame(full, schema=schema)
    return frame.with_columns(price_id()) if is_priced else frame


def _with_both_amounts(row: Row) -> Row:
    amount = row.get("effective_hourly", row.get("hourly", "0.096"))
    return {"hourly": amount, "effective_hourly": row.get("hourly", amount), **row}


def prices(*values: Row) -> pl.DataFrame:
    """Make price rows with their price_id."""
    return rows("prices", *values)


def price(provider: str, region: str, name: str, amount: str | None, **more: Any) -> Row:
    """Make a Linux on-demand price, with the columns ``more`` changed."""
    reason = None if amount else "gpu_sku_missing"
    place = {"provider": provider, "region": region, "instance_type": name}
    return {**place, "effective_hourly": amount, "price_reason": reason, "hourly": amount, **more}


def machine(
    provider: str,
    name: str,
    *,
    device: str | None = None,
    count: float = 0,
    gib: float = 0,
    **more: Any,
) -> Row:
    """Make a machine type with ``count`` accelerators ``device`` of ``gib`` GiB each."""
    figures = {"count": float(count), "memory_gib": float(gib)}
    devices = [{"accelerator_id": device, "vendor_name": device or "?", **figures}] if count else []
    return {
        "provider": provider,
        "instance_type": name,
        "family": name.split(".", maxsplit=1)[0],
        "accelerators": devices,
        "accelerator_kind": "gpu" if count else "none",
        "accelerator_count": float(count),
        "accelerator_memory_gib": float(count * gib) or None,
        "local_disk_gib": 0.0,
        **more,
    }


def region(provider: str, name: str, **more: Any) -> Row:
    """Make a row of regions."""
    return {"provider": provider, "region": name, **more}


def tables(
    prices: Sequence[Row], types: Sequence[Row] = (), regions: Sequence[Row] = (), **more: Any
) -> dict[str, pl.DataFrame]:
    """Make the tables of prices; without types or regions, those that the prices name.

    ``more`` are rows of other tables.
    """
    made = rows("prices", *prices)
    if not types:
        named = made.select("provider", "instance_type").unique(maintain_order=True)
        types = [machine(*row) for row in named.iter_rows()]
    if not regions:
        named = made.select("provider", "region").unique(maintain_order=True)
        regions = named.to_dicts()
    others = {name: rows(name, *values) for name, values in more.items()}
    own = {"regions": rows("regions", *regions), "instance_types": rows("instance_types", *types)}
    return {**own, "prices": made, **others}


def fleet(
    count: int = 300, *, price: str = "0.1", region: str = "us-east-1", provider: str = "aws"
) -> dict[str, pl.DataFrame]:
    """Make a provider's tables: ``count`` types with one on-demand price each."""
    made = _fleet(count, price, region, provider)
    return {name: frame.clone() for name, frame in made.items()}


@cache
def _fleet(count: int, price: str, region: str, provider: str) -> dict[str, pl.DataFrame]:
    names = [{"provider": provider, "instance_type": f"m{i}.large"} for i in range(count)]
    size = {"family": "m5", "arch": "x86_64", "vcpus": 2, "memory_gib": 8.0}
    return tables(
        [{**name, "region": region, "hourly": price} for name in names],
        [{**name, **size} for name in names],
    )


def seen_at(at: datetime, tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables as if their pages had been fetched at another time."""
    return {
        name: frame.with_columns(observed_at=pl.lit(at, frame.schema["observed_at"]))
        for name, frame in tables.items()
    }


def stage(
    store: Store, run_id: str, tables: Mapping[str, pl.DataFrame], *, origin: str = "live"
) -> Staged:
    """Stage tables, each provider's rows as a run of its own; return the last one."""
    providers = {name: None for frame in tables.values() for name in frame["provider"]}
    for provider in providers:
        directory = layout.staged_directory(provider, run_id)
        own = {name: frame.filter(provider=provider) for name, frame in tables.items()}
        files = [
            parquet.write(store, directory, name, frame, provider=provider)
            for name, frame in own.items()
            if frame.height or not tables[name].height
        ]
        inputs = manifests.inputs(run_id)
        staged = Staged(provider, run_id, origin, tuple(files), units={"ok": 1}, inputs=inputs)
        make_current(store, staged)
    return staged


def publish(
    store: Store | Path,
    tables: Mapping[str, pl.DataFrame] | None = None,
    *,
    run_id: str = "r1",
    origin: str = "live",
    at: datetime = PUBLISHED_AT,
    accepted: Sequence[str] = (),
) -> release.Published:
    """Stage tables, if any, and publish what is staged."""
    store = Store(store) if isinstance(store, Path) else store
    if tables:
        stage(store, run_id, tables, origin=origin)
    return release.publish(store, now=lambda: at, accepted=accepted)


class Release:
    """The tables of a release, as the answers need them (``hwprices.release.release.Tables``)."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.tables = tables

    def scan(self, table: str) -> pl.LazyFrame:
        return self.tables[table].lazy()

    @property
    def names(self) -> pl.DataFrame | None:
        """The names that a release has in a file, where there is a history."""
        if "price_history" not in self.tables:
            return None
        priced = (pl.col("state") == "current").any()
        return self.tables["price_history"].group_by(NAMES).agg(priced=priced)


def with_private_hosts(release: Release, machines: list[str]) -> Release:
    """Give the release in which these machine types are rented out by community hosts."""
    private = pl.col("instance_type").is_in(machines)
    offers = release.tables["offers"].with_columns(
        provider=pl.when(private).then(pl.lit("runpod")).otherwise("provider"),
        region=pl.when(private).then(pl.lit("community")).otherwise("region"),
    )
    place = rows("regions", region("runpod", "community"))
    regions = pl.concat([release.tables["regions"], place], how="diagonal")
    return Release({**release.tables, "offers": offers, "regions": regions})
