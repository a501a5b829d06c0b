"""Read a bill of any format as one lazy frame of ``formats.COLUMNS``.

Files are checked and copied once into Parquet in a temporary folder. A line with too few or too
many values, or with an invalid number or time, is an error that names file and line. DuckDB reads
the files, because it bounds memory and rejects short lines, which polars fills with nulls.
"""

import atexit
import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.bill.formats import (
    COLUMNS,
    FORMATS,
    IDENTITY,
    KIND,
    NEVER_EMPTY,
    TEXT,
    TIME,
    Format,
    block_of,
)
from hwprices.read.sql import NO_EXTENSIONS, connect
from hwprices.release.database import quoted_list, quoted_name, quoted_text
from hwprices.release.wording import counted
from hwprices.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SUFFIXES = {".csv": "csv", ".parquet": "parquet"} | dict.fromkeys(
    (".json", ".jsonl", ".ndjson"), "json"
)
"""Suffixes of the files that are read; all except Parquet may be followed by .gz."""

MAX_LINE_BYTES = 1_000_000  # A usual line has a few kilobytes
MAX_COLUMNS = 2_000  # AWS's widest export has about 400

MAX_EXPANSION = 1_000
MIN_EXPANDED_BYTES = 1 << 30
"""A gzip file that expands beyond both this factor and this size is rejected. Bills expand 10 to 60
times."""

READER_MEMORY = "400MB"  # Limit of DuckDB's memory; beyond it, DuckDB uses temporary files
READER_DISK = "20GB"  # Limit of these files; 10 million lines need less than 1 GB

NULLS = ["", "NULL", "null", "NaN"]  # Cells without a value, as exports write them
LINE = re.compile(r"(?:Line: |in line )(\d+)")
DUCKDB_COLUMN = re.compile(r'converting column "(?P<column>[^"]*)"\. (?P<what>[^\n]*)')


@dataclass(frozen=True)
class BillLines:
    """The checked lines of a bill. ``lines`` is lazy and can be read several times.

    ``doubles`` has the ``row`` of lines that repeat an earlier one in all of ``formats.IDENTITY``.
    All lines have the same ``currency``. ``first`` and ``last`` are the first and last start of a
    charge. The temporary copy of the lines is deleted when the process ends.
    """

    lines: pl.LazyFrame
    doubles: pl.LazyFrame
    format: str
    ignored: tuple[str, ...]
    count: int
    currency: str
    first: datetime
    last: datetime


def read(path: str | Path) -> BillLines:
    """Read a file or a folder of parts.

    Raises:
        HwpricesError: the path has no bill, its parts have several formats, a file is damaged or
            incomplete, a column is missing, a value is invalid, or lines have several currencies.
            The message names file and line.
    """
    bill = Path(path)
    parts, ignored = _parts(bill)
    folder = scratch_directory()
    rows = 0
    formats: dict[str, tuple[Format, str]] = {}
    copies = [str(Path(folder.name, f"{index:05}.parquet")) for index in range(len(parts))]
    doubles = str(Path(folder.name, "doubles.parquet"))
    with connect(
        threads=2,
        memory_limit=READER_MEMORY,
        temp_directory=folder.name,
        max_temp_directory_size=READER_DISK,
        **NO_EXTENSIONS,
    ) as connection:
        connection.execute("set enable_progress_bar = false")
        for part, copy in zip(parts, copies, strict=True):
            name = part.name if bill.is_file() else str(part.relative_to(bill))
            form, count = _copy(connection, part, name, rows, copy)
            formats.setdefault(form.name, (form, name))
            rows += count
        if len(formats) > 1:
            (first, file), (second, other) = [(key, file) for key, (_, file) in formats.items()][:2]
            raise HwpricesError(
                f"{other} is a bill of another format ({second}) than {file} ({first})",
                "Read the files of each format separately.",
            )
        _find_doubles(connection, copies, doubles)
    ((form, _),) = formats.values()
    lines = pl.scan_parquet(copies, row_index_name="row").with_columns(
        pl.col("row").cast(pl.Int64), line=pl.col("row").cast(pl.Int64) + pl.col("to_line")
    )
    if form.blocks:  # an export without a rate has one currency
        lines = lines.with_columns(
            quantity=pl.col("quantity") / block_of(pl.col("unit")),
            list_price=pl.col("list_price") * pl.col("exchange_rate").fill_null(1),
        )
    currency, begin, end = _check(lines, form)
    atexit.register(folder.cleanup)  # frames may be used after the objects they came from
    return BillLines(
        lines.drop("to_row", "to_line"),
        pl.scan_parquet(doubles),
        form.name,
        tuple(ignored),
        rows,
        currency,
        begin,
        end,
    )


def _find_doubles(connection: "DuckDBPyConnection", copies: Sequence[str], target: str) -> None:
    """Write the rows of lines that repeat an earlier one; equal hashes are compared by value."""
    lines = f"read_parquet({quoted_list(copies)}, file_row_number = true)"
    connection.execute(
        f"create temp table twice as select identity from {lines} where identity is not null"  # noqa: S608
        " group by identity having count(*) > 1"
    )
    row = "file_row_number + to_row"
    connection.execute(
        f"copy (select {row} as row from {lines} where identity in (from twice) qualify"  # noqa: S608
        f" row_number() over (partition by {_names(IDENTITY)} order by {row}) > 1)"
        f" to {quoted_text(target)} (format parquet)"
    )


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
    ending = Path(path.stem).suffix if _compression(path) == "gzip" else path.suffix
    kind = SUFFIXES.get(ending.lower())
    return None if kind == "parquet" and ending != path.suffix else kind


def _check_manifests(manifests: Sequence[Path], parts: Sequence[Path]) -> None:
    """Compare the parts with the manifests that Azure or AWS write beside them.

    Exports of several months have parts with the same name. A listed file is matched with the part
    whose path has the longest common end.
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


def _same_end(a: Sequence[str], b: Sequence[str]) -> int:
    """Count the last names that two paths share."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _copy(
    connection: "DuckDBPyConnection", part: Path, name: str, rows: int, copy: str
) -> tuple[Format, int]:
    """Copy a file to Parquet with the columns of its format; return format and number of lines.

    Lines count from 1, including the header of a CSV file; a record of several lines counts as one.
    ``rows`` is the number of lines in the previous files. ``row`` minus ``to_row`` is the position
    in the file, ``row`` plus ``to_line`` is the line.
    """
    kind = _kind(part)
    file, packed = quoted_text(str(part)), f"compression = '{_compression(part)}'"
    if kind == "csv":
        header = next(csv.reader(io.StringIO(_first_line(part, name))), [])
        _check_lines(part, name, must_end=True)
        form, present = _format(name, header)
        names = [
            column if _plain(column) in READ else str(position)
            for position, column in enumerate(header)
        ]
        types = {column: _file_type(form, column) for column in names}
        source = (
            f"read_csv({file}, header = true, delim = ',', quote = '\"', escape = '\"',"
            f" auto_detect = false, strict_mode = true, null_padding = false,"
            f" nullstr = {quoted_list(NULLS)}, columns = {_struct(types)}, {packed},"
            f" max_line_size = {MAX_LINE_BYTES})"
        )
    elif kind == "json":
        _check_lines(part, name, must_end=False)
        form, present = _format(name, _keys(part, name))
        flat = [c for c in present.values() if c.partition(".")[0] not in form.structures]
        types = {column: _file_type(form, column) for column in flat} | dict(form.structures)
        source = (
            f"read_json({file}, format = 'newline_delimited', columns = {_struct(types)}, {packed},"
            f" maximum_object_size = {MAX_LINE_BYTES})"
        )
    else:
        source = f"read_parquet({file})"
        with _duckdb_errors(name):
            described = connection.execute(f"describe from {source}").fetchall()
            stored = connection.execute(f"select name from parquet_schema({file})").fetchall()  # noqa: S608
        columns = {row[0]: row[1] for row in described}
        # DuckDB (2.0.0) numbers the second of two columns that differ in case alone
        for column in sorted(columns.keys() - {row[0] for row in stored}):
            _check_once(name, column.rpartition("_")[0])
        maps = [quoted_name(column) for column, type_ in columns.items() if type_.startswith("MAP")]
        if maps:  # to JSON, as in CSV files
            replaced = ", ".join(f"to_json({column}) as {column}" for column in maps)
            source = f"(select * replace ({replaced}) from {source})"  # noqa: S608
        form, present = _format(name, _paths(columns))
    nested = {} if kind == "csv" else form.structures
    values = {column: _expression(form, column, present, nested) for column in COLUMNS}
    select = ", ".join(f"{value} as {quoted_name(column)}" for column, value in values.items())
    with _duckdb_errors(name, part):
        copied = connection.execute(
            f"copy (select *, hash({_names(KIND)}) as key, case when category = 'usage' and"  # noqa: S608
            f" resource is not null and (billed != 0 or effective != 0)"
            f" then hash({_names(IDENTITY)}) end as identity, {quoted_text(name)} as file,"
            f" {rows} as to_row, {(2 if kind == 'csv' else 1) - rows} as to_line"
            f" from (select {select} from {source}))"
            f" to {quoted_text(copy)} (format parquet, compression lz4_raw)"
        )
        ((count,),) = copied.fetchall()
    return form, count


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, columns))


def _compression(part: Path) -> str:
    return "gzip" if part.suffix.lower() == ".gz" else "none"


def _struct(types: Mapping[str, str]) -> str:
    pairs = (f"{quoted_text(name)}: {quoted_text(kind)}" for name, kind in types.items())
    return "{" + ", ".join(pairs) + "}"


def _file_type(form: Format, column: str) -> str:
    """Return the type to read a column with: the type of the column of COLUMNS that it fills."""
    for target, names in form.columns.items():
        if _plain(column) in map(_plain, names) and not (form.days and COLUMNS[target] == TIME):
            return COLUMNS[target]
    return TEXT


def _plain(name: str) -> str:
    """Normalize the name of a column: lower case, _ for a dot, without a sign.

    Names of AWS CUR 1 become those of CUR 2: lineItem/UsageType is line_item_usage_type.
    """
    if "/" in name:
        name = re.sub(r"(?<=\w)(?=[A-Z])", "_", name).replace("/", "_")
    return name.lower().replace(".", "_").lstrip("+-")


READ = {
    _plain(column) for form in FORMATS for names in form.columns.values() for column in names
}.union(*(form.structures for form in FORMATS))
"""Plain names of the columns that are read. Others, as tags, may differ in case alone."""


def _check_once(name: str, repeated: str) -> None:
    if _plain(repeated) in READ:
        _fail(name, 1, f"the column {repeated!r} is there twice")


def _present(name: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the columns of a file by their plain name."""
    if len(columns) > MAX_COLUMNS:
        _fail(name, 1, f"{len(columns):,} columns; a bill has at most {MAX_COLUMNS:,}")
    plain = [_plain(column) for column in columns]
    for column, times in Counter(plain).items():
        if times > 1:
            _check_once(name, column)
    return dict(zip(plain, columns, strict=True))


def _format(name: str, columns: Sequence[str]) -> tuple[Format, dict[str, str]]:
    """Recognize the format; return it with the names of the columns in the file by plain name."""
    present = _present(name, columns)

    def missing(form: Format) -> list[str]:
        names = [form.columns[column] for column in form.required]
        return [" or ".join(n) for n in names if not any(_plain(name) in present for name in n)]

    form = next((form for form in FORMATS if all(sign in present for sign in form.signs)), None)
    form = form or min(FORMATS, key=lambda form: len(missing(form)) / len(form.required))
    if len(missing(form)) > len(form.required) / 2:
        raise HwpricesError(
            f"{name}: line 1: the columns do not match a known format",
            f"Give a bill of {', '.join(known.name for known in FORMATS)}.",
        )
    if missing(form):
        raise HwpricesError(
            f"{name}: line 1: {form.name} needs the column {', '.join(missing(form))}",
            "Export the bill again with all columns.",
        )
    return form, present


def _expression(
    form: Format, column: str, present: Mapping[str, str], nested: Mapping[str, str]
) -> str:
    """Return the SQL of a column of COLUMNS, with the vendor's words translated."""
    kind = COLUMNS[column]

    def value(name: str) -> str:
        actual = present[_plain(name)]
        head, _, tail = actual.partition(".")
        if not tail or head not in nested:
            return quoted_name(actual)
        if actual == "credits.amount":
            return "list_sum(list_transform(credits, lambda credit: credit.amount))"
        if head == "credits":  # of the commitment's credit, if there is one
            return f"list_filter(credits, lambda credit: credit.type like 'COMMITTED%')[1].{tail}"
        return f"{quoted_name(head)}.{quoted_name(tail)}"

    def typed(name: str) -> str:
        cast = f"cast({value(name)} as {kind})"
        if kind == TEXT:
            return f"nullif({cast}, '')"
        if kind != TIME or not form.days:
            return cast
        text = f"cast({value(name)} as varchar)"
        day = f"cast(try_strptime({text}, '%m/%d/%Y') as {TIME})"
        return f"coalesce(try_cast({text} as {TIME}), {day})"

    if column == "provider" and form.provider:
        return quoted_text(form.provider)
    if column == "end" and form.days:
        return f"{_expression(form, 'start', present, nested)} + interval 1 day"
    names = [name for name in form.columns[column] if _plain(name) in present]
    if not names:
        return f"cast(null as {kind})"
    if names[0].startswith(("+", "-")):
        return " ".join(f"{name[0]} coalesce({typed(name)}, 0)" for name in names)
    found = f"coalesce({', '.join(map(typed, names))})"
    if not (words := form.words(column)):
        return found
    cases = " ".join(
        f"when {quoted_text(word)} then {quoted_text(meaning)}" for word, meaning in words.items()
    )
    other = f"lower({found})" if column == "provider" else "null"
    return f"case lower({found}) {cases} else {other} end"


def _paths(columns: Mapping[str, str]) -> list[str]:
    """List the columns of a Parquet file; columns inside Google's structures have a dot."""
    names = list(columns)
    for head, struct in FORMATS[-1].structures.items():
        if (kind := columns.get(head, "")).startswith("STRUCT"):
            fields = re.findall(r"(\w+) ", struct)
            names += [f"{head}.{name}" for name in fields if re.search(rf"\b{name}\b", kind)]
    return names


@contextmanager
def _duckdb_errors(name: str, part: Path | None = None) -> Iterator[None]:
    """Turn an error of DuckDB into an error that names file and line."""
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
    """Return the number of the first line that is not JSON; DuckDB (2.0.0) reports one too high."""
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
    opener: Any = gzip.open if _compression(part) == "gzip" else open
    try:
        with opener(part, "rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise HwpricesError(
            f"{name}: the file is not complete or not gzip: {error}", "Download it again."
        ) from None


def _check_lines(part: Path, name: str, *, must_end: bool) -> None:
    """Check the length of all lines, because DuckDB would leave out a line that is too long."""
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
    """Return the number of the line of a byte; reads the file again."""
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


def _keys(part: Path, name: str) -> list[str]:
    """List the columns of JSON lines: those of the first line, and others of the format."""
    try:
        first = json.loads(_first_line(part, name))
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict):
        _fail(name, 1, "not a JSON object; write one on each line")
    actual = _present(name, list(first))
    form = max(FORMATS, key=lambda form: len(actual.keys() & {*form.signs, *form.structures}))
    if not actual.keys() & set(form.signs):
        return list(first)
    declared = dict.fromkeys(name.lstrip("+-") for names in form.columns.values() for name in names)
    return [actual.get(_plain(column), column) for column in declared]


def _check(lines: pl.LazyFrame, form: Format) -> tuple[str, datetime, datetime]:
    """Check for empty cells, unknown words and several currencies; return currency and period."""
    first = lines.select("currency").head(1).collect()
    if first.is_empty():
        raise HwpricesError("the bill has no line", "Export the bill of a time with usage.")
    currency = first.item()
    source = {column: " or ".join(names) for column, names in form.columns.items()}
    faults = [
        *(
            (pl.col(name).is_null(), f"the column {source[name]} has no readable value", "")
            for name in NEVER_EMPTY
        ),
        (pl.col("category").is_null(), f"an unknown {source['category']}", "category_word"),
        (
            pl.col("currency") != currency,
            f"another currency than the first line ({currency})",
            "currency",
        ),
    ]
    sums = lines.select(
        pl.col("start").min().alias("first"),
        pl.col("start").max().alias("last"),
        *(fault.sum().alias(what) for fault, what, _ in faults),
    )
    begin, end, *counts = sums.collect(engine="streaming").row(0)
    for count, (fault, what, shown) in zip(counts, faults, strict=True):
        if count:
            found = lines.filter(fault).head(1).collect(engine="streaming").row(0, named=True)
            value = f": {found[shown]}" if shown else ""
            raise HwpricesError(
                f"{found['file']}: line {found['line']}: {what}{value}"
                f" ({counted(count, 'such line')})",
                "Split the bill by currency." if shown == "currency" else "Correct the export.",
            )
    return currency, begin, end
