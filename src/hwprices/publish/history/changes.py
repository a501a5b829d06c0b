"""List what changed in a release: prices, machine types, regions, units, specs, sheets."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.formulas import first_of
from hwprices.publish.history import snapshot
from hwprices.publish.history.intervals import Step
from hwprices.publish.history.snapshot import VALUE, Snapshot
from hwprices.rows import frames
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import SHEETS, Changes

SUBJECTS = ("instance_type", "region")  # They appear with their first price and go with their last
WAITING = ("was_state", "state", "waits_for", "collection_unit")
BACK = ("was_state", "was_for", "collection_unit")
"""Columns by which waiting prices, and prices that are back, are counted. The rows are not kept: if
a release lacks a provider, all of its prices wait."""


@dataclass(frozen=True)
class Outcome:
    """The effect of a release on one provider's prices, without the intervals themselves.

    Attributes:
        had: number of intervals before.
        has: number of intervals now.
        sold_before: machine types and regions of the intervals that were open before, as
            ``_types_and_regions`` lists them.
        sold: the same for the intervals that are open now.
        ever: the same for all intervals before.
        moves: as in ``Step``.
        waiting: number of ``prices`` of ``Step.waiting`` by WAITING.
        back: number of ``prices`` of ``Step.back`` by BACK.
    """

    had: int
    has: int
    sold_before: pl.DataFrame
    sold: pl.DataFrame
    ever: pl.DataFrame
    moves: pl.DataFrame
    waiting: pl.DataFrame
    back: pl.DataFrame


def outcome_of(step: Step) -> Outcome:
    """Summarize a step. The result is far smaller than the intervals."""
    columns = ("provider", *SUBJECTS, "valid_to")
    before, after = step.before.select(columns), step.history.select(columns)
    open_before = _open(before)
    sold_before = _types_and_regions(open_before)
    return Outcome(
        had=step.before.height,
        has=step.history.height,
        sold_before=sold_before,
        sold=_types_and_regions(_open(after)),
        ever=sold_before if open_before is before else _types_and_regions(before),
        moves=frames.independent(step.moves),
        waiting=_counted(step.waiting, WAITING),
        back=_counted(step.back, BACK),
    )


def added_up(parts: Sequence[Outcome]) -> Outcome:
    """Combine the outcomes of at least one piece of a provider. No price is in two pieces."""
    frames_of_parts = {
        name: pl.concat([getattr(part, name) for part in parts])
        for name in ("sold_before", "sold", "ever", "moves", "waiting", "back")
    }
    for name in ("sold_before", "sold", "ever"):
        frames_of_parts[name] = frames_of_parts[name].unique()
    had, has = (sum(getattr(part, name) for part in parts) for name in ("had", "has"))
    return Outcome(had=had, has=has, **frames_of_parts)


def _open(intervals: pl.DataFrame) -> pl.DataFrame:
    """Select open intervals; returns the same frame if all are open."""
    is_open = intervals["valid_to"].is_null()
    return intervals if is_open.all() else intervals.filter(is_open)


def _counted(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return rows.group_by(columns).agg(prices=pl.len().cast(pl.Int64))


def _types_and_regions(rows: pl.DataFrame) -> pl.DataFrame:
    """List the machine types and the regions of intervals, with null in the other's column.

    In sorted rows a subject repeats many times: only the first of each run is read.
    """
    runs = {subject: pl.col(subject).ne_missing(pl.col(subject).shift(1)) for subject in SUBJECTS}
    by_subject = [
        rows.select("provider", subject).filter(is_first).unique()
        for subject, is_first in runs.items()
    ]
    return frames.independent(pl.concat(by_subject, how="diagonal"))


PERCENT_DIGITS = 4


def of_provider(
    provider: str, outcome: Outcome, placeholders: Sequence[pl.LazyFrame] = ()
) -> list[pl.DataFrame]:
    """List the changes of one provider's prices, and the resulting changes of types and regions.

    A provider that is new in a release is one row.
    """
    if not outcome.had and not outcome.has:
        return []
    if not outcome.had:
        row = {"subject": "provider", "change": "added", "provider": provider}
        return [rows_of([{**row, "prices": outcome.has, "evidence": "collection"}])]
    # _collection makes one row for all prices of a unit that was collected for the first time
    listed = outcome.moves.filter(pl.col("start_reason").ne_missing("first_collected"))
    by_price = _with_placeholders(_by_price(listed), placeholders)
    return [
        by_price,
        _type_or_region_changes(outcome, by_price, "instance_type", ["provider", "instance_type"]),
        _type_or_region_changes(outcome, by_price, "region", ["provider", "region"]),
        *_collection(provider, outcome),
    ]


def rows_of(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    """Make rows of the changes table; missing columns are null."""
    dtypes = Changes.dtypes
    names = [name for name in dtypes if any(name in row for row in rows)]
    schema = {name: dtypes[name] for name in names}
    made = pl.DataFrame([{name: row.get(name) for name in names} for row in rows], schema=schema)
    return frames.conform(made.lazy(), Changes).collect()


def _by_price(moves: pl.DataFrame) -> pl.DataFrame:
    """Make a row for each step of each price: ours, the vendor's, or an unclear one."""
    parts = [
        _price_rows(moves.filter("unclear"), "old", "new", pl.lit("unclear")),
        _price_rows(moves.filter("ours"), "old", "middle", pl.lit("restated")),
        _price_rows(moves.filter("vendors"), "middle", "new", _vendor_change()),
    ]
    return pl.concat(parts)


def _vendor_change() -> pl.Expr:
    """Return the code of the vendor's step, from the middle to the new value."""
    before, after = pl.col("middle_effective_hourly"), pl.col("new_effective_hourly")
    return first_of(
        {
            "returned": ~pl.col("middle_exists") & pl.col("ended_before"),
            "added": ~pl.col("middle_exists"),
            "removed": ~pl.col("new_exists"),
            "price_known": before.is_null() & after.is_not_null(),
            "price_unknown": before.is_not_null() & after.is_null(),
            "price_up": after > before,
            "price_down": after < before,
        },
        "terms_changed",
    )


def _with_placeholders(changes: pl.DataFrame, placeholders: Sequence[pl.LazyFrame]) -> pl.DataFrame:
    """Mark prices that were or are placeholders as neither up nor down.

    The lookup reads the flags of all prices, so it is done only if a price moved.
    """
    moved = pl.col("change").is_in(["price_up", "price_down", "price_known", "price_unknown"])
    ids = changes.filter(moved).select("price_id")
    if not placeholders or ids.is_empty():
        return changes
    flagged = ids.lazy().join(pl.concat(placeholders), on="price_id", how="semi").collect()
    is_placeholder = moved & pl.col("price_id").is_in(flagged["price_id"].implode())
    return changes.with_columns(
        change=pl.when(is_placeholder).then(pl.lit("placeholder")).otherwise("change"),
        change_percent=pl.when(~is_placeholder).then("change_percent"),
    )


def _price_rows(moves: pl.DataFrame, one: str, other: str, change: pl.Expr) -> pl.DataFrame:
    old = [pl.col(f"{one}_{name}").alias(f"old_{name}") for name in VALUE]
    new = [pl.col(f"{other}_{name}").alias(f"new_{name}") for name in VALUE]
    rows = moves.select(
        change.alias("change"), "price_id", *PRICE_KEY, *old, *new, "evidence"
    ).with_columns(
        subject=pl.lit("price"), prices=pl.lit(1, dtype=pl.Int64), change_percent=percent()
    )
    return frames.conform(rows.lazy(), Changes).collect()


def percent() -> pl.Expr:
    """Compute change_percent from old_effective_hourly and new_effective_hourly."""
    old, new = (pl.col(f"{when}_effective_hourly").cast(pl.Float64) for when in ("old", "new"))
    return ((new / old - 1) * 100).round(PERCENT_DIGITS)


def _type_or_region_changes(
    outcome: Outcome, by_price: pl.DataFrame, subject: str, on: Sequence[str]
) -> pl.DataFrame:
    """List the machine types or regions that have their first price, or lost their last.

    The change is that of their prices: the vendor's, ours, or unclear. Prices that were not
    collected still count.
    """
    lists = (outcome.sold_before, outcome.sold, outcome.ever)
    before, after, ever = (rows.select(on).drop_nulls().unique() for rows in lists)
    ever = ever.with_columns(ever=pl.lit(True))
    added = after.join(before, on=on, how="anti").join(ever, on=on, how="left")
    removed = before.join(after, on=on, how="anti").with_columns(ever=pl.lit(True))
    rows = []
    for changed, old, new in ((added, False, True), (removed, True, False)):
        price_rows = by_price.filter(_exists("old") == old, _exists("new") == new)
        rows.append(_with_price_change(changed, price_rows, subject, on))
    return pl.concat(rows)


def _exists(when: str) -> pl.Expr:
    """Check whether the price existed: it has an amount, or a reason for having none."""
    return pl.any_horizontal(
        pl.col(f"{when}_{name}").is_not_null() for name in ("effective_hourly", "price_reason")
    )


PRECEDENCE = ["added", "returned", "removed", "unclear", "restated"]
"""Changes of prices in the order in which one decides for its machine type or region."""


def _with_price_change(
    changed: pl.DataFrame, by_price: pl.DataFrame, subject: str, on: Sequence[str]
) -> pl.DataFrame:
    rank = pl.col("change").replace_strict(
        {change: index for index, change in enumerate(PRECEDENCE)}, default=len(PRECEDENCE)
    )
    by_subject = (
        by_price.sort(rank, "evidence")
        .group_by(on, maintain_order=True)
        .agg(pl.col("change", "evidence").first(), prices=pl.len().cast(pl.Int64))
    )
    rows = changed.join(by_subject, on=on, maintain_order="left").with_columns(
        change=pl.when((pl.col("change") == "added") & pl.col("ever").fill_null(False))
        .then(pl.lit("returned"))
        .otherwise("change"),
        subject=pl.lit(subject),
    )
    return frames.conform(rows.drop("ever").lazy(), Changes).collect()


def _collection(provider: str, outcome: Outcome) -> list[pl.DataFrame]:
    newly_waiting = outcome.waiting.filter(pl.col("was_state") != pl.col("state"))
    first = outcome.moves.filter(start_reason="first_collected")
    was_refused = pl.when(pl.col("was_state") == "refused")
    waited_for = pl.coalesce("was_for", was_refused.then("collection_unit"))
    parts = [
        newly_waiting.filter(state="not_collected").select("prices", "state", of_unit="waits_for"),
        newly_waiting.filter(state="refused").select("prices", "state", of_unit="collection_unit"),
        outcome.back.select("prices", state=pl.lit("collected_again"), of_unit=waited_for),
        first.select(
            prices=pl.lit(1, pl.Int64),
            state=pl.lit("first_collected"),
            of_unit="new_collection_unit",
        ),
    ]
    counted = pl.concat(parts).group_by("state", "of_unit").agg(pl.col("prices").sum())
    has_unit = pl.col("of_unit").is_not_null()
    rows = counted.select(
        "prices",
        subject=pl.when(has_unit).then(pl.lit("unit")).otherwise(pl.lit("provider")),
        change="state",
        provider=pl.lit(provider),
        collection_unit="of_unit",
        evidence=pl.lit("collection"),
    )
    return [frames.conform(rows.lazy(), Changes).collect()]


def of_values(rows: pl.DataFrame, subject: str, re_read: pl.DataFrame | None) -> pl.DataFrame:
    """List figures that differ, such as columns of machine types; see ``snapshot.evidence``.

    ``rows`` has provider or accelerator_id, field, old_value, new_value and evidence.
    """
    key = ["instance_type", "field"] if subject == "instance_type" else ["accelerator_id", "field"]
    existing = rows.with_columns(old_exists=pl.lit(True), new_exists=pl.lit(True))
    judged = snapshot.with_middle(existing, ["value"], re_read, key)
    parts = [
        _value_rows(judged.filter("unclear"), "old", "new", "unclear"),
        _value_rows(judged.filter("ours"), "old", "middle", "restated"),
        _value_rows(judged.filter("vendors"), "middle", "new", "spec_changed"),
    ]
    return pl.concat(parts).with_columns(subject=pl.lit(subject))


def _value_rows(rows: pl.DataFrame, one: str, other: str, change: str) -> pl.DataFrame:
    values = rows.with_columns(
        old_value=pl.col(f"{one}_value"),
        new_value=pl.col(f"{other}_value"),
        change=pl.lit(change),
        prices=pl.lit(0, dtype=pl.Int64),
    )
    columns = [name for name in Changes.dtypes if name in values.columns]
    return frames.conform(values.lazy().select(columns), Changes).collect()


OF_COLLECTION = ("provider", "instance_type", "observed_at", "raw_sha256", "spec_source")
"""Columns of instance_types that are not figures of the machine."""

OF_REVIEW = ("accelerator_id", "as_of", "notes", "confidence", "verified", "source_url")
"""Columns of the accelerator sheet about the sources and quality of a row."""


def of_instance_types(
    before: Snapshot | None, after: Snapshot | None, re_read: pl.DataFrame | None
) -> pl.DataFrame:
    """List the figures that differ, of machine types that are in both snapshots.

    ``re_read`` are the figures (see ``figures``) of the older pages, read with the newer reading.
    """
    if before is None or after is None:
        return frames.empty(Changes)
    rows = _differing(figures(before.instance_types), figures(after.instance_types))
    rows = rows.with_columns(provider=pl.lit(after.provider))
    marked = rows.with_columns(
        same_reading=pl.lit(before.reading == after.reading),
        same_pages=pl.lit(before.inputs.pages == after.inputs.pages),
        same_page=pl.lit(False),
        seen_before=pl.lit(True),
    ).with_columns(snapshot.evidence(can_re_read=re_read is not None))
    return of_values(marked, "instance_type", re_read)


def figures(instance_types: pl.DataFrame) -> pl.DataFrame:
    """Turn each figure of the machine types into a row: instance_type, field, value as text."""
    columns = [name for name in instance_types.columns if name not in OF_COLLECTION]
    return _long(instance_types, ["instance_type"], columns)


def of_accelerators(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """List the differences in the accelerator sheet. They are ours, like the sheet."""
    if before.equals(after):
        return frames.empty(Changes)
    columns = [name for name in SHEETS["accelerators"].dtypes if name not in OF_REVIEW]
    key = ["accelerator_id"]
    rows = _differing(_long(before, key, columns), _long(after, key, columns))
    rows = rows.with_columns(evidence=pl.lit("own_sheet"))
    parts = [of_values(rows, "accelerator", None)]
    for one, other, change in ((after, before, "added"), (before, after, "removed")):
        ids = one.select(key).join(other.select(key), on=key, how="anti")
        named = ids.with_columns(
            subject=pl.lit("accelerator"),
            change=pl.lit(change),
            prices=pl.lit(0, dtype=pl.Int64),
            evidence=pl.lit("own_sheet"),
        )
        parts.append(frames.conform(named.lazy(), Changes).collect())
    return pl.concat(parts)


def _differing(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    joined = before.rename({"value": "old_value"}).join(
        after.rename({"value": "new_value"}), on=[name for name in after.columns if name != "value"]
    )
    return joined.filter(pl.col("old_value").ne_missing(pl.col("new_value")))


def _long(table: pl.DataFrame, key: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    present = [name for name in columns if name in table.columns]
    texts = table.select(*key, *(_text(name, table.schema[name]) for name in present))
    return texts.unpivot(on=present, index=list(key), variable_name="field", value_name="value")


def _text(name: str, dtype: pl.DataType) -> pl.Expr:
    if not dtype.is_nested():
        return pl.col(name).cast(pl.String)
    whole = pl.struct(name).struct.json_encode()  # {"name":[…]}
    return whole.str.slice(len(name) + 4).str.head(-1).alias(name)
