"""One provider in one release, as the history needs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, UnitInput
from hwprices.release.real_prices import IS_PLACEHOLDER
from hwprices.release.versions import version_time
from hwprices.rows import frames
from hwprices.schemas.inventory import InstanceTypes, Regions
from hwprices.schemas.keys import PRICE_KEY
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.schemas.tables import TABLES

VALUE = ("hourly", "upfront", "effective_hourly", "price_reason")
"""The columns that are a price's value. Where one of them differs, an interval ends."""


@dataclass(frozen=True)
class Moment:
    """A release by name, and the one before it; None for the first."""

    version: str
    previous: str | None = None

    @property
    def at(self) -> datetime:
        """When it was made: its version is a time."""
        return version_time(self.version)


@dataclass(frozen=True)
class Snapshot:
    """One provider's tables in one release, and what they were made of.

    ``prices`` has the price key, VALUE, basis, observed_at and raw_sha256; they are read when they
    are needed, some regions at a time. ``placeholders`` has the price_id of those that are flagged
    as placeholders. ``refused`` are the price_ids of rows in quarantine.
    """

    provider: str
    version: str
    inputs: Inputs
    prices: pl.LazyFrame
    instance_types: pl.DataFrame
    regions: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    units: Mapping[str, UnitInput] = field(default_factory=dict)
    placeholders: pl.LazyFrame = field(
        default_factory=lambda: pl.LazyFrame(schema={"price_id": pl.String})
    )

    @property
    def reading(self) -> str:
        """The digest of what read the pages."""
        return self.inputs.reading.digest

    def prices_with_origin(self) -> pl.LazyFrame:
        """Add to each price the unit that its page is from, and the reading."""
        unit_of_page = {page: unit.unit for unit in self.inputs.units for page in unit.pages}
        page = pl.col("raw_sha256").str.slice(0, DIGEST_CHARACTERS)
        return self.prices.with_columns(
            page.replace_strict(unit_of_page, default=None, return_dtype=pl.String).alias(
                "collection_unit"
            ),
            pl.lit(self.reading, dtype=pl.String).alias("reading"),
        )


def snapshot(
    provider: str,
    version: str,
    inputs: Inputs,
    tables: Mapping[str, pl.LazyFrame],
    *,
    prices: bool = True,
) -> Snapshot:
    """Read what the history needs of one provider's tables; a missing table counts as empty.

    Without ``prices`` theirs are left out: of the release before, the intervals have them.
    """

    def table(name: str) -> pl.LazyFrame:
        empty = frames.empty(TABLES[name]).lazy()
        return tables[name].filter(provider=provider) if name in tables else empty

    columns = ["price_id", *PRICE_KEY, *VALUE, "basis", "observed_at", "raw_sha256"]
    all_prices = table(Prices.Config.name)
    listed = all_prices.select(columns)
    regions = table(Regions.Config.name).select("region").collect()["region"]
    return Snapshot(
        provider,
        version,
        inputs,
        listed if prices else listed.clear(),
        table(InstanceTypes.Config.name).collect(),
        frozenset(regions),
        frozenset(_refused(table(Quarantine.Config.name))),
        {unit.unit: unit for unit in inputs.units},
        all_prices.filter(IS_PLACEHOLDER).select("price_id"),
    )


def _refused(quarantine: pl.LazyFrame) -> list[str]:
    """List the price_ids of refused prices: rows that were refused by the checks have one."""
    return (
        quarantine.filter(table="prices")
        .select(pl.col("row").str.json_path_match("$.price_id").alias("price_id"))
        .drop_nulls()
        .collect()["price_id"]
        .to_list()
    )
