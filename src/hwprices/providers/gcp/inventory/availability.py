"""Make rows of the availability table: which zone offers which machine type."""

import polars as pl

from hwprices.providers.gcp.inventory.machine_type import Machines
from hwprices.rows import frames
from hwprices.schemas.inventory import Availability


def availability_rows(machines: Machines, regions: list[str] | None) -> pl.DataFrame:
    """Return rows of availability, in the order of the pages.

    ``regions`` limits them; None means all.
    """
    offers = machines.offers
    if regions is not None:
        offers = offers.filter(pl.col("region").is_in(regions))
    rows = offers.lazy().drop("source_url")
    rows = rows.with_columns(provider=pl.lit("gcp"), offered=pl.lit(True))
    return frames.conform(rows, Availability).collect()
