"""Plan what to fetch from AWS, and land it. What is in the pages is read by ``normalise``."""

import re
from collections.abc import Sequence

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, check_regions
from hwprices.providers.aws import Settings
from hwprices.providers.aws.api import bulk_files
from hwprices.providers.aws.inventory.regions import partition_of
from hwprices.providers.aws.kinds import (
    BULK_FILES,
    EC2_BY_REGION,
    PRICE_LIST,
    REGIONS,
    SPOT_ADVISOR,
)

REGION_CODE = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
"""The code of a region. Codes of local and Wavelength zones are longer: us-west-2-lax-1."""

ACCOUNT_KINDS = (REGIONS, *EC2_BY_REGION)  # Kinds of unit that are planned with an account only


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units to fetch: the bulk files, and with credentials also the EC2 API.

    ``regions`` narrows the list; the spot advisor's file, which has all regions, is always in it.

    Raises:
        FetchError: the index of price lists is unavailable. If only China's is,
            China's units are listed and fail when they are fetched.
        HwpricesError: ``regions`` names one that AWS does not have.
    """
    selected = None if regions is None else set(regions)
    units: list[Unit] = []
    listed: list[str] = []
    if selected is None or selected - set(bulk_files.CHINA_REGIONS):
        host = context.settings.aws_price_list_url
        files = bulk_files.read_index(context, host, "aws")
        listed = sorted(files.price_lists)
        units += _bulk_units(files, selected)
    units += _china_units(context, selected)
    units += _ec2_units(context, listed, selected)
    if selected:
        check_regions("aws", selected, {*listed, *(unit.region for unit in units)})
    advisor = Unit("aws", SPOT_ADVISOR, params={"url": context.settings.aws_spot_advisor_url})
    return [*units, advisor]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Fetch one unit and land its pages.

    Raises:
        FetchError: a page could not be had complete, after all tries.
        SkippedError: the region is not enabled for the account, or does not answer.
        HwpricesError: AWS has no such kind of unit.
    """
    if unit.kind in BULK_FILES:
        return bulk_files.fetch(context, unit)
    if unit.kind in ACCOUNT_KINDS:
        from hwprices.providers.aws.api import ec2

        return ec2.fetch(context, unit)
    raise HwpricesError(
        f"aws has no kind of page {unit.kind!r}",
        f"There are: {', '.join((*BULK_FILES, *ACCOUNT_KINDS))}.",
    )


def units_at_once(settings: Settings) -> int:
    """Limit the units fetched side by side: the bulk host answers 403 to many requests at once."""
    return settings.aws_concurrency


def _bulk_units(files: bulk_files.Files, selected: set[str] | None) -> list[Unit]:
    return [
        Unit("aws", kind, code, source)
        for kind, sources in files.by_kind.items()
        for code, source in sorted(sources.items())
        if selected is None or code in selected
    ]


def _china_units(context: Context, selected: set[str] | None) -> list[Unit]:
    """List China's units. Its index is on another host; without it each unit carries the error."""
    codes = [c for c in bulk_files.CHINA_REGIONS if selected is None or c in selected]
    if not codes:
        return []
    try:
        host = context.settings.aws_china_price_list_url
        files = bulk_files.read_index(context, host, "cn")
    except FetchError as error:
        return [Unit("aws", PRICE_LIST, code, {"error": str(error)}) for code in codes]
    return _bulk_units(files, set(codes))


def _ec2_units(context: Context, listed: list[str], selected: set[str] | None) -> list[Unit]:
    """List the EC2 API's units; none without credentials. ``listed`` has a price list each."""
    from hwprices.providers.aws.api import ec2

    if not ec2.has_credentials():
        return []
    try:
        opt_in = ec2.read_opt_in(context)
    except HwpricesError:
        # The unit that lands DescribeRegions fails and says why; the other units are still tried.
        regions = [code for code in listed if REGION_CODE.fullmatch(code)]
        opt_in = {code: "" for code in regions if partition_of(code) is None}
    by_region = [
        Unit("aws", kind, code, {"opt_in": opt_in[code]} if opt_in[code] else {})
        for kind in EC2_BY_REGION
        for code in sorted(opt_in)
        if selected is None or code in selected
    ]
    return [Unit("aws", REGIONS), *by_region]
