"""The history tables of a release: validity intervals of prices, and changes.

docs/history.md explains both with an example.
"""

from typing import Any

import pandera.polars as pa
import polars as pl

from hwprices.schemas import PRICE_KEY, columns, vocabulary
from hwprices.schemas.columns import HASH_PATTERN, Table, column, measure
from hwprices.units import Money, Timestamp


class PriceHistory(Table):
    """The values of every price over time: one row for each price and each value it had.

    Intervals are half-open, valid_from <= t < valid_to, and those of one price never overlap. The
    rows that are valid at a time t are the prices of the release that was current then, and prices
    that it lacks only because they were not collected.
    """

    price_id: pl.String = column("The price; key of prices.", str_matches=HASH_PATTERN)
    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    zone: pl.String = column("Zone, only where the price is zonal.", nullable=True)
    instance_type: pl.String = columns.instance_type()
    os: pl.String = column(
        "Operating system.",
        values=vocabulary.OPERATING_SYSTEMS,
        focus="SkuPriceDetails.OperatingSystem",
    )
    software: pl.String = column(
        "Software whose license the price concerns.", values=vocabulary.SOFTWARE
    )
    license_model: pl.String = column(
        "Whether the price includes the licenses.", values=vocabulary.LICENSE_MODELS
    )
    tenancy: pl.String = column("Who shares the physical host.", values=vocabulary.TENANCIES)
    purchase_option: pl.String = columns.purchase_option()
    commitment_plan: pl.String = columns.commitment_plan()
    term_months: pl.Int32 = columns.term_months()
    payment_option: pl.String = column(
        "When the commitment is paid.", values=vocabulary.PAYMENT_OPTIONS
    )
    currency: pl.String = columns.currency()
    hourly: Money = column("What was paid every hour.", unit="currency/h", nullable=True, ge=0)
    upfront: Money = measure("What was paid once for the whole term.", "currency")
    effective_hourly: Money = measure(
        "hourly + upfront / (term in years × 8760); null when unknown.", "currency/h"
    )
    price_reason: pl.String = column(
        "Why effective_hourly is null.", nullable=True, values=vocabulary.PRICE_REASONS
    )
    basis: pl.String = column("Where the number comes from.", values=vocabulary.BASES)
    valid_from: Timestamp = column("Time of the first release with this value.", unit="UTC")
    valid_to: Timestamp = column(
        "Time of the release that ended it; null while it is valid.", unit="UTC", nullable=True
    )
    state: pl.String = column("State of the price in this release.", values=vocabulary.PRICE_STATES)
    start_reason: pl.String = column("Why the interval began.", values=vocabulary.INTERVAL_STARTS)
    end_reason: pl.String = column(
        "Why it ended; null while it is valid.", nullable=True, values=vocabulary.INTERVAL_ENDS
    )
    first_release: pl.String = column("Version of the first release with this value.")
    last_release: pl.String = column("Version of the last release with this value.")
    observed_first: Timestamp = column(
        "When the first vendor's page with this value was fetched.", unit="UTC"
    )
    observed_last: Timestamp = column(
        "When the last vendor's page with this value was fetched, as of last_release.", unit="UTC"
    )
    collection_unit: pl.String = column(
        "Unit that fetched the last page: kind/region; null if unknown.",
        nullable=True,
    )
    waits_for: pl.String = column(
        "Missing units of a price that was not collected, separated by commas.",
        nullable=True,
    )
    raw_sha256: pl.String = column("SHA-256 of the last landed page with this value.")
    reading: pl.String = column(
        "Digest of program, rule sheets and corrections that last read it.", nullable=True
    )
    accelerator_id: pl.String = column(
        "Accelerator of the machine, as last known; null where it has none, or several kinds.",
        nullable=True,
    )
    accelerator_count: pl.Float64 = column(
        "How many of them the machine has, as last known.",
        nullable=True,
        ge=0,
        focus="SkuPriceDetails.GpuCount",
    )

    hourly_low: Money = measure(
        "Lowest price, if hourly is the daily mean of a backfilled spot price.", "currency/h"
    )
    hourly_high: Money = measure("Highest price, if hourly is such a mean.", "currency/h")

    @pa.dataframe_check(name="price_or_reason")
    def price_or_reason(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A row has either a price or the reason why there was none."""
        return data.lazyframe.select(
            pl.col("effective_hourly").is_null() == pl.col("price_reason").is_not_null()
        )

    @pa.dataframe_check(name="ends_after_it_begins")
    def ends_after_it_begins(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """No interval is empty, and one that ended says why."""
        ended = pl.col("valid_to").is_not_null()
        return data.lazyframe.select(
            (pl.col("valid_from") < pl.col("valid_to")).fill_null(True)
            & (ended == pl.col("end_reason").is_not_null())
            & (ended == (pl.col("state") == "ended"))
        )

    @pa.dataframe_check(name="intervals_never_overlap")
    def intervals_never_overlap(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Intervals of a price do not overlap; only the last may be open.

        Only prices with several intervals are sorted: most have one, and grouping all of them would
        take longer than all other checks.
        """
        following = pl.col("valid_from").shift(-1).over("price_id", order_by="valid_from")
        follows = following.is_null() | (pl.col("valid_to") <= following).fill_null(False)
        rows = data.lazyframe.select("price_id", "valid_from", "valid_to").with_row_index("row")
        is_several = pl.col("price_id").hash().is_duplicated()  # half the time of the texts
        several = rows.filter(is_several).select("row", follows=follows)
        return (
            rows.select("row")
            .join(several, on="row", how="left", maintain_order="left")
            .select(pl.col("follows").fill_null(True))
        )

    class Config:
        name = "price_history"
        metadata = {"key": [*PRICE_KEY, "valid_from"]}


def _old(what: str, unit: str | None = None) -> Any:
    return column(f"{what} in the previous release; null if absent.", unit=unit, nullable=True)


def _new(what: str, unit: str | None = None) -> Any:
    return column(f"{what} in this release; null if absent.", unit=unit, nullable=True)


def _of_price(values: Any = None) -> Any:
    return column(
        "As in prices; null if the row is not about a price.", nullable=True, values=values
    )


class Changes(Table):
    """The changes from the previous release to this one.

    A price that both changed and was restated has two rows. The amount between them is what the
    newer program reads from the older pages.
    """

    subject: pl.String = column("What changed.", values=vocabulary.CHANGE_SUBJECTS)
    change: pl.String = column("How it changed.", values=vocabulary.CHANGES)
    provider: pl.String = column("Cloud provider; null for accelerators.", nullable=True)
    region: pl.String = column("Region, if the row is about one.", nullable=True)
    instance_type: pl.String = column("Machine type, if the row is about one.", nullable=True)
    accelerator_id: pl.String = column("Accelerator, if the row is about one.", nullable=True)
    collection_unit: pl.String = column("Unit of collection: kind/region.", nullable=True)
    price_id: pl.String = column("The price, if the row is about one.", nullable=True)
    zone: pl.String = _of_price()
    os: pl.String = _of_price(vocabulary.OPERATING_SYSTEMS)
    software: pl.String = _of_price(vocabulary.SOFTWARE)
    license_model: pl.String = _of_price(vocabulary.LICENSE_MODELS)
    tenancy: pl.String = _of_price(vocabulary.TENANCIES)
    purchase_option: pl.String = _of_price(vocabulary.PURCHASE_OPTIONS)
    commitment_plan: pl.String = _of_price(vocabulary.COMMITMENT_PLANS)
    term_months: pl.Int32 = _of_price()
    payment_option: pl.String = _of_price(vocabulary.PAYMENT_OPTIONS)
    currency: pl.String = _of_price()
    old_hourly: Money = _old("hourly", "currency/h")
    new_hourly: Money = _new("hourly", "currency/h")
    old_upfront: Money = _old("upfront", "currency")
    new_upfront: Money = _new("upfront", "currency")
    old_effective_hourly: Money = _old("effective_hourly", "currency/h")
    new_effective_hourly: Money = _new("effective_hourly", "currency/h")
    change_percent: pl.Float64 = column(
        "Change of the effective hourly price; null if the old or the new one is not known.",
        unit="%",
        nullable=True,
    )
    old_price_reason: pl.String = _old("price_reason")
    new_price_reason: pl.String = _new("price_reason")
    field: pl.String = column(
        "Column of instance_types or accelerators that changed.", nullable=True
    )
    old_value: pl.String = _old("Its value, as text,")
    new_value: pl.String = _new("Its value, as text,")
    prices: pl.Int64 = column("Number of prices that the row covers.", ge=0)
    evidence: pl.String = column("Evidence for the change.", values=vocabulary.EVIDENCE)

    class Config:
        name = "changes"
        metadata = {
            "key": [
                *("subject", "change", "provider", "region", "instance_type", "accelerator_id"),
                *("collection_unit", "price_id", "field"),
            ]
        }
