"""Measure how long Azure takes to normalise at full size: 200,000 items in pages of 1,000.

    python -m bench.azure_retail [items]

The items have the shares of the real list: two operating systems, spot and low priority, dev/test,
two reservations and savings plans for most sizes, a few Cloud Services rows, some meters that are
not primary. Prices are made up. Prints

- the best of three runs of the whole provider, reading and checking the landed pages included;
- CPU time and peak memory of the two ways to read the items that were considered: msgspec structs
  (``prices.items.parse``, in use) and polars' JSON reader behind a regular expression that puts
  money in quotes (``parse_with_polars`` below), as a ratio. Nothing fails by an absolute time.
"""

import json
import re
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, get
from hwprices.providers.azure import kinds
from hwprices.providers.azure.prices import items as azure_items

WHEN = datetime(2026, 11, 1, tzinfo=UTC)
REGIONS = 60
PAGE = 1000
RUNS = 3

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


def land(folder: Path, total: int) -> Pages:
    """Land the items by region and price type."""
    landing = Landing(folder)
    results = []
    for region in range(REGIONS):
        of_region = list(items(region, total // REGIONS + (region < total % REGIONS)))
        for word, price_type in kinds.PRICE_TYPES.items():
            unit = Unit("azure", kinds.retail(word, "USD"), f"region{region}")
            chosen = [i for i in of_region if i["type"] == price_type]
            chunks = [chosen[start : start + PAGE] for start in range(0, len(chosen), PAGE)]
            pages = [
                landing.land_bytes(
                    unit, answer(chunk), url="https://prices.azure.com", retrieved_at=WHEN
                )
                for chunk in chunks
            ]
            results.append(UnitResult(unit, "ok", tuple(pages)))
    return Pages(Run("bench", "azure", "live", WHEN, "bench", tuple(results)), landing)


def answer(chunk: list[dict[str, Any]]) -> bytes:
    """Write one page as Retail Prices answers it."""
    envelope = {"BillingCurrency": "USD", "NextPageLink": None, "Count": len(chunk)}
    return json.dumps(envelope | {"Items": chunk}).encode()


def parse_with_polars(body: bytes) -> pl.DataFrame:
    """Read one page with polars' JSON reader, money put in quotes first so that it stays text."""
    text = pl.Series([body.decode()]).str.replace_all(MONEY, r'"$1":"$2"')[0]
    if EXPONENT.search(text):
        text = EXPONENT.sub(lambda match: f'"{match[1]}":"{Decimal(match[2]):f}"', text)
    schema = {"Items": pl.List(pl.Struct(POLARS_ITEM)), "Count": pl.Int64}
    document = pl.read_json(text.encode(), schema=schema)
    return document.get_column("Items").explode(empty_as_null=False).struct.unnest()


def parse_with_msgspec(body: bytes) -> pl.DataFrame:
    """Read one page as the provider does."""
    return azure_items.parse(body)


def cpu_seconds(parse: Callable[[bytes], pl.DataFrame], bodies: list[bytes]) -> float:
    """Measure the best CPU time of some runs over all pages."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        pl.concat([parse(body) for body in bodies])
        times.append(time.process_time() - start)
    return min(times)


def peak_bytes(parse: Callable[[bytes], pl.DataFrame], body: bytes) -> int:
    """Measure the peak of Python's memory while a page is read, without polars' buffers."""
    tracemalloc.start()
    parse(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def compare_readers(pages: Pages) -> None:
    """Print both readers' CPU time and memory, and check that they read the same prices."""
    bodies = [pages.read(page) for result in pages.run.results for page in result.pages]
    column = "retailPrice"
    assert parse_with_polars(bodies[0])[column].equals(parse_with_msgspec(bodies[0])[column])
    old, new = (cpu_seconds(parse, bodies) for parse in (parse_with_polars, parse_with_msgspec))
    print(f"msgspec {new:.2f} s CPU, polars {old:.2f} s CPU: ratio {new / old:.2f}")
    largest = max(bodies, key=len)
    peaks = [peak_bytes(parse, largest) for parse in (parse_with_polars, parse_with_msgspec)]
    shown = ", ".join(
        f"{name} {peak / 1e6:.1f} MB"
        for name, peak in zip(("polars", "msgspec"), peaks, strict=True)
    )
    print(f"a page of {len(largest) / 1e6:.1f} MB takes of Python's memory: {shown}")


def main() -> None:
    """Land Retail Prices pages, time normalising them, and compare two readers of one page."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as folder:
        pages = land(Path(folder), total)
        count = sum(len(result.pages) for result in pages.run.results)
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            parts = get("azure").normalise(pages)
            rows = {part.table: part.frame.lazy().collect().height for part in parts}
            times.append(time.perf_counter() - start)
        print(
            f"{total:,} items on {count} pages → {rows['prices']:,} prices in {min(times):.2f} s"
            f" (best of {', '.join(f'{t:.2f}' for t in times)})"
        )
        compare_readers(pages)


if __name__ == "__main__":
    main()
