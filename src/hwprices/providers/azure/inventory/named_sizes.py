"""Make rows of instance_types of sizes that have a price and that no list of sizes describes.

The bundled table lacks new, old and constrained sizes. Their names state the number of vCPUs
(https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions). A constrained size has
every other figure of its parent (https://learn.microsoft.com/azure/virtual-machines/constrained-vcpu).
Memory is what a page of Microsoft's states (the sheet azure_sizes), or follows from the family
where all listed sizes agree. Other figures are null.
"""

import polars as pl

from hwprices.providers.azure.inventory.accelerators import AcceleratorSheet, accelerators_of
from hwprices.providers.azure.inventory.size_names import Size, parse_size
from hwprices.rows import frames
from hwprices.rows.accelerators import accelerator_totals
from hwprices.schemas.inventory import InstanceTypes

NUMBERED = {"A", "D", "DS", "G", "GS", "SQLG"}
OLDEST_NAMED = 3
"""Before this version these families number their sizes: D15_v2 has 20 vCPUs, G5 has 32. The other
1,387 names of the bundled table state the vCPUs, except F64-16ams_v7: its parent has 80."""

STATED = ["instance_type", "vcpus", "memory_gib"]

GIB_PER_VCPU = {"D": 4, "DC": 4, "F": 4, "E": 8, "L": 8}
"""Memory per vCPU of x86 sizes. It is that of all 553 sizes of these families in the bundled table
(D, DC, E and F from v5; E and L up to LARGEST_OF_RATIO vCPUs). The naming rules say that l has less
and m more."""

OF_FEATURE = {"l": 2, "m": 8}
OLDEST_OF_RATIO = 5

LARGEST_OF_RATIO = 64
"""vCPUs of a size of E or L up to which the ratio holds: E96s_v5 has 672 GiB, 7 for each."""

NOT_OF_PARENT = ["physical_cores", "network_gbps_max"]
"""Columns in which a constrained size differs from its parent, or may differ."""


def named_sizes(
    priced: pl.DataFrame, listed: pl.DataFrame, sheet: AcceleratorSheet, stated: pl.DataFrame
) -> pl.DataFrame:
    """Return rows of instance_types, one for each size that no list has.

    ``priced`` has instance_type, observed_at and raw_sha256 of sizes with a price; ``listed`` is
    instance_types of the lists, ``stated`` the sheet azure_sizes. Names that do not follow the
    rules, such as those of dedicated hosts, get no row.
    """
    known = {row["instance_type"].lower(): row for row in listed.iter_rows(named=True)}
    figures = {name: values for name, *values in stated.select(STATED).iter_rows()}
    newest = priced.sort("observed_at", "raw_sha256").unique("instance_type", keep="last")
    rows = []
    for page in newest.sort("instance_type").iter_rows(named=True):
        size = parse_size(page["instance_type"])
        if size is None or size.promo or page["instance_type"].lower() in known:
            continue
        parent = known.get(size.parent.lower()) if size.constrained else None
        if parent is not None:
            row = {**parent, **dict.fromkeys(NOT_OF_PARENT), "vcpus_billed": parent["vcpus"]}
        else:
            devices, kind = accelerators_of(size.name, None, sheet)
            is_numbered = size.family in NUMBERED and (size.version or 0) < OLDEST_NAMED
            of_name = [None if is_numbered else size.vcpus, memory_of_name(size)]
            vcpus, memory = figures.get(size.parent, of_name)
            row = {
                "provider": "azure",
                "family": size.series,
                "cpu_vendor": size.cpu_vendor,
                "vcpus_billed": vcpus,
                "memory_gib": memory,
                "accelerators": devices,
                "accelerator_kind": kind,
                "corrections": [],
            }
        own = {"series": size.series, "generation": size.generation, "spec_source": "name"}
        rows.append({**row, **page, **own, "vcpus": size.constrained or row["vcpus_billed"]})
    table = pl.DataFrame(rows, schema=frames.dtypes(InstanceTypes))
    return table.with_columns(accelerator_totals())


def memory_of_name(size: Size) -> float | None:
    """Return the memory in GiB that all listed sizes of the kind have for as many vCPUs."""
    ratio = GIB_PER_VCPU.get(size.family)
    is_too_large = size.family in ("E", "L") and size.vcpus > LARGEST_OF_RATIO
    is_too_old = size.family != "L" and (size.version or 0) < OLDEST_OF_RATIO
    if ratio is None or is_too_large or is_too_old or "p" in size.features or size.constrained:
        return None
    special = [OF_FEATURE[letter] for letter in size.features if letter in OF_FEATURE]
    return float(size.vcpus * (special[0] if special else ratio))
