"""Plan what to fetch from AWS, land it, and check which calls an account may make."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Check, Context, aws, check_regions
from hwprices.providers.aws import Settings, bulk_files, ec2
from hwprices.providers.aws.regions import partition_of

REGION_CODE = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
"""The code of a region. Codes of local and Wavelength zones are longer: us-west-2-lax-1."""

ACCOUNT_KINDS = (aws.REGIONS, *aws.EC2_BY_REGION)
"""Kinds of unit that need an account."""


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units to fetch: the bulk files, and with credentials also the EC2 API.

    ``regions`` narrows the list; the spot advisor's file, which has all regions, is always in it.

    Raises:
        FetchError: the index of price lists is unavailable. If only China's is unavailable,
            China's units are listed and fail when fetched.
        HwpricesError: AWS lacks one of ``regions``.
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
    advisor = Unit("aws", aws.SPOT_ADVISOR, params={"url": context.settings.aws_spot_advisor_url})
    return [*units, advisor]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Fetch one unit and land its pages."""
    if unit.kind in aws.BULK_FILES:
        return bulk_files.fetch(context, unit)
    if unit.kind in ACCOUNT_KINDS:
        return ec2.fetch(context, unit)
    raise HwpricesError(
        f"aws has no kind of page {unit.kind!r}",
        f"There are: {', '.join((*aws.BULK_FILES, *ACCOUNT_KINDS))}.",
    )


def units_at_once(settings: Settings) -> int:
    """Limit concurrent fetches: the bulk host answers 403 to many requests at once."""
    return settings.aws_concurrency


def _bulk_units(files: bulk_files.Files, selected: set[str] | None) -> list[Unit]:
    return [
        Unit("aws", kind, code, source)
        for kind, sources in files.by_kind.items()
        for code, source in sorted(sources.items())
        if selected is None or code in selected
    ]


def _china_units(context: Context, selected: set[str] | None) -> list[Unit]:
    """List China's units. If their index, on another host, is unavailable, they carry the error."""
    codes = [c for c in bulk_files.CHINA_REGIONS if selected is None or c in selected]
    if not codes:
        return []
    try:
        host = context.settings.aws_china_price_list_url
        files = bulk_files.read_index(context, host, "cn")
    except FetchError as error:
        return [Unit("aws", aws.PRICE_LIST, code, {"error": str(error)}) for code in codes]
    return _bulk_units(files, set(codes))


def _ec2_units(context: Context, listed: list[str], selected: set[str] | None) -> list[Unit]:
    """List the EC2 API's units; none without credentials. ``listed``: regions with a price list."""
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
        for kind in aws.EC2_BY_REGION
        for code in sorted(opt_in)
        if selected is None or code in selected
    ]
    return [Unit("aws", aws.REGIONS), *by_region]


POLICY = "Allow what docs/aws-iam-policy.json lists."

ADDS = {
    aws.REGIONS: "which regions the account has enabled",
    aws.ZONES: "zones and their ids",
    aws.INSTANCE_TYPES: "exact specs of every type",
    aws.OFFERINGS: "which zone has which type",
    aws.SPOT: "live spot prices",
}
"""Kind of ``ec2.OPERATIONS`` → what the call adds to the dataset."""

CAPACITY_BLOCK: Mapping[str, Any] = {
    "InstanceType": "p5.48xlarge",
    "InstanceCount": 1,
    "CapacityDurationHours": ec2.BLOCK_HOURS,
}
"""Parameters of a request: DryRun checks them before the permission."""


def check_access(context: Context) -> Iterator[Check]:
    """Check the credentials, and the permission for each call in boto3's region.

    With DryRun, EC2 answers without making the call:
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html.

    Raises:
        FetchError: boto3's configuration is unusable.
    """
    source = ec2.credential_source()
    if source is None:
        yield Check(
            "credentials",
            "absent",
            f"boto3 finds none; missing without them: {', '.join(ADDS.values())}, capacity blocks",
            "Give boto3 a role, a profile or AWS_ACCESS_KEY_ID; docs/aws-iam-policy.json has the"
            " least rights.",
        )
        return
    yield Check("credentials", "ok", f"boto3 finds them by its method {source}")
    with closing(ec2.Ec2Client(context, ec2.home_region())) as client:
        for kind, operation in ec2.OPERATIONS.items():
            yield _check_right(client, operation.name, operation.parameters, ADDS[kind])
        yield _check_right(
            client, "describe_capacity_block_offerings", CAPACITY_BLOCK, "capacity blocks"
        )


def _check_right(
    client: ec2.Ec2Client, operation: str, parameters: Mapping[str, Any], adds: str
) -> Check:
    problem = client.dry_run(operation, **parameters)
    if not problem:
        return Check(operation, "ok", f"adds {adds}")
    return Check(operation, "absent", f"{problem}; missing without it: {adds}", POLICY)
