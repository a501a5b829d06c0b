"""Fetch Toy Cloud: one page with regions and machines, and one price list for each region."""

from collections.abc import Sequence
from pathlib import Path

from hwprices.landing.bodies import read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.storage.scratch import scratch_directory

INVENTORY = "inventory"
PRICE_LIST = "price_list"
LISTS = {INVENTORY: "machines", PRICE_LIST: "lines"}
"""The list that a page of each kind has."""


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units: the inventory, and the price list of each region.

    Raises:
        FetchError: the list of regions is unavailable.
    """
    names = _region_names(context) if regions is None else regions
    price_lists = [Unit("toycloud", PRICE_LIST, name) for name in sorted(names)]
    return [Unit("toycloud", INVENTORY), *price_lists]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of a unit.

    Raises:
        FetchError: it is unavailable, or lacks its list.
    """
    url = f"{context.settings.toycloud_url}/{unit.kind}"
    params = {"region": unit.region} if unit.kind == PRICE_LIST else {}
    listed = LISTS[unit.kind]
    return [context.land_json(unit, url, lambda body: read_object(body, listed), params=params)]


def _region_names(context: Context) -> list[str]:
    url = f"{context.settings.toycloud_url}/{INVENTORY}"
    with scratch_directory() as folder:
        body = context.http.download(url, Path(folder) / "page")
        return [region["name"] for region in read_object(body, "regions")["regions"]]
