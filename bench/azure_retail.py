"""Measure how long Azure takes to normalise at full size: 200,000 items in pages of 1,000.

The items have the proportions of the real list: two operating systems, spot and low priority,
dev/test, two reservations and savings plans for most sizes, a few Cloud Services rows, some meters
that are not primary. Prices are made up. Two comparisons: the provider, which also reads and checks
the landed pages, with a bare decode of the same pages by msgspec; and its reader of items with
polars' JSON reader after a regular expression that quotes money (``parse_with_polars``), which is
not in use. The clock starts after the sheet of accelerators was read, because in a refresh AWS
reads it first.
"""

import functools
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import polars as pl

from bench import measure
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import azure, get
from hwprices.providers.azure import items as azure_items
from hwprices.specs import sheets

measure.load_pandera()
sheets.load("accelerators")

WHEN = datetime(2026, 11, 1, tzinfo=UTC)
REGIONS = 60
PAGE = 1000
SMALL, FULL = 6_000, 200_000  # items
GOAL = measure.Goal(seconds=1)
LINEAR = measure.Goal(ratio=2.1)

MONEY = r'"(retailPrice|tierMinimumUnits)"\s*:\s*(-?[0-9][0-9.eE+-]*)'
EXPONENT = re.compile(r'"(retailPrice|tierMinimumUnits)":"(-?[0-9.]+[eE][-+]?[0-9]+)"')
POLARS_ITEM = {
    **{name: dtype for name, dtype in azure_items.COLUMNS.items() if not name.startswith("plan_")},
    "savingsPlan": pl.List(pl.Struct({"term": pl.String, "retailPrice": pl.String})),
}


def items(region: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield the items of one region, size by size."""
    made = 0
    for size in range(10_000):
        for changes in variants(size):
            if made == count:
                return
            made += 1
            yield item(region, size) | changes


def item(region: int, size: int) -> dict[str, Any]:
    """Make the Linux on-demand item of one size."""
    name = f"D{size} v5"
    price = round(0.0131 * (size + 1) * (1 + region / 97), 6)
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": f"region{region}",
        "location": f"Region {region}",
        "effectiveStartDate": "2024-02-01T00:00:00Z",
        "meterId": f"{region:08x}-0000-5000-8000-{size:012x}",
        "meterName": name,
        "productId": f"DZH318Z{size % 150:05d}",
        "skuId": f"DZH318Z{size % 150:05d}/{size:04X}",
        "productName": f"Virtual Machines Dv5{size % 150} Series",
        "skuName": name,
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": size % 7 != 0,
        "armSkuName": f"Standard_D{size}_v5",
    }


def variants(size: int) -> Iterator[dict[str, Any]]:
    """Yield what differs between the items of one size, for each purchase option."""
    product, name = f"Virtual Machines Dv5{size % 150} Series", f"D{size} v5"
    price = 0.0131 * (size + 1)
    yield {
        "savingsPlan": [
            {"term": term, "unitPrice": round(price * f, 6), "retailPrice": round(price * f, 6)}
            for term, f in (("1 Year", 0.7), ("3 Years", 0.5))
        ]
    }
    yield {"productName": f"{product} Windows", "retailPrice": round(price * 1.8, 6)}
    for end, factor in ((" Spot", 0.2), (" Low Priority", 0.25)):
        for system in ("", " Windows"):
            yield {
                "productName": product + system,
                "skuName": name + end,
                "meterName": name + end,
                "retailPrice": round(price * factor, 6),
            }
    if size % 12 == 0:
        yield {
            "productName": f"Dv5{size % 150} Series Cloud Services",
            "retailPrice": round(price * 1.8, 6),
        }
    yield {"type": "DevTestConsumption", "productName": f"{product} Windows"}
    yield {
        "type": "DevTestConsumption",
        "productName": f"{product} Windows",
        "skuName": f"{name} Spot",
    }
    for term, years in (("1 Year", 1), ("3 Years", 3)):
        yield {
            "type": "Reservation",
            "reservationTerm": term,
            "retailPrice": float(round(price * 8760 * years * 0.6)),
        }


def land(folder: str, total: int) -> int:
    """Land the items by region and price type; return the number of pages."""
    landing = Landing(folder)
    results = []
    for region in range(REGIONS):
        region_items = list(items(region, total // REGIONS + (region < total % REGIONS)))
        for word, price_type in azure.PRICE_TYPES.items():
            unit = Unit("azure", azure.retail_kind(word, "USD"), f"region{region}")
            chosen = [i for i in region_items if i["type"] == price_type]
            chunks = [chosen[start : start + PAGE] for start in range(0, len(chosen), PAGE)]
            pages = [
                landing.land_bytes(
                    unit, page_body(chunk), url="https://prices.azure.com", retrieved_at=WHEN
                )
                for chunk in chunks
            ]
            results.append(UnitResult(unit, "ok", tuple(pages)))
    landing.write_run(Run("bench", "azure", "live", WHEN, "bench", tuple(results)))
    return sum(len(result.pages) for result in results)


def page_body(chunk: list[dict[str, Any]]) -> bytes:
    """Write a page in the format of Retail Prices, without blanks between names and values."""
    envelope = {"BillingCurrency": "USD", "NextPageLink": None, "Count": len(chunk)}
    return json.dumps(envelope | {"Items": chunk}, separators=(",", ":")).encode()


def parse_with_polars(body: bytes) -> pl.DataFrame:
    """Read one page with polars' JSON reader, after quoting money so that it stays text."""
    text = pl.Series([body.decode()]).str.replace_all(MONEY, r'"$1":"$2"')[0]
    if EXPONENT.search(text):
        text = EXPONENT.sub(lambda match: f'"{match[1]}":"{Decimal(match[2]):f}"', text)
    schema = {"Items": pl.List(pl.Struct(POLARS_ITEM)), "Count": pl.Int64}
    document = pl.read_json(text.encode(), schema=schema)
    return document.get_column("Items").explode(empty_as_null=False).struct.unnest()


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the provider and its reader."""
    total = SMALL if is_small else FULL
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as top:
        folder, half = f"{top}/all", f"{top}/half"
        pages = land(folder, total)
        land(half, total // 2)
        costs = measure.compare(
            {
                "decode": (decode, folder),
                "normalise": (normalise, folder),
                "half": (normalise, half),
                "items": (read, folder),
                "polars": (read_with_polars, folder),
            },
            in_process=is_small,
        )
    normalised, size = costs["normalise"], f"{total:,} items, {pages} pages"
    row = functools.partial(measure.make_row, size=size, is_small=is_small)
    yield row(
        "normalise Azure's prices",
        cost=normalised,
        baseline=costs["decode"],
        baseline_name="bare msgspec",
        goal=GOAL,
    )
    yield row(
        "the same, twice the items",
        cost=normalised,
        baseline=costs["half"],
        baseline_name="half the items",
        goal=LINEAR,
    )
    yield row(
        "read Azure's items",
        cost=costs["items"],
        baseline=costs["polars"],
        baseline_name="with polars",
    )


def bodies(folder: str) -> Iterator[bytes]:
    """Read all landed pages."""
    pages = measure.landed(folder, "azure")
    return (pages.read(page) for result in pages.run.results for page in result.pages)


def decode(folder: str) -> int:
    """Decode every page with msgspec, money as Decimal; return the number of items."""
    decoder = msgspec.json.Decoder(float_hook=Decimal)
    return sum(len(decoder.decode(body)["Items"]) for body in bodies(folder))


def normalise(folder: str) -> int:
    """Read the pages into all tables; return the number of prices."""
    parts = get("azure").normalise(measure.landed(folder, "azure"))
    frames = [part.frame for part in parts if part.table == "prices"]
    return sum(frame.height for frame in frames if isinstance(frame, pl.DataFrame))


def read(folder: str) -> int:
    """Read every page as the provider does; return the number of items."""
    pages = measure.landed(folder, "azure")
    return azure_items.read_items(pages, azure_items.price_units(pages)).rows.height


def read_with_polars(folder: str) -> int:
    """Read every page with polars' JSON reader; return the number of items."""
    return sum(parse_with_polars(body).height for body in bodies(folder))


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
