"""State which landed page a row was read from."""

from collections.abc import Sequence
from datetime import UTC

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


def origins(pages: Sequence[Page]) -> pl.DataFrame:
    """Make one row for each page: page (its place in ``pages``) and the columns ``ORIGIN``.

    To be joined to rows that were read from many pages.
    """
    return pl.DataFrame(
        {
            "page": range(len(pages)),
            "observed_at": [page.retrieved_at.astimezone(UTC) for page in pages],
            "source_url": [page.url for page in pages],
            "raw_sha256": [page.sha256 for page in pages],
        },
        schema={
            "page": pl.Int32,
            "observed_at": Timestamp,
            "source_url": pl.String,
            "raw_sha256": pl.String,
        },
    )
