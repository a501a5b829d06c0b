"""The line for units that were not fetched."""

from typing import Any

import pytest
import yaml
from tests.helpers.cases import FOLDER, cases
from tests.helpers.manifests import inputs

from hwprices.publish import status
from hwprices.release.manifest import Trouble
from hwprices.stage.stage import Staged

RUN = "20261124T041700.000000Z"
DOWN = "https://prices.azure.com/api failed 4 times, last: HTTP 500. Try again later."


def price(region: str, reason: str = DOWN, run: str = RUN, *, requested: bool = True) -> Trouble:
    """A unit of prices that has the pages of an earlier run, or none where ``run`` is empty."""
    return Trouble(f"azure/retail/{region}", "carried" if run else "failed", reason, requested, run)


def staged(price_units: dict[str, int], **more: Any) -> Staged:
    more |= {"inputs": inputs(RUN), "price_units": price_units}
    return Staged("azure", RUN, "live", (), **more)


def line_of(troubles: list[Trouble], price_units: dict[str, int], **more: Any) -> str:
    return status.shortfall_line(staged(price_units, troubles=tuple(troubles), **more))


CASES = yaml.safe_load((FOLDER / "publish/price_shortfalls.yaml").read_text())


@pytest.mark.parametrize("case", CASES)
def test_the_line_says_what_failed_why_and_what_is_kept(case) -> None:
    price_units = case["price_units"]
    units = {**price_units, "ok": price_units.get("ok", 0) + 2}
    troubles = [price(**trouble) for trouble in case["troubles"]]
    assert line_of(troubles, price_units, units=units) == case["expected"]


def test_units_without_prices_have_a_line_and_skipped_ones_none() -> None:
    reason = "login refused. Log in."
    sizes = Trouble("azure/skus/eastus", "failed", reason, holds_prices=False)
    line = line_of([sizes], {"ok": 5}, units={"ok": 6, "failed": 1})
    assert line == "1 of 2 other units failed (login refused)"
    skipped = Trouble("azure/retail/a", "skipped", "not sold")
    assert line_of([skipped], {"ok": 1, "skipped": 1}, units={"ok": 3, "skipped": 1}) == ""


def test_many_reasons_are_counted() -> None:
    names = [f"r{number}" for number in range(6)]
    troubles = [price(name, f"azure/retail/{name} has no items.") for name in names]
    line = line_of(troubles, {"carried": 6})
    assert "retail/r3 has no items, and 2 more: hwprices admin status)" in line


@cases("publish/shortfalls", price_units=yaml.safe_load, expected=yaml.safe_load)
def test_a_run_without_one_unit_of_prices_is_known(price_units, expected) -> None:
    assert status.has_no_prices(staged(price_units)) == expected
