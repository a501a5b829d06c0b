"""The product list: which rows are parts of machines, and what a part costs.

The products are those of the recorded lists (data/sample/README.md), by part number, price and
words.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from tests.helpers.cases import cases, optional
from tests.helpers.oracle_pages import (
    E4_OCPU,
    E4_SHAPE,
    H100,
    H100_SHAPE,
    body,
    memory,
    ocpus,
    product,
    read,
    shape,
)
from tests.helpers.stub_server import Reply, StubServer

from hwprices import settings
from hwprices.collect import Collector
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get

A1_OCPU = "B93297"
A1 = shape("BM.Standard.A1.160", (A1_OCPU, 160, "ocpu"))
A1_FREE_TIER = [
    {"model": "PAY_AS_YOU_GO", "value": 0, "rangeMin": 0, "rangeMax": 3000},
    {"model": "PAY_AS_YOU_GO", "value": 0.01, "rangeMin": 3000, "rangeMax": 999999999999999},
]


def a1(prices: list[dict[str, object]]) -> dict[str, object]:
    return ocpus(A1_OCPU, name="Compute - Standard - A1 - OCPU", prices=prices)


def test_a_license_with_the_unit_of_a_gpu_is_no_gpu() -> None:
    """NVIDIA AI Enterprise for H100 is 2.50 in the category of the H100, which is 10.00."""
    license_row = product("B111824", 2.5, name="OCI - NVIDIA AI Enterprise - H100")
    tables = read([product(), license_row])
    assert tables.rows["component_prices"]["sku_id"].to_list() == [H100]
    assert tables.counts == {"out_of_scope:displayName=NVIDIA AI Enterprise": 1}


@pytest.mark.parametrize(
    ("part_number", "words", "category"),
    [
        ("B110965", "Oracle Compute Cloud@Customer - Compute - GPU.L40S", "Compute Cloud@Customer"),
        ("B108806", "Oracle Cloud VMware Solution - BM.GPU.A10.64", "Compute - VMware"),
    ],
)
def test_hardware_at_the_customer_and_vmware_are_left_out(part_number, words, category) -> None:
    other = product(part_number, 3.5, name=words, category=category)
    tables = read([product(), other])
    assert tables.rows["component_prices"]["sku_id"].to_list() == [H100]
    assert tables.counts == {f"out_of_scope:serviceCategory={category}": 1}


def test_the_free_tier_is_not_the_price() -> None:
    """The first 3,000 OCPU hours of A1 in a month are free; what is left of them is not known."""
    assert read([a1(A1_FREE_TIER)], [A1]).hourly("BM.Standard.A1.160") == Decimal("1.6")
    assert read([a1(A1_FREE_TIER[::-1])], [A1]).hourly("BM.Standard.A1.160") == Decimal("1.6")


def test_two_paid_tiers_are_not_understood() -> None:
    tiers = [A1_FREE_TIER[1], {"model": "PAY_AS_YOU_GO", "value": 0.008, "rangeMin": 9000}]
    tables = read([a1(tiers)], [A1])
    assert [reason for reason, _ in tables.refused] == ["tiered_price"]
    assert tables.reason("BM.Standard.A1.160") == "core_sku_missing"


def test_zero_is_not_a_price() -> None:
    """VM.Standard.E2.1.Micro is Always Free."""
    micro = ocpus("B91444", 0, name="Compute - Virtual Machine Standard - E2 Micro - Free")
    tables = read([micro], [shape("VM.Standard.E2.1.Micro", ("B91444", 1, "ocpu"))])
    assert tables.hourly("VM.Standard.E2.1.Micro") is None
    assert tables.reason("VM.Standard.E2.1.Micro") == "listed_at_zero"
    assert tables.rows["component_prices"].is_empty()


@cases("oracle/products", changes=yaml.safe_load, word=optional)
def test_what_is_not_understood_is_in_quarantine_by_itself(changes, reason, word) -> None:
    tables = read([product(**changes), ocpus(), memory()], [H100_SHAPE, E4_SHAPE])
    ((refused, message),) = tables.refused
    assert refused == reason
    assert H100 in message
    assert tables.words == [(reason, word)]
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")
    assert tables.reason("BM.GPU.H100.8") == "slice_sku_missing"


def test_a_new_way_to_buy_does_not_take_the_known_one() -> None:
    prices = [{"model": "PAY_AS_YOU_GO", "value": 10}, {"model": "FLEX_COMMIT", "value": 3}]
    tables = read([product(prices=prices)])
    assert tables.hourly("BM.GPU.H100.8") == 80
    assert tables.words == [("unknown_price_type", "FLEX_COMMIT")]


@cases("oracle/units")
def test_o2_a_unit_is_the_same_in_the_plural_and_in_any_case(ocpu, gigabyte, gpu) -> None:
    """Known wrong number O2: "Gigabytes Per Hour" lost 428 of 690 prices."""
    parts = [ocpus(metric=ocpu), memory(metric=gigabyte), product(metric=gpu)]
    tables = read(parts, [H100_SHAPE, E4_SHAPE])
    assert tables.refused == []
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")
    assert tables.hourly("BM.GPU.H100.8") == 80


def test_of_several_currencies_the_dollars_are_taken() -> None:
    """Without currencyCode the list has several; these are a recorded answer's of 2026-10."""
    prices = {"SAR": 7.5008, "USD": 2}
    localizations = [
        {"currencyCode": code, "prices": [{"model": "PAY_AS_YOU_GO", "value": value}]}
        for code, value in prices.items()
    ]
    a10 = product("B95909", name="Compute  - GPU - A10", localizations=localizations)
    host = shape("VM.GPU.A10.1", ("B95909", 15, "ocpu"), gpuQty=1)
    assert read([a10], [host]).hourly("VM.GPU.A10.1") == 2


def test_a_part_is_known_by_its_number_and_not_by_its_words() -> None:
    """Names have two spaces, hyphens without spaces and other units' plurals."""
    renamed = product(name="OCI- Compute  - GPU", metric="GPU  Per  Hour")
    assert read([renamed]).hourly("BM.GPU.H100.8") == 80
    assert read([ocpus(metric="Gigabyte(s) Per Hour")]).refused == []


def test_h100t_is_not_h100() -> None:
    """A part of its own at 10.75, of which nobody says what it is."""
    words = {"name": "OCI - Compute - GPU - H100T", "category": "Compute - GPU - Other"}
    tables = read([product(), product("B109480", 10.75, **words)])
    parts = tables.rows["component_prices"].select("component", "hourly", "accelerator_id").rows()
    assert sorted(parts, key=lambda part: part[1]) == [
        ("slice:h100", Decimal("10"), "nvidia-h100-sxm5-80gb"),
        ("slice:h100t", Decimal("10.75"), None),
    ]


def test_a_part_with_two_prices_has_none() -> None:
    tables = read([product(value=10), product(value=11)])
    assert [reason for reason, _ in tables.refused] == ["ambiguous_sku"]
    assert tables.reason("BM.GPU.H100.8") == "slice_sku_ambiguous"
    assert read([product(value=10), product(value=10)]).hourly("BM.GPU.H100.8") == 80


def test_a_twin_at_0_does_not_take_the_price() -> None:
    for products in ([product(), product(value=0)], [product(value=0), product()]):
        tables = read(products)
        assert tables.hourly("BM.GPU.H100.8") == 80
        assert tables.words == [("zero_price", None)]


def test_a_price_is_exact() -> None:
    tables = read([ocpus(value=0.0138)], [shape("BM.Standard.E4.3", (E4_OCPU, 3, "ocpu"))])
    assert tables.hourly("BM.Standard.E4.3") == Decimal("0.0414")


def test_every_row_is_of_the_one_commercial_region() -> None:
    """Nothing tells where a shape is offered, and no row claims to know."""
    tables = read([product()], [H100_SHAPE])
    prices = tables.rows["prices"]
    assert set(prices["region"]) == {"commercial"}
    assert prices["flags"].to_list() == [["availability_unknown"]] * prices.height
    assert "availability" not in tables.rows


def test_numbers_as_text_are_numbers() -> None:
    tiers = [
        tier | {"value": str(tier["value"]), "rangeMin": str(tier["rangeMin"])}
        for tier in A1_FREE_TIER
    ]
    host = shape("BM.Standard.A1.160", (A1_OCPU, "160", "ocpu"))
    tables = read([a1(tiers[::-1])], [host])
    assert tables.hourly("BM.Standard.A1.160") == Decimal("1.6")
    assert tables.refused == []


PRODUCTS, SHAPES = "/products/", "/shapes.json"


@pytest.fixture
def oracle(live: Callable[..., StubServer]) -> StubServer:
    """Serve both files."""
    server = live(oracle_prices_url="", oracle_shapes_url=SHAPES)
    server.on(PRODUCTS, Reply.gzipped(body([product(), ocpus(), memory()])))
    return server.on(SHAPES, Reply(body([H100_SHAPE, E4_SHAPE])))


def run_live() -> Run:
    with Collector("oracle", settings.load()) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        return collector.record(datetime.now(UTC), results)


def test_a_live_run_needs_no_account(oracle: StubServer, tmp_path: Path) -> None:
    run = run_live()
    found = {result.unit.name: result.status for result in run.results}
    assert found == {"oracle/products/global": "ok", "oracle/shapes/global": "ok"}
    pages = Pages(run, Landing(tmp_path / "raw"))
    (prices,) = [p.frame for p in get("oracle").normalise(pages) if p.table == "prices"]
    found = dict(prices.lazy().select("instance_type", "hourly").collect().iter_rows())
    assert found == {"BM.GPU.H100.8": 80, "BM.Standard.E4.128": Decimal("6.272")}


def test_dollars_are_asked_for_by_an_honest_name(oracle: StubServer) -> None:
    """One collector was refused with its HTTP library's name."""
    run_live()
    request = next(r for r in oracle.requests if r.path == PRODUCTS)
    assert request.query == {"currencyCode": "USD"}
    assert request.headers["User-Agent"] == "hwprices"
