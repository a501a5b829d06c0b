"""Read a bill of any format as one lazy frame of ``formats.COLUMNS``.

Files are checked and copied once, column by column, into Parquet in a temporary folder: a line with
too few or too many values, or with a value that is not a number or a time, is an error that names
file and line. DuckDB's reader does it in bounded memory; polars' reader takes a short line for one
with empty cells.
"""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.bill.formats import (
    AMOUNT,
    COLUMNS,
    FORMATS,
    GOOGLE,
    IDENTITY,
    KIND,
    NEVER_EMPTY,
    PROVIDERS,
    TEXT,
    TIME,
    Format,
)
from hwprices.read.sql import NO_EXTENSIONS, connect
from hwprices.release.database import quoted_name, quoted_text
from hwprices.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SUFFIXES = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json.gz": "json",
    ".jsonl.gz": "json",
    ".ndjson.gz": "json",
}
"""Endings of the files that are read; the first that fits from the longest on."""

MAX_LINE_BYTES = 1_000_000
"""A line of a bill has a few kilobytes; the longest have tags and labels."""

MAX_COLUMNS = 2_000
"""AWS's widest export has about 400 columns with tags and cost categories of its own."""

MAX_EXPANSION = 1_000
MIN_EXPANDED_BYTES = 1 << 30
"""A gzip file above this size that was smaller by more than this factor is not a bill: bills shrink
10 to 60 times."""

READER_MEMORY = "600MB"
"""Limit of DuckDB's memory; what needs more goes to the temporary folder."""

NULLS = ["", "NULL", "null", "NaN"]
"""Cells without a value, as exports write them."""

LINE = re.compile(r"(?:Line: |in line )(\d+)")
DUCKDB_COLUMN = re.compile(r'converting column "(?P<column>[^"]*)"\. (?P<what>[^\n]*)')


@dataclass(frozen=True)
class BillLines:
    """The lines of a bill, checked. ``lines`` is lazy and may be read several times.

    ``currency`` is that of all lines; ``first`` and ``last`` are the first and last start of a
    charge. ``folder`` holds the temporary copy as long as the bill is used.
    """

    lines: pl.LazyFrame
    format: str
    files: tuple[str, ...]
    ignored: tuple[str, ...]
    count: int
    currency: str
    first: datetime
    last: datetime
    folder: TemporaryDirectory[str]


def read(path: str | Path) -> BillLines:
    """Read a file or a folder of parts.

    Raises:
        HwpricesError: the path has no bill, its parts have several formats, a file is damaged or
            incomplete, a column is missing, a value is not readable, or lines have several
            currencies. It names file and line.
    """
    given = Path(path)
    parts, ignored = _parts(given)
    folder = scratch_directory()
    rows = 0
    frames: list[pl.LazyFrame] = []
    formats: dict[str, tuple[Format, str]] = {}
    with connect(
        threads=2,
        memory_limit=READER_MEMORY,
        temp_directory=folder.name,
        **NO_EXTENSIONS,
    ) as connection:
        connection.execute("set enable_progress_bar = false")
        for index, part in enumerate(parts):
            name = part.name if given.is_file() else str(part.relative_to(given))
            copy = Path(folder.name) / f"{index:05}.parquet"
            form, first_line = _copy(connection, part, name, copy)
            formats.setdefault(form.name, (form, name))
            copied = pl.scan_parquet(copy, row_index_name="row", row_index_offset=rows)
            frames.append(
                copied.with_columns(
                    pl.col("row").cast(pl.Int64),
                    line=pl.col("row").cast(pl.Int64) + (first_line - rows),
                    file=pl.lit(name),
                )
            )
            rows += copied.select(pl.len()).collect().item()
    if len(formats) > 1:
        (one, first), (other, second) = [(name, file) for name, (_, file) in formats.items()][:2]
        raise HwpricesError(
            f"{second} is a bill of another format ({other}) than {first} ({one})",
            "Read the files of each format on their own.",
        )
    ((form, _),) = formats.values()
    lines = _common(pl.concat(frames), form)
    count, currency, begin, end = _check(lines, form)
    names = tuple(part.name for part in parts)
    return BillLines(lines, form.name, names, tuple(ignored), count, currency, begin, end, folder)


def _parts(path: Path) -> tuple[list[Path], list[str]]:
    """List the files of a bill, and the names of files that are not part of it."""
    if path.is_file():
        if _kind(path) is None:
            raise HwpricesError(
                f"{path.name} is not a bill: it ends in none of {', '.join(SUFFIXES)}",
                "Unpack archives first, and give the export's own file.",
            )
        return [path], []
    if not path.is_dir():
        raise HwpricesError(f"{path} does not exist", "Give a file or a folder of parts.")
    files = sorted(
        file for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "_"))
    )
    manifests = [file for file in files if file.name.lower().endswith("manifest.json")]
    parts = [file for file in files if _kind(file) and file not in manifests]
    if not parts:
        raise HwpricesError(
            f"the folder {path} has no bill", f"A part ends in one of {', '.join(SUFFIXES)}."
        )
    _check_manifests(manifests, parts)
    others = [str(file.relative_to(path)) for file in files if file not in parts + manifests]
    return parts, others


def _kind(path: Path) -> str | None:
    ending = "".join(path.suffixes[-2:]).lower()
    return SUFFIXES.get(ending) or SUFFIXES.get(path.suffix.lower())


def _check_manifests(manifests: Sequence[Path], parts: Sequence[Path]) -> None:
    """Compare the parts with the lists that Azure or AWS write beside them.

    Exports of several months have parts of the same name: each is taken for the listed file whose
    path ends most like its own, and for no other.
    """
    found: dict[str, Path] = {}
    for manifest in manifests:
        for name, size in _listed(manifest):
            path = name.split("/")
            named = [part for part in parts if part.name == path[-1] and part not in found.values()]
            if name not in found and not named:
                raise HwpricesError(
                    f"{manifest.name} lists {name}, which is not in the folder", "Download it too."
                )
            if name not in found:
                found[name] = max(
                    named,
                    key=lambda part: (part.parent == manifest.parent, _same_end(part.parts, path)),
                )
            actual = found[name].stat().st_size
            if size is not None and actual != size:
                raise HwpricesError(
                    f"{path[-1]} has {actual:,} bytes, {manifest.name} says {size:,}",
                    "Download it again.",
                )


def _listed(manifest: Path) -> list[tuple[str, int | None]]:
    """List the files of a manifest: Azure's with their size."""
    try:
        listed = json.loads(manifest.read_bytes())
        return [
            (str(blob["blobName"]), blob.get("byteCount")) for blob in listed.get("blobs", [])
        ] + [(str(name), None) for name in listed.get("dataFiles", [])]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HwpricesError(
            f"{manifest.name} is not the manifest of an export: {error}", "Download it again."
        ) from None


def _same_end(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the last names that two paths share."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _copy(
    connection: "DuckDBPyConnection", part: Path, name: str, copy: Path
) -> tuple[Format, int]:
    """Copy one file to Parquet with the columns of its format; give the number of its first line.

    Lines count from 1, the header of a CSV file included; a record of several lines counts as one.
    """
    kind = _kind(part)
    file = quoted_text(str(part))
    if kind == "csv":
        _check_lines(part, name, must_end=True)
        header = _header(part, name)
        form, present = _format(name, header)
        types = {column: _csv_type(form, column) for column in header}
        source = (
            f"read_csv({file}, header = true, delim = ',', quote = '\"', escape = '\"',"
            f" auto_detect = false, strict_mode = true, null_padding = false,"
            f" nullstr = [{', '.join(map(quoted_text, NULLS))}],"
            f" columns = {_struct(types)}, compression = '{_compression(part)}',"
            f" max_line_size = {MAX_LINE_BYTES})"
        )
    elif kind == "json":
        _check_lines(part, name, must_end=False)
        form, present = _format(name, _keys(part, name))
        types = {column: _csv_type(form, column) for column in present.values()}
        for column in form.structures:
            types = {key: value for key, value in types.items() if not key.startswith(f"{column}.")}
        source = (
            f"read_json({file}, format = 'newline_delimited',"
            f" compression = '{_compression(part)}',"
            f" columns = {_struct({**types, **form.structures})},"
            f" maximum_object_size = {MAX_LINE_BYTES})"
        )
    else:
        with _duckdb_errors(name):
            described = connection.execute(f"describe select * from read_parquet({file})")  # noqa: S608
            columns = {row[0]: row[1] for row in described.fetchall()}
        form, present = _format(name, _paths(columns))
        source = f"read_parquet({file})"
    nested = frozenset() if kind == "csv" else frozenset(form.structures)
    select = ", ".join(
        f"{_expression(form, column, present, nested)} as {quoted_name(column)}"
        for column in COLUMNS
    )
    with _duckdb_errors(name, part):
        connection.execute(
            f"copy (select {select}, hash({_names(KIND)}) as key, case when resource is not null"  # noqa: S608
            f" and (billed != 0 or effective != 0) then hash({_names(IDENTITY)}) end as identity"
            f" from {source}) to {quoted_text(str(copy))} (format parquet, compression lz4_raw)"
        )
    return form, 2 if kind == "csv" else 1


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, columns))


def _compression(part: Path) -> str:
    return "gzip" if part.suffix.lower() == ".gz" else "none"


def _struct(types: dict[str, str]) -> str:
    pairs = (f"{quoted_text(name)}: {quoted_text(kind)}" for name, kind in types.items())
    return "{" + ", ".join(pairs) + "}"


def _csv_type(form: Format, column: str) -> str:
    """Return the type as which a column is read: that of the column here which it becomes."""
    known = _plain(column)
    for target, names in form.columns.items():
        if known in map(_plain, names) and not (form.days and COLUMNS[target] == TIME):
            return COLUMNS[target]
    added = (name.lstrip("-") for names in form.sums.values() for name in names)
    return AMOUNT if known in map(_plain, added) else TEXT


def _plain(name: str) -> str:
    """Return a column's name as formats compare it: in lower case, with _ for a dot."""
    return name.lower().replace(".", "_")


def _format(name: str, columns: Sequence[str]) -> tuple[Format, dict[str, str]]:
    """Recognize the format; give its columns as they are named in the file, by their plain name."""
    present = {_plain(column): column for column in columns}
    scores = {
        form.name: sum(
            any(_plain(option) in present for option in form.columns[column])
            for column in form.required
        )
        / len(form.required)
        for form in FORMATS
    }
    form = next((form for form in FORMATS if all(sign in present for sign in form.signs)), None)
    form = form or max(FORMATS, key=lambda candidate: scores[candidate.name])
    if scores[form.name] < 0.5:
        raise HwpricesError(
            f"{name}: line 1: the columns are of no format that is read",
            f"Give a bill of {', '.join(known.name for known in FORMATS)}.",
        )
    missing = [
        " or ".join(form.columns[column])
        for column in form.required
        if not any(_plain(option) in present for option in form.columns[column])
    ]
    if missing:
        raise HwpricesError(
            f"{name}: line 1: {form.name} needs the column {', '.join(missing)}",
            "Export the bill again with all columns.",
        )
    return form, present


def _expression(form: Format, column: str, present: dict[str, str], nested: frozenset[str]) -> str:
    """Return the SQL of a column of ``COLUMNS``."""
    kind = COLUMNS[column]

    def of_file(name: str) -> str:
        actual = present[_plain(name)]
        head, _, tail = actual.partition(".")
        if head not in nested or not tail:
            return quoted_name(actual)
        if head == "credits" and tail == "amount":
            return f"list_sum(list_transform({head}, lambda credit: credit.amount))"
        if head == "credits":  # of the commitment's credit, if there is one
            return f"list_filter({head}, lambda credit: credit.type like 'COMMITTED%')[1].{tail}"
        return f"{quoted_name(head)}.{quoted_name(tail)}"

    def typed(value: str) -> str:
        if kind == TIME and form.days:
            text = f"cast({value} as varchar)"
            return (
                f"coalesce(try_cast({text} as {TIME}),"
                f" cast(try_strptime({text}, '%m/%d/%Y') as {TIME}))"
            )
        if kind == TEXT:
            return f"cast({value} as varchar)"
        return f"cast({value} as {kind})"

    sums = [name for name in form.sums.get(column, ()) if _plain(name.lstrip("-")) in present]
    if sums:
        return " + ".join(
            f"{'-' if name.startswith('-') else ''}"
            f"coalesce(cast({of_file(name.lstrip('-'))} as {AMOUNT}), 0)"
            for name in sums
        )
    names = [name for name in form.columns.get(column, ()) if _plain(name) in present]
    values = [typed(of_file(name)) for name in names]
    if kind == TEXT:
        values = [f"nullif({value}, '')" for value in values]
    return f"coalesce({', '.join(values)})" if values else f"cast(null as {kind})"


def _paths(columns: dict[str, str]) -> list[str]:
    """List the columns of a Parquet file, those inside structures with a dot."""
    names = []
    for name, kind in columns.items():
        names.append(name)
        if name in GOOGLE.structures and kind.startswith("STRUCT"):
            names += [
                f"{name}.{found}"
                for found in re.findall(r"(\w+) ", GOOGLE.structures[name])
                if re.search(rf"\b{found}\b", kind)
            ]
    return names


@contextmanager
def _duckdb_errors(name: str, part: Path | None = None) -> Iterator[None]:
    """Turn an error of DuckDB into one with file and line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        if part is not None and "Malformed JSON" in text:
            _fail(name, _not_json(part, name), "not JSON, or not complete")
        found = LINE.search(text)
        where = f"{name}: line {found[1]}" if found else name
        column = DUCKDB_COLUMN.search(text)
        if column:
            what = f"column {column['column']}: {column['what']}"
        elif counted := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
            what = f"{counted[2]} values instead of {counted[1]}"
        elif "GZIP" in text or "magic bytes" in text:
            what = "the file is not complete"
        else:
            what = next(
                (line for line in text.splitlines() if line.endswith("found.")),
                text.partition(": ")[2].splitlines()[0] if ": " in text else text,
            )
        raise HwpricesError(f"{where}: {what}", "Download the file again, or correct it.") from None


def _not_json(part: Path, name: str) -> int:
    """Return the number of the first line that is not JSON; DuckDB's (2.0.0) is one too high."""
    with _open(part, name) as file:
        for number, line in enumerate(file, start=1):
            try:
                json.loads(line)
            except (ValueError, RecursionError):
                return number
    return 1


def _fail(name: str, line: int, what: str) -> NoReturn:
    raise HwpricesError(f"{name}: line {line}: {what}", "Give the export's own file.")


@contextmanager
def _open(part: Path, name: str) -> Iterator[Any]:
    """Open a file, unpacked.

    Raises:
        HwpricesError: it is not a gzip file, or not complete.
    """
    opener: Any = gzip.open if _compression(part) == "gzip" else open
    try:
        with opener(part, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise HwpricesError(
            f"{name}: the file is not complete or not gzip: {error}", "Download it again."
        ) from None


def _check_lines(part: Path, name: str, *, must_end: bool) -> None:
    """Read a file once in small steps: DuckDB would leave out a line that is too long.

    Raises:
        HwpricesError: a line is longer than MAX_LINE_BYTES, the file expands beyond reason, or it
            ends within a line.
    """
    size, last = 0, b"\n"
    packed = _compression(part) == "gzip"
    limit = max(MIN_EXPANDED_BYTES, MAX_EXPANSION * part.stat().st_size)
    with _open(part, name) as file:
        while chunk := file.read(MAX_LINE_BYTES):
            if b"\n" not in chunk and len(chunk) == MAX_LINE_BYTES:
                what = f"longer than {MAX_LINE_BYTES:,} bytes"
                _fail(name, _line_at(part, name, size), what)
            size += len(chunk)
            if packed and size > limit:
                what = f"the file expands to more than {limit:,} bytes"
                _fail(name, _line_at(part, name, size), what)
            last = chunk[-1:]
    if not size:
        raise HwpricesError(f"{name} is empty", "Download it again.")
    if must_end and last != b"\n":
        raise HwpricesError(
            f"{name}: the last line has no line break at its end: the file is not complete",
            "Download it again; if it is complete, add the line break.",
        )


def _line_at(part: Path, name: str, place: int) -> int:
    """Return the number of the line that a byte is in, read again: most files have no such byte."""
    lines = 1
    with _open(part, name) as file:
        while chunk := file.read(min(MAX_LINE_BYTES, place)):
            lines, place = lines + chunk.count(b"\n"), place - len(chunk)
    return lines


def _first_line(part: Path, name: str) -> str:
    with _open(part, name) as file:
        line = file.readline(MAX_LINE_BYTES)
    try:
        return str(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        _fail(name, 1, "not in UTF-8")


def _header(part: Path, name: str) -> list[str]:
    header = next(csv.reader(io.StringIO(_first_line(part, name))), [])
    if len(header) > MAX_COLUMNS:
        _fail(name, 1, f"{len(header):,} columns; a bill has at most {MAX_COLUMNS:,}")
    plain = [_plain(column) for column in header]
    twice = next((column for column in plain if plain.count(column) > 1), None)
    if twice is not None:
        _fail(name, 1, f"the column {twice!r} is there twice")
    return header


def _keys(part: Path, name: str) -> list[str]:
    """List the columns of JSON lines: those of the first line, and those it may leave out."""
    try:
        first = json.loads(_first_line(part, name))
        keys = list(first)
    except (ValueError, TypeError, RecursionError):
        _fail(name, 1, "not a JSON object; write one on each line")
    if not isinstance(first, dict):
        _fail(name, 1, "not a JSON object; write one on each line")
    plain = {_plain(key) for key in keys}
    form = max(FORMATS, key=lambda form: len(plain & {*form.signs, *form.structures}))
    if not plain & set(form.signs):
        return keys
    declared = [name for names in form.columns.values() for name in names]
    declared += [name.lstrip("-") for names in form.sums.values() for name in names]
    actual = {_plain(key): key for key in keys}
    return [actual.get(_plain(column), column) for column in dict.fromkeys(declared)]


def _common(lines: pl.LazyFrame, form: Format) -> pl.LazyFrame:
    """Translate the vendor's words into those of this package."""

    def word(column: str, words: dict[str, str], default: pl.Expr) -> pl.Expr:
        return (
            pl.col(column)
            .str.to_lowercase()
            .replace_strict(
                list(words), list(words.values()), default=default, return_dtype=pl.String
            )
        )

    empty = pl.lit(None, dtype=pl.String)
    provider = pl.col("provider").str.to_lowercase()
    renamed = {
        "provider": pl.lit(form.provider) if form.provider else provider.replace(PROVIDERS),
        "category": word("category", dict(form.categories), empty),
        "category_word": pl.col("category"),
        "option": word("option", dict(form.options), empty) if form.options else pl.col("option"),
        "commitment_status": word("commitment_status", dict(form.statuses), empty)
        if form.statuses
        else pl.col("commitment_status"),
        "region": pl.coalesce("region", "region_name"),
    }
    if form.days:
        renamed["end"] = pl.coalesce("end", pl.col("start").dt.offset_by("1d"))
    return lines.with_columns(**renamed).drop("region_name")


def _check(lines: pl.LazyFrame, form: Format) -> tuple[int, str, datetime, datetime]:
    """Look for empty cells, unknown words and several currencies.

    Raises:
        HwpricesError: there is one; it names the first line.
    """
    faults: dict[str, pl.Expr] = {}
    for column in NEVER_EMPTY:
        source = " or ".join(form.columns[column])
        known = "category_word" if column == "category" else column
        faults[f"the column {source} has no readable value"] = pl.col(known).is_null()
    source = " or ".join(form.columns["category"])
    faults[f"an unknown {source}"] = pl.col("category").is_null()
    first = lines.select("currency").head(1).collect()
    if first.is_empty():
        raise HwpricesError("the bill has no line", "Export the bill of a time with usage.")
    currency = first.item()
    faults[f"another currency than {currency}, that of the first line"] = (
        pl.col("currency") != currency
    )
    counted = lines.select(
        pl.len().alias("count"),
        pl.col("start").min().alias("first"),
        pl.col("start").max().alias("last"),
        *(fault.sum().alias(what) for what, fault in faults.items()),
    ).collect(engine="streaming")
    row = counted.row(0, named=True)
    for what, fault in faults.items():
        if row[what]:
            found = lines.filter(fault).select("file", "line", "currency", "category_word").head(1)
            file, line, other, category = found.collect(engine="streaming").row(0)
            value, advice = "", "Correct the export."
            if what.startswith("an unknown"):
                value = f": {category}"
            elif what.startswith("another currency"):
                value, advice = f": {other}", "Split the bill by currency."
            raise HwpricesError(
                f"{file}: line {line}: {what}{value} ({row[what]:,} such lines)", advice
            )
    return row["count"], currency, row["first"], row["last"]
