"""Compose the Linux price of every machine from its parts, and add licenses to it.

``hourly = Σ quantity × unit price``, for each region and purchase option of the machine. Sums
are complete: if a part has no price, the machine has none, and price_reason names the part. All
work is joins of frames, because there are 36,000 pairs of type and zone and 40,000 SKUs.

https://cloud.google.com/compute/disks-image-pricing#premiumimages: a license costs the same in
every region and for every purchase option, and a license of the buyer (BYOL) has no fee. Windows
and RHEL are billed by vCPU, SLES and SQL Server by machine. The newest release is priced.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import polars as pl

from hwprices.providers.gcp.classify import SERVERLESS
from hwprices.providers.gcp.grammar import CONTINENTS, OPEN_BAND_TO
from hwprices.providers.gcp.machine_type import ComponentId, Machines, MachineType
from hwprices.providers.gcp.skus import SkuCatalog
from hwprices.rows.frames import ORIGIN
from hwprices.units import HOURS_PER_MONTH, Money, Timestamp

RATE_KEY = ["region", "series", "component_id", "purchase_option", "term_months"]


@dataclass(frozen=True)
class Rates:
    """The prices of components.

    ``rates`` has one row per ``RATE_KEY``, with the other columns of ``skus.SkuCatalog`` and
    ``is_highest``: whether other SKUs of the same rank have a lower price. ``licenses`` has the
    license SKUs, which are the same in every region.
    """

    rates: pl.DataFrame
    licenses: pl.DataFrame


def build_rates(catalog: SkuCatalog) -> Rates:
    """Choose one SKU for each region, series, component, purchase option and term.

    A SKU of the region overrides one of a continent or of several regions. If the remaining SKUs
    disagree, Google bills the most expensive: in us-east4, M1 is listed under Virginia and Northern
    Virginia, https://github.com/vantage-sh/ec2instances.info/pull/964.
    """
    is_license = pl.col("series") == "license"
    is_wide = (pl.col("regions").list.len() > 1) | pl.col("place").is_in(CONTINENTS)
    components = catalog.components.filter(~is_license).with_columns(is_wide=is_wide)
    components = components.explode("regions").rename({"regions": "region"})
    is_narrowest = pl.col("is_wide") == pl.col("is_wide").min().over(RATE_KEY)
    rates = highest(components.filter(is_narrowest).drop("is_wide"), RATE_KEY)
    return Rates(rates, catalog.components.filter(is_license))


def highest(skus: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Keep the most expensive SKU of each key, and add ``is_highest``: another one costs less.

    Prices are compared per hour and our unit: 0.03 per hour is more than 0.03 per month of 730
    hours.
    """
    hours = pl.when(pl.col("per") == "month").then(HOURS_PER_MONTH).otherwise(1)
    hourly = (pl.col("price") * pl.col("sku_units") / hours.cast(Money)).cast(Money)
    ranked = skus.with_columns(hourly=hourly).sort(["hourly", "sku_id"], descending=[True, False])
    ranked = ranked.with_columns(is_highest=pl.col("hourly").n_unique().over(key) > 1)
    return ranked.unique(key, keep="first", maintain_order=True).drop("hourly")


OFFER_KEY = ["region", "instance_type", "purchase_option", "term_months"]
"""An offer: a machine type in a region, with a purchase option.

While prices are composed, the column ``offer`` is its number: grouping and joining by one number
takes a fraction of the time that four columns take.
"""

RATE_COLUMNS = [
    *RATE_KEY,
    *("price", "per", "sku_units", "is_highest", "sku_id", "currency", "effective_from"),
    *ORIGIN,
]

LINE_COLUMNS = [
    *("offer", *OFFER_KEY, "component", "component_option"),
    *("quantity", "unit", "price", "sku_id", "currency"),
    *ORIGIN,
]


@dataclass(frozen=True)
class MachinePrices:
    """Prices of machines without a license.

    ``prices`` has offer, OFFER_KEY, commitment_plan, hourly (null with price_reason), flags,
    effective_from, currency and the columns of ``frames.origin``. ``components`` has one row per
    part of each known price, with LINE_COLUMNS; component_option is on_demand for a part that
    cannot be committed.
    """

    prices: pl.DataFrame
    components: pl.DataFrame


def compose(
    machines: Machines,
    rates: Rates,
    faults: Mapping[str, str],
    unfetched: Mapping[str, str] = MappingProxyType({}),
) -> MachinePrices:
    """Price every machine type in every region where a zone offers it.

    ``faults``: machine types without a price, because a part is unknown → reason. ``unfetched``:
    kinds of parts whose SKU catalog was not fetched → reason why their prices are null.

    A purchase option exists for a type in a region if its main part (slice, GPU, TPU, instance or
    core) has a SKU for it. On demand exists for all types that are not listed as not sold, so that
    a missing SKU shows as a null price. Under a commitment, parts that cannot be committed stay at
    their on-demand price and the row has the flag ``uncommitted_parts``. If several SKUs price a
    part, it has the flag ``higher_of_two_skus``.
    """
    lines = _price_lines(machines, rates)
    lines = lines.join(_existing_offers(lines, machines), on="offer", how="semi")
    lines = _add_cost(lines)
    prices = _sum_lines(lines, faults, unfetched)
    priced = prices.filter(pl.col("hourly").is_not_null()).select("offer")
    return MachinePrices(prices, lines.select(LINE_COLUMNS).join(priced, on="offer", how="semi"))


def _price_lines(machines: Machines, rates: Rates) -> pl.DataFrame:
    """Return one row per part of each type, region and option, with its rate or nulls.

    The options are those of all rates, and on demand.
    """
    offered = machines.offers.select("region", "instance_type").unique()
    option = ["purchase_option", "term_months"]
    on_demand = pl.DataFrame([("on_demand", 0)], rates.rates.select(option).schema, orient="row")
    options = pl.concat([on_demand, rates.rates.select(option)]).unique().sort(option)
    offers = offered.join(options, how="cross").with_row_index("offer")
    parts = offers.join(machines.parts, on="instance_type")
    # Vertex AI has no SKU for local SSD and does not bill it (see classify).
    is_serverless = pl.col("purchase_option") == SERVERLESS
    parts = parts.filter(~(is_serverless & (pl.col("kind") == "local_ssd")))
    rate = rates.rates.select(RATE_COLUMNS)
    lines = parts.join(rate, on=RATE_KEY, how="left")
    lines = lines.with_columns(component_option=pl.col("purchase_option"))
    # Only a commitment leaves some parts on demand; a machine is spot or scheduled with all parts.
    stays_on_demand = (
        (pl.col("purchase_option") == "committed_use") & pl.col("price").is_null() & ~pl.col("main")
    )
    uncommitted = lines.filter(stays_on_demand).select(parts.columns)
    return pl.concat([lines.filter(~stays_on_demand), _at_on_demand(uncommitted, rate, lines)])


def _at_on_demand(parts: pl.DataFrame, rate: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return the parts at their on-demand rate, with the columns of ``lines``."""
    on_demand = rate.filter(pl.col("purchase_option") == "on_demand")
    on_demand = on_demand.drop("purchase_option", "term_months")
    priced = parts.join(on_demand, on=["region", "series", "component_id"], how="left")
    return priced.with_columns(component_option=pl.lit("on_demand")).select(lines.columns)


def _existing_offers(lines: pl.DataFrame, machines: Machines) -> pl.DataFrame:
    """Return the offers that exist."""
    has_sku = pl.col("price").is_not_null()
    exists = pl.col("main") & (has_sku | (pl.col("purchase_option") == "on_demand"))
    offered = lines.filter(exists).select("offer", *OFFER_KEY).unique("offer")
    return offered.join(machines.unsold, on=["instance_type", "purchase_option"], how="anti")


def _add_cost(lines: pl.DataFrame) -> pl.DataFrame:
    """Add the hourly cost of each line, and convert the quantity to the SKU's unit.

    A monthly price is for 730 hours, so one hour uses 1/730 of the unit. Memory sold by the decimal
    gigabyte is converted: 8 GiB are 8.589934592 GB.
    """
    is_monthly = pl.col("per") == "month"
    is_by_gb = pl.col("sku_units") != 1
    gigabytes = (pl.col("quantity") * pl.col("sku_units")).cast(Money)
    sold = pl.when(is_by_gb).then(gigabytes).otherwise(pl.col("quantity"))
    hourly_share = sold / pl.lit(HOURS_PER_MONTH).cast(Money)
    quantity = pl.when(is_monthly).then(hourly_share).otherwise(sold).cast(Money)
    unit = pl.when(is_by_gb).then(pl.lit("gb")).otherwise(pl.col("unit"))
    unit = pl.when(is_monthly).then(unit + "_month").otherwise(unit)
    cost = (pl.col("quantity") * pl.col("price")).cast(Money)
    return lines.with_columns(quantity=quantity, unit=unit).with_columns(cost=cost)


def _sum_lines(
    lines: pl.DataFrame, faults: Mapping[str, str], unfetched: Mapping[str, str]
) -> pl.DataFrame:
    """Return one row per offer. A line without a price, or a fault, makes the sum null."""
    reason = pl.coalesce(_look_up("kind", unfetched), pl.col("kind") + "_sku_missing")
    unpriced = lines.filter(pl.col("price").is_null())
    reasons = unpriced.group_by("offer").agg(
        reason.unique().sort().str.join(",").alias("price_reason")
    )
    # A price has the page of its main part; rows of price_components have the pages of theirs.
    main_first = lines.sort("main", "component", descending=[True, False])
    sums = main_first.group_by("offer").agg(
        pl.col(OFFER_KEY).first(),
        pl.col("cost").sum().alias("total"),
        (pl.col("component_option") != pl.col("purchase_option")).any().alias("uncommitted"),
        pl.col("is_highest").any(),
        pl.col("effective_from").max(),
        pl.col("currency").drop_nulls().first(),
        pl.col("observed_at").min(),
        pl.col("source_url").drop_nulls().first(),
        pl.col("raw_sha256").drop_nulls().first(),
    )
    sums = sums.join(reasons, on="offer", how="left")
    sums = sums.with_columns(
        price_reason=pl.coalesce(_look_up("instance_type", faults), "price_reason")
    )
    complete = pl.col("price_reason").is_null()
    is_committed = pl.col("purchase_option") == "committed_use"
    flags = pl.concat_list(
        pl.when(complete & pl.col("is_highest")).then(pl.lit("higher_of_two_skus")),
        pl.when(complete & pl.col("uncommitted")).then(pl.lit("uncommitted_parts")),
    )
    return sums.with_columns(
        hourly=pl.when(complete).then(pl.col("total")).cast(Money),
        flags=flags.list.drop_nulls(),
        commitment_plan=pl.when(is_committed).then(pl.lit("resource")),
    ).drop("total", "uncommitted", "is_highest")


def _look_up(column: str, values: Mapping[str, str]) -> pl.Expr:
    """Map the cells of a column; null for cells without a value."""
    return pl.col(column).replace_strict(
        list(values), list(values.values()), default=None, return_dtype=pl.String
    )


BILLED_BY_VCPU = {"windows", "rhel", "rhel_sap"}
"""Licenses with a price per vCPU; the others are per machine. RHEL has been billed by vCPU since
2024-07-01."""

SQL_SERVER = ("sql_ent", "sql_std", "sql_web")
"""Licenses of software in images with Windows:
https://cloud.google.com/compute/docs/instances/sql-server."""

X86_ONLY = {"windows", "rhel_sap", "sles_sap", *SQL_SERVER}
"""Images for x86 machines only, https://cloud.google.com/compute/docs/images/os-details."""

USAGE_UNIT = "h"
"""The unit of a license: an hour of a vCPU or of the machine. All licenses of the sample have it;
others are refused."""

LICENSED_OPTIONS = ("on_demand", "spot", "committed_use")

_FEES_SCHEMA: dict[str, Any] = {
    "instance_type": pl.String,
    "os": pl.String,
    "quantity": Money,
    "unit": pl.String,
    "price": Money,
    "is_highest": pl.Boolean,
    "sku_id": pl.String,
    "observed_at": Timestamp,
    "raw_sha256": pl.String,
}


@dataclass(frozen=True)
class LicensedPrices:
    """Prices of machines with licenses, in the columns of ``MachinePrices``, os and software.

    ``components`` has only the licenses' lines of each price. ``refused`` has the license SKUs that
    are not per hour or contradict each other.
    """

    prices: pl.DataFrame
    components: pl.DataFrame
    refused: pl.DataFrame


@dataclass(frozen=True)
class _License:
    """One license SKU, for machines of ``min_vcpus`` to ``max_vcpus`` (all if both are 0)."""

    component: ComponentId
    min_vcpus: int
    max_vcpus: int
    price: Decimal
    is_highest: bool
    sku_id: str
    observed_at: datetime
    raw_sha256: str

    @property
    def is_by_vcpu(self) -> bool:
        """Whether the price is per vCPU; a shared-core machine's license never is."""
        return self.component.name in BILLED_BY_VCPU and not self.component.variant

    def fits(self, machine: MachineType) -> bool:
        """Check whether the machine can run the system and pays this SKU for it."""
        if self.component.name in X86_ONLY and machine.arch != "x86_64":
            return False
        if self.component.variant and self.component.variant != machine.name:
            return False
        vcpus = machine.vcpus or 0
        return not self.max_vcpus or self.min_vcpus <= vcpus <= self.max_vcpus


def add_licenses(machines: Machines, rates: Rates, linux: MachinePrices) -> LicensedPrices:
    """Add the license's fee to each known Linux price, for each system the machine can run."""
    newest, refused = _newest_releases(rates.licenses)
    fees = _fees(machines, newest)
    is_licensed = pl.col("hourly").is_not_null() & pl.col("purchase_option").is_in(LICENSED_OPTIONS)
    base = linux.prices.filter(is_licensed)
    lines = _lines(fees)
    sold = ["instance_type", "os", "software"]
    totals = lines.group_by(sold, maintain_order=True).agg(
        fee=(pl.col("quantity") * pl.col("price")).cast(Money).sum(),
        is_highest=pl.col("is_highest").any(),
    )
    joined = base.join(totals, on="instance_type")
    is_highest = pl.when("is_highest").then(pl.lit("higher_of_two_skus"))
    prices = joined.with_columns(
        hourly=(pl.col("hourly") + pl.col("fee")).cast(Money),
        flags=pl.concat_list("flags", is_highest)
        .list.drop_nulls()
        .list.unique(maintain_order=True),
    )
    components = (
        joined.select("offer", *OFFER_KEY, "os", "software", "currency")
        .join(lines, on=sold)
        .select(
            *("offer", *OFFER_KEY, "os", "software", "component"),
            *("quantity", "unit", "price", "sku_id", "currency", "observed_at", "raw_sha256"),
            component_option=pl.lit("on_demand"),
        )
    )
    return LicensedPrices(prices.select(*base.columns, "os", "software"), components, refused)


def _lines(fees: pl.DataFrame) -> pl.DataFrame:
    """Return the licenses of each machine, system and software: ``fees``, software and component.

    SQL Server has two lines: its own, and that of Windows.
    """
    is_sql = pl.col("os").is_in(SQL_SERVER)
    systems = fees.filter(~is_sql).with_columns(
        software=pl.lit("none"), component=pl.lit("license")
    )
    windows = systems.filter(os="windows")
    sql = (
        fees.filter(is_sql)
        .join(windows, on="instance_type", how="semi")
        .with_columns(software="os", os=pl.lit("windows"), component=pl.lit("license_2"))
    )
    with_sql = windows.drop("software").join(
        sql.select("instance_type", "software"), on="instance_type"
    )
    return pl.concat([systems, with_sql.select(systems.columns), sql.select(systems.columns)])


def _newest_releases(skus: pl.DataFrame) -> tuple[list[_License], pl.DataFrame]:
    """Return the newest release of each license and vCPU band, and the SKUs refused.

    SKUs that are not per hour, and SKUs whose bands overlap at different prices, are refused; no
    older release replaces them. If a license and band has several SKUs, the most expensive is used.
    """
    band = ["component_id", "min_vcpus", "max_vcpus"]
    newest = skus.filter(pl.col("version") == pl.col("version").max().over("component_id"))
    is_hourly = (pl.col("usage_unit") == USAGE_UNIT).fill_null(False)
    hourly = highest(newest.filter(is_hourly), band).sort(band)
    clashes = _clashes(hourly)
    chosen = hourly.join(clashes, on=band, how="anti", maintain_order="left")
    refused = [
        newest.filter(~is_hourly).with_columns(
            refused=pl.lit("unknown_unit"), word=pl.col("usage_unit")
        ),
        hourly.join(clashes, on=band, how="semi").with_columns(refused=pl.lit("duplicate_key")),
    ]
    figures = ("price", "is_highest", "min_vcpus", "max_vcpus")
    columns = (*figures, "sku_id", "observed_at", "raw_sha256")
    licenses = [
        _License(ComponentId.parse(row["component_id"]), **{name: row[name] for name in columns})
        for row in chosen.iter_rows(named=True)
    ]
    return licenses, pl.concat(refused, how="diagonal_relaxed")


def _clashes(skus: pl.DataFrame) -> pl.DataFrame:
    """List the keys of bands that overlap another band of the license at another price."""
    band = ["component_id", "min_vcpus", "max_vcpus"]
    most = pl.when(pl.col("max_vcpus") == 0).then(OPEN_BAND_TO).otherwise("max_vcpus")
    bands = skus.select(*band, "price", most=most)
    return (
        bands.join(bands, on="component_id", suffix="_2")
        .filter(
            pl.col("price") != pl.col("price_2"),
            pl.col("min_vcpus") <= pl.col("most_2"),
            pl.col("most") >= pl.col("min_vcpus_2"),
        )
        .select(band)
        .unique()
    )


def _fees(machines: Machines, licenses: Sequence[_License]) -> pl.DataFrame:
    """Return the hourly cost of the license, one row per machine and operating system."""
    rows = [
        {
            "instance_type": machine.name,
            "os": license_.component.name,
            "quantity": Decimal(machine.vcpus or 0) if license_.is_by_vcpu else Decimal(1),
            "unit": "vcpu" if license_.is_by_vcpu else "instance",
            "price": license_.price,
            "is_highest": license_.is_highest,
            "sku_id": license_.sku_id,
            "observed_at": license_.observed_at,
            "raw_sha256": license_.raw_sha256,
        }
        for machine in machines.types
        for license_ in _licenses_of(machine, licenses)
    ]
    return pl.DataFrame(rows, schema=_FEES_SCHEMA)


def _licenses_of(machine: MachineType, licenses: Sequence[_License]) -> Iterator[_License]:
    """Yield the one SKU per operating system that a machine pays.

    A SKU with the machine's name overrides one of its vCPU band. TPU machines run Google's Linux
    image and pay none.
    """
    if machine.series.name == "tpu":
        return
    chosen: dict[str, _License] = {}
    for license_ in licenses:
        if license_.fits(machine):
            system = license_.component.name
            if license_.component.variant or system not in chosen:
                chosen[system] = license_
    yield from chosen.values()
