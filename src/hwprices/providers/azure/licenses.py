"""Add licenses to the price of machines: RHEL, SLES, Ubuntu Pro, SQL Server and Windows Server.

Retail Prices lists them as service "Virtual Machines Licenses", without a region: a license costs
the same in all regions and for all purchase options, and reservations and savings plans do not
include it
(https://learn.microsoft.com/azure/cost-management-billing/reservations/prepare-buy-reservation).
A meter is for machines with a number of vCPUs: "8 vCPU VM License", "5+ vCPU VM Support".

A constrained size pays the operating system for the vCPUs of its parent, and SQL Server for its own
vCPUs (https://learn.microsoft.com/azure/virtual-machines/constrained-vcpu).

The sheet azure_licenses says which system and software a product licenses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from hwprices.providers import Pages, azure
from hwprices.providers.azure.classify import DATES, HOUR, first_reason, next_change
from hwprices.providers.azure.items import AMOUNTS, MEMBERS, Items, read_items, tidy, time
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN
from hwprices.rows.prices import price_rows
from hwprices.schemas.tables import PriceComponents
from hwprices.specs import packaged_sheet
from hwprices.units import Money

BURST = "Windows Server Burst"  # Windows for B sizes; "Windows Server" is for all others

OTHER_PRODUCTS = (
    r"^SQL Server .*(?:Linux|SLES|Red Hat)|^SQL Server(?: Azure Hybrid Benefit)?$|^BizTalk Server "
    r"|^SUSE .*(?:Priority|Basic|HPC|SQL)|^SUSE Linux Enterprise Server$|^RHEL |^Azure Red Hat "
    r"|^Canonical Ubuntu|^Ubuntu Advantage"
)
"""Products that are not composed: SQL Server on SLES and Ubuntu, other support and software."""

METER = r"^(\d{1,5})(?:-(\d{1,5})|(\+))?[ -]vCPU VM (?:License|Support)$"
OTHER_METERS = r"(?i)\b(?:BYOS|Free|vCore|Shared|XS|On Premises|Minimum Fee)\b"
"""Meters of licenses that the buyer brings, that are free, or that are not by vCPUs."""

MOST_VCPUS = 99_999

OPTIONS = ["on_demand", "spot", "savings_plan", "reserved"]
"""Purchase options with a license. Reservations paid upfront are left out: they cost the same as
those paid monthly, and the license is paid by the hour."""

BYOL_SYSTEMS = ["rhel", "sles"]
"""Operating systems whose subscription the buyer may bring:
https://learn.microsoft.com/azure/virtual-machines/linux/azure-hybrid-benefit-linux."""

LICENSED_BY = ["instance_type", "series", "arch", "vcpus", "vcpus_billed"]
"""The columns of instance_types that determine the licenses of a size."""

_KEY = ["product", "least", "most", "currency"]
_SOLD = ["instance_type", "currency", "base_os", "is_reserved", "os", "software"]


@dataclass(frozen=True)
class Licenses:
    """The listed licenses.

    ``fees`` has product, least and most (vCPUs), currency, price, sku_id and the origin columns.
    ``refused`` has the columns of the quarantine table. ``counts`` counts the items left out on
    purpose, by reason. ``holds_until`` is when the first item takes effect or ends.
    """

    fees: pl.DataFrame
    refused: pl.DataFrame
    counts: Mapping[str, int]
    holds_until: datetime | None


def read_licenses(pages: Pages) -> Licenses:
    """Read the license meters of a run.

    Raises:
        HwpricesError: a landed page was altered.
    """
    items = _classified(read_items(pages, ["global"], azure.is_license))
    counts = items.group_by("out_of_scope").len().drop_nulls().sort("out_of_scope")
    listed = items.filter(pl.col("out_of_scope").is_null())
    clashes = _clashes(listed.filter(pl.col("reason").is_null()))
    listed = listed.join(clashes, on=_KEY, how="left", maintain_order="left").with_columns(
        reason=pl.coalesce("reason", pl.when("clashes").then(pl.lit("duplicate_key")))
    )
    priced = listed.filter(pl.col("reason").is_null()).sort(*_KEY, "sku_id")
    fees = priced.unique(_KEY, keep="first", maintain_order=True)
    repeated = priced.height - fees.height
    quarantined = listed.filter(pl.col("reason").is_not_null()).with_columns(
        pl.lit("azure").alias("provider"), pl.lit(None, pl.String).alias("region")
    )
    message = prices.message("{}: {}, {}, {}", "reason", "productName", "meterName", "retailPrice")
    return Licenses(
        fees.select(*_KEY, "price", "sku_id", *ORIGIN),
        prices.refused(
            quarantined.lazy().select(*("provider", "region", *MEMBERS, *ORIGIN, "reason", "word")),
            table="prices",
            message=message,
        ).collect(),
        {
            **{f"out_of_scope:{why}": number for why, number in counts.iter_rows()},
            **({"out_of_scope:same_price_again": repeated} if repeated else {}),
        },
        items.select(next_change().min()).item(),
    )


def _clashes(fees: pl.DataFrame) -> pl.DataFrame:
    """List meters with the vCPUs of another meter at another price: _KEY and clashes (true).

    A meter for one number of vCPUs does not clash with one for a range, which it overrides.
    """
    is_band = pl.col("most") > pl.col("least")
    meters = fees.select(*_KEY, "price", is_band=is_band)
    pairs = meters.join(meters, on=["product", "currency", "is_band"], suffix="_2").filter(
        pl.col("price") != pl.col("price_2"),
        pl.col("least") <= pl.col("most_2"),
        pl.col("most") >= pl.col("least_2"),
    )
    return pairs.select(*_KEY, clashes=pl.lit(True)).unique()


def _classified(items: Items) -> pl.DataFrame:
    """Add the columns of ``Licenses.fees``, out_of_scope, reason and word."""
    product, meter, price = pl.col("product"), pl.col("meter"), pl.col("price")
    starts, ends = (time(pl.col(day)) for day in DATES)
    known = packaged_sheet("azure_licenses")["product"].to_list()
    band = meter.str.extract_groups(METER)
    least, last = band.struct.field("1").cast(pl.Int64), band.struct.field("2").cast(pl.Int64)
    scope = [
        (pl.col("serviceName").fill_null("") != azure.LICENSES, "another_service"),
        (product.str.contains(OTHER_PRODUCTS) & ~product.is_in(known), "license_not_composed"),
        (meter.str.contains(OTHER_METERS), "license_not_by_vcpus"),
        (price == 0, "license_of_the_buyer"),
        (pl.col("tierMinimumUnits").fill_null(0) > 0, "later_tier"),
        (ends <= pl.col("observed_at"), "expired"),
        (starts > pl.col("observed_at"), "not_yet_in_force"),
    ]
    refusals = [
        (pl.col("type").ne_missing("Consumption"), "unknown_price_type"),
        (~pl.col("unitOfMeasure").fill_null("").str.contains(HOUR), "unknown_unit"),
        (~product.is_in(known).fill_null(False), "unknown_license"),
        (~meter.str.contains(METER).fill_null(False), "unknown_option"),
        (pl.col("currency").is_null(), "no_currency"),
        (price.is_null(), "price_not_a_number"),
        (price < 0, "price_not_positive"),
        (pl.col("sku_id").is_null(), "sku_without_name"),
        *((pl.col(day).is_not_null() & time(pl.col(day)).is_null(), "no_date") for day in DATES),
    ]
    words = {
        "unknown_price_type": "type",
        "unknown_unit": "unitOfMeasure",
        "unknown_license": "product",
        "unknown_option": "meter",
    }
    return (
        items.rows.join(items.pages, on="page", how="left", maintain_order="left")
        .with_columns(
            tidy("productName").alias("product"),
            tidy("meterName").alias("meter"),
            pl.col("currencyCode").str.to_uppercase().alias("currency"),
            pl.col("retailPrice").alias("price"),
            pl.col("skuId").alias("sku_id"),
        )
        .with_columns(
            least.alias("least"),
            pl.when(band.struct.field("3").is_not_null())
            .then(pl.lit(MOST_VCPUS, pl.Int64))
            .otherwise(pl.coalesce(last, least))
            .alias("most"),
            first_reason(scope).alias("out_of_scope"),
            first_reason(refusals).alias("reason"),
        )
        .with_columns(
            word=pl.coalesce(
                pl.when(pl.col("reason") == reason).then(word) for reason, word in words.items()
            ),
            **{name: f"{name}_text" for name in AMOUNTS},
        )
    )


def license_lines(fees: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """List what each size pays for each system and software that it can run.

    ``sizes`` is instance_types. A size without a meter for its vCPUs has no line, and so no price.
    Returns a row per license: ``_SOLD``, component, price, sku_id, observed_at and raw_sha256.
    base_os is the system whose price the license is added to. is_reserved marks the licenses for
    reservations, which have no price with Windows.
    """
    vcpus = sizes.select(
        "instance_type",
        "arch",
        is_burst=pl.col("series").str.starts_with("B").fill_null(False),
        usable=pl.col("vcpus").cast(pl.Float64),
        parent=pl.coalesce("vcpus_billed", "vcpus").cast(pl.Float64),
    )
    named = fees.join(packaged_sheet("azure_licenses").drop("notes"), on="product")
    has_software = pl.col("software").is_not_null()
    is_both = has_software & pl.col("system").is_not_null()
    is_software = has_software & pl.col("system").is_null()
    is_for_arch = ~pl.col("x86_only") | (pl.col("arch").fill_null("x86_64") == "x86_64")
    # A constrained size has two numbers of vCPUs, so a meter for both products does not fit it.
    fits_both = ~is_both | (pl.col("usable") == pl.col("parent"))
    is_windows = (pl.col("system") == "windows").fill_null(False)
    paid = (
        vcpus.join(named, how="cross")
        .with_columns(vcpus=pl.when(is_software).then("usable").otherwise("parent"))
        .filter(pl.col("vcpus").is_between(pl.col("least"), pl.col("most")))
        .filter(
            fits_both
            & is_for_arch
            & (~is_windows | (pl.col("is_burst") == (pl.col("product") == BURST)))
        )
        # A meter for the exact number of vCPUs overrides one for a range.
        .sort("instance_type", "product", "currency", pl.col("most") - pl.col("least"), "least")
        .unique(["instance_type", "product", "currency"], keep="first", maintain_order=True)
        .drop("usable", "parent", "arch", "is_burst", "least", "most", "vcpus")
    )
    system_fees = paid.filter(~is_software)
    windows = system_fees.filter(is_windows).with_columns(os=pl.lit("windows"))
    sql = paid.filter(is_software).with_columns(os=pl.lit("windows"))
    with_windows = windows.drop("software").join(
        sql.select("instance_type", "currency", "software"),
        on=["instance_type", "currency"],
    )
    linux = system_fees.filter(~is_windows).with_columns(
        os="system", software=pl.col("software").fill_null("none")
    )
    return pl.concat(
        [
            _lines(linux, base_os="linux", is_reserved=False),
            _lines(linux, base_os="linux", is_reserved=True),
            _lines(
                windows.with_columns(software=pl.lit("none")), base_os="linux", is_reserved=True
            ),
            _lines(sql, base_os="windows", is_reserved=False),
            _lines(with_windows, base_os="linux", is_reserved=True),
            _lines(
                sql.join(windows, on=["instance_type", "currency"], how="semi"),
                base_os="linux",
                is_reserved=True,
                component="license_2",
            ),
        ]
    )


def _lines(
    lines: pl.DataFrame, *, base_os: str, is_reserved: bool, component: str = "license"
) -> pl.DataFrame:
    return lines.select(
        pl.lit(base_os).alias("base_os"),
        pl.lit(is_reserved).alias("is_reserved"),
        pl.lit(component).alias("component"),
        *("instance_type", "currency", "os", "software"),
        *("price", "sku_id", "observed_at", "raw_sha256"),
    )


def with_licenses(prices: pl.DataFrame, lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add licenses to the prices of a region.

    ``prices`` are rows of the prices table as Azure lists machines, ``lines`` comes from
    ``license_lines``. Returns additional rows of prices, and their rows of price_components.
    Windows is added to reservations of sizes that the region sells with Windows on demand.
    """
    is_reserved = pl.col("purchase_option") == "reserved"
    base = prices.filter(
        pl.col("purchase_option").is_in(OPTIONS)
        & (pl.col("payment_option") != "all_upfront")
        & (pl.col("tenancy") == "shared")
        & (pl.col("license_model") == "included")
        & pl.col("hourly").is_not_null()
    ).with_columns(is_reserved=is_reserved)
    fees = lines.group_by(_SOLD, maintain_order=True).agg(
        fee=pl.col("price").sum(), seen=pl.col("observed_at").min()
    )
    with_windows = base.filter(pl.col("os") == "windows")["instance_type"].unique()
    joined = (
        base.rename({"os": "base_os"})
        .drop("software", "price_id")
        .join(
            fees,
            on=["instance_type", "currency", "base_os", "is_reserved"],
            maintain_order="left_right",
        )
        .filter((pl.col("os") != "windows") | pl.col("instance_type").is_in(with_windows.implode()))
    )
    composed = price_rows(
        joined.lazy(),
        provider="azure",
        hourly=pl.col("hourly") + pl.col("fee"),
        basis="composed",
        sku_id=None,
        sku_price_id=None,
        observed_at=pl.min_horizontal("observed_at", "seen"),
    ).collect()
    is_byol = (
        pl.col("os").is_in(BYOL_SYSTEMS)
        & (pl.col("software") == "none")
        & (pl.col("purchase_option") != "spot")
    )
    byol = price_rows(
        joined.filter(is_byol).lazy(), provider="azure", license_model="byol", basis="derived"
    ).collect()
    parts = joined.with_columns(composed["price_id"])
    machines = parts.with_columns(component=pl.lit("instance"), price=pl.col("hourly"))
    licenses = parts.drop("sku_id", *ORIGIN).join(lines, on=_SOLD, maintain_order="left_right")
    columns = [
        *("price_id", "component", "provider", "region", "instance_type", "purchase_option"),
        *("price", "currency", "sku_id", "observed_at", "raw_sha256"),
    ]
    components = pl.concat(
        [
            machines.select(columns),
            licenses.with_columns(purchase_option=pl.lit("on_demand")).select(columns),
        ]
    ).rename({"price": "unit_price"})
    one_instance = {"quantity": pl.lit(1).cast(Money), "unit": pl.lit("instance")}
    rows = frames.conform(components.lazy().with_columns(**one_instance), PriceComponents)
    return pl.concat([composed, byol]), rows.collect()
