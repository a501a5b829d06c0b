"""The curated sheets of data/specs: read, typed, checked. Reading the sheets needs pandera; matching accelerators does not."""

import importlib.resources
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hwprices.errors import HwpricesError

if TYPE_CHECKING:
    from hwprices.schemas import Table

LIST_SEPARATOR = ";"
FIRST_LINE = 2  # line 1 of a sheet is its header; no cell holds a line break
MONEY_PATTERN = r"^\d{1,10}(\.\d{1,10})?$"  # what Decimal(20, 10) holds without rounding
MATCH_COLUMNS = ["vendor_name", "instance_type_pattern", "accelerator_id", "count", "memory_gib", "source_url", "as_of"]


def sheet_directory() -> Traversable:
    """Where the sheets are: inside the installed package, or data/specs of a checkout.

    Raises:
        HwpricesError: neither is there.
    """
    checkout = Path(__file__).resolve().parents[2] / "data" / "specs"
    for place in (importlib.resources.files("hwprices") / "data" / "specs", checkout):
        if place.is_dir():
            return place
    raise HwpricesError("the spec sheets are missing from this installation", "Reinstall hwprices, or run it from a checkout.")


def load_all(directory: Path | None = None) -> dict[str, pl.DataFrame]:
    """Every sheet by table name, as ``load`` gives it."""
    from hwprices.schemas import SHEETS

    return {table: load(table, directory) for table in SHEETS}


def load(table: str, directory: Path | None = None) -> pl.DataFrame:
    """One curated table (a key of ``schemas.SHEETS`` or ``schemas.CHECK_SHEETS``) from ``<table>.csv``: the model's columns and dtypes, sorted by key.

    An empty cell is null, in a list column an empty list.

    Raises:
        HwpricesError: no such table or file, or a cell that does not fit; names file, line and column.
    """
    from hwprices.schemas import CHECK_SHEETS, SHEETS, key

    sheets = {**SHEETS, **CHECK_SHEETS}
    if table not in sheets:
        raise HwpricesError(f"there is no sheet {table!r}", f"Choose one of {', '.join(sheets)}.")
    file, model = f"{table}.csv", sheets[table]
    raw = _read(file, directory)
    dtypes = {name: column.dtype.type for name, column in model.to_schema().columns.items()}
    _same_columns(file, raw.columns, list(dtypes))
    frame = raw.select(_cells(file, raw[name], dtype) for name, dtype in dtypes.items())
    _check(file, frame, model)
    return frame.sort(key(model), maintain_order=True)


def _read(file: str, directory: Path | None) -> pl.DataFrame:
    source = (directory or sheet_directory()) / file
    if not source.is_file():
        raise HwpricesError(f"the sheet {file} is missing", "Restore it from the repository.")
    try:
        return pl.read_csv(source.read_bytes(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise HwpricesError(f"{file} is not a readable CSV: {error}", "Compare it with the last commit.") from error


def _same_columns(file: str, have: list[str], want: list[str]) -> None:
    if missing := [name for name in want if name not in have]:
        raise HwpricesError(f"{file} has no column {', '.join(missing)}", "Add it; an unknown figure is an empty cell.")
    if unknown := [name for name in have if name not in want]:
        raise HwpricesError(f"{file} has a column that the table does not know: {', '.join(unknown)}", "Declare it in schemas/ or remove it.")


def _cells(file: str, text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The column in its dtype; every cell that does not fit is an error, none becomes null."""
    if isinstance(dtype, pl.List):
        return text.fill_null("").str.split(LIST_SEPARATOR).list.eval(pl.element().filter(pl.element() != "")).alias(text.name)
    typed = _typed(text, dtype)
    lost = (text.is_not_null() & typed.is_null()).arg_true()
    if lost.len():
        row = lost[0]
        message = f"{file} line {row + FIRST_LINE}, column {text.name}: {text[row]!r} is not {_wanted(dtype)}"
        raise HwpricesError(message, "Correct the cell, or empty it where the figure is not known.")
    return typed


def _typed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        return text.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Decimal):  # a cast would round the eleventh decimal away
        kept = pl.select(pl.when(text.str.contains(MONEY_PATTERN)).then(text)).to_series().alias(text.name)
        return kept.cast(dtype, strict=False)
    return text.cast(dtype, strict=False)


def _wanted(dtype: pl.DataType) -> str:
    kinds: dict[type[pl.DataType], str] = {pl.Boolean: "true or false", pl.Date: "a day like 2026-01-31", pl.Int32: "a whole number", pl.Float64: "a number"}
    return "an amount with at most ten decimals" if isinstance(dtype, pl.Decimal) else kinds.get(dtype.base_type(), str(dtype))


def _check(file: str, frame: pl.DataFrame, model: "type[Table]") -> None:
    import pandera.polars as pa

    from hwprices.schemas import key

    names = key(model)
    doubled = frame.select(pl.struct(names).is_duplicated()).to_series().arg_true()
    if doubled.len():
        raise HwpricesError(f"{file} line {doubled[0] + FIRST_LINE}: a second row has the same {', '.join(names)}", "Remove one of the rows.")
    try:
        model.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        case = error.failure_cases.sort("index", nulls_last=True).row(0, named=True)
        place = "" if case["index"] is None else f" line {case['index'] + FIRST_LINE}"
        raise HwpricesError(f"{file}{place}, {case['column']}: {case['failure_case']} fails {case['check']}", "Correct the cell and its source.") from None


@dataclass(frozen=True)
class Match:
    """What a rule of accelerator_names says a machine has. ``count`` and ``memory_gib`` (of one device) are null where the vendor's own figures stand."""

    accelerator_id: str
    count: float | None
    memory_gib: float | None


@dataclass(frozen=True)
class _Rule:
    line: int
    vendor_name: str | None
    pattern: re.Pattern[str] | None
    match: Match

    @property
    def specificity(self) -> int:
        return (self.vendor_name is not None) + (self.pattern is not None)

    def fits(self, vendor_name: str | None, instance_type: str) -> bool:
        named = self.vendor_name is None or self.vendor_name == (vendor_name or "").strip()
        return named and (self.pattern is None or self.pattern.fullmatch(instance_type) is not None)


def accelerator_matcher(provider: str, directory: Path | None = None) -> Callable[[str | None, str], Match | None]:
    """A function (vendor's name of the accelerator or None, machine type) → Match or None, from accelerator_names/<provider>.csv.

    A rule with a name and a pattern goes before a rule with one of them; patterns must match the whole machine type.

    Raises:
        HwpricesError: the sheet is missing or broken; from the returned function: two rules of one rank disagree.
    """
    file = f"accelerator_names/{provider}.csv"
    rules = _rules(file, directory)

    @cache
    def match(vendor_name: str | None, instance_type: str) -> Match | None:
        fitting = [rule for rule in rules if rule.fits(vendor_name, instance_type)]
        best = [rule for rule in fitting if rule.specificity == max(r.specificity for r in fitting)]
        if len({rule.match for rule in best}) > 1:
            lines = ", ".join(str(rule.line) for rule in best)
            raise HwpricesError(f"{file}: lines {lines} give different answers for {vendor_name!r} in {instance_type}", "Make one of them more specific.")
        return best[0].match if best else None

    return match


def _rules(file: str, directory: Path | None) -> list[_Rule]:
    raw = _read(file, directory)
    _same_columns(file, raw.columns, MATCH_COLUMNS)
    known = set(_read("accelerators.csv", directory)["accelerator_id"])
    counts = _cells(file, raw["count"], pl.Float64())
    memories = _cells(file, raw["memory_gib"], pl.Float64())
    _cells(file, raw["as_of"], pl.Date())
    return [_rule(file, FIRST_LINE + i, row, known, counts[i], memories[i]) for i, row in enumerate(raw.iter_rows(named=True))]


def _rule(file: str, line: int, row: dict[str, str | None], known: set[str], count: float | None, memory_gib: float | None) -> _Rule:
    name, pattern, accelerator_id = row["vendor_name"], row["instance_type_pattern"], row["accelerator_id"]
    if accelerator_id not in known:
        raise HwpricesError(f"{file} line {line}: {accelerator_id!r} has no row in accelerators.csv", "Add the spec sheet first, or correct the id.")
    if name is None and pattern is None:
        raise HwpricesError(f"{file} line {line}: neither vendor_name nor instance_type_pattern", "Fill in one of them; a rule for everything is a mistake.")
    if not row["source_url"] or not row["as_of"]:
        raise HwpricesError(f"{file} line {line}: no source_url or as_of", "Say where and when the name was read.")
    try:
        compiled = None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise HwpricesError(f"{file} line {line}: {pattern!r} is not a regular expression ({error})", "Correct it.") from error
    return _Rule(line, None if name is None else name.strip(), compiled, Match(accelerator_id, count, memory_gib))
