"""What an operating system adds to a machine: Windows Server, RHEL and SLES licences.

https://cloud.google.com/compute/disks-image-pricing#premiumimages: the same price everywhere and by every purchase option; no fee
for a licence of one's own (BYOL). Windows and RHEL are by vCPU, SLES by machine. Of several releases the newest is priced.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.gcp.inventory.instance_types import Machines
from hwprices.providers.gcp.prices.compose import SOLD, Composed
from hwprices.providers.gcp.prices.rates import Rates
from hwprices.units import Money

BY_VCPU = {"windows", "rhel", "rhel_sap"}
"""Licences whose SKU is for one vCPU; the others are for the machine. RHEL has been by vCPU since 2024-07-01."""

X86_ONLY = {"windows", "rhel_sap", "sles_sap"}
"""Images that Google offers for x86 machines only, https://cloud.google.com/compute/docs/images/os-details."""

LICENSED_OPTIONS = ("on_demand", "spot", "committed_use")

_SCHEMA: dict[str, Any] = {
    "instance_type": pl.String,
    "os": pl.String,
    "quantity": pl.Decimal(20, 10),
    "unit": pl.String,
    "price": pl.Decimal(20, 10),
    "sku_id": pl.String,
    "observed_at": pl.Datetime("us", "UTC"),
    "raw_sha256": pl.String,
}


@dataclass(frozen=True)
class Licensed:
    """``prices`` as in Composed with an ``os`` column, for all but Linux; ``components`` the licence's own line of each."""

    prices: pl.DataFrame
    components: pl.DataFrame
    refused: pl.DataFrame


def license(machines: Machines, rates: Rates, linux: Composed) -> Licensed:
    """Prices with a licence: each known Linux price plus the fee of each operating system the machine can run."""
    newest, doubtful = _newest(rates.licenses)
    fees = pl.DataFrame(list(_fees(machines, newest)), schema=_SCHEMA, orient="row")
    base = linux.prices.filter(
        pl.col("hourly").is_not_null() & pl.col("option").is_in(LICENSED_OPTIONS)
    )
    joined = base.join(
        fees.with_columns(fee=(pl.col("quantity") * pl.col("price")).cast(Money)),
        on="instance_type",
        suffix="_fee",
    )
    prices = joined.with_columns(hourly=(pl.col("hourly") + pl.col("fee")).cast(Money)).select(
        *base.columns, "os"
    )
    lines = joined.select(
        *SOLD,
        "os",
        "quantity",
        "unit",
        "price",
        "sku_id",
        "currency",
        observed_at="observed_at_fee",
        raw_sha256="raw_sha256_fee",
    )
    lines = lines.with_columns(component=pl.lit("license"), part_option=pl.lit("on_demand"))
    return Licensed(prices, lines, doubtful)


def _newest(licenses: pl.DataFrame) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """The newest release of each licence and vCPU band; two prices for one are refused."""
    band = ["part", "low", "high"]
    newest = licenses.filter(pl.col("version") == pl.col("version").max().over("part"))
    prices = pl.col("price").n_unique().over(band)
    chosen = (
        newest.filter(prices == 1)
        .sort("sku_id")
        .unique(band, keep="first", maintain_order=True)
        .sort(band)
    )
    return chosen.to_dicts(), newest.filter(prices > 1).with_columns(
        refused=pl.lit("ambiguous_sku")
    )


def _fees(machines: Machines, licenses: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for spec in machines.specs:
        if spec["series"].series == "tpu":  # TPU machines run Google's own Linux image
            continue
        for sku in _fitting(spec, licenses):
            system = sku["part"].split(":")[1]
            quantity, unit = (
                (Decimal(spec["vcpus"]), "vcpu")
                if system in BY_VCPU and sku["part"].count(":") == 1
                else (Decimal(1), "instance")
            )
            yield (
                spec["instance_type"],
                system,
                quantity,
                unit,
                sku["price"],
                sku["sku_id"],
                sku["observed_at"],
                sku["raw_sha256"],
            )


def _fitting(spec: dict[str, Any], licenses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The one SKU of each operating system that a machine pays: that of its own name, else that of its vCPU band."""
    fitting: dict[str, dict[str, Any]] = {}
    for sku in licenses:
        _, system, *only = sku["part"].split(":")
        wrong_arch = system in X86_ONLY and spec["arch"] != "x86_64"
        other_band = sku["high"] and not sku["low"] <= spec["vcpus"] <= sku["high"]
        if wrong_arch or other_band or (only and only[0] != spec["instance_type"]):
            continue
        if only or system not in fitting:
            fitting[system] = sku
    return list(fitting.values())
