"""Which pages of AWS there are, and landing them. No thinking: what is in them is read by normalise."""

import re
from collections.abc import Sequence

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.aws.api import bulk_files
from hwprices.providers.aws.kinds import (
    EC2_BY_REGION,
    PRICE_LIST,
    REGIONS,
    SAVINGS_PLANS,
    SPOT_ADVISOR,
)
from hwprices.providers.aws.settings import Settings

REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
"""A region's code; those of local and Wavelength zones go on."""

OTHER_PARTITIONS = ("cn-", "us-gov-")


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """Units to fetch: without credentials the bulk files, with credentials the EC2 API too.

    Raises:
        FetchError: the index of price lists cannot be had. China's alone does not stop the others: its units fail.
    """
    wanted = set(regions) if regions is not None else None
    china = [
        Unit("aws", PRICE_LIST, code)
        for code in bulk_files.CHINA_REGIONS
        if wanted is None or code in wanted
    ]
    units: list[Unit] = []
    listed: list[str] = []
    if wanted is None or wanted - set(bulk_files.CHINA_REGIONS):
        found = bulk_files.files(context, context.settings.aws_price_list_url, "aws")
        listed = sorted(found.price_lists)
        units += _bulk_units(found, wanted)
    if china:
        units += _china_units(context, china)
    units += _ec2_units(context, listed, wanted)
    if wanted and (unknown := wanted - {unit.region for unit in units}):
        raise HwpricesError(
            f"aws has no region {', '.join(sorted(unknown))}",
            f"The price lists are of: {', '.join(listed)}.",
        )
    return [
        *units,
        Unit("aws", SPOT_ADVISOR, params={"url": context.settings.aws_spot_advisor_url}),
    ]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Fetch and land one unit's pages.

    Raises:
        FetchError: a page could not be had whole, after all tries.
        SkippedError: the region is not enabled for the account, or does not answer.
    """
    if unit.kind in (PRICE_LIST, SAVINGS_PLANS, SPOT_ADVISOR):
        return bulk_files.fetch(context, unit)
    if unit.kind in (REGIONS, *EC2_BY_REGION):
        from hwprices.providers.aws.api import ec2

        return ec2.fetch(context, unit)
    raise HwpricesError(
        f"aws has no kind of page {unit.kind!r}",
        f"There are: {', '.join((PRICE_LIST, SAVINGS_PLANS, SPOT_ADVISOR, REGIONS, *EC2_BY_REGION))}.",
    )


def _bulk_units(found: bulk_files.Files, wanted: set[str] | None) -> list[Unit]:
    kinds = ((PRICE_LIST, found.price_lists), (SAVINGS_PLANS, found.savings_plans))
    return [
        Unit("aws", kind, code, {"url": url})
        for kind, urls in kinds
        for code, url in sorted(urls.items())
        if wanted is None or code in wanted
    ]


def _china_units(context: Context, known: list[Unit]) -> list[Unit]:
    """China has an index of its own on another host. Where it cannot be had, its regions fail as units and the run goes on."""
    try:
        return _bulk_units(
            bulk_files.files(context, context.settings.aws_china_price_list_url, "cn"),
            {unit.region for unit in known},
        )
    except FetchError as error:
        return [
            Unit(unit.provider, unit.kind, unit.region, {"error": str(error)}) for unit in known
        ]


def _ec2_units(context: Context, listed: list[str], wanted: set[str] | None) -> list[Unit]:
    from hwprices.providers.aws.api import ec2

    if not ec2.has_credentials():
        return []
    try:
        statuses = ec2.regions(context)
    except HwpricesError:
        # The unit that lands DescribeRegions fails with the reason; the others are asked one by one.
        statuses = {
            code: ""
            for code in listed
            if REGION.fullmatch(code) and not code.startswith(OTHER_PARTITIONS)
        }
    chosen = {
        code: status
        for code, status in sorted(statuses.items())
        if wanted is None or code in wanted
    }
    by_region = [
        Unit("aws", kind, code, {"opt_in": status} if status else {})
        for kind in EC2_BY_REGION
        for code, status in chosen.items()
    ]
    return [Unit("aws", REGIONS), *by_region]


def units_at_once(settings: Settings) -> int:
    """How many units are fetched side by side: the bulk host answers 403 to many requests at once."""
    return settings.aws_concurrency
