"""Find a figure on the vendors' pages of the sample, without any code of the program.

A place is ``<folder> | <needle> | <needle>``: on the pages below ``data/sample/<folder>`` the
shortest record that has all needles; or ``sku <id>`` for the price of a SKU of Google Cloud. With
``8*`` before it, eight times what is stated there. A price that is a sum names its places with
`` + `` between them.
"""

import gzip
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import zstandard

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"

NANOS = Decimal("1e-9")

FACTOR = re.compile(r"([\d.e-]+)\*(.*)")

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")


def stated(vendor: str) -> set[Decimal]:
    """Return the figures that the vendor states in a place; of several places their sums.

    Raises:
        LookupError: no page has such a record.
    """
    terms = [_term(term.strip()) for term in vendor.split(" + ")]
    return {sum(chosen, Decimal(0)) for chosen in product(*terms)}


def _term(term: str) -> set[Decimal]:
    counted = FACTOR.fullmatch(term)
    factor, place = (Decimal(counted[1]), counted[2]) if counted else (Decimal(1), term)
    if place.startswith("sku "):
        return {factor * unit_prices()[place.removeprefix("sku ")]}
    record = min(having(place), key=len, default=None)
    if record is None:
        raise LookupError(f"no record has {place}")
    return {factor * Decimal(number) for number in NUMBER.findall(record)}


def having(place: str) -> list[str]:
    """Return the records of a folder that have all needles."""
    folder, *needles = (part.strip() for part in place.split("|"))
    return [record for record in records(folder) if all(needle in record for needle in needles)]


@cache
def records(folder: str) -> list[str]:
    """Return every line of the CSV pages, and every object of the JSON pages, as text."""
    lines: list[str] = []
    for path in pages(folder):
        text = content(path)
        if ".json" in path.name:
            value = json.loads(text, parse_float=str)
            lines += [json.dumps(record, ensure_ascii=False) for record in objects(value)]
        else:
            lines += text.splitlines()
    return lines


@cache
def unit_prices() -> dict[str, Decimal]:
    """Return the price of each SKU of Google Cloud, of the first tier that costs something."""
    prices = {}
    for path in pages("gcp/skus"):
        for sku in json.loads(content(path))["skus"]:
            for info in sku["pricingInfo"]:
                for rate in info["pricingExpression"]["tieredRates"]:
                    price = rate["unitPrice"]
                    amount = Decimal(price.get("units") or 0) + price.get("nanos", 0) * NANOS
                    if amount:
                        prices.setdefault(sku["skuId"], amount)
    return prices


def pages(folder: str) -> list[Path]:
    return sorted(path for path in (SAMPLE / folder).rglob("*") if path.suffix in (".gz", ".zst"))


def content(path: Path) -> str:
    """Unpack a page."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data).decode()
    return gzip.decompress(data).decode()


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value; one that is a member of another with its name."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict):
            yield {key: item} if isinstance(key, str) else item
        if isinstance(item, dict | list):
            yield from objects(item)
