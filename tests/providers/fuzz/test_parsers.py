"""Fuzz every parser: mutated real pages give rows that pass the checks, or an error of our own.

The short run belongs to the suite; the long one is marked ``slow``. Inputs that once broke a parser
are in tests/providers/test_hostile_pages.py.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.helpers import oracle_pages, ovh_pages
from tests.helpers.aws_pages import line, one_plan, price_list, quotes, reserved
from tests.helpers.aws_pages import listed as aws_list
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

SHORT, LONG = 3, 1000  # Examples of each parser: in every run of the tests, and at night

UNREADABLE = (b"", b"[]", b"5", b"<html>", b"[", b"\x00", DEEP)
"""Bodies that are not a page of any parser."""

MEMBER = re.compile(rb'\{\s*("([^"]+)"\s*:\s*(?:"[^"\\]*"|[\d.]+|null|true|false)\s*,)')
"""The first member of an object, if it is a text, a number or a word, and not the only one."""

PROVIDER_FAILURES = ("machine SKUs are not understood", "nothing says how many")
"""Errors that judge many pages or the sheets, and so name no page."""


AWS_LINES = [
    line(),
    line(SKU="W", **{"Operating System": "Windows"}),
    *reserved("1yr", "standard", "Partial Upfront", "0.03", "250"),
]
AWS_PRICES = ("prices", "us-east-1", "csv", price_list([line()]))
CAPACITY_BLOCK = {
    "instanceType": "p5.48xlarge",
    "availabilityZone": "us-east-1a",
    "instanceCount": 1,
    "startDate": "2026-08-01T11:30:00Z",
    "upfrontFee": "755.1",
    "capacityBlockDurationHours": 24,
    "currencyCode": "USD",
}
AWS_QUOTES = quotes(
    ("us-east-1a", "m5.large", "Linux/UNIX", "0.0423", "2026-07-20T11:00:00.000Z"),
    ("us-east-1b", "m5.large", "Windows", "0.1", "2026-07-20T11:00:00.000Z"),
)

AZURE_SKUS = ("skus", "eastus", "json", recorded("azure/skus_eastus_2023.json.gz"))
AZURE_PRICES = (
    *("retail_consumption_usd", "eastus", "json"),
    recorded("azure/retail/savingsplan_eastus_standard_d2s_v3_nofilter_preview.json.gz"),
)
LOCATIONS = recorded("azure/locations.json.gz")

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
TPU_TYPES = (
    b'{"acceleratorTypes": [{"name": "projects/p/locations/us-central1-a/acceleratorTypes/'
    b'v5litepod-16", "type": "v5litepod-16", "acceleratorConfigs": [{"type": "V5LITE_POD",'
    b'"topology": "4x4"}]}]}'
)

PRODUCTS = [oracle_pages.product(), oracle_pages.ocpus(), oracle_pages.memory()]
ORACLE_PRODUCTS = ("products", "global", "json", oracle_pages.body(PRODUCTS))
SHAPES = [oracle_pages.H100_SHAPE, oracle_pages.E4_SHAPE]
ORACLE_SHAPES = ("shapes", "global", "json", oracle_pages.body(SHAPES))
THREE_ZONES = ovh_pages.plan("b3-8.consumption.3AZ", 9000000, technical=ovh_pages.B3_8)


def sheet_of(provider: str, lines: int) -> PageKind:
    shown = sampled(provider, "sheet").splitlines(keepends=True)[:lines]
    return PageKind(provider, "sheet", "global", "csv", b"".join(shown))


def runpod_gpu_types() -> PageKind:
    listed = json.loads(sampled("runpod", "gpu_types"))["data"]["gpuTypes"][:3]
    offers = {"maxGpuCount": 8, "secureCloud": True, "communityCloud": True}
    types = [{**gpu_type, **offers, "communitySpotPrice": 0.1} for gpu_type in listed]
    body = json.dumps({"data": {"gpuTypes": types}}).encode()
    return PageKind("runpod", "gpu_types", "global", "json", body)


def aws(kind: str, body: bytes, suffix: str = "xml", region: str = "us-east-1") -> PageKind:
    return PageKind("aws", kind, region, suffix, body)


def gcp(kind: str, body: bytes) -> PageKind:
    return PageKind("gcp", kind, "global", "json", body, (GCP_TYPES, GCP_SKUS))


PAGE_KINDS: dict[str, Callable[[], PageKind]] = {
    "aws_price_list": lambda: aws("prices", price_list(AWS_LINES), "csv"),
    "aws_savings_plans": lambda: PageKind(
        *("aws", "savings_plans", "us-east-1", "json"),
        one_plan(("6C86BEPQVG73ZGGR", "0.07"), ("X", "0.01")),
        (AWS_PRICES,),
    ),
    "aws_spot": lambda: aws("spot", AWS_QUOTES),
    "aws_capacity_blocks": lambda: aws(
        "capacity_blocks", aws_list("capacity_blocks", CAPACITY_BLOCK)
    ),
    "aws_spot_advisor": lambda: aws(
        "spot_advisor", recorded("aws/spot_advisor.json.gz"), "json", "global"
    ),
    "aws_instance_types": lambda: aws(
        "instance_types", sampled("aws", "instance_types", "ap-southeast-1")
    ),
    "aws_zones": lambda: aws("zones", sampled("aws", "zones", "us-east-1")),
    "aws_regions": lambda: aws("regions", sampled("aws", "regions"), region="global"),
    "azure_retail": lambda: PageKind("azure", *AZURE_PRICES, (AZURE_SKUS,)),
    "azure_skus": lambda: PageKind("azure", *AZURE_SKUS, (AZURE_PRICES,)),
    "azure_locations": lambda: PageKind(
        *("azure", "locations", "global", "json"), LOCATIONS, (AZURE_SKUS,)
    ),
    "gcp_skus": lambda: PageKind("gcp", *GCP_SKUS, (GCP_TYPES,)),
    "gcp_machine_types": lambda: PageKind("gcp", *GCP_TYPES, (GCP_SKUS,)),
    "gcp_zones": lambda: gcp("zones", recorded("gcp/zones_2025-03.json.gz")),
    "gcp_regions": lambda: gcp("regions", recorded("gcp/regions_2025-03.json.gz")),
    "gcp_tpu_types": lambda: gcp("tpu_types", TPU_TYPES),
    "oracle_products": lambda: PageKind("oracle", *ORACLE_PRODUCTS, (ORACLE_SHAPES,)),
    "oracle_shapes": lambda: PageKind("oracle", *ORACLE_SHAPES, (ORACLE_PRODUCTS,)),
    "ovh_catalog": lambda: PageKind(
        *("ovh", "catalog", "global", "json"), ovh_pages.body(ovh_pages.plan(), THREE_ZONES)
    ),
    "price_sheet": lambda: sheet_of("coreweave", 12),
    "price_sheet_of_rates": lambda: sheet_of("lambda", 8),
    "runpod_gpu_types": runpod_gpu_types,
    "scaleway_servers": lambda: PageKind(
        *("scaleway", "servers", "fr-par-2", "json"), sampled("scaleway", "servers", "fr-par-2")
    ),
}


@cache
def made(name: str) -> PageKind:
    return PAGE_KINDS[name]()


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


def assert_mutations_are_read_or_refused(name: str, examples: int) -> None:
    kind, checks = made(name), Checks()
    assert normalise(kind, kind.body, checks).unreadable == (), "the unchanged page is readable"

    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        assert_rows_or_our_error(kind, data.draw(mutations(kind.body, kind.suffix)), checks)

    run()


@pytest.mark.parametrize("name", PAGE_KINDS)
def test_a_mutated_page_gives_rows_or_an_error_of_our_own(name: str) -> None:
    assert_mutations_are_read_or_refused(name, SHORT)


def cut_and_deep(body: bytes) -> Iterator[bytes]:
    """Yield a page of JSON that ends too early, or is nested too deep in one of its objects."""
    yield from (body[:-1], body[: len(body) // 2])
    for at in (body.index(b"{"), body.rindex(b"{")):
        yield body[: at + 1] + b'"deep": ' + DEEP + b"," + body[at + 1 :]


def repeated(body: bytes) -> Iterator[bytes]:
    """Yield a page of JSON with a name twice in one object: a known one, and others."""
    member = list(MEMBER.finditer(body))[-1]
    escaped = member[1].replace(b'"' + member[2], b'"\\u%04x' % member[2][0] + member[2][1:], 1)
    for second in (member[1], escaped):
        yield body[: member.start(1)] + second + body[member.start(1) :]
    for at in (body.index(b"{"), body.rindex(b"{")):
        yield body[: at + 1] + b'"unknown": 1, "unknown": 2,' + body[at + 1 :]


@pytest.mark.parametrize("name", PAGE_KINDS)
def test_a_body_of_another_shape_is_an_unreadable_page(name: str) -> None:
    kind, checks = made(name), Checks()
    bodies = [*UNREADABLE]
    if kind.suffix == "json":
        bodies += cut_and_deep(kind.body.strip())
        bodies += repeated(kind.body)
    for number, body in enumerate(bodies):
        tables = normalise(kind, body, checks)
        assert tables.error or tables.unreadable == (tables.page,), (number, body[:20])
        assert tables.error is None or tables.page in str(tables.error), (number, body[:20])


@only_at_night("takes hours")
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PAGE_KINDS)
def test_a_thousand_mutated_pages(name: str) -> None:
    assert_mutations_are_read_or_refused(name, LONG)
