"""Fetch Toy Cloud: one page with regions and machines, and one price list for each region."""

from collections.abc import Sequence
from pathlib import Path

from hwprices.landing.download import Downloaded
from hwprices.landing.json_bodies import read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.storage.scratch import scratch_directory

INVENTORY = "inventory"
PRICE_LIST = "price_list"
LISTS = {INVENTORY: "machines", PRICE_LIST: "lines"}
"""The list that a page of each kind has; without it, it is none."""


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units: the inventory, and the price list of each region.

    Raises:
        FetchError: the list of regions cannot be had.
    """
    names = _region_names(context) if regions is None else regions
    price_lists = [Unit("toycloud", PRICE_LIST, name) for name in sorted(names)]
    return [Unit("toycloud", INVENTORY), *price_lists]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of a unit.

    Raises:
        FetchError: it cannot be had.
    """
    with scratch_directory() as folder:
        body = _download(context, unit, Path(folder) / "page")
        return [context.landing.land(unit, body, suffix="json")]


def _region_names(context: Context) -> list[str]:
    with scratch_directory() as folder:
        body = _download(context, Unit("toycloud", INVENTORY), Path(folder) / "page")
        return [region["name"] for region in read_object(body, "regions")["regions"]]


def _download(context: Context, unit: Unit, path: Path) -> Downloaded:
    url = f"{context.settings.toycloud_url}/{unit.kind}"
    params = {"region": unit.region} if unit.kind == PRICE_LIST else {}
    body = context.http.download(url, path, params=params)
    read_object(body, LISTS[unit.kind])
    return body
