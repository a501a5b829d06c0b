"""Real pages of every parser, mutated: the members of JSON and XML, the lines of CSV, raw bytes."""

import copy
import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
from hypothesis import strategies as st
from tests.helpers.vendor_tables import Landed

from hwprices.errors import HwpricesError
from hwprices.providers import Pages, Part, get
from hwprices.schemas.tables import TABLES
from hwprices.specs import sheets
from hwprices.stage import corrections, validate
from hwprices.storage import packed

PROJECT = Path(__file__).resolve().parents[3]
DEEP = b"[" * 100_000 + b"]" * 100_000  # JSON nested far deeper than any page

WRONG_VALUES: Sequence[Any] = (
    *(None, True, False, 0, -1, 10**30, 1e300, float("nan"), float("inf"), "", " ", "x", "-5"),
    *("1e400", "NaN", "0x10", "9" * 10_000, "\x00", "\u202e", "../..", [], {}, [[]], {"x": {}}),
    *([None], [{}], "2026-13-45T99:99:99Z", "nano", "1 Hour", 10**19, -(2**63), 0.1, "0.01"),
)
"""What members are replaced by."""


@dataclass(frozen=True)
class PageKind:
    """One page of a run, and the pages that are read along with it.

    ``others`` are (kind, region, suffix, body) of pages that stay as they are.
    """

    provider: str
    kind: str
    region: str
    suffix: str
    body: bytes
    others: tuple[tuple[str, str, str, bytes], ...] = ()


@dataclass(frozen=True)
class Tables:
    """What normalising and checking gave: good rows by table, and the names of unreadable pages."""

    rows: dict[str, pl.DataFrame]
    unreadable: tuple[str, ...]
    error: HwpricesError | None
    page: str


class Checks:
    """Check tables as staging does; a table equal to the last one of its name is checked once.

    Most mutations change one table of many, and the checks take longer than the parsers. The same
    is true of the curated sheets, which are read once.
    """

    def __init__(self) -> None:
        self.load_sheet = cache(sheets.load)
        self._last: dict[tuple[str, str | None], tuple[pl.DataFrame, pl.DataFrame]] = {}
        self._rules = cache(corrections.load)

    def good_rows(self, provider: str, part: Part) -> pl.DataFrame:
        """Return the rows that pass the checks."""
        frame, key = part.frame.lazy().collect(), (part.table, part.region)
        if key in self._last and self._last[key][0].equals(frame):
            return self._last[key][1]
        checked = frame
        if part.table == "instance_types":
            checked = corrections.apply(frame, provider, self._rules(provider))
        good = validate.split(checked, TABLES[part.table], {}).good
        self._last[key] = (frame, good)
        return good


def normalise(kind: PageKind, body: bytes, checks: Checks) -> Tables:
    """Land a page with its companions, normalise, and check every row as staging does."""
    with tempfile.TemporaryDirectory() as folder:
        landed = Landed(kind.provider, Path(folder))
        for name, region, suffix, content in (
            (kind.kind, kind.region, kind.suffix, body),
            *kind.others,
        ):
            landed.add(name, region, content, suffix=suffix)
        pages = landed.pages()
        rows: dict[str, list[pl.DataFrame]] = {}
        error = None
        try:
            for part in parts_of(pages, checks):
                good = checks.good_rows(kind.provider, part)
                rows.setdefault(part.table, []).append(good)
        except HwpricesError as raised:
            error = raised
        tables = {table: pl.concat(frames) for table, frames in rows.items()}
        unreadable = tuple(page.key for page in pages.unreadable)
        return Tables(tables, unreadable, error, landed.results[0].pages[0].key)


def parts_of(pages: Pages, checks: Checks) -> Iterator[Part]:
    """Normalise with sheets that were read before."""
    with (
        patch("hwprices.specs.sheets.load", checks.load_sheet),
        patch("hwprices.providers.gcp.sheets.load", checks.load_sheet),
    ):
        yield from get(pages.run.provider).normalise(pages)


def mutations(body: bytes, suffix: str) -> st.SearchStrategy[bytes]:
    """Bodies that differ from a real one in a few places."""
    by_suffix: dict[str, Callable[[bytes], st.SearchStrategy[bytes]]] = {
        "json": json_mutations,
        "xml": xml_mutations,
        "csv": csv_mutations,
    }
    return st.one_of(by_suffix[suffix](body), byte_mutations(body))


def byte_mutations(body: bytes) -> st.SearchStrategy[bytes]:
    """Cut a body, or replace some bytes of it."""
    positions = st.integers(0, max(len(body) - 1, 0))
    flips = st.lists(st.tuples(positions, st.integers(0, 255)), min_size=1, max_size=4)
    return st.one_of(
        positions.map(lambda at: body[:at]), flips.map(lambda places: _flip(body, places))
    )


def _flip(body: bytes, places: Sequence[tuple[int, int]]) -> bytes:
    changed = bytearray(body)
    for at, value in places:
        changed[at] = value
    return bytes(changed)


def csv_mutations(body: bytes) -> st.SearchStrategy[bytes]:
    """Replace, drop or repeat cells and lines."""
    lines = body.split(b"\n")
    line = st.integers(0, len(lines) - 1)
    words = (
        b'"',
        b'""',
        b',"',
        b"\xe9",
        b"\x00",
        b"NaN",
        b"1e400",
        b"-1",
        b"9" * 10_000,
        b"",
        b",",
    )
    edit = st.tuples(line, st.integers(0, 40), st.sampled_from(words))
    edits = st.lists(edit, min_size=1, max_size=3)
    return st.one_of(
        edits.map(lambda places: _edit_cells(lines, places)),
        line.map(lambda at: b"\n".join(lines[:at])),
        line.map(lambda at: b"\n".join([*lines[:at], lines[at], *lines[at:]])),
    )


def _edit_cells(lines: Sequence[bytes], places: Sequence[tuple[int, int, bytes]]) -> bytes:
    changed = list(lines)
    for at, column, word in places:
        cells = changed[at].split(b",")
        cells[column % len(cells)] = word
        changed[at] = b",".join(cells)
    return b"\n".join(changed)


def xml_mutations(body: bytes) -> st.SearchStrategy[bytes]:
    """Drop, rename, empty or refill elements."""
    elements = list(re.finditer(rb"<([A-Za-z]+)>([^<]*)</\1>", body))
    words = (b"", b"x", b"NaN", b"1e400", b"-1", b"9" * 5_000, b"<item/>", b"<a><b/></a>", b"&#0;")
    edit = st.tuples(st.sampled_from(elements), st.sampled_from((*words, b"DROP", b"RENAME")))
    return edit.map(lambda chosen: _edit_element(body, *chosen))


def _edit_element(body: bytes, element: re.Match[bytes], word: bytes) -> bytes:
    name = element[1]
    replaced = b"<%s>%s</%s>" % (name, word, name)
    if word == b"DROP":
        replaced = b""
    elif word == b"RENAME":
        replaced = b"<z>%s</z>" % element[2]
    return body[: element.start()] + replaced + body[element.end() :]


Place = tuple[str | int, ...]


def json_mutations(body: bytes) -> st.SearchStrategy[bytes]:
    """Drop, rename or replace members anywhere in a JSON body."""
    value = json.loads(body)
    places = list(_places(value))
    edit = st.tuples(
        st.sampled_from(places),
        st.sampled_from(("drop", "rename", "replace", "repeat")),
        st.sampled_from(WRONG_VALUES),
    )
    edits = st.lists(edit, min_size=1, max_size=3)
    return edits.map(lambda chosen: _edit_members(value, chosen))


def _places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Yield the path of every member; of long lists, the first and the last few elements."""
    members: Any = ()
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    chosen = members if len(members) <= 8 else [*members[:6], *members[-2:]]
    for key, member in chosen:
        yield (*path, key)
        yield from _places(member, (*path, key))


def _edit_members(value: Any, edits: Sequence[tuple[Place, str, Any]]) -> bytes:
    changed = copy.deepcopy(value)
    for path, action, wrong in edits:
        owner = changed
        try:
            for key in path[:-1]:
                owner = owner[key]
            _edit_member(owner, path[-1], action, wrong)
        except (KeyError, IndexError, TypeError):
            continue  # an edit before this one has taken the member away
    return json.dumps(changed).encode()


def _edit_member(owner: Any, key: Any, action: str, wrong: Any) -> None:
    if action == "replace":
        owner[key] = copy.deepcopy(wrong)
    elif action == "repeat" and isinstance(owner, list):
        owner.append(copy.deepcopy(owner[key]))
    elif action == "rename" and isinstance(owner, dict):
        owner["renamed"] = owner.pop(key)
    else:
        del owner[key]


def recorded(path: str) -> bytes:
    """A recorded page, unpacked."""
    return gzip.decompress((PROJECT / "tests/recordings" / path).read_bytes())


def sampled(provider: str, kind: str, region: str = "global") -> bytes:
    """The smallest page of a kind in the bundled sample, unpacked."""
    folder = PROJECT / "data/sample" / provider / kind / region
    smallest = min(folder.iterdir(), key=lambda path: (path.stat().st_size, path.name))
    with packed.open_packed(smallest, packed.packing_of(smallest.name)) as page:
        return page.read()
