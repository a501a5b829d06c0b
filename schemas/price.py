"""Every way to buy every type, one row a price."""

# mypy: disable-error-code="valid-type"
import pandera.polars as pa
import polars as pl

from hwprices.units import Money, Timestamp

from .columns import PROVIDER_PATTERN, Table, column

OPERATING_SYSTEMS = [
    "linux",
    "windows",
    "rhel",
    "rhel_ha",
    "rhel_sap",
    "sles",
    "sles_sap",
    "ubuntu_pro",
]
SOFTWARE = ["none", "sql_std", "sql_web", "sql_ent"]
LICENSE_MODELS = ["included", "byol"]
TENANCIES = ["shared", "dedicated", "host"]
PURCHASE_OPTIONS = [
    "on_demand",
    "spot",
    "reserved",
    "savings_plan",
    "committed_use",
    "capacity_block",
    "dws_calendar",
    "dws_flex_start",
    "dws_defined_duration",
    "low_priority",
    "dev_test",
]
COMMITMENT_PLANS = ["standard", "convertible", "compute", "ec2_instance", "resource", "flexible"]
TERMS_IN_MONTHS = [0, 12, 36, 60]
PAYMENT_OPTIONS = ["none", "no_upfront", "partial_upfront", "all_upfront", "monthly"]
CURRENCIES = r"^[A-Z]{3}$"

PRICE_KEY = [
    "provider",
    "region",
    "zone",
    "instance_type",
    "os",
    "software",
    "license_model",
    "tenancy",
    "purchase_option",
    "commitment_plan",
    "term_months",
    "payment_option",
    "currency",
]


class Prices(Table):
    """Every way to buy every type. On-demand is regional: one row, not one a zone."""

    price_id: pl.String = column(
        "Stable hash of the key columns: the same way to buy the same thing keeps it from release to release.",
        str_matches=r"^[0-9a-f]{24}$",
    )
    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region.", focus="RegionId", str_length={"min_value": 1})
    zone: pl.String = column(
        "Zone, only where the price is zonal (AWS spot); else null.",
        focus="AvailabilityZone",
        nullable=True,
    )
    instance_type: pl.String = column("Machine type.", str_length={"min_value": 1})
    os: pl.String = column(
        "Operating system the price includes, or for byol the one it is meant for.",
        isin=OPERATING_SYSTEMS,
    )
    software: pl.String = column("Software licensed with it.", isin=SOFTWARE)
    license_model: pl.String = column(
        "included: the price contains the licence (or none is needed); byol: bring your own.",
        isin=LICENSE_MODELS,
    )
    tenancy: pl.String = column(
        "shared, dedicated (own hardware, by instance), host (a whole machine).", isin=TENANCIES
    )
    purchase_option: pl.String = column(
        "How it is bought. FOCUS: on_demand is Standard, spot and low_priority Dynamic, the others Committed.",
        focus="PricingCategory",
        isin=PURCHASE_OPTIONS,
    )
    commitment_plan: pl.String = column(
        "Kind of commitment; null where there is none.",
        focus="CommitmentDiscountType",
        nullable=True,
        isin=COMMITMENT_PLANS,
    )
    term_months: pl.Int32 = column(
        "Length of the commitment; 0 where there is none.", unit="month", isin=TERMS_IN_MONTHS
    )
    payment_option: pl.String = column(
        "When the commitment is paid; none where there is no commitment.", isin=PAYMENT_OPTIONS
    )
    currency: pl.String = column(
        "Currency of the money columns, ISO 4217.", focus="PricingCurrency", str_matches=CURRENCIES
    )
    hourly: Money = column(
        "What recurs every hour, in the row's currency; 0 only beside an upfront fee.",
        unit="currency/h",
        focus="ListUnitPrice",
        nullable=True,
        ge=0,
    )
    upfront: Money = column(
        "What is paid once for the whole term; null where nothing is.",
        unit="currency",
        nullable=True,
        gt=0,
    )
    effective_hourly: Money = column(
        "hourly + upfront / (term in years × 8760): the number to compare. Null when unknown: see price_reason.",
        unit="currency/h",
        nullable=True,
        gt=0,
    )
    price_reason: pl.String = column(
        "Why effective_hourly is null (gpu_sku_missing …); null when there is a price.",
        nullable=True,
    )
    billing_unit: pl.String = column(
        "Unit the vendor bills in.", focus="PricingUnit", isin=["hour", "second", "term"]
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
    basis: pl.String = column(
        "listed: the vendor states this number; composed: it is the sum of price_components; derived: by the vendor's rule from another price.",
        isin=["listed", "composed", "derived"],
    )
    effective_from: Timestamp = column(
        "From when the vendor says the price holds.", unit="UTC", nullable=True
    )
    flags: pl.List(pl.String) = column(
        "What to know before trusting it: spot_equals_on_demand, placeholder, not_offered_here …; empty when nothing."
    )
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    source_url: pl.String = column("URL the landed page came from.")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    @pa.dataframe_check(name="price_or_reason")
    def price_or_reason(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A price that is not known says why, and one that is known has no excuse."""
        return data.lazyframe.select(
            pl.col("effective_hourly").is_null() == pl.col("price_reason").is_not_null()
        )

    @pa.dataframe_check(name="no_sentinel")
    def no_sentinel(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """700 stood for "unknown" in a catalogue that others copied; no vendor lists it."""
        return data.lazyframe.select(~((pl.col("effective_hourly") == 700).fill_null(False)))

    class Config:
        name = "prices"
        metadata = {"key": PRICE_KEY}


COMPONENTS = ["core", "ram", "gpu", "tpu", "local_ssd", "license", "premium", "instance", "slice"]


class PriceComponents(Table):
    """What a composed price is the sum of: quantity × unit_price over the components is prices.hourly."""

    price_id: pl.String = column("The price this is a part of.")
    component: pl.String = column(
        "Which part of the machine; a number follows where one kind has two SKUs."
    )
    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region.", focus="RegionId")
    instance_type: pl.String = column("Machine type.")
    purchase_option: pl.String = column(
        "Purchase option of this part: a part without a commitment stays on_demand inside a committed price.",
        isin=PURCHASE_OPTIONS,
    )
    quantity: pl.Decimal(20, 10) = column(
        "How much of the part the machine has.", unit="unit", gt=0
    )
    unit: pl.String = column("Unit of the quantity: vcpu, gib, gpu, chip, instance, slice …")
    unit_price: Money = column(
        "Price of one unit for one hour, at the vendor's full precision.",
        unit="currency/(unit·h)",
        focus="ListUnitPrice",
        ge=0,
    )
    currency: pl.String = column(
        "Currency, ISO 4217.", focus="PricingCurrency", str_matches=CURRENCIES
    )
    sku_id: pl.String = column("Vendor's SKU of the part.", focus="SkuId")
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "price_components"
        metadata = {"key": ["price_id", "component"]}


class ComponentPrices(Table):
    """Parts that are sold on their own: GPUs to attach to N1, local SSD, custom-machine cores and memory, TPU chips."""

    provider: pl.String = column(
        "Cloud provider.", focus="ServiceProviderName", str_matches=PROVIDER_PATTERN
    )
    region: pl.String = column("Region.", focus="RegionId")
    series: pl.String = column(
        "Machine series the part belongs to; 'any' where it goes with several."
    )
    component: pl.String = column(
        "The part: core, ram, core_custom, ram_custom, ram_extended, gpu:nvidia-tesla-t4, local_ssd, tpu:v5e …"
    )
    purchase_option: pl.String = column(
        "How it is bought.", focus="PricingCategory", isin=PURCHASE_OPTIONS
    )
    commitment_plan: pl.String = column(
        "Kind of commitment; null where there is none.",
        focus="CommitmentDiscountType",
        nullable=True,
        isin=COMMITMENT_PLANS,
    )
    term_months: pl.Int32 = column(
        "Length of the commitment; 0 where there is none.", unit="month", isin=TERMS_IN_MONTHS
    )
    currency: pl.String = column(
        "Currency, ISO 4217.", focus="PricingCurrency", str_matches=CURRENCIES
    )
    unit: pl.String = column("What one unit is: vcpu, gib, gpu, chip.")
    hourly: Money = column(
        "Price of one unit for one hour.", unit="currency/(unit·h)", focus="ListUnitPrice", ge=0
    )
    accelerator_id: pl.String = column(
        "Spec sheet of the part, where it is an accelerator.", nullable=True
    )
    sku_id: pl.String = column("Vendor's SKU.", focus="SkuId")
    effective_from: Timestamp = column(
        "From when the vendor says the price holds.", unit="UTC", nullable=True
    )
    observed_at: Timestamp = column("When the vendor's page was fetched.", unit="UTC")
    raw_sha256: pl.String = column("SHA-256 of the landed page the row was read from.")

    class Config:
        name = "component_prices"
        metadata = {
            "key": [
                "provider",
                "region",
                "series",
                "component",
                "purchase_option",
                "commitment_plan",
                "term_months",
                "currency",
            ]
        }
