"""Make rows of prices, in the catalog's own currency."""

from collections.abc import Sequence

import polars as pl

from hwprices.providers.ovh.plans import Plan
from hwprices.rows import frames, prices
from hwprices.rows.origin import ORIGIN
from hwprices.schemas.price import Prices

COLUMNS = ("instance_type", "region", "os", "hourly", "currency", "price_reason", "sku_id", *ORIGIN)


def price_rows(plans: Sequence[Plan]) -> pl.DataFrame:
    """Return one row for each plan. A plan at 0 has no price and the reason."""
    dtypes = frames.dtypes(Prices)
    rows = [
        {
            "instance_type": plan.flavor,
            "region": plan.region,
            "os": plan.os,
            "hourly": plan.hourly,
            "currency": plan.currency,
            "price_reason": None if plan.hourly else "listed_at_zero",
            "sku_id": plan.code,
            "observed_at": plan.page.retrieved_at,
            "source_url": plan.page.url,
            "raw_sha256": plan.page.sha256,
        }
        for plan in plans
    ]
    return prices.price_rows(
        pl.LazyFrame(rows, schema={name: dtypes[name] for name in COLUMNS}),
        provider="ovh",
        purchase_option="on_demand",
        flags=pl.lit(["availability_unknown"]),
    ).collect()
