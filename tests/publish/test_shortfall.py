"""The line for units that were not fetched."""

from dataclasses import replace

import yaml
from tests.helpers.cases import cases
from tests.helpers.manifests import inputs

from hwprices.publish import status
from hwprices.release.manifest import Trouble
from hwprices.stage.stage import Staged

RUN = "20261124T041700.000000Z"
DOWN = "https://prices.azure.com/api failed 4 times, last: HTTP 500. Try again later."


def price(region: str, reason: str = DOWN, run: str = RUN, *, requested: bool = True) -> Trouble:
    """A unit of prices that has the pages of an earlier run, or none where ``run`` is empty."""
    return Trouble(f"azure/retail/{region}", "carried" if run else "failed", reason, requested, run)


def line_of(troubles: list[Trouble], units: dict[str, int], price_units: dict[str, int]) -> str:
    staged = Staged(
        "azure", RUN, "live", (), inputs=inputs(RUN), units=units, price_units=price_units
    )
    return status.shortfall_line(replace(staged, troubles=tuple(troubles)))


@cases("publish/price_shortfalls", troubles=yaml.safe_load, price_units=yaml.safe_load)
def test_the_line_says_what_failed_why_and_what_is_kept(troubles, price_units, expected) -> None:
    units = {**price_units, "ok": price_units.get("ok", 0) + 2}
    assert line_of([price(**trouble) for trouble in troubles], units, price_units) == expected


def test_units_without_prices_have_a_line_and_skipped_ones_none() -> None:
    reason = "login refused. Log in."
    sizes = Trouble("azure/skus/eastus", "failed", reason, holds_prices=False)
    line = line_of([sizes], {"ok": 6, "failed": 1}, {"ok": 5})
    assert line == "1 of 2 other units failed (login refused)"
    skipped = Trouble("azure/retail/a", "skipped", "not sold")
    assert line_of([skipped], {"ok": 3, "skipped": 1}, {"ok": 1, "skipped": 1}) == ""


def test_many_reasons_are_counted() -> None:
    names = [f"r{number}" for number in range(6)]
    troubles = tuple(price(name, f"azure/retail/{name} has no items.") for name in names)
    staged = Staged(
        "azure", RUN, "live", (), inputs=inputs(RUN), price_units={"carried": 6}, troubles=troubles
    )
    line = status.shortfall_line(staged)
    assert "retail/r3 has no items, and 2 more: hwprices admin status)" in line


@cases("publish/shortfalls", price_units=yaml.safe_load, expected=yaml.safe_load)
def test_a_run_without_one_unit_of_prices_is_known(price_units, expected) -> None:
    staged = Staged("azure", RUN, "live", (), inputs=inputs(RUN), price_units=price_units)
    assert status.has_no_prices(staged) == expected
