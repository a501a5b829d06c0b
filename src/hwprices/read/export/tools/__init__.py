"""Write prices in the formats of other tools, and count the prices they cannot represent."""

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import polars as pl

from hwprices.errors import HwpricesError, cannot_write
from hwprices.read.export.tools import gpuhunt, kubernetes, skypilot
from hwprices.read.export.tools.catalog import Catalog, PricedMachines, machine_prices
from hwprices.read.find.options import Options
from hwprices.read.overlays.rules import Discounts, as_overlays
from hwprices.release.release import Release

LEFT_OUT = "left-out.csv"
"""File in each catalog: provider, reason and number of prices that its format cannot represent."""

FORMATS: dict[str, Callable[[PricedMachines], Catalog]] = {
    "gpuhunt": gpuhunt.catalog,
    "skypilot": skypilot.catalog,
    "opencost": kubernetes.opencost,
    "karpenter": kubernetes.karpenter,
}
"""Formats of ``--as``."""


def export_as(
    dataset: Release,
    name: str,
    folder: str | Path,
    *,
    overlays: Discounts = None,
    **options: Unpack[Options],
) -> Catalog:
    """Write the prices of a release as files of another tool, into a new folder.

    ``name``: gpuhunt, skypilot, opencost or karpenter. The file ``left-out.csv`` counts the other
    prices. Karpenter needs ``overlays`` or a commitment, because it reads list prices itself.
    ``options``: only these prices, as in ``find``.

    Raises:
        HwpricesError: there is no such format, the folder exists or cannot be written, an option is
            not understood, or Karpenter gets neither own discounts nor a commitment.
    """
    if name not in FORMATS:
        raise HwpricesError(f"{name!r} is not a format", f"Choose one of {', '.join(FORMATS)}.")
    target = Path(folder)
    if target.exists():
        raise HwpricesError(f"{target} is there already", "Give another name, or delete it.")
    catalog = FORMATS[name](machine_prices(dataset, as_overlays(overlays), **options))
    files = {**catalog.files, LEFT_OUT: catalog.left_out.write_csv().encode()}
    try:
        for path, content in files.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        raise cannot_write(target, error) from None
    return catalog


def reasons(left_out: pl.DataFrame) -> pl.DataFrame:
    """Count the left-out prices by reason, most first.

    Returns:
        The columns reason, providers (how many) and prices.
    """
    return (
        left_out.group_by("reason")
        .agg(pl.col("provider").n_unique().alias("providers"), pl.col("prices").sum())
        .sort("prices", "reason", descending=[True, False])
    )
