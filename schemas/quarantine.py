"""The refused rows, the vendors' new words, and the values that the gate holds."""

import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import HASH_PATTERN, Table, column
from hwprices.units import Timestamp


class Quarantine(Table):
    """Every row that was refused, with the reason and the page it came from."""

    provider: pl.String = columns.provider()
    table: pl.String = column("Table the row was meant for.")
    row_hash: pl.String = column("Hash of table, reason and row.", str_matches=HASH_PATTERN)
    region: pl.String = column("Region, where the row names one.", focus="RegionId", nullable=True)
    reason: pl.String = column("Why the row was refused.", values=vocabulary.QUARANTINE_REASONS)
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


class NewWords(Table):
    """All words of vendors that are not known yet, with the number of rows that they affect.

    Made from the rows of quarantine that have a word.
    """

    provider: pl.String = columns.provider()
    reason: pl.String = column(
        "Which kind of word it is. A word under which prices of a refused SKU are listed has the"
        " reason of the SKU.",
        values=vocabulary.QUARANTINE_REASONS,
    )
    word: pl.String = column("The vendor's word.")
    lines: pl.Int32 = column("Lines of the vendor that have the word, and were refused.", ge=0)
    dependants: pl.Int32 = column(
        "Further rows that are not published because of these lines, such as the savings-plan rates"
        " of a refused SKU.",
        ge=0,
    )
    # hides a method of pandera's that nothing here uses
    example: pl.String = column(  # type: ignore[assignment]
        "The message of one of the lines."
    )
    source_url: pl.String = columns.page_url()
    raw_sha256: pl.String = columns.raw_sha256()
    first_seen: Timestamp = column(
        "When the first vendor's page with the word was fetched; it has been in every release"
        " since.",
        unit="UTC",
    )
    last_seen: Timestamp = column(
        "When the last vendor's page with the word was fetched.", unit="UTC"
    )

    class Config:
        name = "new_words"
        metadata = {"key": ["provider", "reason", "word"]}


class Held(Table):
    """All values of vendors that are not published because they are implausible.

    The release keeps the value published last, with the flag held_back if the row is a price. A new
    row is left out.
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
        "When the first vendor's page with this value was fetched; it has been held since.",
        unit="UTC",
    )
    last_seen: Timestamp = column("When the last page with this value was fetched.", unit="UTC")
    times_seen: pl.Int32 = column("Number of collections with this value.", gt=0)

    class Config:
        name = "held"
        metadata = {"key": ["provider", "table", "row", "field"]}
