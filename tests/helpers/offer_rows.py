"""Complete rows of vendor tables and sheets from the few values that a test is about."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.rows import frames
from hwprices.rows.prices import price_id
from hwprices.schemas.tables import SHEETS, TABLES

SEEN = datetime(2026, 7, 30, tzinfo=UTC)
SHA = "0" * 64


def rows(table: str, *values: dict[str, Any]) -> pl.DataFrame:
    """Make a frame of a table from rows of values; other columns are null."""
    model = SHEETS.get(table) or TABLES[table]
    schema = frames.dtypes(model)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in values], schema=schema)


def region(provider: str, name: str, **more: Any) -> dict[str, Any]:
    """Make a row of regions."""
    return {
        "provider": provider,
        "region": name,
        "kind": "region",
        "observed_at": SEEN,
        "raw_sha256": SHA,
        **more,
    }


def machine(
    provider: str,
    name: str,
    *,
    device: str | None = None,
    count: float = 0,
    gib: float = 0,
    **more: Any,
) -> dict[str, Any]:
    """Make a machine type with ``count`` accelerators ``device`` of ``gib`` GiB each."""
    devices = (
        [
            {
                "accelerator_id": device,
                "vendor_name": device or "?",
                "count": float(count),
                "memory_gib": float(gib),
            }
        ]
        if count
        else []
    )
    base = {
        "provider": provider,
        "instance_type": name,
        "family": name.split(".", maxsplit=1)[0],
        "accelerators": devices,
        "accelerator_kind": "gpu" if count else "none",
        "accelerator_count": float(count),
        "accelerator_memory_gib": float(count * gib) or None,
        "local_disk_gib": 0.0,
        "spec_source": "api",
        "corrections": [],
        "observed_at": SEEN,
        "raw_sha256": SHA,
    }
    return base | more


def price(provider: str, where: str, name: str, amount: str | None, **more: Any) -> dict[str, Any]:
    """Make a Linux on-demand price, with the columns ``more`` changed."""
    base = {
        "provider": provider,
        "region": where,
        "instance_type": name,
        "os": "linux",
        "software": "none",
        "license_model": "included",
        "tenancy": "shared",
        "purchase_option": "on_demand",
        "term_months": 0,
        "payment_option": "none",
        "currency": "USD",
        "hourly": Decimal(amount) if amount else None,
        "effective_hourly": Decimal(amount) if amount else None,
        "price_reason": None if amount else "gpu_sku_missing",
        "billing_unit": "hour",
        "basis": "listed",
        "flags": [],
        "observed_at": SEEN,
        "source_url": "https://example.org/",
        "raw_sha256": SHA,
    }
    return base | more


def prices(*price_rows: dict[str, Any]) -> pl.LazyFrame:
    """Make the prices table of rows, with price_id."""
    return rows("prices", *price_rows).with_columns(price_id()).lazy()
