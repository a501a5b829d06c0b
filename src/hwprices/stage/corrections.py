"""Correct figures that vendors publish wrongly: ``data/corrections.yaml``.

Each entry states the wrong value it expects. When the vendor stops publishing that value, the entry
is stale and the run fails and names it: a correction must not outlive its reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hwprices.errors import HwpricesError
from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.specs import data_directory

FILE = "corrections.yaml"
TOLERANCE = 1e-6  # Figures are compared as floats: the normalisers compute GiB as MiB / 1024


@dataclass(frozen=True)
class Correction:
    """One figure that a vendor publishes wrongly.

    ``match`` maps columns to regular expressions; a row is selected if every one matches its column
    in full. ``column`` is a column of instance_types, or ``accelerators.<field>`` for a field of
    every accelerator of the row. ``expect`` lists the vendor's wrong values, ``value`` is the right
    one.
    """

    id: str
    provider: str
    match: Mapping[str, str]
    column: str
    expect: tuple[Any, ...]
    value: Any
    source: str
    as_of: str


def load(provider: str | None = None, path: Path | None = None) -> list[Correction]:
    """Read the corrections of a provider, or all."""
    file = path or data_directory() / FILE
    try:
        corrections = _entries(file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, TypeError, KeyError, ValueError, re.error) as error:
        raise HwpricesError(
            f"{file} cannot be used: {error}",
            "Each entry needs id, provider, match, column, expect, value, source, as_of.",
        ) from None
    ids = [correction.id for correction in corrections]
    if repeated := sorted({name for name in ids if ids.count(name) > 1}):
        raise HwpricesError(
            f"{file}: the id {repeated[0]} is used twice", "Give each correction its own id."
        )
    return [c for c in corrections if provider in (None, c.provider)]


@cache
def _entries(text: str) -> tuple[Correction, ...]:
    return tuple(_entry(raw) for raw in yaml.safe_load(text) or [])


def apply(frame: pl.DataFrame, provider: str, corrections: Sequence[Correction]) -> pl.DataFrame:
    """Replace the wrong values in instance_types and list the ids applied in ``corrections``.

    Changed accelerators update ``accelerator_count`` and ``accelerator_memory_gib``. Rows keep
    their order.

    Raises:
        HwpricesError: a correction is stale: a selected row does not have the expected value.
    """
    for correction in corrections:
        if correction.provider == provider:
            frame = _apply_one(frame, correction)
    return frame


def _apply_one(frame: pl.DataFrame, correction: Correction) -> pl.DataFrame:
    column, _, field = correction.column.partition(".")
    if column not in frame.columns:
        raise HwpricesError(
            f"correction {correction.id} names the column {column}, which instance_types lacks",
            f"Correct it in {FILE}.",
        )
    marked = frame.with_columns(
        _selected=_matches(correction.match),
        _expected=_has_expected_value(column, field, correction.expect).fill_null(False),
    )
    stale = marked.filter(pl.col("_selected") & ~pl.col("_expected"))
    if stale.height:
        raise _stale(correction, stale.row(0, named=True))
    corrected_value = pl.lit(correction.value, dtype=None if field else frame.schema[column])
    if field:
        corrected_value = pl.col(column).list.eval(
            pl.element().struct.with_fields(corrected_value.alias(field))
        )
    ids = pl.concat_list("corrections", pl.lit(correction.id))
    corrected = marked.with_columns(
        pl.when("_selected").then(corrected_value).otherwise(column).alias(column),
        pl.when("_selected").then(ids).otherwise("corrections").alias("corrections"),
    ).drop("_selected", "_expected")
    if column != "accelerators":
        return corrected
    return corrected.with_columns(accelerator_totals())


def _matches(patterns: Mapping[str, str]) -> pl.Expr:
    return pl.all_horizontal(
        pl.col(column).cast(pl.String).str.contains(f"^(?:{pattern})$").fill_null(False)
        for column, pattern in patterns.items()
    )


def _has_expected_value(column: str, field: str, expected: Sequence[Any]) -> pl.Expr:
    """Return where the column has one of the values; with a field, where every accelerator does."""
    if not field:
        return _is_one_of(pl.col(column), expected)
    devices = pl.col(column).list
    is_expected = devices.eval(_is_one_of(pl.element().struct.field(field), expected))
    return (devices.len() > 0) & is_expected.list.all()


def _is_one_of(column: pl.Expr, values: Sequence[Any]) -> pl.Expr:
    return pl.any_horizontal(_equals(column, value).fill_null(False) for value in values)


def _equals(column: pl.Expr, value: Any) -> pl.Expr:
    """Compare, numbers within the tolerance. None is a value that the vendor omits."""
    if value is None:
        return column.is_null()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (column - value).abs() < TOLERANCE
    return column.eq(value)


def _stale(correction: Correction, row: Mapping[str, Any]) -> HwpricesError:
    column, _, field = correction.column.partition(".")
    value = [item[field] for item in row[column]] if field else row[column]
    return HwpricesError(
        f"correction {correction.id} is stale: {row['instance_type']} has {correction.column}"
        f" {value}, not the wrong value {list(correction.expect)}",
        f"Check the vendor's figure, then change or remove the entry in {FILE}.",
    )


def _entry(raw: Mapping[str, Any]) -> Correction:
    expect = raw["expect"] if isinstance(raw["expect"], list) else [raw["expect"]]
    if not str(raw["source"]).startswith("https://"):
        raise ValueError(f"{raw['id']}: source is not an https URL")
    if raw["value"] in expect:
        raise ValueError(f"{raw['id']}: the right value is among the wrong ones")
    for pattern in raw["match"].values():
        re.compile(pattern)
    return Correction(
        str(raw["id"]),
        str(raw["provider"]),
        dict(raw["match"]),
        str(raw["column"]),
        tuple(expect),
        raw["value"],
        str(raw["source"]),
        str(raw["as_of"]),
    )
