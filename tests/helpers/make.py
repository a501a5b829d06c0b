"""Make small and valid tables for tests, and put them in force as staged tables."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.rows import frames, parquet
from hwprices.rows.prices import price_id
from hwprices.schemas.price import Prices
from hwprices.schemas.tables import TABLES
from hwprices.stage.stage import Staged, put_in_force
from hwprices.storage import layout
from hwprices.storage.store import Store
from tests.helpers import manifests

AT = datetime(2026, 7, 30, 12, tzinfo=UTC)

PRICE: dict[str, Any] = {
    "provider": "aws",
    "region": "us-east-1",
    "instance_type": "m5.large",
    "os": "linux",
    "software": "none",
    "license_model": "included",
    "tenancy": "shared",
    "purchase_option": "on_demand",
    "term_months": 0,
    "payment_option": "none",
    "currency": "USD",
    "hourly": Decimal("0.096"),
    "effective_hourly": Decimal("0.096"),
    "billing_unit": "hour",
    "basis": "listed",
    "flags": [],
    "observed_at": AT,
    "source_url": "https://vendor.example/prices",
    "raw_sha256": "0" * 64,
}

TYPE: dict[str, Any] = {
    "provider": "aws",
    "instance_type": "m5.large",
    "family": "m5",
    "arch": "x86_64",
    "vcpus": 2,
    "memory_gib": 8.0,
    "accelerators": [],
    "accelerator_kind": "none",
    "accelerator_count": 0.0,
    "spec_source": "api",
    "corrections": [],
    "observed_at": AT,
    "raw_sha256": "0" * 64,
}

REGION: dict[str, Any] = {
    "provider": "aws",
    "region": "us-east-1",
    "kind": "region",
    "observed_at": AT,
    "raw_sha256": "0" * 64,
}


def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Make rows of a table; columns that no row has are null."""
    model = TABLES[name]
    dtypes = frames.dtypes(model)
    columns = [name for name in dtypes if any(name in row for row in rows)]
    frame = pl.DataFrame(
        [{name: row.get(name) for name in columns} for row in rows],
        schema={name: dtypes[name] for name in columns},
    )
    return frames.conform(frame.lazy(), model).collect()


def prices(*changes: dict[str, Any]) -> pl.DataFrame:
    """Price rows with their price_id: PRICE with some values changed in each.

    A changed hourly changes effective_hourly too.
    """
    rows = []
    for change in changes:
        row = {**PRICE, **change}
        if "hourly" in change and "effective_hourly" not in change:
            row["effective_hourly"] = row["hourly"]
        rows.append(row)
    return table("prices", rows).with_columns(price_id()).select(list(frames.dtypes(Prices)))


def stage_frames(
    store: Store,
    run_id: str,
    by_table: dict[str, pl.DataFrame],
    *,
    provider: str = "aws",
    origin: str = "live",
) -> Staged:
    """Put frames in force as a provider's staged tables."""
    directory = layout.staged_directory(provider, run_id)
    files = tuple(
        parquet.write(store, directory, name, frame, provider=provider)
        for name, frame in by_table.items()
    )
    staged = Staged(
        provider, run_id, origin, files, units={"ok": 1}, inputs=manifests.inputs(run_id)
    )
    put_in_force(store, staged)
    return staged


def world(
    count: int = 300, *, price: str = "0.1", region: str = "us-east-1", provider: str = "aws"
) -> dict[str, pl.DataFrame]:
    """Make a provider's tables: ``count`` types with one on-demand price each."""
    names = [f"m{i}.large" for i in range(count)]
    return {
        "regions": table("regions", [{**REGION, "provider": provider, "region": region}]),
        "instance_types": table(
            "instance_types", [{**TYPE, "provider": provider, "instance_type": n} for n in names]
        ),
        "prices": prices(
            *(
                {
                    "provider": provider,
                    "region": region,
                    "instance_type": n,
                    "hourly": Decimal(price),
                }
                for n in names
            )
        ),
    }
