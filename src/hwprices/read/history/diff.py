"""Compare the prices of two releases, from the history of the later one."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find.options import Options
from hwprices.read.find.request import request
from hwprices.read.find.search import EVERY_WAY, of_prices
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.read.history import intervals
from hwprices.release import verify, versions
from hwprices.release.real_prices import IS_PLACEHOLDER
from hwprices.release.release import Tables
from hwprices.schemas.keys import PRICE_KEY

if TYPE_CHECKING:
    from hwprices.release.release import Release

VALUE = ("hourly", "upfront", "effective_hourly", "price_reason")

VENDORS = (
    *("added", "returned", "removed", "price_changed", "changed_and_restated"),
    "observed",  # ends a backfilled interval: both amounts are the vendor's
)
OURS = ("restated", "changed_and_restated")
PERCENT_DIGITS = 4


TO_OR_FROM_PLACEHOLDER = "placeholder"
"""The change of a price that was a placeholder, or is one now: neither up nor down."""


@dataclass(frozen=True)
class Flagged:
    """The prices that a release flags as placeholders (``price_id``), and its time."""

    at: datetime
    placeholders: pl.DataFrame


def flagged(dataset: "Release") -> Flagged:
    """Read which prices a release flags as placeholders.

    Raises:
        HwpricesError: a file of the release is missing or damaged.
    """
    rows = dataset.scan("prices").filter(IS_PLACEHOLDER).select("price_id")
    try:
        ids = rows.collect()
    except (FileNotFoundError, pl.exceptions.ComputeError) as error:
        fault = verify.explain(error, dataset.store, dataset.release)
        raise fault or error from None
    return Flagged(versions.version_time(dataset.version), ids)


def diff(
    tables: Tables, since: datetime, until: datetime, before: Flagged | None = None
) -> pl.DataFrame:
    """List the prices that differ between two times.

    A price that moved and came back does not differ. ``change`` is a code of the table changes, or
    TO_OR_FROM_PLACEHOLDER; ``partly_restated`` is true where part of the difference is a correction
    of ours.

    Args:
        tables: a release of ``until`` or later. The release at ``since`` need not be kept.
        since: the earlier time.
        until: the later one.
        before: the placeholders of the newest release of ``since`` or earlier that is kept.

    Returns:
        change, provider, instance_type, the rest of the price key, old and new values,
        change_percent (null to or from a placeholder), old_placeholder and new_placeholder (null
        without a price, or if its release is not kept), partly_restated and price_id; the
        vendors' largest changes first, then what came or went, what we restated, and what was
        collected for the first time.

    Raises:
        HwpricesError: ``since`` is after ``until``, or the history does not go back so far.
    """
    if since > until:
        raise HwpricesError(
            f"{since:%Y-%m-%d %H:%M} UTC is after the release of {until:%Y-%m-%d %H:%M} UTC",
            "Name an earlier day (a day counts until its end), or the earlier release first.",
        )
    rows = intervals.table(tables)
    first = rows.select(pl.col("valid_from").min()).collect().item()
    if first is None or since < first:
        begins = f"{first:%Y-%m-%d %H:%M} UTC" if first else "with the next release"
        raise HwpricesError(
            f"the history does not go back to {since:%Y-%m-%d %H:%M} UTC", f"It begins {begins}."
        )
    old_rows = _marked(intervals.valid_at(rows, since), before)
    new_rows = intervals.mark_placeholders(intervals.valid_at(rows, until), tables.scan("prices"))
    both = _side_by_side(old_rows, new_rows)
    reasons = _reasons(rows, since, until)
    judged = both.join(reasons, on="price_id", how="left").with_columns(_change().alias("change"))
    old, new = (pl.col(f"{one}_effective_hourly").cast(pl.Float64) for one in ("old", "new"))
    return (
        judged.with_columns(
            change_percent=pl.when(~_touches_placeholder()).then(
                ((new / old - 1) * 100).round(PERCENT_DIGITS)
            ),
            partly_restated=pl.col("ours") & pl.col("vendors"),
        )
        .select(
            "change",
            *PRICE_KEY,
            *(f"{when}_{name}" for name in VALUE for when in ("old", "new")),
            "change_percent",
            "old_placeholder",
            "new_placeholder",
            "partly_restated",
            "price_id",
        )
        .sort(_rank(), -pl.col("change_percent").abs(), *PRICE_KEY, nulls_last=True)
        .collect()
    )


def _rank() -> pl.Expr:
    """Sort: the vendor's changes first, then ours, then what was only collected."""
    ranks = {"restated": 2, "unclear": 2, "first_collected": 3, "price_up": 0, "price_down": 0}
    return pl.col("change").replace_strict(ranks, default=1, return_dtype=pl.Int8)


def _marked(rows: pl.LazyFrame, before: Flagged | None) -> pl.LazyFrame:
    """Add ``placeholder`` to the intervals of the earlier time; null where that is not known.

    An interval that began after the release that was kept has another amount than it has.
    """
    if before is None:
        return rows.with_columns(placeholder=pl.lit(None, pl.Boolean))
    ids = before.placeholders["price_id"].implode()
    known = pl.col("valid_from") <= before.at
    return rows.with_columns(placeholder=pl.when(known).then(pl.col("price_id").is_in(ids)))


def _side_by_side(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.LazyFrame:
    """Join the intervals of both times, where they differ."""
    columns = ("price_id", *PRICE_KEY, *VALUE, "placeholder")
    old, new = (rows.select(*columns, exists=pl.lit(True)) for rows in (before, after))
    named = {name: f"old_{name}" for name in ("exists", *VALUE)}
    joined = old.rename({**named, "placeholder": "old_placeholder"}).join(
        new.rename({name: f"new_{name}" for name in (*named, "placeholder")}),
        on="price_id",
        how="full",
        coalesce=True,
    )
    joined = joined.with_columns(
        *(pl.coalesce(name, f"{name}_right").alias(name) for name in PRICE_KEY),
        pl.col("old_exists", "new_exists").fill_null(False),
    )
    differs = pl.any_horizontal(
        pl.col(f"old_{name}").ne_missing(pl.col(f"new_{name}")) for name in named
    )
    return joined.filter(differs)


def _reasons(rows: pl.LazyFrame, since: datetime, until: datetime) -> pl.LazyFrame:
    """Gather for each price why intervals began and ended between the two times."""
    began = pl.col("valid_from").is_between(since, until, closed="right")
    ended = pl.col("valid_to").is_between(since, until, closed="right").fill_null(False)
    both = pl.concat(
        [
            rows.filter(began).select("price_id", reason="start_reason"),
            rows.filter(ended).select("price_id", reason="end_reason"),
        ]
    )
    return both.group_by("price_id").agg(
        vendors=pl.col("reason").is_in(VENDORS).any(),
        ours=pl.col("reason").is_in(OURS).any(),
        unclear=(pl.col("reason") == "unclear").any(),
    )


def _touches_placeholder() -> pl.Expr:
    return pl.any_horizontal(pl.col("old_placeholder", "new_placeholder").fill_null(False))


def _change() -> pl.Expr:
    old, new = pl.col("old_effective_hourly"), pl.col("new_effective_hourly")
    by_value = (
        pl.when(~pl.col("old_exists"))
        .then(pl.lit("added"))
        .when(~pl.col("new_exists"))
        .then(pl.lit("removed"))
        .when(_touches_placeholder())
        .then(pl.lit(TO_OR_FROM_PLACEHOLDER))
        .when(old.is_null() & new.is_not_null())
        .then(pl.lit("price_known"))
        .when(old.is_not_null() & new.is_null())
        .then(pl.lit("price_unknown"))
        .when(new > old)
        .then(pl.lit("price_up"))
        .when(new < old)
        .then(pl.lit("price_down"))
        .otherwise(pl.lit("terms_changed"))
    )
    return (
        pl.when("unclear")
        .then(pl.lit("unclear"))
        .when(pl.col("ours") & ~pl.col("vendors"))
        .then(pl.lit("restated"))
        .when(~pl.col("vendors"))
        .then(pl.lit("first_collected"))
        .otherwise(by_value)
    )


OF_PRICES = (
    *("provider", "region", "country", "continent", "type"),
    *("option", "term", "os", "software", "license", "tenancy"),
)
"""The options that ask for something of a price, and for nothing of its machine."""


def asked(dataset: "Release", options: Options) -> list[pl.Expr]:
    """Write the conditions of a question on rows that have the columns of ``prices``.

    Raises:
        HwpricesError: an option or a value is not understood, or the option asks for something that
            the rows do not have.
    """
    others = [name for name, value in options.items() if value and name not in OF_PRICES]
    if others:
        raise HwpricesError(
            f"prices are not chosen by {others[0]!r} here", f"Use {', '.join(OF_PRICES)}."
        )
    return of_prices(request(ReleaseWords.of(dataset), "", EVERY_WAY, **options))
