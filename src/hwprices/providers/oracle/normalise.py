"""Read landed pages into rows of the tables. Pure: no network, no clock."""

from collections import Counter
from collections.abc import Iterator

from hwprices.providers import Pages, Part
from hwprices.providers.oracle import kinds
from hwprices.providers.oracle.inventory.instance_types import instance_type_rows
from hwprices.providers.oracle.inventory.regions import REGION, region_rows
from hwprices.providers.oracle.inventory.shapes import read_shapes
from hwprices.providers.oracle.prices import rows
from hwprices.providers.oracle.prices.compose import compose
from hwprices.providers.oracle.prices.products import read_products
from hwprices.providers.oracle.sheets import Sheets
from hwprices.rows import quarantine


def normalise(pages: Pages, sheets: Sheets | None = None) -> Iterator[Part]:
    """Yield the region, the machines, their prices and the parts these are composed from.

    ``sheets`` are facts about the machines; None loads those of the checkout or package. There is
    no part of availability: no public list says where a shape is offered.

    Raises:
        UnreadablePageError: the product list or the shapes cannot be read.
    """
    if not pages.of(kinds.PRODUCTS):
        return
    sheets = sheets or Sheets.load()
    products = read_products(pages)
    shapes = read_shapes(pages, sheets)
    yield Part("regions", region_rows(pages.of(kinds.PRODUCTS)[-1]))
    yield Part("instance_types", instance_type_rows(shapes.machines, products, sheets))

    machine_prices = list(compose(shapes.machines, products))
    price_table = rows.price_rows(machine_prices)
    refused = quarantine.merge_refused([products.refused, shapes.refused])
    counts = Counter(products.counts) + Counter(shapes.counts)
    yield Part("prices", price_table, REGION, refused, dict(counts))
    lines = rows.price_component_rows(price_table, machine_prices)
    yield Part("price_components", lines, REGION)
    components = rows.component_price_rows(products, shapes.machines, sheets)
    yield Part("component_prices", components, REGION)
