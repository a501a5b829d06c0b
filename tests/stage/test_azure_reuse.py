"""Take over Azure's prices of regions of which no page has changed and no price begins or ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.azure_pages import Landed, item, sku

from hwprices import providers, stage
from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.stage import Staged
from hwprices.storage.store import Store

EAST, WEST = "eastus", "westus"
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Market:
    """Azure's list of sizes and the prices of two regions, as runs that are staged in one root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sizes = [sku("Standard_D2s_v3"), sku("Standard_D2s_v3", location=WEST)]
        self.items: dict[str, list[dict[str, Any]]] = {
            EAST: [item(0.1), item(0.2, meterId="w", productName="DSv3 Series Windows")],
            WEST: [item(0.3, armRegionName=WEST), item(-1, armRegionName=WEST, meterId="bad")],
        }

    def run(self, at: datetime) -> Run:
        """Land all pages as they are at this time."""
        landed = Landed(self.folder / "raw")
        for region in (EAST, WEST):
            sizes = [size for size in self.sizes if size["locations"] == [region]]
            landed.skus(*sizes, region=region)
            landed.retail(self.items[region], region=region, at=at)
        results = [self._at(result, at) for result in landed.results]
        return Run(f"{at:%Y%m%d}", "azure", "live", at, "test", tuple(results))

    @staticmethod
    def _at(result: UnitResult, at: datetime) -> UnitResult:
        return replace(result, pages=tuple(replace(p, retrieved_at=at) for p in result.pages))

    def stage(self, at: datetime, root: str = "root") -> Staged:
        """Stage the run of this time."""
        store = Store(self.folder / root)
        landing = Landing(self.folder / "raw")
        return stage.stage(providers.get("azure"), self.run(at), landing, store, keep=5)

    def files(self, staged: Staged, root: str = "root") -> dict[str, bytes]:
        """Give the bytes of all tables that were staged."""
        folder = self.folder / root / staged.directory
        return {file.key: (folder / file.key).read_bytes() for file in staged.files}


@pytest.fixture
def market(tmp_path: Path) -> Market:
    return Market(tmp_path)


def taken_over(staged: Staged) -> list[str]:
    """List the regions whose prices, and the parts of these, were taken over."""
    regions = dict.fromkeys(part.region for part in staged.parts)
    read = {part.region for part in staged.parts if not part.reused_from}
    return [region for region in regions if region not in read]


def check_same_as_read_anew(market: Market, staged: Staged, at: datetime) -> None:
    """Check that all files are those of a root in which nothing was staged before."""
    anew = market.stage(at, root=f"anew-{at:%d}")
    assert taken_over(anew) == []
    assert market.files(staged) == market.files(anew, root=f"anew-{at:%d}")
    assert replace(staged, parts=()) == replace(anew, parts=())


def test_only_regions_with_changed_pages_are_read_again(market: Market) -> None:
    assert taken_over(market.stage(NOON)) == []
    market.items[WEST][0] = item(0.31, armRegionName=WEST)
    second = market.stage(NOON + DAY)
    assert taken_over(second) == [EAST]
    check_same_as_read_anew(market, second, NOON + DAY)
    third = market.stage(NOON + 2 * DAY)
    assert taken_over(third) == [EAST, WEST]
    check_same_as_read_anew(market, third, NOON + 2 * DAY)


@pytest.mark.parametrize("end", ["effectiveEndDate", "effectiveStartDate"])
def test_a_region_is_read_again_once_a_price_has_begun_or_ended(market: Market, end: str) -> None:
    market.items[EAST].append(
        item(0.5, armSkuName="Standard_D4s_v3", meterId="4", **{end: "2026-11-03T12:00:00Z"})
    )
    first = market.stage(NOON)
    second = market.stage(NOON + DAY)
    assert taken_over(second) == [EAST, WEST]
    third = market.stage(NOON + 2 * DAY)
    assert taken_over(third) == [WEST]
    counts = [dict(staged.accounted) for staged in (first, second, third)]
    reason = {"effectiveEndDate": "expired", "effectiveStartDate": "not_yet_in_force"}[end]
    is_out = [f"out_of_scope:{reason}" in of_run for of_run in counts]
    assert is_out == ([False, False, True] if reason == "expired" else [True, True, False])
    fourth = market.stage(NOON + 3 * DAY)
    assert taken_over(fourth) == [EAST, WEST]
    check_same_as_read_anew(market, fourth, NOON + 3 * DAY)


def test_pages_that_are_older_than_before_are_read_again(market: Market) -> None:
    """The clock was set back: a price that has ended may be in force."""
    market.stage(NOON + DAY)
    assert taken_over(market.stage(NOON)) == []


def test_another_size_that_a_region_offers_reads_it_again(market: Market) -> None:
    """The flags of its prices say what is offered. The name is listed elsewhere before."""
    market.sizes += [sku("Standard_D4s_v3", location=WEST)]
    market.stage(NOON)
    market.sizes += [sku("Standard_D4s_v3", location=EAST)]
    assert taken_over(market.stage(NOON + DAY)) == [WEST]


def test_another_spelling_of_a_size_reads_all_regions_again(market: Market) -> None:
    market.stage(NOON)
    market.sizes += [sku("Standard_D2S_v3", location=WEST)]
    assert taken_over(market.stage(NOON + DAY)) == []
