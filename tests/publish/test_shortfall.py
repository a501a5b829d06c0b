"""The line for units that were not fetched."""

from dataclasses import replace

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.manifests import inputs

from hwprices.publish import status
from hwprices.release.manifest import Trouble
from hwprices.stage.stage import Staged

RUN = "20261124T041700.000000Z"
EARLIER = "20261120T041700.000000Z"
DOWN = "https://prices.azure.com/api failed 4 times, last: HTTP 500. Try again later."


def price(region: str, reason: str = DOWN, run: str = RUN, *, requested: bool = True) -> Trouble:
    """A unit of prices that has the pages of an earlier run, or none where ``run`` is empty."""
    return Trouble(f"azure/retail/{region}", "carried" if run else "failed", reason, requested, run)


SIZES = Trouble("azure/skus/eastus", "failed", "login refused. Log in.", holds_prices=False)
EMPTY = "azure/retail/eastus has no items and had 14 before. Its last good pages stay in use."
SMALL = "azure/retail/westus lost 7 of 14 items since the last run. Look at it."
GOOGLE = "https://x failed 4 times, last: ServiceUnavailable 503 GET https://x: busy. Try."
BOTO = "ec2 failed: ClientError An error occurred (403) when calling DescribeZones. Check."


@pytest.mark.parametrize(
    ("troubles", "price_units", "expected"),
    [
        ([], {"ok": 5}, ""),
        (
            [price("a"), price("b"), price("c")],
            {"ok": 2, "carried": 3, "skipped": 4},
            "3 of 5 price units failed (HTTP 500); prices of 2026-11-24 kept",
        ),
        (
            [price("a"), price("b", run=EARLIER)],
            {"carried": 2},
            "2 of 2 price units failed (HTTP 500); prices of 2026-11-20 to 2026-11-24 kept",
        ),
        ([price("a", run="")], {"ok": 1, "failed": 1}, "1 of 2 price units failed (HTTP 500)"),
        (
            [price("eastus", EMPTY), price("westus", SMALL)],
            {"ok": 4, "carried": 2},
            "2 of 6 price units failed (retail/eastus has no items and had 14 before,"
            " retail/westus lost 7 of 14 items since the last run); prices of 2026-11-24 kept",
        ),
        (
            [price("a", GOOGLE), price("b", BOTO), price("c", GOOGLE)],
            {"carried": 3},
            "3 of 3 price units failed (HTTP 503, HTTP 403); prices of 2026-11-24 kept",
        ),
        ([SIZES], {"ok": 5}, "1 of 2 other units failed (login refused)"),
        (
            [price("a", requested=False)],
            {"ok": 1, "not_requested": 1},
            "1 price unit failed in an earlier run; prices of 2026-11-24 kept",
        ),
        ([Trouble("azure/retail/a", "skipped", "not sold")], {"ok": 1, "skipped": 1}, ""),
    ],
)
def test_the_line_says_what_failed_why_and_what_is_kept(
    troubles: list[Trouble], price_units: dict[str, int], expected: str
) -> None:
    others = {"ok": 1, "failed": 1} if SIZES in troubles else {"ok": 2}
    units = {
        status: others.get(status, 0) + price_units.get(status, 0)
        for status in {*others, *price_units}
    }
    staged = Staged(
        "azure", RUN, "live", (), inputs=inputs(RUN), units=units, price_units=price_units
    )
    assert status.shortfall_line(replace(staged, troubles=tuple(troubles))) == expected


def test_many_reasons_are_counted() -> None:
    names = [f"r{number}" for number in range(6)]
    troubles = tuple(price(name, f"azure/retail/{name} has no items.") for name in names)
    staged = Staged(
        "azure", RUN, "live", (), inputs=inputs(RUN), price_units={"carried": 6}, troubles=troubles
    )
    line = status.shortfall_line(staged)
    assert "retail/r3 has no items, and 2 more: hwprices admin status)" in line


@cases("publish/shortfalls", price_units=yaml.safe_load, expected=yaml.safe_load)
def test_a_run_without_one_unit_of_prices_is_known(
    price_units: dict[str, int], expected: bool
) -> None:
    staged = Staged("azure", RUN, "live", (), inputs=inputs(RUN), price_units=price_units)
    assert status.has_no_prices(staged) == expected
