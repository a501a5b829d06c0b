"""Make the one row of regions: all commercial regions have the same prices.

The product list has no regions, and no public list says where a shape is offered. Government and
sovereign regions have prices of their own, which are not in it.
"""

import polars as pl

from hwprices.landing.pages import Page
from hwprices.rows import frames
from hwprices.rows.origin import origin
from hwprices.schemas.inventory import Regions

REGION = "commercial"
"""Stands for every commercial region."""


def region_rows(page: Page) -> pl.DataFrame:
    """Return the row, which names the page of the product list."""
    row = pl.LazyFrame(
        {
            "provider": ["oracle"],
            "region": [REGION],
            "display_name": ["All commercial regions"],
            "kind": ["region"],
        }
    )
    return frames.conform(row.with_columns(*origin(page)).drop("source_url"), Regions).collect()
