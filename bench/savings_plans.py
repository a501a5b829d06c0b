"""Measure reading AWS savings plans, beside a bare decode of the same file with msgspec.

A file in the vendor's format: plans of both families with all terms and payments, each with a rate
for every SKU of the region's price list.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any, cast

import msgspec
import polars as pl

from bench import measure
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.aws import SAVINGS_PLANS
from hwprices.providers.aws.price_list import PriceList
from hwprices.providers.aws.savings_plans import read_page, savings_plan_rows
from hwprices.storage.packed import open_packed, packing_of, read_all

AT = datetime(2026, 11, 1, tzinfo=UTC)
REGION = "us-east-1"
SMALL, FULL = 2_000, 50_000  # SKUs
FAMILIES = ("ComputeSavingsPlans", "EC2InstanceSavingsPlans")
TERMS = ("1yr", "3yr")
PAYMENTS = ("No Upfront", "Partial Upfront", "All Upfront")


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the bare decode and the reader."""
    count = SMALL if is_small else FULL
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        size = land(folder, count)
        costs = measure.compare(
            {"decode": (decode, folder), "rows": (read, folder, count)},
            in_process=is_small,
        )
    rates = costs["rows"].result
    text = f"{rates:,} rates, {size / 1e6:.0f} MB"
    yield measure.make_row("bare decode of savings plans", text, costs["decode"])
    yield measure.make_row(
        "read savings plans into price rows",
        text,
        costs["rows"],
        baseline=costs["decode"],
        baseline_name="bare decode",
    )


def land(folder: str, count: int) -> int:
    """Land a file with the rates of ``count`` SKUs; return its length."""
    plans = list(enumerate(product(FAMILIES, TERMS, PAYMENTS)))
    content = json.dumps(
        {
            "formatVersion": "v1.0",
            "products": [plan(number, *what) for number, what in plans],
            "terms": {"savingsPlan": [terms(number, count) for number, _ in plans]},
        },
        indent=2,
        separators=(",", " : "),  # as AWS writes it
    ).encode()
    landing, unit = Landing(folder), Unit("aws", SAVINGS_PLANS, REGION)
    page = landing.land_bytes(unit, content, url="https://bench.test/sp", retrieved_at=AT)
    landing.write_run(Run("bench", "aws", "live", AT, "bench", (UnitResult(unit, "ok", (page,)),)))
    return len(content)


def plan(number: int, family: str, term: str, payment: str) -> dict[str, object]:
    """Make one product."""
    attributes = {"purchaseTerm": term, "purchaseOption": payment, "granularity": "hourly"}
    return {"sku": f"PLAN{number:04}", "productFamily": family, "attributes": attributes}


def terms(number: int, count: int) -> dict[str, object]:
    """Make the rates of one plan."""
    rates = [
        {
            "discountedSku": sku(index),
            "discountedUsageType": f"BoxUsage:m{index % 9}.{index % 13}xlarge",
            "discountedOperation": "RunInstances",
            "discountedServiceCode": "AmazonEC2",
            "rateCode": f"PLAN{number:04}.{sku(index)}",
            "unit": "Hrs",
            "discountedRate": {
                "price": f"{0.01 + index * 0.0007 + number / 100:.4f}",
                "currency": "USD",
            },
        }
        for index in range(count)
    ]
    plan_sku = f"PLAN{number:04}"
    return {"sku": plan_sku, "effectiveDate": "2026-10-01T00:00:00Z", "rates": rates}


def sku(index: int) -> str:
    """Return a SKU of 16 characters."""
    return f"{index * 2_654_435_761 % 16**16:016X}"


def price_list(count: int) -> PriceList:
    """Make a price list of the same SKUs, without prices."""
    numbers = range(count)
    skus = pl.LazyFrame(
        {
            "sku_id": [sku(index) for index in numbers],
            "instance_type": [f"m{index}.large" for index in numbers],
            "region": REGION,
            "os": "linux",
            "software": "none",
            "license_model": "included",
            "tenancy": "shared",
            "in_scope": True,
            "is_refused": False,
            "word": pl.Series([None] * count, dtype=pl.String),
        }
    )
    return PriceList(cast(Any, None), skus, cast(Any, None), "USD")


def decode(folder: str) -> int:
    """Decode the complete file with msgspec. At full size it is too long for ``Pages.read``."""
    pages = measure.landed(folder, "aws")
    [page] = pages.of(SAVINGS_PLANS)
    with pages.file(page) as path, open_packed(path, packing_of(path.name)) as packed:
        file = msgspec.json.decode(read_all(packed))
    return sum(len(term["rates"]) for term in file["terms"]["savingsPlan"])


def read(folder: str, count: int) -> int:
    """Read the file into price rows, and collect them; return their number."""
    pages = measure.landed(folder, "aws")
    [page] = pages.of(SAVINGS_PLANS)
    prices = savings_plan_rows(read_page(pages, page), page, REGION, price_list(count))
    return prices.rows.collect().height


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
