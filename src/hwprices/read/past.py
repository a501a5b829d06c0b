"""Find past prices, and compare the prices of two releases.

Words and options mean the same as in any question (``request``). Names are looked up in the release
and in its price history, to find machine types that are no longer sold.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.formulas import first_of
from hwprices.read.find import request, words
from hwprices.read.find import search as searching
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.options import Options, PastOptions, check_question
from hwprices.read.find.search import ANY, EVERY_WAY, Search, price_conditions
from hwprices.release import versions
from hwprices.release.release import (
    IS_PLACEHOLDER,
    Release,
    Tables,
    explain,
    names_of,
    scan_types,
    stock_of,
)
from hwprices.schemas import PRICE_KEY
from hwprices.units import Money

TYPE = ["provider", "instance_type"]
REGION = ["provider", "region"]

_DEVICE = pl.struct(
    "accelerator_id",
    pl.lit(None, pl.String).alias("vendor_name"),
    pl.col("accelerator_count").alias("count"),
    pl.lit(None, pl.Float64).alias("memory_gib"),
)
"""A device in the list ``accelerators`` of a machine type that is gone."""

CURRENT_ONLY = ("max_price", "usd_per")
"""Options that compare current prices, which a history cannot do."""


@dataclass(frozen=True)
class PastTables:
    """The tables of a release, with the machine types and regions of its history.

    The history knows only the accelerators of a type that is gone, and only the name of a region.
    """

    current: Tables

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame; instance_types and regions include those of the past.

        Unknown values of a type or region that is gone are null.
        """
        rows = self.current.scan(table)
        if table == "instance_types":
            return pl.concat([rows, self._gone_types.lazy()], how="diagonal")
        if table == "regions":
            gone = self._only_in_history("regions", REGION, [])
            return pl.concat([rows, gone.lazy()], how="diagonal")
        return rows

    @property
    def names(self) -> pl.DataFrame:
        """The machines that have or had prices; see ``names_of``."""
        return names_of(self.current)

    @cached_property
    def _gone_types(self) -> pl.DataFrame:
        """Types that are gone, with their accelerators; null if the history has no id of them."""
        counted = self._only_in_history(
            "instance_types", TYPE, ["accelerator_id", "accelerator_count"]
        )
        sheet = self.current.scan("accelerators").select("accelerator_id", accelerator_kind="kind")
        gone = counted.unique(TYPE, keep="first", maintain_order=True).lazy()
        rows = gone.join(sheet, on="accelerator_id", how="left", maintain_order="left")
        known = pl.col("accelerator_id").is_not_null()
        return rows.select(
            *TYPE,
            "accelerator_kind",
            "accelerator_count",
            accelerators=pl.when(known).then(pl.concat_list(_DEVICE)),
        ).collect()

    def _only_in_history(self, table: str, key: list[str], more: list[str]) -> pl.DataFrame:
        """Return the keys that are in the history but not in the table, with more columns."""
        listed = self.current.scan(table).select(key).collect()
        rows = names_of(self.current).select(*key, *more).unique()
        return rows.join(listed, on=key, how="anti").sort(*key, *more, nulls_last=True)


def understand(
    names: ReleaseWords, text: str, usual: Search, **options: Unpack[PastOptions]
) -> Search:
    """Turn a question about past prices into a search.

    ``text``: a question as ``request.request`` takes it; or the complete name of a machine type,
    even if its words have other meanings: "NVIDIA L40S with AMD CPU". ``names`` are those in
    ``PastTables``; ``usual`` is as in ``request.request``. The options CURRENT_ONLY are rejected.

    Raises:
        HwpricesError: a word or option is not understood (the message suggests similar ones), or
            none of them names machines.
    """
    for name in CURRENT_ONLY:
        if options.get(name):
            raise HwpricesError(
                f"a history has no option {name!r}", "Choose among the rows that it gives."
            )
    check_question(text)
    wanted = text.strip().casefold()
    named = frozenset(m for m in names.machines if m.instance_type.casefold() == wanted)
    search = request.request(names, "" if named else text, usual, **options)
    if named:
        of_name = replace(words.EMPTY, machines=named)
        search = request.combine(of_name, search, (), names)
    if search.machines is None and not searching.restricts_machines(search):
        raise HwpricesError(
            "no machine is requested", "Write a machine type or an accelerator: p5.48xlarge, h100."
        )
    return search


PLAIN = Search(os=ANY)  # the default search, for every operating system


@dataclass(frozen=True)
class PastAnswer:
    """The intervals found, and the search as it was understood."""

    rows: pl.DataFrame
    search: Search


def answer(
    dataset: Release, text: str = "", usual: Search = EVERY_WAY, /, **options: Unpack[PastOptions]
) -> PastAnswer:
    """List every interval of the prices of a question; see ``Dataset.history``.

    ``usual``: the values of fields that neither words nor options set.

    Returns:
        The columns of price_history; ``placeholder``, see ``mark_placeholders``; and
        per_accelerator_hour, the effective_hourly of one accelerator. Sorted by machine, place,
        purchase option and time.

    Raises:
        HwpricesError: the question is not understood.
    """
    tables = PastTables(dataset)
    search = understand(ReleaseWords.of(dataset, tables), text, usual, **options)
    if search.max_price is not None or search.max_price_per_accelerator is not None:
        raise HwpricesError("a history has no price limit", "Choose among the rows that it gives.")
    return PastAnswer(run(tables, search), search)


def run(tables: PastTables, search: Search) -> pl.DataFrame:
    """Select the intervals of a search, with the columns that ``answer`` returns."""
    types = searching.types_of(tables, search) or set()  # ``understand`` requires types
    rows = scan_types(tables.current, "price_history", types).filter(price_conditions(search))
    if searching.restricts_machines(search):
        machines = searching.machine_types(tables).filter(searching.machine_conditions(search))
        rows = rows.join(machines.select(TYPE), on=TYPE, how="semi", maintain_order="left")
    count = pl.col("accelerator_count").cast(Money)
    price = pl.when(pl.col("accelerator_count") > 0).then(pl.col("effective_hourly") / count)
    marked = mark_placeholders(rows, *_with_placeholders(tables.current, types))
    return marked.with_columns(per_accelerator_hour=price.cast(Money)).collect()


def _with_placeholders(tables: Tables, types: set[str]) -> list[pl.LazyFrame]:
    """Scan the prices of the machine types with placeholders; empty if there are none."""
    names = names_of(tables).filter(pl.col("instance_type").is_in(sorted(types)))
    if "placeholders" in names.columns:
        types = set(names.filter("placeholders")["instance_type"])
    return [scan_types(tables, "prices", types)] if types else []


def shortages(tables: Tables, rows: pl.DataFrame) -> pl.DataFrame:
    """List the times in which vendors reported machines of a history as out of stock.

    Returns rows of the table stock, sorted by its key.
    """
    key = ["provider", "region", "instance_type"]
    sold_out = stock_of(tables).filter(~pl.col("available"), pl.col("first_seen").is_not_null())
    requested = sold_out.join(rows.lazy().select(key), on=key, how="semi")
    return requested.sort(*key, "first_seen").collect()


def mark_placeholders(rows: pl.LazyFrame, *prices: pl.LazyFrame) -> pl.LazyFrame:
    """Add ``placeholder``: the interval is current, and this release flags its price.

    It is false for intervals that have ended and prices that are gone, because the history has no
    flags.
    """
    if not prices:
        return rows.with_columns(placeholder=pl.lit(False))
    flagged = pl.concat(prices).filter(IS_PLACEHOLDER)
    marks = flagged.select("price_id", placeholder=pl.lit(True))
    joined = rows.join(marks, on="price_id", how="left", maintain_order="left")
    is_open = pl.col("valid_to").is_null()
    return joined.with_columns(placeholder=pl.col("placeholder").fill_null(False) & is_open)


def valid_at(rows: pl.LazyFrame, time: datetime) -> pl.LazyFrame:
    """Select the intervals that are valid at a time."""
    moment = pl.lit(time.astimezone(UTC)).cast(pl.Datetime("us", "UTC"))
    ended = (pl.col("valid_to") <= moment).fill_null(False)
    return rows.filter(pl.col("valid_from") <= moment, ~ended)


BEGINS = (
    pl.when(pl.col("valid_from") == pl.col("valid_from").min().over("price_id"))
    .then(pl.min_horizontal("valid_from", "observed_first"))
    .otherwise("valid_from")
)
"""Begin of an interval. The first interval of a price begins when the price was first seen, which
may be before its release."""

BY = ["provider", "purchase_option", "term_months", "currency"]
WHERE = ["instance_type", "region"]


def cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    """List the cheapest hourly price of one accelerator over time.

    ``rows`` is what ``answer`` returns; placeholders are left out. There is a row for each
    provider, purchase option, term and currency, and each span of time with the same cheapest
    price: BY, WHERE, per_accelerator_hour, valid_from (BEGINS), valid_to.
    """
    priced = rows.with_columns(valid_from=BEGINS).filter(
        pl.col("per_accelerator_hour").is_not_null(), ~pl.col("placeholder")
    )
    groups = sorted(priced.group_by(BY), key=lambda item: str(item[0]))
    parts = [_cheapest_spans(group) for _, group in groups]
    columns = [*BY, *WHERE, "per_accelerator_hour", "valid_from", "valid_to"]
    return pl.concat(parts).select(columns) if parts else priced.select(columns)


def _cheapest_spans(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = rows.sort("per_accelerator_hour", *WHERE, "price_id")
    times = pl.concat([rows["valid_from"], rows["valid_to"].drop_nulls()]).unique().sort()
    cheapest = [_cheapest_at(ordered, time) for time in times]
    ends = [*times[1:], None]
    spans = pl.concat(
        [
            row.with_columns(
                valid_from=pl.lit(time, rows.schema["valid_from"]),
                valid_to=pl.lit(end, rows.schema["valid_to"]),
            )
            for row, time, end in zip(cheapest, times, ends, strict=True)
        ]
    )
    same = pl.struct("per_accelerator_hour", *WHERE).rle_id()
    adjacent = (pl.col("valid_from") != pl.col("valid_to").shift(1)).fill_null(False).cum_sum()
    return (
        spans.group_by(same.alias("run"), adjacent.alias("gap"), maintain_order=True)
        .agg(
            pl.exclude("valid_from", "valid_to").first(),
            pl.col("valid_from").first(),
            pl.col("valid_to").last(),
        )
        .drop("run", "gap")
    )


def _cheapest_at(ordered: pl.DataFrame, time: datetime) -> pl.DataFrame:
    ended = (pl.col("valid_to") <= time).fill_null(False)
    return ordered.filter(pl.col("valid_from") <= time, ~ended).head(1)


VALUE = ("hourly", "upfront", "effective_hourly", "price_reason")

VENDORS = (
    *("added", "returned", "removed", "price_changed", "changed_and_restated"),
    "observed",  # ends a backfilled interval: both amounts are the vendor's
)
OURS = ("restated", "changed_and_restated")
PERCENT_DIGITS = 4


TO_OR_FROM_PLACEHOLDER = "placeholder"
"""Code of a change to or from a placeholder, which is neither up nor down."""


def diff(
    tables: Tables, since: datetime, until: datetime, before: Release | None = None
) -> pl.DataFrame:
    """List the prices that differ between two times.

    A price that moved and came back does not differ. ``change`` is a code of the table changes, or
    TO_OR_FROM_PLACEHOLDER. ``partly_restated``: part of the difference is our own correction.

    ``tables``: a release of ``until`` or later. The release at ``since`` need not be kept.
    ``before``: the newest kept release that is not later than ``since``, for its placeholders.

    Returns:
        change, provider, instance_type, the rest of the price key, old and new values,
        change_percent (null to or from a placeholder), old_placeholder and new_placeholder (null
        without a price, or if its release is not kept), partly_restated and price_id. Sorted: the
        vendors' largest changes, new and gone prices, restated prices, prices that were collected
        for the first time.

    Raises:
        HwpricesError: ``since`` is after ``until``, the history does not go back so far, or a file
            of ``before`` is missing or damaged.
    """
    if since > until:
        raise HwpricesError(
            f"{since:%Y-%m-%d %H:%M} UTC is after the release of {until:%Y-%m-%d %H:%M} UTC",
            "Name an earlier day (a day counts until its end), or the earlier release first.",
        )
    rows = tables.scan("price_history")
    first = rows.select(pl.col("valid_from").min()).collect().item()
    if first is None or since < first:
        begins = f"{first:%Y-%m-%d %H:%M} UTC" if first else "with the next release"
        raise HwpricesError(
            f"the history does not go back to {since:%Y-%m-%d %H:%M} UTC", f"It begins {begins}."
        )
    old_rows = _marked(valid_at(rows, since), before)
    new_rows = mark_placeholders(valid_at(rows, until), tables.scan("prices"))
    pairs = _side_by_side(old_rows, new_rows)
    reasons = _reasons(rows, since, until)
    judged = pairs.join(reasons, on="price_id", how="left").with_columns(_change().alias("change"))
    old, new = (pl.col(f"{when}_effective_hourly").cast(pl.Float64) for when in ("old", "new"))
    return (
        judged.with_columns(
            change_percent=pl.when(~_touches_placeholder()).then(
                ((new / old - 1) * 100).round(PERCENT_DIGITS)
            ),
            partly_restated=pl.col("ours") & pl.col("vendors"),
        )
        .select(
            *("change", *PRICE_KEY),
            *(f"{when}_{name}" for name in VALUE for when in ("old", "new")),
            *("change_percent", "old_placeholder", "new_placeholder", "partly_restated"),
            "price_id",
        )
        .sort(_rank(), -pl.col("change_percent").abs(), *PRICE_KEY, nulls_last=True)
        .collect()
    )


def _rank() -> pl.Expr:
    """Return the sort key of a change; see ``diff``."""
    ranks = {"restated": 2, "unclear": 2, "first_collected": 3, "price_up": 0, "price_down": 0}
    return pl.col("change").replace_strict(ranks, default=1, return_dtype=pl.Int8)


def _marked(rows: pl.LazyFrame, before: Release | None) -> pl.LazyFrame:
    """Add ``placeholder`` to the intervals of the earlier time; null if unknown.

    It is unknown for intervals that began after the kept release.
    """
    if before is None:
        return rows.with_columns(placeholder=pl.lit(None, pl.Boolean))
    flagged = before.scan("prices").filter(IS_PLACEHOLDER).select("price_id")
    try:
        ids = flagged.collect()["price_id"].implode()
    except (FileNotFoundError, pl.exceptions.ComputeError) as error:
        fault = explain(error, before.store, before.release)
        raise fault or error from None
    known = pl.col("valid_from") <= versions.version_time(before.version)
    return rows.with_columns(placeholder=pl.when(known).then(pl.col("price_id").is_in(ids)))


def _side_by_side(before: pl.LazyFrame, after: pl.LazyFrame) -> pl.LazyFrame:
    """Join the intervals of both times, and select those that differ."""
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
    """Summarize for each price why intervals began and ended between the two times."""
    began = pl.col("valid_from").is_between(since, until, closed="right")
    ended = pl.col("valid_to").is_between(since, until, closed="right").fill_null(False)
    reasons = pl.concat(
        [
            rows.filter(began).select("price_id", reason="start_reason"),
            rows.filter(ended).select("price_id", reason="end_reason"),
        ]
    )
    return reasons.group_by("price_id").agg(
        vendors=pl.col("reason").is_in(VENDORS).any(),
        ours=pl.col("reason").is_in(OURS).any(),
        unclear=(pl.col("reason") == "unclear").any(),
    )


def _touches_placeholder() -> pl.Expr:
    return pl.any_horizontal(pl.col("old_placeholder", "new_placeholder").fill_null(False))


def _change() -> pl.Expr:
    old, new = pl.col("old_effective_hourly"), pl.col("new_effective_hourly")
    by_value = first_of(
        {
            "added": ~pl.col("old_exists"),
            "removed": ~pl.col("new_exists"),
            TO_OR_FROM_PLACEHOLDER: _touches_placeholder(),
            "price_known": old.is_null() & new.is_not_null(),
            "price_unknown": old.is_not_null() & new.is_null(),
            "price_up": new > old,
            "price_down": new < old,
        },
        "terms_changed",
    )
    by_reason = {
        "unclear": pl.col("unclear"),
        "restated": pl.col("ours") & ~pl.col("vendors"),
        "first_collected": ~pl.col("vendors"),
    }
    return pl.coalesce(first_of(by_reason), by_value)


PRICE_OPTIONS = (
    *("provider", "region", "country", "continent", "type"),
    *("option", "term", "os", "software", "license", "tenancy"),
)
"""The options that set conditions on prices, not on machines."""


def option_conditions(dataset: Release, options: Options) -> list[pl.Expr]:
    """Return the conditions of options on rows with the columns of ``prices``.

    Raises:
        HwpricesError: an option or a value is not understood, or an option is not in PRICE_OPTIONS.
    """
    others = [name for name, value in options.items() if value and name not in PRICE_OPTIONS]
    if others:
        raise HwpricesError(
            f"prices are not chosen by {others[0]!r} here", f"Use {', '.join(PRICE_OPTIONS)}."
        )
    return price_conditions(request.request(ReleaseWords.of(dataset), "", EVERY_WAY, **options))
