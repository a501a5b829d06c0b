"""Rows that were refused. Nothing is dropped silently."""

# mypy: disable-error-code="valid-type"
import polars as pl

from hwprices.units import Timestamp

from .columns import PROVIDER_PATTERN, Table, column


class Quarantine(Table):
    """Every row that was refused, with the reason and where it came from."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    table: pl.String = column("Table the row was meant for.")
    row_hash: pl.String = column("Hash of table, reason and row.", str_matches=r"^[0-9a-f]{24}$")
    region: pl.String = column("Region, where the row names one.", focus="RegionId", nullable=True)
    reason: pl.String = column(
        "Reason code: unknown_grammar, duplicate_key, platform_disagrees, check:<name> …",
        str_matches=r"^[a-z0-9_:.()]+$",
    )
    message: pl.String = column("The reason in words, with the values that clash.")
    row: pl.String = column("The refused row as JSON, as far as it was understood.")
    occurrences: pl.Int32 = column("How often this same row was refused.", gt=0)
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    source_url: pl.String = column("URL the landed page came from.")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "quarantine"
        metadata = {"key": ["provider", "table", "row_hash"]}
