"""Choose the prices that another tool can represent: on demand or spot, in US dollars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import polars as pl

from hwprices.read.currency import USD
from hwprices.read.export import files
from hwprices.read.find.options import Options
from hwprices.read.find.search import machine_types
from hwprices.read.overlays.rules import Overlays
from hwprices.read.past import option_conditions
from hwprices.release.release import Release
from hwprices.specs import packaged_rows

MACHINE = ["provider", "instance_type"]
PLACE = [*MACHINE, "region"]

Reason = tuple[pl.Expr, str | pl.Expr]
"""A condition under which a format cannot represent a price, and the reason."""


@dataclass(frozen=True)
class PricedMachines:
    """The prices of a release with their machines.

    ``rows`` has the columns of ``prices`` (with own discounts also ``list_effective_hourly`` and
    ``overlay``) and of the machine: vcpus, memory_gib, arch, kinds (number of kinds of
    accelerators), and for the first kind accelerator_id, count and device_memory_gib (of one
    accelerator). ``zones`` has one row for each zone that offers a machine: provider, region,
    instance_type, zone, zone_id. ``list_prices`` has the on-demand list prices of all machines in
    US dollars. ``options_requested``: the user chose purchase options.
    """

    rows: pl.DataFrame
    zones: pl.DataFrame
    list_prices: pl.LazyFrame
    version: str
    overlays: Overlays | None = None
    options_requested: bool = False


@dataclass(frozen=True)
class Catalog:
    """Prices in the format of a tool.

    ``files``: contents by path below the folder. ``exported``: number of prices in them.
    ``left_out``: provider, reason, prices. ``details``: what the format drops of exported prices.
    """

    files: Mapping[str, bytes]
    exported: int
    left_out: pl.DataFrame
    details: Sequence[str]


def machine_prices(
    dataset: Release, overlays: Overlays | None = None, **options: Unpack[Options]
) -> PricedMachines:
    """Read the prices that the options choose, with own discounts applied.

    Raises:
        HwpricesError: an option or a value is not understood.
    """
    first = pl.col("accelerators").list.first().struct
    machines = machine_types(dataset).select(
        *MACHINE,
        *("vcpus", "memory_gib", "arch"),
        kinds=pl.col("accelerators").list.len(),
        accelerator_id=first.field("accelerator_id"),
        count=first.field("count"),
        device_memory_gib="accelerator_gib",
    )
    rows = files.table(dataset, "prices", overlays).filter(option_conditions(dataset, options))
    names = dataset.scan("zones").select("provider", "region", "zone", "zone_id")
    zones = (
        dataset.scan("availability")
        .filter(pl.col("offered") & pl.col("zone").is_not_null())
        .select(*PLACE, "zone")
        .join(names, on=["provider", "region", "zone"], how="left")
    )
    on_demand = dataset.scan("prices").filter(
        purchase_option="on_demand", currency=USD, software="none", license_model="included"
    )
    return PricedMachines(
        rows.join(machines, on=MACHINE, how="left").sort("price_id").collect(),
        zones.unique().sort(pl.all()).collect(),
        on_demand,
        dataset.version,
        overlays,
        bool(options.get("option")),
    )


OPTION = pl.col("purchase_option")

NOT_FOR_SALE: Sequence[Reason] = (
    (
        pl.col("effective_hourly").is_null(),
        pl.format("no price: {}", pl.col("price_reason").fill_null("not stated")),
    ),
    (pl.col("flags").list.contains("placeholder"), "the vendor's placeholder, not a price"),
    (
        pl.col("flags").list.contains("not_offered_here"),
        "listed, but the region does not offer the machine",
    ),
)

NOT_PLAIN_LINUX: Sequence[Reason] = (
    (~OPTION.is_in(["on_demand", "spot"]), pl.format("purchase option {}", OPTION)),
    (pl.col("os") != "linux", pl.format("operating system {}", "os")),
    (pl.col("software") != "none", pl.format("software {}", "software")),
    (pl.col("license_model") != "included", pl.format("license {}", "license_model")),
    (pl.col("tenancy") != "shared", pl.format("tenancy {}", "tenancy")),
    (pl.col("currency") != USD, pl.format("currency {}", "currency")),
)
"""Reasons of formats with one price per machine, its plain price on Linux."""

COUNT = pl.col("count").fill_null(0)
HAS_ACCELERATOR = pl.col("kinds") > 0

UNCLEAR_MACHINE: Sequence[Reason] = (
    (pl.col("vcpus").is_null() | pl.col("memory_gib").is_null(), "vCPUs or memory not stated"),
    (pl.col("kinds") > 1, "several kinds of accelerators in one machine"),
    (
        HAS_ACCELERATOR & pl.col("accelerator_id").is_null(),
        "exact model of the accelerator not known",
    ),
)
"""Reasons of formats that list machines by size and accelerator."""


def split(rows: pl.DataFrame, *steps: Sequence[Reason]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split prices into the rows that a format can represent, and a count of the others.

    Each step checks the rows that the previous steps kept.

    Returns:
        The rows without a reason, and a count of the others: provider, reason (the first), prices.
    """
    left_out = []
    for reasons in steps:
        found = pl.coalesce(
            pl.lit(None, pl.String),
            *(
                pl.when(condition).then(pl.lit(text) if isinstance(text, str) else text)
                for condition, text in reasons
            ),
        )
        rows = rows.with_columns(found.alias("reason"))
        left_out.append(rows.filter(pl.col("reason").is_not_null()).select("provider", "reason"))
        rows = rows.filter(pl.col("reason").is_null()).drop("reason")
    counted = pl.concat(left_out).group_by("provider", "reason").agg(pl.len().alias("prices"))
    order = ["prices", "provider", "reason"]
    return rows, counted.sort(order, descending=[True, False, False])


def accelerator_names(tool: str) -> dict[str, str]:
    """Return a tool's names of accelerators, by accelerator_id."""
    rows = packaged_rows("tool_names")
    return {row["accelerator_id"]: row["name"] for row in rows if row["tool"] == tool}


def amount(price: str | pl.Expr) -> pl.Expr:
    """Format an exact amount without trailing zeros."""
    column = pl.col(price) if isinstance(price, str) else price
    return column.cast(pl.String).str.replace(r"\.?0+$", "")


def csv(rows: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> bytes:
    """Write rows as CSV; ``columns``: the expression of each column."""
    return rows.select(**columns).write_csv().encode()
