"""Landed Retail Prices pages into one frame of items, exact to the last digit.

The body is parsed column by column by polars. Its JSON reader makes floats of numbers, so the numbers that are money are put
in quotes first: what is read is the text the vendor wrote, and that text becomes a Decimal.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.units import Money

PREFIX = "retail-"
"""Kinds of units that hold Retail Prices pages: retail-<price type>-<currency>."""

MONEY = r'"(retailPrice|tierMinimumUnits)"\s*:\s*(-?[0-9][0-9.eE+-]*)'
"""A money member of an item. Inside a JSON string its quotes would be escaped, so nothing else fits."""

EXPONENT = re.compile(r'"(retailPrice|tierMinimumUnits)":"(-?[0-9.]+[eE][-+]?[0-9]+)"')

ITEM: dict[str, pl.DataType | type[pl.DataType]] = {
    "currencyCode": pl.String,
    "tierMinimumUnits": pl.String,
    "reservationTerm": pl.String,
    "retailPrice": pl.String,
    "armRegionName": pl.String,
    "location": pl.String,
    "effectiveStartDate": pl.String,
    "effectiveEndDate": pl.String,
    "meterId": pl.String,
    "meterName": pl.String,
    "skuId": pl.String,
    "productName": pl.String,
    "skuName": pl.String,
    "serviceName": pl.String,
    "unitOfMeasure": pl.String,
    "type": pl.String,
    "isPrimaryMeterRegion": pl.Boolean,
    "armSkuName": pl.String,
    "savingsPlan": pl.List(pl.Struct({"term": pl.String, "retailPrice": pl.String})),
}
"""Members of an item that are read; others (unitPrice, productId, serviceFamily …) say nothing more about a list price."""


def kinds(pages: Pages) -> list[str]:
    """Kinds of the run that hold prices, sorted."""
    return sorted(
        {result.unit.kind for result in pages.run.results if result.unit.kind.startswith(PREFIX)}
    )


def read(pages: Pages) -> tuple[pl.DataFrame, list[Page]]:
    """Every item of every price page, and the pages.

    The frame has the columns of ``ITEM``, retailPrice and tierMinimumUnits and the savings plans' retailPrice as text, and
    ``page`` (index into the list). No item is left out.

    Raises:
        HwpricesError: a landed page is altered, or is not what Retail Prices answers.
    """
    found = [page for kind in kinds(pages) for page in pages.of(kind)]

    def one(index: int) -> pl.DataFrame:
        return parse(pages.read(found[index]), found[index].key).with_columns(
            pl.lit(index, dtype=pl.Int32).alias("page")
        )

    with ThreadPoolExecutor(
        os.cpu_count()
    ) as pool:  # decompression and polars work outside Python's lock
        frames = list(pool.map(one, range(len(found))))
    empty = pl.DataFrame(schema={**ITEM, "page": pl.Int32})
    return pl.concat([empty, *frames]).rechunk(), found


def parse(body: bytes, name: str) -> pl.DataFrame:
    """Items of one page's body, with the columns of ``ITEM``; ``name`` is what an error calls the page.

    Raises:
        HwpricesError: it is not JSON with a list of Items as long as its Count.
    """
    try:
        text = _plain_numbers(
            pl.Series([body.decode("utf-8")]).str.replace_all(MONEY, r'"$1":"$2"')[0]
        )
        document = pl.read_json(
            text.encode(), schema={"Items": pl.List(pl.Struct(ITEM)), "Count": pl.Int64}
        )
    except (UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise HwpricesError(
            f"page {name} is not a Retail Prices answer ({str(error)[:120]})",
            "Delete it and fetch again.",
        ) from None
    if document.height != 1 or document["Items"][0] is None:
        raise HwpricesError(f"page {name} has no Items", "Delete it and fetch again.")
    items = document.get_column("Items").explode(empty_as_null=False).struct.unnest()
    if items.height != document["Count"][0]:
        raise HwpricesError(
            f"page {name} says Count {document['Count'][0]} and holds {items.height} items",
            "Delete it and fetch again.",
        )
    return items


def page_table(pages: list[Page]) -> pl.DataFrame:
    """page, observed_at, source_url, raw_sha256 of the pages, in their order."""
    return pl.DataFrame(
        {
            "page": pl.Series(range(len(pages)), dtype=pl.Int32),
            "observed_at": pl.Series(
                [_utc(p.retrieved_at) for p in pages], dtype=pl.Datetime("us", "UTC")
            ),
            "source_url": pl.Series([p.url for p in pages], dtype=pl.String),
            "raw_sha256": pl.Series([p.sha256 for p in pages], dtype=pl.String),
        }
    )


def money(text: pl.Expr) -> pl.Expr:
    """A number as the vendor wrote it, exact to the tenth decimal. What is not one, or does not fit, becomes null."""
    return text.cast(Money, strict=False)


def wire_time(text: pl.Expr) -> pl.Expr:
    """effectiveStartDate and effectiveEndDate: 2018-06-01T00:00:00Z."""
    return text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False
    ).dt.replace_time_zone("UTC")


def _plain_numbers(text: str) -> str:
    """Write 3.4e-05 as 0.000034: polars makes no Decimal of an exponent."""
    return (
        EXPONENT.sub(lambda m: f'"{m[1]}":"{Decimal(m[2]):f}"', text)
        if EXPONENT.search(text)
        else text
    )


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
