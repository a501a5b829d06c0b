"""Read the files that come with the program, and compress tables for the page.

Templates escape all texts of a release.

A payload is, gzipped and in base64: the length of the header as four bytes, little-endian; the
header as JSON; the codes of all columns. A column of a table is a list of its distinct values, and
an unsigned code per row: 0 for null, else the position of the value, counted from 1.
``tools/page/src/payload.ts`` reads this format.
"""

import base64
import gzip
import hashlib
import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from hwprices.errors import escaped
from hwprices.release.wording import plain

FOLDER = resources.files("hwprices.read.report")


@dataclass(frozen=True)
class Built:
    """A file of the bundle that tools/page built, and its hash for the Content-Security-Policy.

    The policy allows the browser to run only the script with this hash.
    """

    text: str

    @property
    def csp_hash(self) -> str:
        """The SHA-256 in base64."""
        return base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()

    @property
    def markup(self) -> Markup:
        """The text for a <script> element; esbuild has escaped it."""
        return Markup(self.text)  # noqa: S704 - our own file, without data of a release


def bundled(name: str) -> Built:
    """Read a file of the bundle."""
    return Built((FOLDER / "bundle" / name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hwprices.read.report", "templates"),
        autoescape=select_autoescape(),  # HTML; texts in Markdown go through the filter cell
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"day": day, "cell": cell, "plain": plain}
    environment.globals["favicon"] = FAVICON
    return environment


FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'%3E"
    "%3Cpath fill='%230b8a88' d='M2 18V11h4v7zM8 18V6h4v12zM14 18V2h4v16z'/%3E%3C/svg%3E"
)
"""The three bars of the logo."""


def day(time: date | str) -> str:
    """Format a day as on the page: 25 Nov 2026."""
    when = date.fromisoformat(time[:10]) if isinstance(time, str) else time
    return f"{when.day} {when:%b %Y}"


def cell(value: object) -> str:
    """Escape a value for a Markdown table; texts of a release are never markup."""
    text = escaped(" ".join(str(value).split()))
    for mark in "\\|[]<>*`_":
        text = text.replace(mark, f"\\{mark}")
    return text


def render(template: str, **values: Any) -> str:
    """Fill in a template; a text ends with one line break.

    Raises:
        jinja2.UndefinedError: a value of the template is missing.
    """
    text = _environment().get_template(template).render(**values)
    return text if template.endswith(".html") else text.rstrip("\n") + "\n"


CODE_TYPES = {1: "B", 2: "H", 4: "I"}
"""Types in ``array`` by the bytes of a code. The page reads them as typed arrays."""

ALIGNMENT = 4  # bytes; a typed array must begin at a multiple of its width
COMPRESSION_LEVEL = 6  # 9 takes three times as long: 1.7 s more for 119,000 offers, 0.07 % smaller


@dataclass
class Payload:
    """Tables and facts for the page."""

    facts: dict[str, Any] = field(default_factory=dict)
    """JSON values by name."""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: bytearray = field(default_factory=bytearray)

    def add_table(self, name: str, frame: pl.DataFrame) -> None:
        """Add a table, column by column. Decimals become numbers, lists become JSON lists."""
        columns = {column: self._add_column(frame[column]) for column in frame.columns}
        self.tables[name] = {"rows": frame.height, "columns": columns}

    def _add_column(self, column: pl.Series) -> dict[str, Any]:
        values = _plain(column.drop_nulls().unique(maintain_order=True).sort())
        width = code_width(len(values))
        codes = array(CODE_TYPES[width], _codes(column).to_list())
        if sys.byteorder == "big":
            codes.byteswap()
        self.codes.extend(bytes(-len(self.codes) % ALIGNMENT))
        offset = len(self.codes)
        self.codes.extend(codes.tobytes())
        return {"values": values, "width": width, "offset": offset}

    def packed(self) -> str:
        """Return the payload as base64 text."""
        header = json.dumps(
            {"facts": self.facts, "tables": self.tables},
            ensure_ascii=False,
            separators=(",", ":"),
            default=str,
            allow_nan=False,
        ).encode()
        header += b" " * (-(len(header) + 4) % ALIGNMENT)
        whole = len(header).to_bytes(4, "little") + header + bytes(self.codes)
        # without a time, so that the same release gives the same bytes
        return base64.b64encode(gzip.compress(whole, COMPRESSION_LEVEL, mtime=0)).decode()


def compressed_json(value: Any) -> str:
    """Return a JSON value, gzipped, as base64 text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return base64.b64encode(gzip.compress(text.encode(), COMPRESSION_LEVEL, mtime=0)).decode()


def code_width(values: int) -> int:
    """Return the bytes of a code for a number of distinct values."""
    return next(width for width in CODE_TYPES if values < 2 ** (8 * width))


def _codes(column: pl.Series) -> pl.Series:
    """Number the values of a column in ascending order from 1; null is 0."""
    return column.rank("dense").fill_null(0).cast(pl.UInt32)


def _plain(values: pl.Series) -> list[Any]:
    if values.dtype.is_decimal():
        return values.cast(pl.Float64).to_list()
    if values.dtype.is_temporal():
        return values.dt.to_string("iso:strict").to_list()
    return values.to_list()


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a small table; decimals are numbers and times are text."""
    plain = frame.with_columns(
        pl.selectors.decimal().cast(pl.Float64), pl.selectors.temporal().dt.to_string("iso:strict")
    )
    return plain.to_dicts()


def rows(frame: pl.DataFrame) -> list[Mapping[str, Any]]:
    """Return the rows of a small table as JSON objects without nulls and empty lists."""
    return [
        {name: value for name, value in row.items() if value is not None and value != []}
        for row in records(frame)
    ]
