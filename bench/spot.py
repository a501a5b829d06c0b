"""Measure reading AWS spot quotes, beside a bare parse of the same XML.

Pages have 1,000 quotes, as in DescribeSpotPriceHistory: types × zones × systems.
"""

import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, islice
from xml.etree import ElementTree

from bench import measure
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.aws import SPOT
from hwprices.providers.aws.spot import spot_rows
from hwprices.rows import frames
from hwprices.schemas.tables import Prices

AT = datetime(2026, 11, 1, tzinfo=UTC)
REGION = "us-east-1"
PAGE = 1000
SMALL, FULL = 4_000, 60_000  # quotes: us-east-1 has 900 types in six zones
SYSTEMS = ("Linux/UNIX", "Windows", "SUSE Linux", "Red Hat Enterprise Linux")
ITEM = (
    "<item><instanceType>{}</instanceType><productDescription>{}</productDescription>"
    "<spotPrice>{:.6f}</spotPrice><timestamp>2026-10-31T12:{:02}:00.000Z</timestamp>"
    "<availabilityZone>us-east-1{}</availabilityZone></item>"
)
PAGE_OF_ITEMS = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<DescribeSpotPriceHistoryResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
    "<requestId>r</requestId><spotPriceHistorySet>{}</spotPriceHistorySet>"
    "</DescribeSpotPriceHistoryResponse>"
)


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the bare parse and the reader."""
    count = SMALL if is_small else FULL
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        land(folder, count)
        costs = measure.compare(
            {"parse": (parse, folder), "rows": (read, folder)}, in_process=is_small
        )
    size = f"{count:,} quotes"
    yield measure.make_row("bare parse of spot quotes", size, costs["parse"])
    yield measure.make_row(
        "read spot quotes into price rows",
        size,
        costs["rows"],
        baseline=costs["parse"],
        baseline_name="bare ElementTree",
    )


def land(folder: str, count: int) -> None:
    """Land the pages and write the manifest of a run that has them."""
    landing, unit, items = Landing(folder), Unit("aws", SPOT, REGION), quotes()
    pages = tuple(
        landing.land_bytes(
            unit,
            PAGE_OF_ITEMS.format("".join(islice(items, PAGE))).encode(),
            url="https://bench.test/spot",
            retrieved_at=AT,
            suffix="xml",
        )
        for _ in range(count // PAGE)
    )
    landing.write_run(Run("bench", "aws", "live", AT, "bench", (UnitResult(unit, "ok", pages),)))


def quotes() -> Iterator[str]:
    """Yield endless quotes: type by type, each in six zones and four systems."""
    for number in count(1):
        for zone in "abcdef":
            for system in SYSTEMS:
                price = 0.01 + number * 0.00137
                yield ITEM.format(f"m{number}.large", system, price, number % 60, zone)


def parse(folder: str) -> int:
    """Parse every page with the standard library and count the quotes."""
    pages = measure.landed(folder, "aws")
    trees = (ElementTree.fromstring(pages.read(page)) for page in pages.of(SPOT))
    return sum(len(list(root[1])) for root in trees)


def read(folder: str) -> int:
    """Read all pages into price rows, and collect them; return their number."""
    prices = spot_rows(measure.landed(folder, "aws"), REGION, frames.empty(Prices).lazy(), "USD")
    return prices.rows.collect().height


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
