"""Choose the prices that another tool can hold: on demand or spot, in US dollars.

An accelerator without a name in another tool is left out of its catalog. Names of gpuhunt:
src/gpuhunt/_internal/constraints.py of https://github.com/dstackai/gpuhunt (MPL-2.0, commit
35841515, 2026-08-19). Names of SkyPilot: catalogs/v8/common/accelerators.csv and the machine lists
of https://github.com/skypilot-org/skypilot-catalog (Apache-2.0).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import polars as pl

from hwprices.read.currency import USD
from hwprices.read.export import files
from hwprices.read.find.options import Options
from hwprices.read.find.search import machine_types
from hwprices.read.history.diff import asked

GPUHUNT = {
    "amd-mi100": "MI100",
    "amd-mi210": "MI210",
    "amd-mi250": "MI250",
    "amd-mi250x": "MI250X",
    "amd-mi300a": "MI300A",
    "amd-mi300x": "MI300X",
    "amd-mi308x": "MI308X",
    "amd-mi325x": "MI325X",
    "amd-mi350x": "MI350X",
    "amd-mi355x": "MI355X",
    "intel-gaudi1": "Gaudi",
    "intel-gaudi2": "Gaudi2",
    "intel-gaudi3": "Gaudi3",
    "nvidia-a10": "A10",
    "nvidia-a100-pcie-40gb": "A100",
    "nvidia-a100-pcie-80gb": "A100",
    "nvidia-a100-sxm4-40gb": "A100",
    "nvidia-a100-sxm4-80gb": "A100",
    "nvidia-a10g": "A10G",
    "nvidia-a16": "A16",
    "nvidia-a40": "A40",
    "nvidia-b200": "B200",
    "nvidia-b300": "B300",
    "nvidia-gb200": "GB200",
    "nvidia-gh200-96gb": "GH200",
    "nvidia-h100-nvl-94gb": "H100NVL",
    "nvidia-h100-pcie-80gb": "H100",
    "nvidia-h100-sxm5-80gb": "H100",
    "nvidia-h200-nvl": "H200NVL",
    "nvidia-h200-sxm": "H200",
    "nvidia-l4": "L4",
    "nvidia-l40": "L40",
    "nvidia-l40s": "L40S",
    "nvidia-p100": "P100",
    "nvidia-quadro-rtx-6000": "RTX6000",
    "nvidia-rtx-2080-ti": "RTX2080Ti",
    "nvidia-rtx-3070": "RTX3070",
    "nvidia-rtx-3090": "RTX3090",
    "nvidia-rtx-3090-ti": "RTX3090Ti",
    "nvidia-rtx-4080": "RTX4080",
    "nvidia-rtx-4090": "RTX4090",
    "nvidia-rtx-5080": "RTX5080",
    "nvidia-rtx-5090": "RTX5090",
    "nvidia-rtx-6000-ada": "RTX6000Ada",
    "nvidia-rtx-a4000": "A4000",
    "nvidia-rtx-a5000": "A5000",
    "nvidia-rtx-a6000": "A6000",
    "nvidia-rtx-pro-4500": "RTXPRO4500",
    "nvidia-rtx-pro-4500-server": "RTXPRO4500",
    "nvidia-rtx-pro-6000-max-q": "RTXPRO6000",
    "nvidia-rtx-pro-6000-server": "RTXPRO6000",
    "nvidia-rtx-pro-6000-workstation": "RTXPRO6000",
    "nvidia-t4": "T4",
    "nvidia-v100-pcie-16gb": "V100",
    "nvidia-v100-pcie-32gb": "V100",
    "nvidia-v100-sxm2-16gb": "V100",
    "nvidia-v100-sxm2-32gb": "V100",
    "nvidia-v100s-pcie-32gb": "V100",
}

SKYPILOT = {
    "amd-mi25": "Radeon MI25",
    "amd-v520": "Radeon Pro V520",
    "aws-inferentia1": "Inferentia",
    "aws-inferentia2": "Inferentia2",
    "aws-trainium1": "Trainium",
    "aws-trainium2": "Trainium2",
    "intel-gaudi1": "Gaudi HL-205",
    "nvidia-a10": "A10",
    "nvidia-a100-pcie-80gb": "A100-80GB",
    "nvidia-a100-sxm4-40gb": "A100",
    "nvidia-a100-sxm4-80gb": "A100-80GB",
    "nvidia-a10g": "A10G",
    "nvidia-b200": "B200",
    "nvidia-h100-nvl-94gb": "H100",
    "nvidia-h100-sxm5-80gb": "H100",
    "nvidia-h200-sxm": "H200",
    "nvidia-k80": "K80",
    "nvidia-l4": "L4",
    "nvidia-l40s": "L40S",
    "nvidia-m60": "M60",
    "nvidia-p100": "P100",
    "nvidia-rtx-pro-6000-server": "RTXPRO6000",
    "nvidia-t4": "T4",
    "nvidia-t4g": "T4g",
    "nvidia-v100-pcie-16gb": "V100",
    "nvidia-v100-sxm2-16gb": "V100",
    "nvidia-v100-sxm2-32gb": "V100-32GB",
}


if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays
    from hwprices.release.release import Release

MACHINE = ["provider", "instance_type"]
PLACE = [*MACHINE, "region"]

Reason = tuple[pl.Expr, str | pl.Expr]
"""A condition under which a format cannot hold a price, and why."""


@dataclass(frozen=True)
class PricedMachines:
    """Every price of a release beside its machine.

    ``rows`` has the columns of ``prices`` (with own discounts: ``list_effective_hourly`` and
    ``overlay``) and of the machine: vcpus, memory_gib, arch, kinds of accelerators, and of the
    first kind accelerator_id, count and memory_gib of one (``device_memory_gib``).
    ``zones`` has one row for each zone that offers a machine: provider, region, instance_type,
    zone, zone_id. ``list_prices`` has the on-demand list prices in US dollars, of all machines.
    ``options_requested``: the rows are those of the purchase options that were requested.
    """

    rows: pl.DataFrame
    zones: pl.DataFrame
    list_prices: pl.LazyFrame
    version: str
    overlays: "Overlays | None" = None
    options_requested: bool = False


@dataclass(frozen=True)
class Catalog:
    """What a format makes of the prices.

    ``files``: path below the folder: content. ``exported``: how many of the prices it holds.
    ``left_out``: provider, reason, prices. ``details``: what it drops of those that it holds.
    """

    files: Mapping[str, bytes]
    exported: int
    left_out: pl.DataFrame
    details: Sequence[str]


def machine_prices(
    dataset: "Release", overlays: "Overlays | None" = None, **options: Unpack[Options]
) -> PricedMachines:
    """Read the prices of a release that options choose, with own discounts if there are any.

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
    rows = files.table(dataset, "prices", overlays).filter(asked(dataset, options))
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
"""What formats of one price for a machine cannot tell from its plain price on Linux."""

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
"""What formats that list machines by their size and accelerator cannot hold."""


def split(rows: pl.DataFrame, *steps: Sequence[Reason]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split prices into those that a format can hold, and a count of the others.

    Each step looks at the rows that the steps before it left.

    Returns:
        The rows without a reason; and of the others provider, reason (the first), prices.
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


def amount(price: str | pl.Expr) -> pl.Expr:
    """Write an amount in full, without zeros at its end."""
    column = pl.col(price) if isinstance(price, str) else price
    return column.cast(pl.String).str.replace(r"\.?0+$", "")


def csv(rows: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> bytes:
    """Write rows as CSV with the columns of a format, each with the expression that fills it."""
    return rows.select(**columns).write_csv().encode()
