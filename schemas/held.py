"""The rows that the gate holds: what is published instead of them, and why."""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column
from hwprices.units import Timestamp


class Held(Table):
    """Every value that a vendor's tables have and the release does not, because it is implausible.

    The release keeps the value published last, with the flag held_back where the row is a price; a
    row that is new is left out.
    """

    provider: pl.String = columns.provider()
    table: pl.String = column("Table of the row.")
    row: pl.String = column("price_id, or the other columns of the row's key with spaces between.")
    field: pl.String = column("Column whose value is held; * for all of the row.")
    part: pl.String = column(
        "Smallest part of the provider with this reason: a type, family, region or column."
        " --accept <provider>:<part> publishes it."
    )
    region: pl.String = column("Region, where the row has one.", focus="RegionId", nullable=True)
    instance_type: pl.String = column("Machine type, where the row has one.", nullable=True)
    published_value: pl.String = column("The value published; null for a new row.", nullable=True)
    new_value: pl.String = column(
        "The value held; null where the vendor no longer has the row or the value.", nullable=True
    )
    reason: pl.String = column("The limit that the value breaks; docs/gates.md lists them.")
    reference: pl.String = column("What the value was compared with, in words.")
    since: Timestamp = column(
        "When the vendor's page was fetched that had this value first, since when it is held.",
        unit="UTC",
    )
    last_seen: Timestamp = column("When the page was fetched that had it last.", unit="UTC")
    times_seen: pl.Int32 = column("Collections that had this value.", gt=0)

    class Config:
        name = "held"
        metadata = {"key": ["provider", "table", "row", "field"]}
