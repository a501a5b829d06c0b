"""Fuzz every parser: mutated real pages give rows that pass the checks, or an error of our own.

The short run belongs to the suite; the long one is marked ``slow``. Inputs that once broke a parser
are in tests/providers/test_hostile_pages.py.
"""

import json
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.helpers import oracle_pages, ovh_pages
from tests.helpers.aws_pages import line, price_list, quotes, reserved, savings_plans, xml
from tests.helpers.nightly import only_at_night
from tests.providers.fuzz.pages import (
    DEEP,
    Checks,
    PageKind,
    mutations,
    normalise,
    recorded,
    sampled,
)

SHORT, LONG = 6, 1000  # Examples of each parser: in every run of the tests, and at night

UNREADABLE = (b"", b"[]", b"5", b"<html>", b"[", b"\x00", DEEP)
"""Bodies that are not a page of any parser."""

PROVIDER_FAILURES = ("machine SKUs are not understood", "nothing says how many")
"""Errors that judge many pages or the sheets, and so name no page."""


def aws_price_list() -> PageKind:
    lines = [line(), line(SKU="W", **{"Operating System": "Windows"}), *reserved_lines()]
    return PageKind("aws", "prices", "us-east-1", "csv", price_list(lines))


def reserved_lines() -> list[dict[str, str]]:
    return reserved("1yr", "standard", "Partial Upfront", "0.03", "250")


def aws_savings_plans() -> PageKind:
    rates = [("6C86BEPQVG73ZGGR", "0.07"), ("X", "0.01")]
    plan = ("P", "ComputeSavingsPlans", "1yr", "No Upfront", rates)
    body = savings_plans("us-east-1", plan)
    companion = ("prices", "us-east-1", "csv", price_list([line()]))
    return PageKind("aws", "savings_plans", "us-east-1", "json", body, (companion,))


def aws_spot() -> PageKind:
    time = "2026-07-20T11:00:00.000Z"
    body = quotes(
        ("us-east-1a", "m5.large", "Linux/UNIX", "0.0423", time),
        ("us-east-1b", "m5.large", "Windows", "0.1", time),
    )
    return PageKind("aws", "spot", "us-east-1", "xml", body)


def aws_capacity_blocks() -> PageKind:
    offer = (
        "<capacityBlockOfferingSet><item><instanceType>p5.48xlarge</instanceType>"
        "<availabilityZone>us-east-1a</availabilityZone><instanceCount>1</instanceCount>"
        "<startDate>2026-08-01T11:30:00Z</startDate><upfrontFee>755.1</upfrontFee>"
        "<capacityBlockDurationHours>24</capacityBlockDurationHours>"
        "<currencyCode>USD</currencyCode></item></capacityBlockOfferingSet>"
    )
    body = xml("DescribeCapacityBlockOfferings", offer)
    return PageKind("aws", "capacity_blocks", "us-east-1", "xml", body)


def aws_spot_advisor() -> PageKind:
    return PageKind("aws", "spot_advisor", "global", "json", recorded("aws/spot_advisor.json.gz"))


def aws_instance_types() -> PageKind:
    body = sampled("aws", "instance_types", "ap-southeast-1")
    return PageKind("aws", "instance_types", "us-east-1", "xml", body)


def aws_zones() -> PageKind:
    return PageKind("aws", "zones", "us-east-1", "xml", sampled("aws", "zones", "us-east-1"))


def aws_regions() -> PageKind:
    return PageKind("aws", "regions", "global", "xml", sampled("aws", "regions"))


AZURE_SKUS = ("skus", "eastus", "json", recorded("azure/skus_eastus_2023.json.gz"))
RETAIL = "azure/retail/savingsplan_eastus_standard_d2s_v3_nofilter_preview.json.gz"


def azure_retail() -> PageKind:
    body = recorded(RETAIL)
    return PageKind("azure", "retail_consumption_usd", "eastus", "json", body, (AZURE_SKUS,))


def azure_skus() -> PageKind:
    companion = ("retail_consumption_usd", "eastus", "json", recorded(RETAIL))
    return PageKind("azure", *AZURE_SKUS, (companion,))


def azure_locations() -> PageKind:
    body = recorded("azure/locations.json.gz")
    return PageKind("azure", "locations", "global", "json", body, (AZURE_SKUS,))


GCP_TYPES = (
    "machine_types",
    "global",
    "json",
    b'{"items": {"zones/us-central1-a": {"machineTypes": [{"name": "a2-highgpu-1g",'
    b'"guestCpus": 12, "memoryMb": 87040, "isSharedCpu": false, "description": "12 vCPUs",'
    b'"accelerators": [{"guestAcceleratorType": "nvidia-tesla-a100",'
    b'"guestAcceleratorCount": 1}]}, {"name": "n2-standard-2", "guestCpus": 2,'
    b'"memoryMb": 8192, "architecture": "X86_64"}]}}}',
)
GCP_SKUS = ("skus", "global", "json", recorded("gcp/skus_2023-03.json.gz"))


def gcp_skus() -> PageKind:
    return PageKind("gcp", *GCP_SKUS, (GCP_TYPES,))


def gcp_machine_types() -> PageKind:
    return PageKind("gcp", *GCP_TYPES, (GCP_SKUS,))


def gcp_zones() -> PageKind:
    body = recorded("gcp/zones_2025-03.json.gz")
    return PageKind("gcp", "zones", "global", "json", body, (GCP_TYPES, GCP_SKUS))


def gcp_regions() -> PageKind:
    body = recorded("gcp/regions_2025-03.json.gz")
    return PageKind("gcp", "regions", "global", "json", body, (GCP_TYPES, GCP_SKUS))


def gcp_tpu_types() -> PageKind:
    body = (
        b'{"acceleratorTypes": [{"name": "projects/p/locations/us-central1-a/acceleratorTypes/'
        b'v5litepod-16", "type": "v5litepod-16", "acceleratorConfigs": [{"type": "V5LITE_POD",'
        b'"topology": "4x4"}]}]}'
    )
    return PageKind("gcp", "tpu_types", "global", "json", body, (GCP_TYPES, GCP_SKUS))


PRODUCTS = oracle_pages.body([oracle_pages.product(), oracle_pages.ocpus(), oracle_pages.memory()])
SHAPES = oracle_pages.body([oracle_pages.H100_SHAPE, oracle_pages.E4_SHAPE])


def oracle_products() -> PageKind:
    companion = ("shapes", "global", "json", SHAPES)
    return PageKind("oracle", "products", "global", "json", PRODUCTS, (companion,))


def oracle_shapes() -> PageKind:
    companion = ("products", "global", "json", PRODUCTS)
    return PageKind("oracle", "shapes", "global", "json", SHAPES, (companion,))


def ovh_catalog() -> PageKind:
    three_zones = ovh_pages.plan("b3-8.consumption.3AZ", 9000000, technical=ovh_pages.B3_8)
    body = ovh_pages.body(ovh_pages.plan(), three_zones)
    return PageKind("ovh", "catalog", "global", "json", body)


def sheet_of(provider: str, lines: int) -> PageKind:
    shown = sampled(provider, "sheet").splitlines(keepends=True)[:lines]
    return PageKind(provider, "sheet", "global", "csv", b"".join(shown))


def price_sheet() -> PageKind:
    return sheet_of("coreweave", 12)


def price_sheet_of_rates() -> PageKind:
    return sheet_of("lambda", 8)


def runpod_gpu_types() -> PageKind:
    listed = json.loads(sampled("runpod", "gpu_types"))["data"]["gpuTypes"][:3]
    offers = {"maxGpuCount": 8, "secureCloud": True, "communityCloud": True}
    types = [{**gpu_type, **offers, "communitySpotPrice": 0.1} for gpu_type in listed]
    body = json.dumps({"data": {"gpuTypes": types}}).encode()
    return PageKind("runpod", "gpu_types", "global", "json", body)


def scaleway_servers() -> PageKind:
    body = sampled("scaleway", "servers", "fr-par-2")
    return PageKind("scaleway", "servers", "fr-par-2", "json", body)


PAGE_KINDS: tuple[Callable[[], PageKind], ...] = (
    *(aws_price_list, aws_savings_plans, aws_spot, aws_capacity_blocks, aws_spot_advisor),
    *(aws_instance_types, aws_zones, aws_regions, azure_retail, azure_skus, azure_locations),
    *(gcp_skus, gcp_machine_types, gcp_zones, gcp_regions, gcp_tpu_types, oracle_products),
    *(oracle_shapes, ovh_catalog, price_sheet, price_sheet_of_rates, runpod_gpu_types),
    scaleway_servers,
)


@cache
def made(make: Callable[[], PageKind]) -> PageKind:
    return make()


def assert_rows_or_our_error(kind: PageKind, body: bytes, checks: Checks) -> None:
    """Normalise a mutated page; anything but rows or an error of our own is raised.

    An error names the page, or is one that judges many pages.
    """
    tables = normalise(kind, body, checks)
    if tables.error is None:
        assert set(tables.unreadable) <= {tables.page}
        return
    message = str(tables.error)
    assert tables.page in message or any(words in message for words in PROVIDER_FAILURES), message


def assert_mutations_are_read_or_refused(make: Callable[[], PageKind], examples: int) -> None:
    kind, checks = made(make), Checks()
    assert normalise(kind, kind.body, checks).unreadable == (), "the unchanged page is readable"

    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        assert_rows_or_our_error(kind, data.draw(mutations(kind.body, kind.suffix)), checks)

    run()


@pytest.mark.parametrize("make", PAGE_KINDS)
def test_a_mutated_page_gives_rows_or_an_error_of_our_own(make: Callable[[], PageKind]) -> None:
    assert_mutations_are_read_or_refused(make, SHORT)


@pytest.mark.parametrize("make", PAGE_KINDS)
def test_a_body_of_another_shape_is_an_unreadable_page(make: Callable[[], PageKind]) -> None:
    kind, checks = made(make), Checks()
    for body in UNREADABLE:
        tables = normalise(kind, body, checks)
        assert tables.error or tables.unreadable == (tables.page,), body[:20]
        assert tables.error is None or tables.page in str(tables.error), body[:20]


@only_at_night("takes hours")
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("make", PAGE_KINDS)
def test_a_thousand_mutated_pages(make: Callable[[], PageKind]) -> None:
    assert_mutations_are_read_or_refused(make, LONG)
