"""List what to fetch from Oracle's public files, and land it.

Both files cover the whole commercial realm, so there is one unit for each and none by region.
"""

from collections.abc import Sequence

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.oracle import kinds
from hwprices.providers.oracle.api.public_files import land_list

PRODUCTS_PATH = "/products/"


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the units: the product list and the shapes."""
    return [Unit("oracle", kinds.PRODUCTS), Unit("oracle", kinds.SHAPES)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of a unit.

    Raises:
        FetchError: it cannot be had, or is no list.
        HwpricesError: there is no such kind.
    """
    settings = context.settings
    if unit.kind == kinds.PRODUCTS:
        url = settings.oracle_prices_url + PRODUCTS_PATH
        return [land_list(context, unit, url, {"currencyCode": kinds.CURRENCY})]
    if unit.kind == kinds.SHAPES:
        return [land_list(context, unit, settings.oracle_shapes_url, {})]
    raise HwpricesError(
        f"oracle has no kind of page {unit.kind!r}",
        f"There are: {kinds.PRODUCTS}, {kinds.SHAPES}.",
    )
