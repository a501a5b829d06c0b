"""Compare what two releases say about machine types and accelerators."""

from collections.abc import Sequence

import polars as pl

from hwprices.publish.history import changes, judge
from hwprices.publish.history.snapshot import Snapshot
from hwprices.rows import frames
from hwprices.schemas.history import Changes
from hwprices.schemas.spec import Accelerators

OF_COLLECTION = ("provider", "instance_type", "observed_at", "raw_sha256", "spec_source")
"""Columns of instance_types that are no figures of the machine."""

OF_REVIEW = ("accelerator_id", "as_of", "notes", "confidence", "verified", "source_url")
"""Columns of the accelerator sheet that say how well a row is known."""


def of_instance_types(
    before: Snapshot | None, after: Snapshot | None, re_read: pl.DataFrame | None
) -> pl.DataFrame:
    """List the figures of machine types that differ; types that came or went are not meant.

    ``re_read`` are the figures (see ``figures``) that the newer reading makes of the older pages.
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
    ).with_columns(judge.evidence(can_re_read=re_read is not None))
    return changes.of_values(marked, "instance_type", re_read)


def figures(instance_types: pl.DataFrame) -> pl.DataFrame:
    """Turn each figure of the machine types into a row: instance_type, field, value as text."""
    columns = [name for name in instance_types.columns if name not in OF_COLLECTION]
    return _long(instance_types, ["instance_type"], columns)


def of_accelerators(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """List what differs in the accelerator sheet. All of it is ours: the sheet is."""
    columns = [name for name in frames.dtypes(Accelerators) if name not in OF_REVIEW]
    key = ["accelerator_id"]
    rows = _differing(_long(before, key, columns), _long(after, key, columns))
    rows = rows.with_columns(evidence=pl.lit("own_sheet"))
    parts = [changes.of_values(rows, "accelerator", None)]
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
    """List the figures of both that differ, with old_value and new_value."""
    both = before.rename({"value": "old_value"}).join(
        after.rename({"value": "new_value"}), on=[name for name in after.columns if name != "value"]
    )
    return both.filter(pl.col("old_value").ne_missing(pl.col("new_value")))


def _long(table: pl.DataFrame, key: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Turn each figure into a row: the key, field and value, as text."""
    present = [name for name in columns if name in table.columns]
    texts = table.select(*key, *(_text(name, table.schema[name]) for name in present))
    return texts.unpivot(on=present, index=list(key), variable_name="field", value_name="value")


def _text(name: str, dtype: pl.DataType) -> pl.Expr:
    if not dtype.is_nested():
        return pl.col(name).cast(pl.String)
    whole = pl.struct(name).struct.json_encode()  # {"name":[…]}
    return whole.str.slice(len(name) + 4).str.head(-1).alias(name)
