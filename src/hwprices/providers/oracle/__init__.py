"""Oracle Cloud: parts from the public product list, shapes from the cost estimator's list.

Prices of machines are composed from both. Each list is one unit and covers the commercial realm;
there are none by region.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.errors import HwpricesError
from hwprices.landing.bodies import read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint

ABOUT = About(
    title="Oracle Cloud",
    without_account="all prices of the commercial realm, and the machines they are composed for",
    with_credentials="nothing more",
    missing="where shapes are offered, government and sovereign regions, Windows on bare metal,"
    " most sizes of flexible shapes; no live run is on record",
    price_kinds=("products",),
)


class Settings(settings.Settings):
    """The common settings and those of Oracle Cloud."""

    oracle_prices_url: Endpoint = Field(
        default="https://apexapps.oracle.com/pls/apex/cetools/api/v1",
        description="API with Oracle's public product list.",
    )
    oracle_shapes_url: Endpoint = Field(
        default="https://www.oracle.com/a/ocom/docs/cloudestimator2/data/shapes.json",
        description="Shapes of Oracle's cost estimator.",
    )


PRODUCTS: Final = "products"
"""Kind of unit: the product list, with the price of every part, such as one OCPU of E5."""

SHAPES: Final = "shapes"
"""Kind of unit: the cost estimator's shapes, with the parts that each machine is made of."""

BUNDLED: Final = "bundled"
"""Value of a page's parameter ``source`` if its machines were collected by hand."""

CURRENCY: Final = "USD"  # The currency requested. By default the list has several.
PRODUCTS_PATH = "/products/"


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the units: the product list and the shapes."""
    return [Unit("oracle", PRODUCTS), Unit("oracle", SHAPES)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of a unit, an object with a list ``items`` that is not empty.

    Raises:
        FetchError: it is unavailable or is something else.
        HwpricesError: the kind is unknown.
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
