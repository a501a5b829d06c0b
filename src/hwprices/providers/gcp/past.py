"""Read Google's past rates, and compose the prices of today's machines from them.

https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list: ``startTime`` and
``endTime`` are in one calendar month in the time zone America/Los_Angeles, and a SKU has one
pricingInfo per price in that month. Google does not list the machine types that it sold then.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import polars as pl

from hwprices.landing.pages import Unit
from hwprices.providers import Context, Pages, PastList, PastPrices, gcp
from hwprices.providers.gcp import fetch
from hwprices.providers.gcp.normalise import normalise
from hwprices.providers.gcp.skus import price_days

PACIFIC = ZoneInfo("America/Los_Angeles")

NOT_COMPOSED = ("derived",)
"""Bases of prices that are left out, because today's rules may not have applied."""


def lists(context: Context, since: datetime) -> list[PastList]:
    """List the complete months from that of ``since`` on.

    Raises:
        SkippedError: no credentials for the billing catalog are configured.
    """
    fetch.check_configured(context.settings)
    month = since.astimezone(PACIFIC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    starts = [month]
    while starts[-1] <= context.now():
        starts.append((starts[-1] + timedelta(days=32)).replace(day=1))
    machine_kinds = gcp.PROJECT_KINDS if context.settings.gcp_project else (gcp.MACHINE_TYPES,)
    return [
        PastList(
            kinds=(*gcp.SKU_KINDS, *machine_kinds),
            version=f"{begin:%Y%m}",
            begin=begin.astimezone(UTC),
            end=end.astimezone(UTC),
            published=begin.astimezone(UTC),
            by_region=False,
            complete=False,
        )
        for begin, end in pairwise(starts)
        if end <= context.now()
    ]


def units(context: Context, past: PastList, region: str) -> list[Unit]:
    """Return the units of a month's catalogs and of today's machines."""
    assert past.end is not None
    until = past.end - timedelta(seconds=1)
    span = {"from": f"{past.begin:%Y-%m-%dT%H:%M:%SZ}", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"}
    return [Unit("gcp", kind, region, span if kind in gcp.SKU_KINDS else {}) for kind in past.kinds]


def prices(pages: Pages, past: PastList) -> PastPrices:
    """Compose prices for each day of a month on which a rate changed."""
    for day in price_days(pages, past.begin):
        frames = [frame.lazy() for frame in _composed(pages, day)]
        yield day, pl.concat(frames).with_columns(basis=pl.lit("recomposed"))


def _composed(pages: Pages, day: datetime) -> list[pl.DataFrame]:
    frames: list[pl.DataFrame] = []
    for part in normalise(pages, day=day):
        if part.table == "price_components":  # the largest parts, which come after the prices
            break
        if part.table == "prices":
            is_sum = ~pl.col("basis").is_in(NOT_COMPOSED)
            priced = part.collected().frame.lazy().drop_nulls("effective_hourly").filter(is_sum)
            frames.append(priced.collect())
    return frames
