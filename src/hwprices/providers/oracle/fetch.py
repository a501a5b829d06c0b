"""Land Oracle's two public JSON files. They have no pages and need no account.

Both cover the whole commercial realm, so there is one unit for each and none by region.
"""

from collections.abc import Sequence
from typing import Final

from hwprices.errors import HwpricesError
from hwprices.landing.json_bodies import read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context

PRODUCTS: Final = "products"
"""Kind of unit: the product list, with the price of every part, such as one OCPU of E5."""

SHAPES: Final = "shapes"
"""Kind of unit: the cost estimator's shapes, with the parts that each machine is made of."""

BUNDLED: Final = "bundled"
"""Value of a page's parameter ``source`` where its machines were collected by hand."""

CURRENCY: Final = "USD"  # What prices are requested in. Without it the list has several currencies.
PRODUCTS_PATH = "/products/"


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the units: the product list and the shapes."""
    return [Unit("oracle", PRODUCTS), Unit("oracle", SHAPES)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of a unit, an object with a list ``items`` that is not empty.

    Raises:
        FetchError: it is unavailable, or is something else.
        HwpricesError: there is no such kind.
    """
    urls = {
        PRODUCTS: context.settings.oracle_prices_url + PRODUCTS_PATH,
        SHAPES: context.settings.oracle_shapes_url,
    }
    if unit.kind not in urls:
        raise HwpricesError(
            f"oracle has no kind of page {unit.kind!r}", f"There are: {', '.join(urls)}."
        )
    params = {"currencyCode": CURRENCY} if unit.kind == PRODUCTS else {}
    url = urls[unit.kind]
    return [context.land_json(unit, url, lambda body: read_object(body, "items"), params=params)]
