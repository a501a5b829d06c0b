"""Trace a price back to the vendor: how it is computed, from which SKUs, on which landed pages."""

import csv
import hashlib
import io
import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.find import machines
from hwprices.storage import layout, packed
from hwprices.units import HOURS_PER_MONTH

PRICE_ID = re.compile(r"^[0-9a-f]{24}$")

PRICE_ORDER = [
    "provider",
    "region",
    "os",
    "purchase_option",
    "term_months",
    "payment_option",
    "price_id",
]

MAX_REGIONS = 8  # in an error message

MIN_HEADINGS = 6
"""A line of a CSV page with so many cells is its header; shorter ones before it are notes about the
file, such as the five lines above an AWS price list."""

PageState = Literal["whole", "altered", "missing"]


@dataclass(frozen=True)
class Trace:
    """The landed page behind a SKU, and the vendor's line about the SKU."""

    sku: str
    raw_sha256: str
    page: str
    """Path or URL of the landed page; empty when it is missing."""
    state: PageState
    """Whether the page is still what was landed. A dataset may be copied without its raw pages."""
    line: str
    """The line or JSON object that names the SKU; empty when none does."""
    fields: tuple[tuple[str, str], ...] = ()
    """What the line says, by the vendor's own names; what is empty is left out."""


@dataclass(frozen=True)
class Explanation:
    """One price: its row of prices, its rows of price_components, and a trace for each SKU."""

    price: dict[str, Any]
    components: pl.DataFrame
    traces: tuple[Trace, ...]


def find_prices(dataset: Dataset, name: str, **filters: str | None) -> pl.DataFrame:
    """Find the rows of prices with that price_id or instance type.

    ``filters`` are columns and the value each must have (region, os, purchase_option …); None
    filters nothing.

    Raises:
        HwpricesError: there is no such price; the line says where the type has prices.
    """
    same_name = _of_name(dataset, name)
    active = {key: value for key, value in filters.items() if value is not None}
    prices = same_name.filter(*(pl.col(key) == value for key, value in active.items())).collect()
    if prices.is_empty():
        regions = same_name.select(pl.col("region").unique().sort()).collect()["region"].to_list()
        hint = (
            f"It has prices in {', '.join(regions[:MAX_REGIONS])}."
            if regions
            else f"hwprices price {name} says where it is offered."
        )
        wanted = ", ".join(f"{key} {value}" for key, value in active.items())
        raise HwpricesError(f"no price of {name}" + (f" with {wanted}" if wanted else ""), hint)
    return prices.sort(PRICE_ORDER)


def _of_name(dataset: Dataset, name: str) -> pl.LazyFrame:
    """Give the prices with that id, or of that machine type: without case or vendor's prefix."""
    prices = dataset.scan("prices")
    if PRICE_ID.match(name):
        return prices.filter(price_id=name)
    exact = prices.filter(instance_type=name)
    if not exact.head(1).collect().is_empty():
        return exact
    machine = machines.resolve(dataset, name)
    return prices.filter(provider=machine.provider, instance_type=machine.instance_type)


def explain(dataset: Dataset, price_id: str) -> Explanation:
    """Explain one price: its components, and for each SKU the landed page.

    Raises:
        HwpricesError: no price has this id.
    """
    price = find_prices(dataset, price_id).row(0, named=True)
    components = pl.DataFrame()
    if "price_components" in dataset.tables:
        components = (
            dataset.scan("price_components").filter(pl.col("price_id") == price_id).collect()
        )
    if components.is_empty():
        sources = [(price["sku_price_id"] or price["sku_id"], price["raw_sha256"])]
    else:
        sources = list(dict.fromkeys(components.select("sku_id", "raw_sha256").iter_rows()))
    traces = [_trace(dataset, price["provider"], sku, sha256) for sku, sha256 in sources if sku]
    return Explanation(price, components, tuple(traces))


def arithmetic(explanation: Explanation) -> str:
    """Write out in one line how effective_hourly is computed."""
    price, components = explanation.price, explanation.components
    if price["effective_hourly"] is None:
        return f"not known: {price['price_reason']}"
    total = f"{plain(price['effective_hourly'])} {price['currency']}/h"
    if components.height:
        terms = [
            f"{plain(quantity)} {unit} × {plain(unit_price)}"
            for quantity, unit, unit_price in components.select(
                "quantity", "unit", "unit_price"
            ).iter_rows()
        ]
        return f"{' + '.join(terms)} = {total}"
    if price["upfront"] is not None:
        hours = price["term_months"] * HOURS_PER_MONTH
        return f"{plain(price['hourly'] or 0)} + {plain(price['upfront'])} / {hours} h = {total}"
    if price["basis"] == "listed":
        return f"{total}, as the vendor states it"
    return f"{total}, by the vendor's rule from another price"


def to_json(explanation: Explanation) -> dict[str, Any]:
    """Give an explanation as JSON values: price, arithmetic, components and traces."""
    return {
        "price": explanation.price,
        "arithmetic": arithmetic(explanation),
        "components": explanation.components.to_dicts(),
        "traces": [{**asdict(trace), "fields": dict(trace.fields)} for trace in explanation.traces],
    }


def plain(value: Any) -> str:
    """Write a decimal without the zeros at its end."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _trace(dataset: Dataset, provider: str, sku: str, sha256: str) -> Trace:
    """Find the landed page with that checksum and the vendor's line about the SKU in it."""
    keys = dataset.store.keys(layout.raw(provider))
    key = next((key for key in keys if layout.page_sha256(key) == sha256), None)
    data = dataset.store.get(key) if key else None
    if key is None or data is None:
        return Trace(sku, sha256, page="", state="missing", line="")
    page = dataset.store.uri(key)
    if hashlib.sha256(data).hexdigest() != sha256:
        return Trace(sku, sha256, page, state="altered", line="")
    line, fields = _line(data, key, sku)
    return Trace(sku, sha256, page, state="whole", line=line, fields=fields)


Fields = tuple[tuple[str, str], ...]


def _line(data: bytes, key: str, sku: str) -> tuple[str, Fields]:
    """Find the vendor's words about the SKU: an object of a JSON page, a line of any other page.

    Lines are read one by one: a price list unpacks to more than a gigabyte. A line that has the SKU
    as a cell goes before one that only contains it.
    """
    content = packed.open_packed(io.BytesIO(data), packed.packing_of(key))
    if layout.page_format(key) == "json":
        item = _object_with(json.loads(packed.read_all(content)), sku)
        if item is None:
            return "", ()
        return json.dumps(item, ensure_ascii=False), tuple(_leaves(item))
    with io.TextIOWrapper(content, encoding="utf-8", errors="replace") as lines:
        header: list[str] = []
        containing: tuple[str, Fields] = "", ()
        for line in lines:
            cells = _cells(line)
            if sku in line:
                named = line.strip(), _by_heading(header, cells)
                if sku in cells:
                    return named
                containing = containing if containing[0] else named
            if len(cells) > len(header) and len(header) < MIN_HEADINGS:
                header = cells
    return containing


def _cells(line: str) -> list[str]:
    """Split a line of CSV; one of another format, or with a cell too long, has no cells."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _by_heading(header: list[str], cells: list[str]) -> Fields:
    """Put the headings of a CSV page to the cells of a line; nothing if their numbers differ."""
    if len(header) != len(cells):
        return ()
    return tuple((name, cell) for name, cell in zip(header, cells, strict=True) if cell)


def _leaves(item: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Give the values in a JSON object with their names: pricingInfo.0.unitPrice.nanos."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(item, list):
        for index, value in enumerate(item):
            yield from _leaves(value, f"{name}.{index}" if len(item) > 1 else name)
    elif item not in (None, ""):
        yield name, str(item)


def _object_with(page: Any, sku: str) -> dict[str, Any] | None:
    """Find the outermost JSON object that has the SKU as one of its values."""
    queue = deque([page])
    while queue:
        item = queue.popleft()
        if isinstance(item, dict):
            if sku in (value for value in item.values() if isinstance(value, str)):
                return item
            queue.extend(item.values())
        elif isinstance(item, list):
            queue.extend(item)
    return None
