"""Find a vendor's lines about a SKU on the landed pages."""

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

from hwprices.storage import layout, packed
from hwprices.storage.store import Store

MIN_HEADINGS = 6
"""The header of a CSV page is its first line with this many cells. Shorter lines above are notes
about the file, such as the five lines above an AWS price list."""

MOST_JSON_BYTES = 128 << 20
"""Longest JSON page that is parsed, decompressed. An untrusted dataset may have a small file that
decompresses to more than the memory: parsed JSON takes about ten times its length. Longer pages,
such as the savings plans of AWS's large regions, are not searched."""

MOST_LINE_CHARACTERS = 1 << 20
"""Longer lines of any other page are read in parts, for the same reason."""

PageState = Literal["whole", "altered", "missing", "large", "unreadable"]
"""State of a page. whole: as it was landed. missing: the dataset was copied without its pages.
large: not read because of its size. unreadable: not in the format that its name states."""

UNREADABLE = (OSError, EOFError, ValueError, RecursionError, zlib.error, zstandard.ZstdError)
"""Errors of decompressing and parsing content of another format."""


@dataclass(frozen=True)
class Trace:
    """The landed page behind a SKU, and the vendor's line about the SKU."""

    sku: str
    raw_sha256: str
    page: str  # Path or URL of the landed page; empty when it is missing
    state: PageState
    line: str  # The line or JSON object that names the SKU; empty when none does
    fields: tuple[tuple[str, str], ...] = ()
    """The fields of the line that are not empty, by the vendor's names."""


Source = tuple[str, str]  # A SKU, and the SHA-256 of the page that names it
Fields = tuple[tuple[str, str], ...]

Line = tuple[str, Fields]
"""A vendor's line about a SKU: its text, and its fields by name."""

NO_LINE: Line = ("", ())


def traces(
    store: Store, provider: str, sources: Iterable[Source], most_bytes: int | None = None
) -> list[Trace]:
    """Find each SKU on its landed page. Each page is read once.

    Pages with more content than ``most_bytes``, and JSON pages above MOST_JSON_BYTES, are not
    searched.
    """
    requests = list(sources)
    keys = page_keys(store, provider) if requests else {}
    by_source: dict[Source, Trace] = {}
    for sha256 in dict.fromkeys(sha256 for _, sha256 in requests):
        skus = [sku for sku, page in requests if page == sha256]
        for trace in _page(store, keys.get(sha256), sha256, skus, most_bytes):
            by_source[trace.sku, sha256] = trace
    return [by_source[source] for source in requests]


def page_keys(store: Store, provider: str) -> dict[str, str]:
    """Return the keys of a provider's landed pages by the SHA-256 of their bytes."""
    return {layout.page_sha256(key): key for key in store.keys(layout.raw(provider))}


def _page(
    store: Store, key: str | None, sha256: str, skus: Collection[str], most_bytes: int | None
) -> list[Trace]:
    """Find the SKUs on one page."""
    data = store.get(key) if key else None
    if key is None or data is None:
        return [Trace(sku, sha256, page="", state="missing", line="") for sku in skus]
    page = store.uri(key)
    state, lines = search(data, key, skus, most_bytes, all_lines=False)
    return [Trace(sku, sha256, page, state, *lines.get(sku, [NO_LINE])[0]) for sku in skus]


def search(
    data: bytes,
    key: str,
    skus: Collection[str],
    most_bytes: int | None = None,
    *,
    all_lines: bool = True,
) -> tuple[PageState, dict[str, list[Line]]]:
    """Return the state of a page, and all lines, or the first one, that name each SKU."""
    if hashlib.sha256(data).hexdigest() != layout.page_sha256(key):
        return "altered", {}
    found: dict[str, list[Line]] = {}
    try:
        lines = _lines(data, key, set(skus), most_bytes)
        if lines is None:
            return "large", {}
        for sku, line in lines:
            if all_lines or sku not in found:
                found.setdefault(sku, []).append(line)
            if not all_lines and len(found) == len(set(skus)):
                break
    except UNREADABLE:
        return "unreadable", {}
    return "whole", found


def _lines(
    data: bytes, key: str, skus: set[str], most_bytes: int | None
) -> Iterator[tuple[str, Line]] | None:
    """Find the objects of a JSON page, or the lines of any other page, that name a SKU.

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
    if is_json:
        return _matching_objects(json.loads(content), skus)
    return _matching_lines(lambda: io.BytesIO(content), skus)


def _matching_lines(
    open_content: Callable[[], IO[bytes]], skus: set[str]
) -> Iterator[tuple[str, Line]]:
    """Find for each SKU the lines that have it as a cell; if none has, those that contain it."""
    others = set(skus)
    for sku, line in _lines_with(open_content(), skus, as_cell=True):
        others.discard(sku)
        yield sku, line
    if others:
        yield from _lines_with(open_content(), others, as_cell=False)


def content(data: bytes, key: str) -> str:
    """Return the content of a page that ``search`` has read."""
    return _unpacked(data, key).read().decode(errors="replace")


def _unpacked(data: bytes, key: str) -> IO[bytes]:
    return packed.open_packed(io.BytesIO(data), packed.packing_of(key))


def _lines_with(content: IO[bytes], skus: set[str], *, as_cell: bool) -> Iterator[tuple[str, Line]]:
    """Find the lines that have a SKU as a cell, or that contain it anywhere.

    Lines are read one by one: a price list decompresses to more than a gigabyte.
    """
    with io.TextIOWrapper(content, encoding="utf-8", errors="replace") as lines:
        header: list[str] = []
        for line in iter(lambda: lines.readline(MOST_LINE_CHARACTERS), ""):
            cells = _cells(line)
            for sku in skus.intersection(cells) if as_cell else {s for s in skus if s in line}:
                yield sku, (line.strip(), _by_heading(header, cells))
            if len(cells) > len(header) and len(header) < MIN_HEADINGS:
                header = cells


def _cells(line: str) -> list[str]:
    """Split a line of CSV; empty for another format or a cell that is too long."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _by_heading(header: list[str], cells: list[str]) -> Fields:
    """Pair the headings of a CSV page with a line's cells; empty if their numbers differ."""
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


def _matching_objects(page: Any, skus: set[str]) -> Iterator[tuple[str, Line]]:
    """Find the JSON objects that have a SKU as one of their values, the outermost first."""
    queue = deque([page] if isinstance(page, (dict, list)) else [])
    while queue:
        item = queue.popleft()
        values = list(item.values()) if isinstance(item, dict) else item
        texts = [value for value in values if isinstance(value, str)]
        if isinstance(item, dict) and not skus.isdisjoint(texts):
            line = json.dumps(item, ensure_ascii=False)
            line.encode()  # raises for half a character (a surrogate), which JSON may contain
            yield from ((sku, (line, tuple(_leaves(item)))) for sku in skus.intersection(texts))
        queue.extend(value for value in values if isinstance(value, (dict, list)))
