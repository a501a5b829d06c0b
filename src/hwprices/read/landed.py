"""Find what vendors said of a SKU on the landed pages."""

import csv
import hashlib
import io
import json
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Literal

import zstandard

from hwprices.release.release import Release
from hwprices.storage import layout, packed

MIN_HEADINGS = 6
"""A line of a CSV page with so many cells is its header; shorter ones before it are notes about the
file, such as the five lines above an AWS price list."""

MOST_JSON_BYTES = 128 << 20
"""Longest JSON page that is parsed, unpacked. A dataset may be a stranger's, and a small file may
decompress to more than the memory: parsed JSON takes about ten times its length. Longer ones, such
as the savings plans of AWS's large regions, are named and not searched."""

MOST_LINE_CHARACTERS = 1 << 20
"""Of any other page a longer line is read in parts, for the same reason."""

PageState = Literal["whole", "altered", "missing", "large", "unreadable"]
"""Whether a page is what was landed; missing where a dataset was copied without its pages; large
where it was not read for its size; unreadable where it is not what its name says."""

UNREADABLE = (OSError, EOFError, ValueError, RecursionError, zlib.error, zstandard.ZstdError)
"""What unpacking and parsing raise over content that is not packed so, or no JSON."""


@dataclass(frozen=True)
class Trace:
    """The landed page behind a SKU, and the vendor's line about the SKU."""

    sku: str
    raw_sha256: str
    page: str  # Path or URL of the landed page; empty when it is missing
    state: PageState
    line: str  # The line or JSON object that names the SKU; empty when none does
    fields: tuple[tuple[str, str], ...] = ()
    """What the line says, by the vendor's own names; what is empty is left out."""


Source = tuple[str, str]  # A SKU, and the SHA-256 of the page that names it
Fields = tuple[tuple[str, str], ...]

Line = tuple[str, Fields]
"""What a vendor said of a SKU, as it is there, and by the names of its fields."""

NO_LINE: Line = ("", ())


def traces(
    dataset: Release, provider: str, sources: Iterable[Source], most_bytes: int | None = None
) -> list[Trace]:
    """Find each SKU on its landed page. Every page is read once, whatever it has to answer.

    ``most_bytes``: pages with more content are not searched; without it all are, but for JSON
    pages beyond MOST_JSON_BYTES.
    """
    requests = list(sources)
    keys = {
        layout.page_sha256(key): key
        for key in (dataset.store.keys(layout.raw(provider)) if requests else ())
    }
    by_source: dict[Source, Trace] = {}
    for sha256 in dict.fromkeys(sha256 for _, sha256 in requests):
        skus = [sku for sku, page in requests if page == sha256]
        for trace in _page(dataset, keys.get(sha256), sha256, skus, most_bytes):
            by_source[trace.sku, sha256] = trace
    return [by_source[source] for source in requests]


def _page(
    dataset: Release, key: str | None, sha256: str, skus: Collection[str], most_bytes: int | None
) -> list[Trace]:
    """Find the SKUs on one page."""
    data = dataset.store.get(key) if key else None
    if key is None or data is None:
        return [Trace(sku, sha256, page="", state="missing", line="") for sku in skus]
    page = dataset.store.uri(key)
    state: PageState = "whole"
    if hashlib.sha256(data).hexdigest() != sha256:
        state = "altered"
    lines: dict[str, Line] | None = {}
    try:
        lines = _lines(data, key, skus, most_bytes) if state == "whole" else {}
    except UNREADABLE:
        state = "unreadable"
    if lines is None:
        state, lines = "large", {}
    return [Trace(sku, sha256, page, state, *lines.get(sku, NO_LINE)) for sku in skus]


def _lines(
    data: bytes, key: str, skus: Collection[str], most_bytes: int | None
) -> dict[str, Line] | None:
    """Find the vendor's words about SKUs: objects of a JSON page, lines of any other page.

    None for a page with more content than ``most_bytes``, or too long to be parsed as JSON.
    """
    is_json = layout.page_format(key) == "json"
    limits = [most_bytes] if most_bytes is not None else []
    if is_json:
        limits.append(MOST_JSON_BYTES)
    if not limits:
        return _matching_lines(lambda: _unpacked(data, key), skus)
    content = packed.read_all(_unpacked(data, key), min(limits))
    if len(content) > min(limits):
        return None
    if not is_json:
        return _matching_lines(lambda: io.BytesIO(content), skus)
    objects = _objects_with(json.loads(content), set(skus))
    lines = {sku: json.dumps(item, ensure_ascii=False) for sku, item in objects.items()}
    for line in lines.values():
        line.encode()  # JSON may name half a character, which no file or terminal takes
    return {sku: (line, tuple(_leaves(objects[sku]))) for sku, line in lines.items()}


def _matching_lines(
    open_content: Callable[[], IO[bytes]], skus: Collection[str]
) -> dict[str, Line]:
    """Find for each SKU the line that has it as a cell, else one that contains it."""
    lines = _lines_with(open_content(), set(skus), as_cell=True)
    others = set(skus) - set(lines)
    if others:
        lines |= _lines_with(open_content(), others, as_cell=False)
    return lines


def _unpacked(data: bytes, key: str) -> IO[bytes]:
    return packed.open_packed(io.BytesIO(data), packed.packing_of(key))


def _lines_with(content: IO[bytes], skus: set[str], *, as_cell: bool) -> dict[str, Line]:
    """Find for each SKU the first line that has it as a cell, or that contains it anywhere.

    Lines are read one by one: a price list decompresses to more than a gigabyte.
    """
    missing = set(skus)
    result: dict[str, Line] = {}
    with io.TextIOWrapper(content, encoding="utf-8", errors="replace") as lines:
        header: list[str] = []
        for line in iter(lambda: lines.readline(MOST_LINE_CHARACTERS), ""):
            cells = _cells(line)
            named = missing.intersection(cells) if as_cell else {s for s in missing if s in line}
            for sku in named:
                result[sku] = line.strip(), _by_heading(header, cells)
            missing -= named
            if not missing:
                break
            if len(cells) > len(header) and len(header) < MIN_HEADINGS:
                header = cells
    return result


def _cells(line: str) -> list[str]:
    """Split a line of CSV; one of another format, or with a cell too long, has no cells."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _by_heading(header: list[str], cells: list[str]) -> Fields:
    """Pair the headings of a CSV page with a line's cells; nothing if their numbers differ."""
    if len(header) != len(cells):
        return ()
    return tuple((name, cell) for name, cell in zip(header, cells, strict=True) if cell)


def _leaves(item: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Return the values in a JSON object with their names: pricingInfo.0.unitPrice.nanos."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(item, list):
        for index, value in enumerate(item):
            yield from _leaves(value, f"{name}.{index}" if len(item) > 1 else name)
    elif item not in (None, ""):
        yield name, str(item)


def _objects_with(page: Any, skus: set[str]) -> dict[str, dict[str, Any]]:
    """Find for each SKU the outermost JSON object that has it as one of its values."""
    missing = set(skus)
    result: dict[str, dict[str, Any]] = {}
    queue = deque([page])
    while queue and missing:
        item = queue.popleft()
        if isinstance(item, dict):
            named = missing.intersection(value for value in item.values() if isinstance(value, str))
            result |= dict.fromkeys(named, item)
            missing -= named
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
    return result
