"""Make rows of instance_types of sizes that have a price and that no list of sizes describes.

The bundled table lacks new and constrained sizes. Their names state the number of vCPUs
(https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions). A constrained size has
every other figure of its parent (https://learn.microsoft.com/azure/virtual-machines/constrained-vcpu).
Memory follows from the family where all listed sizes agree. Other figures are null.
"""

import polars as pl

from hwprices.providers.azure.inventory.size_names import Size, parse_size
from hwprices.rows import frames
from hwprices.schemas.inventory import InstanceTypes

OLDEST_VERSION = 3  # Sizes before it have numbers that are not their vCPUs: D15_v2 has 20
WITHOUT_ACCELERATORS = {"D", "DC", "E", "EC", "F", "FX", "L", "M"}

GIB_PER_VCPU = {"D": 4, "DC": 4, "F": 4, "E": 8, "L": 8}
"""Memory of x86 sizes: in all 553 that the bundled table has of these families (D, DC, E and F from
v5, L from v3; E up to LARGEST_OF_RATIO vCPUs). The naming rules say that l has less and m more."""

OF_FEATURE = {"l": 2, "m": 8}
OLDEST_OF_RATIO = 5

LARGEST_OF_RATIO = 64
"""vCPUs of a size of E or L up to which the ratio holds: E96s_v5 has 672 GiB, 7 for each."""

NOT_OF_PARENT = ["physical_cores", "network_gbps_max"]
"""Columns in which a constrained size differs from its parent, or may differ."""


def named_sizes(priced: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
    """Return rows of instance_types, one for each size whose name says what it is.

    ``priced`` has instance_type, observed_at and raw_sha256 of sizes with a price; ``listed`` is
    instance_types of the lists.
    """
    known = {row["instance_type"].lower(): row for row in listed.iter_rows(named=True)}
    newest = priced.sort("observed_at", "raw_sha256").unique("instance_type", keep="last")
    rows = []
    for page in newest.sort("instance_type").iter_rows(named=True):
        size = parse_size(page["instance_type"])
        if size is None or size.promo or page["instance_type"].lower() in known:
            continue
        parent = known.get(size.parent.lower()) if size.constrained else None
        if parent is not None:
            row = {**parent, **dict.fromkeys(NOT_OF_PARENT), "vcpus_billed": parent["vcpus"]}
        elif (size.version or 0) >= OLDEST_VERSION and size.family in WITHOUT_ACCELERATORS:
            row = {
                "provider": "azure",
                "family": size.series,
                "cpu_vendor": size.cpu_vendor,
                "vcpus_billed": size.vcpus,
                "memory_gib": memory_of_name(size),
                "accelerators": [],
                "accelerator_kind": "none",
                "accelerator_count": 0,
                "corrections": [],
            }
        else:
            continue
        own = {"series": size.series, "generation": size.generation, "spec_source": "name"}
        rows.append({**row, **page, **own, "vcpus": size.constrained or size.vcpus})
    return pl.DataFrame(rows, schema=frames.dtypes(InstanceTypes))


def memory_of_name(size: Size) -> float | None:
    """Return the memory in GiB that all listed sizes of the kind have for as many vCPUs."""
    ratio = GIB_PER_VCPU.get(size.family)
    is_too_large = size.family in ("E", "L") and size.vcpus > LARGEST_OF_RATIO
    is_too_old = size.family != "L" and (size.version or 0) < OLDEST_OF_RATIO
    if ratio is None or is_too_large or is_too_old or "p" in size.features or size.constrained:
        return None
    special = [OF_FEATURE[letter] for letter in size.features if letter in OF_FEATURE]
    return float(size.vcpus * (special[0] if special else ratio))
