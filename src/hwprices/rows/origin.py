"""Say which landed page a row was read from."""

import polars as pl

from hwprices.landing.pages import Page
from hwprices.units import Timestamp

ORIGIN = ("observed_at", "source_url", "raw_sha256")
"""The columns that name the landed page of a row."""


def origin(page: Page) -> list[pl.Expr]:
    """Make observed_at, source_url and raw_sha256 of every row read from this page."""
    return [
        pl.lit(page.retrieved_at).cast(Timestamp).alias("observed_at"),
        pl.lit(page.url).alias("source_url"),
        pl.lit(page.sha256).alias("raw_sha256"),
    ]
