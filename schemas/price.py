"""The prices of machines and their parts, and quantiles of prices on a marketplace."""

from typing import Any

import pandera.polars as pa
import polars as pl

from hwprices.schemas import PRICE_KEY, columns, vocabulary
from hwprices.schemas.columns import HASH_PATTERN, Table, column, list_column, measure
from hwprices.units import Money, Timestamp


class Prices(Table):
    """Every price of every machine type. On-demand prices are by region, so each has one row."""

    price_id: pl.String = column(
        "Stable hash of the key columns: the same machine with the same purchase option keeps it"
        " from release to release.",
        str_matches=HASH_PATTERN,
    )
    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    zone: pl.String = columns.zone(
        "Zone, only where the price is zonal (AWS spot); else null.", nullable=True
    )
    instance_type: pl.String = columns.instance_type()
    os: pl.String = column(
        "Operating system the price includes, or for byol the one it is meant for.",
        values=vocabulary.OPERATING_SYSTEMS,
        focus="SkuPriceDetails.OperatingSystem",
    )
    software: pl.String = column(
        "Software whose license the price includes, or for byol is meant for.",
        values=vocabulary.SOFTWARE,
    )
    license_model: pl.String = column(
        "Whether the price includes the licenses.", values=vocabulary.LICENSE_MODELS
    )
    tenancy: pl.String = column("Who shares the physical host.", values=vocabulary.TENANCIES)
    purchase_option: pl.String = columns.purchase_option()
    commitment_plan: pl.String = columns.commitment_plan()
    term_months: pl.Int32 = columns.term_months()
    payment_option: pl.String = column(
        "When the commitment is paid; none without a commitment.", values=vocabulary.PAYMENT_OPTIONS
    )
    currency: pl.String = columns.currency()
    hourly: Money = column(
        "What is paid every hour, in the row's currency; 0 only beside an upfront fee.",
        unit="currency/h",
        focus="ListUnitPrice",
        nullable=True,
        ge=0,
    )
    upfront: Money = measure(
        "What is paid once for the whole term; null where nothing is.", "currency"
    )
    effective_hourly: Money = measure(
        "hourly + upfront / (term in years × 8760): the number to compare. Null when unknown: see"
        " price_reason.",
        "currency/h",
    )
    price_reason: pl.String = column(
        "Why effective_hourly is null; null when there is a price. Several reasons are joined by a"
        " comma.",
        nullable=True,
        values=vocabulary.PRICE_REASONS,
    )
    billing_unit: pl.String = column(
        "Unit the vendor bills in.", focus="PricingUnit", values=vocabulary.BILLING_UNITS
    )
    sku_id: pl.String = column(
        "Vendor's SKU: what is sold. Null for composed prices, see price_components.",
        focus="SkuId",
        nullable=True,
    )
    sku_price_id: pl.String = column(
        "Vendor's id of this price of the SKU: AWS rate code, Azure meter id.",
        focus="SkuPriceId",
        nullable=True,
    )
    basis: pl.String = column("Where the number comes from.", values=vocabulary.BASES)
    effective_from: Timestamp = columns.effective_from()
    flags: pl.List(pl.String) = list_column(
        "Caveats of the price; empty if there are none.", vocabulary.FLAGS
    )
    observed_at: Timestamp = columns.observed_at()
    source_url: pl.String = columns.page_url()
    raw_sha256: pl.String = columns.raw_sha256()

    @pa.dataframe_check(name="price_or_reason")
    def price_or_reason(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A row has either a price or the reason why there is none."""
        return data.lazyframe.select(
            pl.col("effective_hourly").is_null() == pl.col("price_reason").is_not_null()
        )

    @pa.dataframe_check(name="flags_are_declared")
    def flags_are_declared(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Every flag is in the vocabulary."""
        return data.lazyframe.select(columns.elements_declared("flags", vocabulary.FLAGS))

    @pa.dataframe_check(name="no_sentinel")
    def no_sentinel(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A data set that others copied wrote 700 for "unknown"; no vendor lists that price."""
        return data.lazyframe.select(~((pl.col("effective_hourly") == 700).fill_null(False)))

    class Config:
        name = "prices"
        metadata = {"key": PRICE_KEY}


class PriceComponents(Table):
    """The parts of composed prices, and of prices derived part by part.

    The sum of quantity × unit_price is prices.hourly.
    """

    price_id: pl.String = column("The price this is a part of.")
    component: pl.String = column(
        "Kind of part; a number follows where two SKUs price one kind.",
        values=vocabulary.COMPONENTS,
    )
    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    instance_type: pl.String = columns.instance_type()
    purchase_option: pl.String = column(
        "Purchase option of this part: a part that cannot be committed stays on_demand inside a"
        " committed price.",
        values=vocabulary.PURCHASE_OPTIONS,
    )
    quantity: pl.Decimal(20, 10) = column(
        "How much of the part the machine has.", unit="unit", gt=0
    )
    unit: pl.String = column("Unit of the quantity.", values=vocabulary.COMPONENT_UNITS)
    unit_price: Money = column(
        "Price of one unit for one hour, at the vendor's full precision. In a derived price the"
        " share of the SKU's price that is paid.",
        unit="currency/(unit·h)",
        focus="ListUnitPrice",
        ge=0,
    )
    currency: pl.String = columns.currency()
    sku_id: pl.String = column("Vendor's SKU of the part.", focus="SkuId")
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "price_components"
        metadata = {"key": ["price_id", "component"]}


class ComponentPrices(Table):
    """Prices of parts of machines, and of services that are billed separately.

    GPUs to attach to N1 machines, local SSD, cores and memory of custom machines, TPU chips; disks
    and snapshots, gateways, addresses and data transfer. Each tier of a price is a row.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    series: pl.String = column(
        "Machine series the part belongs to; any for a part of several series."
    )
    component: pl.String = column(
        "The part; a colon separates its kind from the vendor's name.", values=vocabulary.PARTS
    )
    purchase_option: pl.String = columns.purchase_option()
    commitment_plan: pl.String = columns.commitment_plan()
    term_months: pl.Int32 = columns.term_months()
    currency: pl.String = columns.currency()
    unit: pl.String = column("What one unit is.", values=vocabulary.COMPONENT_UNITS)
    hourly: Money = column(
        "Price of one unit for one hour (a month has 730 hours); null if usage is billed instead of"
        " time.",
        unit="currency/(unit·h)",
        nullable=True,
        ge=0,
    )
    price: Money = column(
        "Price of one unit, for the period or use in column per.",
        unit="currency/unit",
        focus="ListUnitPrice",
        ge=0,
    )
    per: pl.String = column("What a unit is billed for.", values=vocabulary.BILLED_FOR)
    tier_from: pl.Decimal(20, 10) = column(
        "Units a month from which the price holds; 0 where it holds for all.", unit="unit", ge=0
    )
    tier_to: pl.Decimal(20, 10) = measure(
        "Units a month up to which the price holds; null without a limit.", "unit"
    )
    accelerator_id: pl.String = column(
        "Spec sheet of the part, where it is an accelerator.", nullable=True
    )
    service: pl.String = column(
        "The vendor's service that sells it, where price lists are by service: AmazonSageMaker.",
        nullable=True,
    )
    sku_id: pl.String = column("Vendor's SKU.", focus="SkuId")
    sku_price_id: pl.String = column(
        "Vendor's id of this price of the SKU, by which a bill names it: AWS rate code, Azure meter"
        " id.",
        focus="SkuPriceId",
        nullable=True,
    )
    effective_from: Timestamp = columns.effective_from()
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "component_prices"
        metadata = {
            "key": [
                *("provider", "region", "series", "component", "purchase_option"),
                *("commitment_plan", "term_months", "currency", "tier_from"),
            ]
        }


def _usd(description: str) -> Any:
    return measure(description, "USD/(GPU·h)")


_QUANTILE = "Null with fewer than eight offers, and where is_complete is false."


class MarketQuantiles(Table):
    """Daily quantiles of offers on a marketplace, per GPU-hour, without storage and traffic.

    An offer is one host's machine and disappears once rented, so this table is not used for prices,
    offers, searches or recommendations. Rows are kept from release to release.
    """

    provider: pl.String = columns.provider()
    day: pl.Date = column("The day (UTC) on which the offers were fetched.", unit="date")
    accelerator_id: pl.String = columns.accelerator_id()
    gpus: pl.Int32 = column("GPUs that are offered together.", ge=1)
    verification: pl.String = column(
        "Whether the marketplace has tested the host: verified, unverified."
    )
    offers: pl.Int32 = column("Number of offers.", ge=1)
    is_complete: pl.Boolean = column(
        "False if the response was cut off, so that the most expensive offers are missing."
    )
    min_usd: Money = _usd("The cheapest offer.")
    p10_usd: Money = _usd(f"10 % of the offers cost this or less. {_QUANTILE}")
    p25_usd: Money = _usd(f"25 % of the offers cost this or less. {_QUANTILE}")
    median_usd: Money = _usd(f"Half of the offers cost this or less. {_QUANTILE}")
    p75_usd: Money = _usd(f"75 % of the offers cost this or less. {_QUANTILE}")
    p90_usd: Money = _usd(f"90 % of the offers cost this or less. {_QUANTILE}")
    observed_at: Timestamp = columns.observed_at()
    raw_sha256: pl.String = columns.raw_sha256()

    class Config:
        name = "market_quantiles"
        metadata = {"key": ["provider", "day", "accelerator_id", "gpus", "verification"]}
