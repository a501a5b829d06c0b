"""Fetch retail prices: a partition arrives completely or not at all.

The real HTTP client asks a server on loopback. Z6 and R3 in test names are known wrong numbers
(docs/known-wrong-numbers.md).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.azure_pages import NOW, RETAIL, RetailServer, answer, context, item
from tests.helpers.landed import landed_pages
from tests.helpers.stub_server import Reply, StubServer

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Run, Unit, UnitResult
from hwprices.providers import SkippedError, get
from hwprices.providers.azure import retail

AZURE = get("azure")
UNIT = Unit(
    "azure", "retail_consumption_usd", "eastus", {"price_type": "Consumption", "currency": "USD"}
)


def many(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        item(round(0.05 + i / 100, 2), meterId=f"m{i}", armSkuName=f"Standard_D{i}s_v3", **more)
        for i in range(count)
    ]


class Vendor(RetailServer):
    """The server, and a folder into which a partition is fetched."""

    def __init__(self, server: StubServer, folder: Path) -> None:
        super().__init__(server, [])
        self.folder = folder

    def fetch(self) -> list[Page]:
        with context(self.folder, self.server) as ready:
            return AZURE.fetch(ready, UNIT)

    def remember(self, pages: list[Page]) -> None:
        """Make the pages those of the last live run."""
        results = (UnitResult(UNIT, "ok", tuple(pages)),)
        with context(self.folder, self.server) as ready:
            run = Run("20261031T000000.000000Z", "azure", "live", NOW, "test", results)
            ready.landing.write_run(run)
        self.downloads = 0

    @property
    def landed(self) -> list[Path]:
        return landed_pages(self.folder / "raw")

    def items_of(self, pages: list[Page]) -> list[dict[str, Any]]:
        with context(self.folder, self.server) as ready:
            return [i for page in pages for i in json.loads(ready.landing.read(page))["Items"]]


@pytest.fixture
def vendor(stub: Callable[[], StubServer], tmp_path: Path) -> Vendor:
    return Vendor(stub(), tmp_path)


def test_one_page_needs_one_request(vendor) -> None:
    vendor.items = many(3)
    assert (len(vendor.fetch()), vendor.downloads, len(vendor.server.requests)) == (1, 1, 1)
    query = vendor.server.requests[0].query
    assert query["api-version"] == "2023-01-01-preview"
    assert query["currencyCode"] == "'USD'"
    assert (
        query["$filter"] == "serviceName eq 'Virtual Machines' and armRegionName eq 'eastus'"
        " and priceType eq 'Consumption'"
    )


def test_many_pages_without_an_earlier_run_are_downloaded_twice(vendor) -> None:
    vendor.items = many(8)
    assert (len(vendor.fetch()), vendor.downloads, len(vendor.landed)) == (3, 2, 3)


def test_two_downloads_agree_where_their_prices_differ(vendor) -> None:
    """A price that changes between the two is not an item that was missed."""
    vendor.items = many(8)

    def reprice(_skip: int, number: int) -> None:
        vendor.items = many(8, retailPrice=float(number))

    vendor.before_page = reprice
    pages = vendor.fetch()
    assert vendor.downloads == 2
    assert {one["retailPrice"] for one in vendor.items_of(pages)} == {2}


def test_a_landed_page_that_cannot_be_compared_with_is_named(vendor) -> None:
    vendor.items = many(2)
    with context(vendor.folder, vendor.server) as ready:
        page = ready.landing.land_bytes(UNIT, b"[]", url="https://x.example", retrieved_at=NOW)
    vendor.remember([page])
    with pytest.raises(HwpricesError, match=r"cannot be compared with.*Delete it"):
        vendor.fetch()


def test_with_an_earlier_run_one_download_is_enough(vendor) -> None:
    vendor.items = many(8)
    vendor.remember(vendor.fetch())
    vendor.items = many(9)
    assert len(vendor.fetch()) == 3
    assert vendor.downloads == 1


def test_parameters_go_with_the_first_page_only(vendor) -> None:
    server, items = vendor.server, many(2)
    first = answer(items[:1], f"{server.url}{RETAIL}?$skip=1")
    server.on(RETAIL, lambda r: Reply.json(answer(items[1:]) if "$skip" in r.query else first))
    vendor.fetch()
    sent = [sorted(r.query) for r in server.requests[:2]]
    assert sent == [["$filter", "api-version", "currencyCode"], ["$skip"]]


def test_z6_items_that_slip_between_pages_are_noticed(vendor) -> None:
    """An item of page 1 goes away after page 1 was read, so the first item of page 2 is missed.

    The two downloads after that agree.
    """
    vendor.items = many(8)

    def republish(skip: int, number: int) -> None:
        if number == 1 and skip == 3:
            del vendor.items[0]

    vendor.before_page = republish
    pages = vendor.fetch()
    assert vendor.downloads == 3  # 1 and 2 differ, 2 and 3 agree
    assert [one["meterId"] for one in vendor.items_of(pages)] == [f"m{i}" for i in range(1, 8)]


def test_z6_a_list_that_keeps_changing_is_refused(vendor) -> None:
    vendor.items = many(12)

    def republish(skip: int, _number: int) -> None:
        if skip == 3:
            del vendor.items[0]

    vendor.before_page = republish
    with pytest.raises(FetchError, match="completely in 3 downloads: two downloads differ by"):
        vendor.fetch()
    assert vendor.landed == []


def test_z6_a_lost_linux_item_is_noticed(vendor) -> None:
    """The last run had Linux and Windows. The first download lacks Linux, the next two do not."""
    linux, windows = (
        item(0.096, meterId="li", skuId="P/li"),
        item(0.188, meterId="wi", skuId="P/wi", productName="Virtual Machines DSv3 Series Windows"),
    )
    vendor.items = [linux, windows]
    vendor.remember(vendor.fetch())
    vendor.items = [windows]

    def come_back(_skip: int, number: int) -> None:
        if number == 2:
            vendor.items = [linux, windows]

    vendor.before_page = come_back
    assert len(vendor.items_of(vendor.fetch())) == 2


def test_z6_more_than_a_tenth_lost_is_refused_even_if_two_downloads_agree(vendor) -> None:
    vendor.items = many(20)
    vendor.remember(vendor.fetch())
    vendor.items = many(17)
    with pytest.raises(FetchError, match="lost 3 of 20 items"):
        vendor.fetch()
    vendor.items = many(19)  # one size withdrawn, and two downloads agree
    assert vendor.fetch()


def test_z6_everything_lost_is_refused(vendor) -> None:
    vendor.items = many(2)
    vendor.remember(vendor.fetch())
    vendor.items = []
    with pytest.raises(FetchError, match="has no items and had 2 before"):
        vendor.fetch()


def test_a_new_month_changes_dates_and_loses_nothing(vendor) -> None:
    vendor.items = many(8)
    vendor.remember(vendor.fetch())
    vendor.items = many(8, effectiveStartDate="2026-11-01T00:00:00Z", retailPrice=9.5)
    vendor.fetch()
    assert vendor.downloads == 1


def test_z6_links_in_a_loop_are_refused(vendor) -> None:
    server, halves = vendor.server, (many(4)[2:], many(4)[:2])
    link = f"{server.url}{RETAIL}?$skip=2"
    server.on(RETAIL, lambda r: Reply.json(answer(halves["$skip" in r.query], link)))
    with pytest.raises(FetchError, match="circle"):
        vendor.fetch()
    assert vendor.landed == []


def test_z6_new_links_to_one_page_are_refused(vendor) -> None:
    server, count = vendor.server, iter(range(1000))
    server.on(
        RETAIL, lambda _: Reply.json(answer(many(2), f"{server.url}{RETAIL}?$skip={next(count)}"))
    )
    with pytest.raises(FetchError, match="one page came twice"):
        vendor.fetch()
    assert len(server.requests) < 10


def test_z6_an_item_that_is_in_the_list_twice_is_accepted_the_second_time(vendor) -> None:
    vendor.items = [item(0.096), item(0.1)]
    vendor.fetch()
    assert vendor.downloads == 2


DAMAGED = json.dumps(answer([item(0.1, remark="x")])).encode().replace(b'"x"', b'"\xff"')
"""The damaged member is one that nobody reads."""


@pytest.mark.parametrize(
    "reply",
    [
        Reply.json(answer(many(2), Count=3)),
        Reply.json({"Error": {"Code": "x"}}),
        Reply.json({"Items": None}),
        Reply.json([]),
        Reply.json({"Items": ["x"], "Count": 1}),
        Reply.json(answer([item(0.1, tierMinimumUnits=[0])])),
        Reply.json(answer([item(0.1, meterId=3)])),
        Reply(DAMAGED, content_type="application/json"),
    ],
)
def test_a_body_of_another_shape_is_refused(vendor, reply) -> None:
    vendor.server.on(RETAIL, reply)
    with pytest.raises(FetchError, match="could not be read completely"):
        vendor.fetch()
    assert vendor.landed == []


def test_items_that_the_filter_excludes_are_refused(vendor) -> None:
    vendor.server.on(RETAIL, Reply.json(answer(many(2, armRegionName="westus"))))
    with pytest.raises(FetchError, match="not requested"):
        vendor.fetch()


def test_another_host_is_not_followed(vendor, stub) -> None:
    server, other = vendor.server, stub()
    server.on(RETAIL, Reply.json(answer(many(2), f"{other.url}{RETAIL}?$skip=2")))
    with pytest.raises(FetchError, match="another host"):
        vendor.fetch()
    assert other.requests == []


def test_r3_a_lasting_fault_lands_nothing(vendor) -> None:
    vendor.items = many(8)
    vendor.before_page = lambda skip, _number: Reply.json({}, status=503) if skip == 6 else None
    with pytest.raises(FetchError, match="failed 3 times"):
        vendor.fetch()
    assert vendor.landed == []


def test_a_region_without_prices_is_skipped(vendor) -> None:
    vendor.items = []
    with pytest.raises(SkippedError, match="sells no virtual machines"):
        vendor.fetch()


def test_regions_with_a_common_size_need_no_account(vendor) -> None:
    sizes = {
        "eastus": "Standard_D2s_v3",
        "WestUS3": "Standard_D2s_v3",
        "usgovvirginia": "Standard_D2s_v6",
        "chilecentral": "Standard_B2s_v2",
    }
    vendor.items = [item(0.1, armRegionName=r, armSkuName=s) for r, s in sizes.items()]
    with context(vendor.folder, vendor.server) as ready:
        regions = retail.read_regions(ready.http, ready.settings.azure_retail_url)
    assert regions == ["chilecentral", "eastus", "usgovvirginia", "westus3"]
