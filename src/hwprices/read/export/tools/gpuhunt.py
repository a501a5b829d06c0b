"""Catalogs of gpuhunt, the price list of dstack: for ``GPUHUNT_CATALOG_DIR`` and ``_URL``.

Columns and files: storage.py and catalog.py below src/gpuhunt/_internal of
https://github.com/dstackai/gpuhunt (MPL-2.0, commit 35841515, 2026-08-19).
"""

import io
import zipfile

import polars as pl

from hwprices.formulas import first_of
from hwprices.read.export.tools.catalog import (
    COUNT,
    HAS_ACCELERATOR,
    NOT_FOR_SALE,
    NOT_PLAIN_LINUX,
    OPTION,
    PLACE,
    UNCLEAR_MACHINE,
    Catalog,
    PricedMachines,
    accelerator_names,
    amount,
    csv,
    split,
)

PROVIDERS = {
    "aws": "aws",
    "azure": "azure",
    "gcp": "gcp",
    "lambda": "lambdalabs",
    "nebius": "nebius",
    "oracle": "oci",
    "runpod": "runpod",
    "verda": "verda",
}
"""gpuhunt's names of the providers with a catalog; gpuhunt asks other vendors itself."""

NAMES = accelerator_names("gpuhunt")
"""gpuhunt's names of accelerators, from constraints.py beside storage.py. Others are not in the
catalog."""

STARTABLE = ("aws", "azure", "gcp", "verda")
"""Providers whose machines and regions have the same names in hwprices and in their API."""

PRICE_ONLY = "price-only"
"""Flag of offers of other providers. ``query()`` returns them, but dstack does not start machines
with a flag that it does not know."""

NOT_COLLECTED = ("cloudrift",)
"""Empty catalogs: gpuhunt fails if they are missing."""

VENDOR = pl.col("accelerator_id").str.split("-").list.first()

IS_GRACE = pl.col("accelerator_id").str.contains(r"^nvidia-g[bh]\d")
"""GPUs on a board with an Arm CPU, whose spec sheets do not state the architecture."""

COLUMNS = {
    "instance_name": pl.col("instance_type"),
    "location": pl.coalesce("offered_in", "region"),
    "price": amount("effective_hourly"),
    "cpu": pl.col("vcpus"),
    "memory": pl.col("memory_gib"),
    "gpu_count": COUNT.cast(pl.Int32),
    "gpu_name": pl.col("accelerator_id").replace_strict(NAMES, default=None),
    "gpu_memory": pl.col("device_memory_gib"),
    "spot": pl.when(OPTION == "spot").then(pl.lit("True")).otherwise(pl.lit("False")),
    "disk_size": pl.lit(None, pl.String),
    "gpu_vendor": VENDOR,
    "flags": pl.when(~pl.col("provider").is_in(STARTABLE)).then(pl.lit(PRICE_ONLY)),
    "cpu_arch": first_of({"arm": IS_GRACE | (pl.col("arch") == "arm64")}, "x86"),
    "provider_data": pl.lit("{}"),
}

REASONS = (
    *NOT_FOR_SALE,
    *NOT_PLAIN_LINUX,
    (~pl.col("provider").is_in(list(PROVIDERS)), "gpuhunt asks this vendor itself, or never"),
    *UNCLEAR_MACHINE,
    (COUNT.floor() != COUNT, "a part of a GPU: gpuhunt counts whole ones"),
    (
        HAS_ACCELERATOR & ~pl.col("accelerator_id").is_in(list(NAMES)),
        "gpuhunt has no name for the accelerator",
    ),
    (HAS_ACCELERATOR & pl.col("device_memory_gib").is_null(), "GPU memory not stated"),
    (
        (pl.col("provider") == "gcp") & pl.col("offered_in").is_null(),
        "no zone is known to offer the machine: gpuhunt lists Google Cloud by zone",
    ),
)

ONE_PRICE = (
    (
        pl.col("effective_hourly").rank("ordinal").over(*PLACE, "purchase_option") > 1,
        "spot in further zones: gpuhunt has one price for a region, here the lowest",
    ),
)

DETAILS = (
    "price_id, source page and date of each price",
    "form factor of a GPU: SXM and PCIe have one name",
    "local disks, networks, and CPU models",
)


def catalog(prices: PricedMachines) -> Catalog:
    """Write ``<provider>.csv`` for the folder, ``<provider>/<version>/catalog.zip`` for the URL."""
    zones = prices.zones.filter(provider="gcp").select(*PLACE, offered_in="zone")
    first = zones.unique(PLACE, keep="first", maintain_order=True)
    rows = prices.rows.join(first, on=PLACE, how="left")
    kept, left_out = split(rows, REASONS, ONE_PRICE)
    by_zone = kept.drop("offered_in").join(zones, on=PLACE, how="left")
    # query() merges catalogs that are sorted by price
    by_zone = by_zone.sort("effective_hourly", "instance_type", "offered_in", "price_id")
    files = {}
    for provider, name in [*PROVIDERS.items(), *((name, name) for name in NOT_COLLECTED)]:
        content = csv(by_zone.filter(provider=provider), COLUMNS)
        files[f"{name}.csv"] = content
        files[f"{name}/version"] = prices.version.encode()
        files[f"{name}/{prices.version}/catalog.zip"] = _zipped(f"{name}.csv", content)
    return Catalog(files, kept.height, left_out, DETAILS)


def _zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
