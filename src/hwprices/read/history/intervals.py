"""Find the intervals of a machine type or an accelerator in the price history."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import past
from hwprices.read.find.options import PastOptions
from hwprices.read.find.search import ANY, EVERY_WAY, Search
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.release.real_prices import IS_PLACEHOLDER
from hwprices.release.release import Tables, names_of, scan_types, stock_of
from hwprices.units import Money

if TYPE_CHECKING:
    from hwprices.release.release import Release

PLAIN = Search(os=ANY)  # What is meant where nobody says otherwise, but of every operating system


@dataclass(frozen=True)
class PastAnswer:
    """The intervals found, and the search as it was understood."""

    rows: pl.DataFrame
    search: Search


def answer(
    dataset: "Release", text: str = "", usual: Search = EVERY_WAY, /, **options: Unpack[PastOptions]
) -> PastAnswer:
    """List every interval of the prices that a question asks for; see ``Dataset.history``.

    ``usual``: what holds where neither words nor options say.

    Returns:
        The columns of price_history; ``placeholder``, as ``mark_placeholders`` says; and
        per_accelerator_hour: effective_hourly for one of its accelerators. Sorted by machine, place
        and purchase option, then by time.

    Raises:
        HwpricesError: the release has no history, or the question is not understood; the line names
            the nearest.
    """
    table(dataset)
    tables = past.PastTables(dataset)
    search = past.understand(ReleaseWords.of(dataset, tables), text, usual, **options)
    return PastAnswer(of_search(tables, search), search)


def of_search(tables: past.PastTables, search: Search) -> pl.DataFrame:
    """Select the intervals that a search asks for, with the columns that ``answer`` returns."""
    types, rows = past.of_history(tables, search)
    count = pl.col("accelerator_count").cast(Money)
    each = pl.when(pl.col("accelerator_count") > 0).then(pl.col("effective_hourly") / count)
    marked = mark_placeholders(rows, *_with_placeholders(tables.now, types))
    return marked.with_columns(per_accelerator_hour=each.cast(Money)).collect()


def _with_placeholders(tables: Tables, types: set[str]) -> list[pl.LazyFrame]:
    """Scan the prices of the machine types that have placeholders; nothing where none has."""
    names = names_of(tables).filter(pl.col("instance_type").is_in(sorted(types)))
    if "placeholders" in names.columns:
        types = set(names.filter("placeholders")["instance_type"])
    return [scan_types(tables, "prices", types)] if types else []


def shortages(tables: Tables, rows: pl.DataFrame) -> pl.DataFrame:
    """List when the vendors stated that machines of a history were out of stock.

    Returns rows of the table stock, sorted by its key.
    """
    machine = ["provider", "region", "instance_type"]
    sold_out = stock_of(tables).filter(~pl.col("available"), pl.col("first_seen").is_not_null())
    found = sold_out.join(rows.lazy().select(machine), on=machine, how="semi")
    return found.sort(*machine, "first_seen").collect()


def mark_placeholders(rows: pl.LazyFrame, *prices: pl.LazyFrame) -> pl.LazyFrame:
    """Add ``placeholder``: the interval holds, and this release flags its price as a placeholder.

    Of intervals that have ended, and of prices that are gone, nothing is known: the history has no
    flags.
    """
    if not prices:
        return rows.with_columns(placeholder=pl.lit(False))
    flagged = pl.concat(prices).filter(IS_PLACEHOLDER)
    marks = flagged.select("price_id", placeholder=pl.lit(True))
    joined = rows.join(marks, on="price_id", how="left", maintain_order="left")
    is_open = pl.col("valid_to").is_null()
    return joined.with_columns(placeholder=pl.col("placeholder").fill_null(False) & is_open)


def table(tables: Tables) -> pl.LazyFrame:
    """Open the price history of a release.

    Raises:
        HwpricesError: it has none.
    """
    try:
        return tables.scan("price_history")
    except HwpricesError as error:
        raise HwpricesError(
            "this release has no price history", "The next release that is published has it."
        ) from error


def valid_at(rows: pl.LazyFrame, at: datetime) -> pl.LazyFrame:
    """Select the intervals that hold at a time."""
    moment = pl.lit(at.astimezone(UTC)).cast(pl.Datetime("us", "UTC"))
    ended = (pl.col("valid_to") <= moment).fill_null(False)
    return rows.filter(pl.col("valid_from") <= moment, ~ended)


BY = ["provider", "purchase_option", "term_months", "currency"]
WHERE = ["instance_type", "region"]


def cheapest(rows: pl.DataFrame) -> pl.DataFrame:
    """List the cheapest price of one accelerator for an hour, over time.

    ``rows`` is what ``intervals.answer`` returns; placeholders are left out. There is a row for
    each provider, purchase option, term and currency, and each span of time with one cheapest
    price: BY, WHERE, per_accelerator_hour, valid_from, valid_to.
    """
    priced = rows.filter(pl.col("per_accelerator_hour").is_not_null(), ~pl.col("placeholder"))
    parts = [_of_one(one) for _, one in sorted(priced.group_by(BY), key=lambda item: str(item[0]))]
    columns = [*BY, *WHERE, "per_accelerator_hour", "valid_from", "valid_to"]
    return pl.concat(parts).select(columns) if parts else priced.select(columns)


def _of_one(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = rows.sort("per_accelerator_hour", *WHERE, "price_id")
    times = pl.concat([rows["valid_from"], rows["valid_to"].drop_nulls()]).unique().sort()
    cheapest = [_cheapest_at(ordered, at) for at in times]
    ends = [*times[1:], None]
    spans = pl.concat(
        [
            row.with_columns(
                valid_from=pl.lit(at, rows.schema["valid_from"]),
                valid_to=pl.lit(end, rows.schema["valid_to"]),
            )
            for row, at, end in zip(cheapest, times, ends, strict=True)
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


def _cheapest_at(ordered: pl.DataFrame, at: datetime) -> pl.DataFrame:
    ended = (pl.col("valid_to") <= at).fill_null(False)
    return ordered.filter(pl.col("valid_from") <= at, ~ended).head(1)
