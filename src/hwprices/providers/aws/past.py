"""Read past prices that AWS still publishes: monthly price lists, and 90 days of spot prices."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import polars as pl

from hwprices.landing.pages import Unit
from hwprices.providers import Context, Pages, PastList, PastPrices, SkippedError
from hwprices.providers.aws import SPOT, bulk_files, ec2
from hwprices.providers.aws.fetch import REGION_CODE
from hwprices.providers.aws.normalise import normalise
from hwprices.providers.aws.regions import partition_of
from hwprices.providers.aws.spot import day_rows

DAYS = 90
"""Days that DescribeSpotPriceHistory covers; the first one is incomplete.
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html"""

DAY = timedelta(days=1)


def lists(context: Context, since: datetime) -> list[PastList]:
    """List the price lists, one a month from December 2015 on, and the days with spot prices."""
    versions = bulk_files.read_versions(context, context.settings.aws_price_list_url)
    return [*versions, *_spot_days(context.now(), since)]


def _spot_days(now: datetime, since: datetime) -> Iterator[PastList]:
    """List the complete days whose spot prices EC2 still has."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    day = max(today - (DAYS - 1) * DAY, since.replace(hour=0, minute=0, second=0, microsecond=0))
    missing = "" if day >= today or ec2.has_credentials() else "spot prices need an AWS account"
    while day < today:
        yield PastList(
            kinds=(SPOT,),
            version=f"{day:%Y%m%d}",
            begin=day,
            end=day + DAY,
            published=day + DAY,
            thinned=False,
            missing=missing,
        )
        day += DAY


def units(context: Context, past: PastList, region: str) -> list[Unit]:
    """Return the units of a region in a past price list."""
    if past.kinds != (SPOT,):
        return bulk_files.past_units(context, context.settings.aws_price_list_url, past, region)
    if not REGION_CODE.fullmatch(region) or partition_of(region) is not None:
        raise SkippedError(f"EC2 has no spot prices of {region} for this account")
    end = past.begin + DAY
    return [Unit("aws", SPOT, region, {"from": past.begin.isoformat(), "until": end.isoformat()})]


def prices(pages: Pages, past: PastList) -> PastPrices:
    """Read a landed past price list, or a day of spot quotes."""
    if past.kinds[0] == SPOT:
        regions = pages.regions(SPOT)
        yield past.begin, pl.concat([day_rows(pages, region, past.begin) for region in regions])
        return
    parts = [part.frame.lazy() for part in normalise(pages) if part.table == "prices"]
    yield past.begin, pl.concat(parts)
