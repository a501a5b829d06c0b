"""The table of refused rows. No row is dropped without a record."""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import HASH_PATTERN, Table, column
from hwprices.schemas.vocabulary import QUARANTINE_REASONS
from hwprices.units import Timestamp


class Quarantine(Table):
    """Every row that was refused, with the reason and the page it came from."""

    provider: pl.String = columns.provider()
    table: pl.String = column("Table the row was meant for.")
    row_hash: pl.String = column("Hash of table, reason and row.", str_matches=HASH_PATTERN)
    region: pl.String = column("Region, where the row names one.", focus="RegionId", nullable=True)
    reason: pl.String = column("Why the row was refused.", values=QUARANTINE_REASONS)
    message: pl.String = column("The reason in words, with the values that are wrong.")
    row: pl.String = column("The refused row as JSON, as far as it was understood.")
    occurrences: pl.Int32 = column("How often this same row was refused.", gt=0)
    observed_at: Timestamp = columns.observed_at()
    source_url: pl.String = columns.page_url()
    raw_sha256: pl.String = columns.raw_sha256()
    word: pl.String = column(
        "The vendor's word that is not known yet: a new unit, platform, series, place, column."
        " Null where a line of a known kind is broken.",
        nullable=True,
    )
    dependants: pl.Int32 = column(
        "Further rows that were not published because of this one, such as the savings-plan rates"
        " of a refused SKU.",
        ge=0,
    )

    class Config:
        name = "quarantine"
        metadata = {"key": ["provider", "table", "row_hash"]}
