"""How long Azure takes to normalise, at full size: 200,000 retail items in pages of 1,000, as landed.

    python bench/azure_retail.py [items]

The items have the shares of the real list: two systems, spot and low priority, dev/test, two reservations and savings plans for
most sizes, a few Cloud Services and Promo rows, some not primary. Prices are made up. Prints the best of three runs, reading and
checking the landed pages included; exits with 1 when 200,000 items take more than 2 s.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, get

WHEN = datetime(2026, 11, 1, tzinfo=UTC)
REGIONS = 60
LIMIT_SECONDS = 2.0
PAGE = 1000


def items(region: int, count: int) -> Iterator[dict[str, Any]]:
    """Items of one region, Consumption first, then dev/test, then reservations."""
    made = 0
    for size in range(10_000):
        for more in variants(size):
            if made == count:
                return
            made += 1
            yield base(region, size) | more


def base(region: int, size: int) -> dict[str, Any]:
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
    """The items as a landing directory."""
    landing = Landing(str(folder))
    results = []
    for region in range(REGIONS):
        of_region = list(items(region, total // REGIONS + (region < total % REGIONS)))
        for word, kind in (
            ("consumption", "Consumption"),
            ("devtest", "DevTestConsumption"),
            ("reservation", "Reservation"),
        ):
            unit = Unit("azure", f"retail_{word}_usd", f"region{region}")
            some = [i for i in of_region if i["type"] == kind]
            chunks = [some[start : start + PAGE] for start in range(0, len(some), PAGE)]
            bodies = [
                json.dumps(
                    {
                        "BillingCurrency": "USD",
                        "Items": chunk,
                        "NextPageLink": None,
                        "Count": len(chunk),
                    }
                ).encode()
                for chunk in chunks
            ]
            results.append(
                UnitResult(
                    unit,
                    "ok",
                    tuple(
                        landing.land_bytes(
                            unit, body, url="https://prices.azure.com", retrieved_at=WHEN
                        )
                        for body in bodies
                    ),
                )
            )
    return Pages(Run("bench", "azure", "live", WHEN, "bench", tuple(results)), landing)


def main() -> int:
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as folder:
        pages = land(Path(folder), total)
        count = sum(len(result.pages) for result in pages.run.results)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            rows = {
                part.table: part.frame.lazy().collect().height
                for part in get("azure").normalise(pages)
            }
            times.append(time.perf_counter() - start)
    best = min(times)
    print(
        f"{total:,} items on {count} pages → {rows['prices']:,} prices in {best:.2f} s (best of {', '.join(f'{t:.2f}' for t in times)})"
    )
    return int(best > LIMIT_SECONDS * total / 200_000)


if __name__ == "__main__":
    raise SystemExit(main())
