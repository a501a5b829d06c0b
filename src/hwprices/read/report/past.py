"""Describe what a release knows of the releases before it, for the page."""

from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.find.search import USUAL, of_prices
from hwprices.read.history.intervals import mark_placeholders
from hwprices.read.report import payload
from hwprices.release import notes as release_notes
from hwprices.release.release import Release

MOST_INTERVALS = 20_000
"""Intervals that the page gets, the newest first: about 150 kB."""

MOST_CHANGES = 100
"""Prices that changed, the largest changes first; the table changes has them all."""


def history(dataset: Release) -> pl.DataFrame:
    """Return the on-demand prices of machines with accelerators since the first release, in USD.

    One row for each price and each value it had: provider, region, instance_type, accelerator_id,
    usd (of one accelerator for an hour), valid_from, valid_to, start_reason. Placeholders are left
    out. Empty where the dataset has one release only.
    """
    if "price_history" not in dataset.tables:
        return pl.DataFrame()
    count = pl.col("accelerator_count")
    rows = (
        mark_placeholders(dataset.scan("price_history"), dataset.scan("prices"))
        .filter(
            ~pl.col("placeholder"),
            pl.col("purchase_option") == "on_demand",
            pl.col("currency") == "USD",
            pl.col("accelerator_id").is_not_null() & (count > 0),
            pl.col("effective_hourly").is_not_null(),
            *of_prices(USUAL),
        )
        .select(
            "provider",
            "region",
            "instance_type",
            "accelerator_id",
            formulas.divide(pl.col("effective_hourly"), count).round(6).alias("usd"),
            "valid_from",
            "valid_to",
            "start_reason",
        )
        .sort("valid_from", descending=True)
        .head(MOST_INTERVALS)
        .collect()
    )
    return rows if rows["valid_from"].n_unique() > 1 else rows.clear()


def changes(dataset: Release) -> dict[str, Any]:
    """Return what changed since the release before: sentences, and the largest changes of prices.

    Both are empty for a dataset's first release.
    """
    if "changes" not in dataset.tables or dataset.manifest["previous"] is None:
        return {"lines": [], "prices": []}
    notes = release_notes.read(dataset)
    prices = (
        dataset.scan("changes")
        .filter(pl.col("price_id").is_not_null(), pl.col("change_percent") != 0)
        .sort(pl.col("change_percent").abs(), descending=True, nulls_last=True)
        .head(MOST_CHANGES)
        .select(
            "change",
            "provider",
            "region",
            "instance_type",
            "os",
            "purchase_option",
            "term_months",
            "currency",
            "old_effective_hourly",
            "new_effective_hourly",
            "change_percent",
        )
        .collect()
    )
    return {"lines": release_notes.lines(notes) if notes else [], "prices": payload.rows(prices)}
