"""Add licenses to the price of machines: Windows Server, RHEL, SLES, and SQL Server on Windows.

https://cloud.google.com/compute/disks-image-pricing#premiumimages: a license costs the same
everywhere and by every purchase option, and a license of your own (BYOL) has no fee.
Windows and RHEL are billed by vCPU, SLES and SQL Server by machine. Of several releases the newest
is priced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.gcp.component_id import ComponentId
from hwprices.providers.gcp.inventory.machine_type import Machines, MachineType
from hwprices.providers.gcp.prices.compose import OFFER_KEY, MachinePrices, Rates, highest
from hwprices.providers.gcp.prices.vocabulary import OPEN_BAND_TO
from hwprices.units import Money, Timestamp

BILLED_BY_VCPU = {"windows", "rhel", "rhel_sap"}
"""Licenses whose SKU is for one vCPU; the others are for the machine.

RHEL has been billed by vCPU since 2024-07-01.
"""

SQL_SERVER = ("sql_ent", "sql_std", "sql_web")
"""Licenses that are software, in images with Windows:
https://cloud.google.com/compute/docs/instances/sql-server."""

X86_ONLY = {"windows", "rhel_sap", "sles_sap", *SQL_SERVER}
"""Images for x86 machines only, https://cloud.google.com/compute/docs/images/os-details."""

USAGE_UNIT = "h"
"""The unit of a license: an hour of a vCPU or of the machine. Of another it is not known what it
counts; all licenses of the sample have this one."""

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

    ``components`` has only the licenses' own lines of each price. ``refused`` has the license SKUs
    that are not for an hour or contradict each other.
    """

    prices: pl.DataFrame
    components: pl.DataFrame
    refused: pl.DataFrame


@dataclass(frozen=True)
class _License:
    """One license SKU, for machines of ``min_vcpus`` to ``max_vcpus`` (for all if both are 0)."""

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
        """Whether the price is for one vCPU; a shared-core machine's license never is."""
        return self.component.name in BILLED_BY_VCPU and not self.component.variant

    def fits(self, machine: MachineType) -> bool:
        """Return whether the machine can run the system and pays this SKU for it."""
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

    SKUs are refused that are not for an hour, and those whose bands overlap at different prices; no
    older release replaces them. Of several SKUs for one license and band the most expensive counts.
    """
    band = ["component_id", "min_vcpus", "max_vcpus"]
    newest = skus.filter(pl.col("version") == pl.col("version").max().over("component_id"))
    is_hourly = (pl.col("usage_unit") == USAGE_UNIT).fill_null(False)
    of_band = highest(newest.filter(is_hourly), band).sort(band)
    clashes = _clashes(of_band)
    chosen = of_band.join(clashes, on=band, how="anti", maintain_order="left")
    refused = [
        newest.filter(~is_hourly).with_columns(
            refused=pl.lit("unknown_unit"), word=pl.col("usage_unit")
        ),
        of_band.join(clashes, on=band, how="semi").with_columns(refused=pl.lit("duplicate_key")),
    ]
    figures = ("price", "is_highest", "min_vcpus", "max_vcpus")
    columns = (*figures, "sku_id", "observed_at", "raw_sha256")
    licenses = [
        _License(ComponentId.parse(row["component_id"]), **{name: row[name] for name in columns})
        for row in chosen.iter_rows(named=True)
    ]
    return licenses, pl.concat(refused, how="diagonal_relaxed")


def _clashes(skus: pl.DataFrame) -> pl.DataFrame:
    """List the bands of a license that overlap another one at another price: the key of each."""
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
    """Return one row for each machine and operating system: what its license costs an hour."""
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
    """Yield the one SKU of each operating system that a machine pays.

    A SKU of the machine's own name goes before one of its vCPU band. TPU machines run Google's own
    Linux image and pay none.
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
