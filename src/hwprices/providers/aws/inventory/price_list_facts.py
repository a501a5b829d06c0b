"""Hold what a price list says of machines and regions, apart from prices."""

from dataclasses import dataclass

import polars as pl

from hwprices.landing.pages import Page


@dataclass(frozen=True)
class PriceListFacts:
    """What one region's price list says of machines and regions. Small enough to keep for all.

    ``machines`` has one row for each distinct set of attributes of an instance type:
    instance_type, product_family, the columns ``price_list.ATTRIBUTES`` in the vendor's words,
    ``systems`` (operating systems it is sold with) and ``lines`` (how many lines state the set).
    ``parts`` are the lines that are not machines, as ``parts.part_lines`` gives them.
    ``places`` has region, location (the vendor's name), location_type and ``lines``.
    """

    region: str
    page: Page
    machines: pl.DataFrame
    places: pl.DataFrame
    parts: pl.DataFrame
