"""Known wrong answers of vendors, corrected as data: ``data/corrections.yaml``.

Each entry states the wrong value it expects. Where the vendor has stopped giving it, the entry is stale and the run fails with a
line that names it: a correction must never outlive its reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from hwprices.errors import HwpricesError
from hwprices.rows import accelerators
from hwprices.specs import data_directory

FILE = "corrections.yaml"

TOLERANCE = 1e-6  # figures are compared as floats: MiB over 1024, as the normalisers compute them


@dataclass(frozen=True)
class Correction:
    """One known wrong answer.

    ``match`` maps columns to regular expressions that must match the whole value; rows for which all do are meant. ``column`` is
    a column of instance_types, or ``accelerators.<field>`` for a field of every accelerator of the row. ``expect`` lists the wrong
    values the vendor is known to give, ``value`` is the right one.
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
    """The corrections of a provider, or all.

    Raises:
        HwpricesError: the file is missing or an entry is incomplete, doubtful or has the id of another.
    """
    found = path or data_directory() / FILE
    try:
        entries = yaml.safe_load(found.read_text(encoding="utf-8")) or []
        corrections = [_entry(raw) for raw in entries]
    except (OSError, yaml.YAMLError, TypeError, KeyError, ValueError, re.error) as error:
        raise HwpricesError(
            f"{found} cannot be used: {error}",
            "Each entry needs id, provider, match, column, expect, value, source, as_of.",
        ) from None
    ids = [c.id for c in corrections]
    if double := sorted({i for i in ids if ids.count(i) > 1}):
        raise HwpricesError(
            f"{found}: the id {double[0]} is used twice", "Give each correction its own id."
        )
    return [c for c in corrections if provider in (None, c.provider)]


def apply(frame: pl.DataFrame, provider: str, corrections: Sequence[Correction]) -> pl.DataFrame:
    """instance_types with the wrong values replaced and the ids of what was applied in ``corrections``.

    ``accelerator_count`` and ``accelerator_memory_gib`` are summed again where accelerators changed. Row order stays.

    Raises:
        HwpricesError: a correction is stale: rows it means have another value than the wrong one it expects.
    """
    for correction in corrections:
        if correction.provider == provider:
            frame = _apply_one(frame, correction)
    return frame


def _apply_one(frame: pl.DataFrame, correction: Correction) -> pl.DataFrame:
    meant = pl.all_horizontal(
        pl.col(c).cast(pl.String).str.contains(f"^(?:{pattern})$").fill_null(False)
        for c, pattern in correction.match.items()
    )
    column, _, field = correction.column.partition(".")
    if column not in frame.columns:
        raise HwpricesError(
            f"correction {correction.id} names the column {column}, which instance_types lacks",
            f"Correct it in {FILE}.",
        )
    wrong = (
        _all_wrong(pl.col(column), field, correction.expect)
        if field
        else _is_one_of(pl.col(column), correction.expect)
    )
    marked = frame.with_columns(_meant=meant, _wrong=wrong.fill_null(False))
    stale = marked.filter(pl.col("_meant") & ~pl.col("_wrong"))
    if stale.height:
        first = stale.row(0, named=True)
        there = [item[field] for item in first[column]] if field else first[column]
        raise HwpricesError(
            f"correction {correction.id} is stale: {first['instance_type']} has {correction.column} {there}, not the wrong value {list(correction.expect)}",
            f"Look at the vendor's answer and change or remove the entry in {FILE}.",
        )
    right = (
        pl.lit(correction.value, dtype=frame.schema[column])
        if not field
        else _replaced(pl.col(column), field, correction.value)
    )
    fixed = marked.with_columns(
        pl.when("_meant").then(right).otherwise(column).alias(column),
        pl.when("_meant")
        .then(pl.concat_list("corrections", pl.lit(correction.id)))
        .otherwise("corrections")
        .alias("corrections"),
    ).drop("_meant", "_wrong")
    return (
        fixed.with_columns(accelerators.accelerator_totals()) if column == "accelerators" else fixed
    )


def _is_one_of(value: pl.Expr, wrong: Sequence[Any]) -> pl.Expr:
    """Null stands for a value the vendor leaves out."""
    tests = [
        value.is_null()
        if w is None
        else (value - w).abs() < TOLERANCE
        if _is_number(w)
        else value == w
        for w in wrong
    ]
    return pl.any_horizontal(test.fill_null(False) for test in tests)


def _all_wrong(column: pl.Expr, field: str, wrong: Sequence[Any]) -> pl.Expr:
    """True where there are accelerators and the field is wrong in each."""
    each = column.list.eval(_is_one_of(pl.element().struct.field(field), wrong))
    return (column.list.len() > 0) & each.list.all()


def _replaced(column: pl.Expr, field: str, value: Any) -> pl.Expr:
    return column.list.eval(pl.element().struct.with_fields(pl.lit(value).alias(field)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entry(raw: Mapping[str, Any]) -> Correction:
    expect = raw["expect"] if isinstance(raw["expect"], list) else [raw["expect"]]
    if not str(raw["source"]).startswith("https://"):
        raise ValueError(f"{raw['id']}: source is no URL")
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
