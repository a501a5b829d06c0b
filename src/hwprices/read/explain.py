"""A price back to the vendor's line: how it was made, from which SKUs, and where on the landed page they stand."""

import gzip
import hashlib
import io
import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.storage import layout

PRICE_ID = re.compile(r"^[0-9a-f]{24}$")


@dataclass(frozen=True)
class Trace:
    """Where a SKU's price stands: the landed page, whether it is what was landed, and the vendor's words of the SKU.

    ``page`` is the file below the root; ``state`` is whole, altered, or missing (a dataset may be copied without its raw pages).
    """

    sku: str
    raw_sha256: str
    page: str
    state: str
    line: str


@dataclass(frozen=True)
class Explanation:
    """One price: its row of prices, the rows of price_components, and a trace for each SKU."""

    price: dict[str, Any]
    components: pl.DataFrame
    traces: tuple[Trace, ...]


def find(dataset: Dataset, what: str, **where: str | None) -> pl.DataFrame:
    """Rows of prices for a price_id or an instance type; ``where`` narrows by any column (region, os, purchase_option …).

    Raises:
        HwpricesError: there is none; the line says what there is of that name.
    """
    column = "price_id" if PRICE_ID.match(what) else "instance_type"
    of_name = dataset.scan("prices").filter(pl.col(column) == what)
    given = {name: value for name, value in where.items() if value is not None}
    found = of_name.filter(*(pl.col(name) == value for name, value in given.items())).collect()
    if found.is_empty():
        known = of_name.select(pl.col("region").unique().sort()).collect()["region"].to_list()
        hint = (
            f"It has prices in {', '.join(known[:8])}."
            if known
            else 'See: hwprices query "select distinct instance_type from prices".'
        )
        raise HwpricesError(f"no price of {what}" + (f" with {given}" if given else ""), hint)
    return found.sort(
        "provider", "region", "os", "purchase_option", "term_months", "payment_option", "price_id"
    )


def explain(dataset: Dataset, price_id: str) -> Explanation:
    """One price with everything behind it.

    Raises:
        HwpricesError: no price has this id.
    """
    price = find(dataset, price_id).row(0, named=True)
    parts = (
        dataset.scan("price_components").filter(pl.col("price_id") == price_id).collect()
        if "price_components" in dataset.tables
        else pl.DataFrame()
    )
    if parts.is_empty():
        sought = [(price["sku_price_id"] or price["sku_id"], price["raw_sha256"])]
    else:
        sought = list(dict.fromkeys(parts.select("sku_id", "raw_sha256").iter_rows()))
    return Explanation(
        price,
        parts,
        tuple(_trace(dataset, price["provider"], sku, sha) for sku, sha in sought if sku),
    )


def arithmetic(found: Explanation) -> str:
    """How effective_hourly comes about, in one line."""
    price = found.price
    if price["effective_hourly"] is None:
        return f"not known: {price['price_reason']}"
    total = f"{_plain(price['effective_hourly'])} {price['currency']}/h"
    if found.components.height:
        terms = (
            f"{_plain(q)} {unit} × {_plain(p)}"
            for q, unit, p in found.components.select("quantity", "unit", "unit_price").iter_rows()
        )
        return f"{' + '.join(terms)} = {total}"
    if price["upfront"] is not None:
        hours = price["term_months"] * 730
        return f"{_plain(price['hourly'] or 0)} + {_plain(price['upfront'])} / {hours} h = {total}"
    return (
        f"{total}, as the vendor states it"
        if price["basis"] == "listed"
        else f"{total}, by the vendor's rule from another price"
    )


def _plain(value: Any) -> str:
    """A decimal without the zeros that only fill its scale."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _trace(dataset: Dataset, provider: str, sku: str, sha256: str) -> Trace:
    key = next(
        (k for k in dataset.store.keys(layout.raw(provider)) if layout.page_sha256(k) == sha256),
        None,
    )
    data = dataset.store.get(key) if key else None
    if key is None or data is None:
        return Trace(sku, sha256, "", "missing", "")
    if hashlib.sha256(data).hexdigest() != sha256:
        return Trace(sku, sha256, dataset.store.uri(key), "altered", "")
    return Trace(sku, sha256, dataset.store.uri(key), "whole", _line(data, key, sku))


def _line(data: bytes, key: str, sku: str) -> str:
    """The vendor's own words of the SKU: of a JSON page the object that names it, of any other the line.

    Lines are read one by one: a price list unpacks to more than a gigabyte.
    """
    if key.endswith(".json.gz"):
        item = _object(json.loads(gzip.decompress(data)), sku)
        return json.dumps(item, ensure_ascii=False) if item is not None else ""
    with gzip.open(io.BytesIO(data), "rt", encoding="utf-8", errors="replace") as lines:
        return next((line.strip() for line in lines if sku in line), "")


def _object(value: Any, sku: str) -> dict[str, Any] | None:
    """The first object, outside in, that has the SKU as a value of its own."""
    waiting = deque([value])
    while waiting:
        found = waiting.popleft()
        if isinstance(found, dict):
            if any(isinstance(v, str) and v == sku for v in found.values()):
                return found
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)
    return None
