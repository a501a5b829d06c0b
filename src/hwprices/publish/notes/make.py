"""Gather the release notes from the changes, the gate's results and the collection reports."""

from collections.abc import Collection, Mapping

import polars as pl

from hwprices.publish.choose import Source
from hwprices.publish.history.record import Record
from hwprices.publish.history.snapshot import Moment
from hwprices.release.manifest import CheckResult
from hwprices.release.notes import (
    Collected,
    GateNote,
    Move,
    NewWord,
    ProviderNote,
    ReleaseNotes,
    Restated,
    Sold,
)
from hwprices.release.wording import plain

LARGEST_MOVES = 10


def make(
    moment: Moment,
    sources: Collection[Source],
    results: Collection[CheckResult],
    past: Record,
    titles: Mapping[str, str],
    new_words: pl.DataFrame,
) -> ReleaseNotes:
    """Gather the notes of a release.

    Args:
        moment: the release.
        sources: what it is made of.
        results: how every check of the gate came out, also of providers that are left out.
        past: its history.
        titles: the providers' names for people.
        new_words: its table of this name.
    """
    changes, intervals = past.changes, past.intervals
    prices = changes.filter(subject="price")
    return ReleaseNotes(
        version=moment.version,
        previous=moment.previous,
        providers={
            source.provider: _provider(source, intervals.get(source.provider), titles)
            for source in sources
        },
        changes=dict(prices.group_by("change").len().sort("change").iter_rows()),
        moves=largest_moves(prices),
        instance_types=_types_or_regions(changes, "instance_type"),
        regions=_types_or_regions(changes, "region"),
        new_providers=tuple(changes.filter(subject="provider", change="added")["provider"]),
        collection=_collection(changes),
        restated=_restated(changes),
        spec_changes=changes.filter(change="spec_changed").height,
        new_words=_new_words(new_words),
        gate=tuple(
            GateNote(result.provider, result.check, result.outcome, result.detail)
            for result in results
            if result.outcome != "pass"
        ),
        problems=past.problems,
    )


def _provider(
    source: Source, intervals: pl.LazyFrame | None, titles: Mapping[str, str]
) -> ProviderNote:
    prices: dict[str, int] = {}
    if intervals is not None:
        current = intervals.filter(state="current").group_by("purchase_option").len()
        prices = dict(current.sort("purchase_option").collect().iter_rows())
    starts = [file.observed_from for file in source.files if file.observed_from]
    ends = [file.observed_to for file in source.files if file.observed_to]
    return ProviderNote(
        title=titles.get(source.provider) or source.provider,
        origin=source.origin,
        status=source.status,
        kept_from=source.kept_from,
        observed_from=min(starts, default=None),
        observed_to=max(ends, default=None),
        prices=prices,
        quarantined=dict(source.report.quarantined),
        failed_units=tuple(
            f"{trouble.unit} {trouble.status}: {trouble.reason}"
            for trouble in source.report.troubles
            if trouble.status in ("failed", "carried")
        ),
        checks_passed=sum(result.outcome == "pass" for result in source.results),
    )


def largest_moves(prices: pl.DataFrame) -> tuple[Move, ...]:
    """Select the vendor's largest moves, by per cent, one for each machine type and option."""
    moved = prices.filter(pl.col("change").is_in(["price_up", "price_down"]))
    by = ["provider", "instance_type", "purchase_option", "os", "term_months"]
    order = [pl.col("change_percent").abs(), *map(pl.col, [*by, "region", "price_id"])]
    ranked = moved.sort(order, descending=[True] + [False] * (len(order) - 1))
    largest = ranked.unique(by, keep="first", maintain_order=True).head(LARGEST_MOVES)
    return tuple(
        Move(
            row["provider"],
            row["region"],
            row["instance_type"],
            row["purchase_option"],
            row["os"],
            row["term_months"],
            row["currency"],
            plain(row["old_effective_hourly"]),
            plain(row["new_effective_hourly"]),
            row["change_percent"],
        )
        for row in largest.iter_rows(named=True)
    )


def _types_or_regions(changes: pl.DataFrame, subject: str) -> tuple[Sold, ...]:
    rows = changes.filter(subject=subject).filter(
        pl.col("change").is_in(["added", "returned", "removed", "restated", "unclear"]),
        pl.col("field").is_null(),
    )
    named = rows.sort("provider", "change", subject).select("provider", subject, "change", "prices")
    return tuple(Sold(*row) for row in named.iter_rows())


def _collection(changes: pl.DataFrame) -> tuple[Collected, ...]:
    rows = changes.filter(pl.col("evidence") == "collection", pl.col("change") != "added").sort(
        "provider", "collection_unit", "change", nulls_last=False
    )
    named = rows.select("provider", "collection_unit", "change", "prices")
    return tuple(Collected(*row) for row in named.iter_rows())


def _restated(changes: pl.DataFrame) -> tuple[Restated, ...]:
    """Count restated prices by provider and option, and restated figures by column."""
    rows = changes.filter(change="restated").filter(
        (pl.col("subject") == "price") | pl.col("field").is_not_null()
    )
    of = pl.coalesce("provider", pl.lit("sheets"))
    counted = (
        rows.group_by("subject", of.alias("name"), field=pl.coalesce("field", "purchase_option"))
        .len()
        .sort("subject", "name", "field", descending=[True, False, False])
    )
    return tuple(Restated(*row) for row in counted.iter_rows())


def _new_words(table: pl.DataFrame) -> tuple[NewWord, ...]:
    """List the words of each provider, those that cost most rows first."""
    cost = (pl.col("lines") + pl.col("dependants")).cast(pl.Int64)
    rows = table.sort("provider", -cost, "reason", "word")
    return tuple(
        NewWord(
            row["provider"],
            row["reason"],
            row["word"],
            row["lines"],
            row["dependants"],
            row["example"],
            row["source_url"],
            f"{row['first_seen']:%Y-%m-%d}",
        )
        for row in rows.iter_rows(named=True)
    )
