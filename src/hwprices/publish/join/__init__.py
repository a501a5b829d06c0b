"""Vendor tables × spec sheets → the tables a release derives: offers, regions, accelerators, and the sheets themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.publish.join import accelerators, benchmarks, machines, offers
from hwprices.rows import frames
from hwprices.schemas.offer import Offers
from hwprices.schemas.tables import SHEETS, TABLES
from hwprices.stage import validate

SHEETS_AS_THEY_ARE = ("cpus", "cpu_families", "local_hardware", "benchmarks", "power_coefficients")

TOGETHER = (
    ("latitude", "longitude"),
    ("grid_gco2e_per_kwh", "grid_year", "grid_source"),
    ("pue", "pue_year", "pue_source"),
    ("display_name",),
    ("country",),
    ("continent",),
    ("parent_region",),
)
"""Columns of regions that the sheet fills, in groups that come from one source: a figure never takes another's year."""


@dataclass(frozen=True)
class Joined:
    """Published tables by name, each checked against its model and sorted by key, and the accelerators without a sheet.

    ``unmatched``: provider, vendor_name, accelerator_id (null: no match for the name), instance_types (sorted).
    """

    tables: Mapping[str, pl.DataFrame]
    unmatched: tuple[Mapping[str, Any], ...]


def build(tables: Mapping[str, pl.LazyFrame], specs: Mapping[str, pl.DataFrame]) -> Joined:
    """Join the vendor tables of a release (missing ones count as empty) with the spec sheets (missing ones too).

    Only the prices that offers shows are read into memory.

    Raises:
        HwpricesError: a table does not keep its model's promises; a mistake in this module or in a sheet.
    """
    vendor = {
        name: tables[name] if name in tables else frames.empty(TABLES[name]).lazy()
        for name in ("regions", "instance_types", "availability", "prices", "component_prices")
    }
    sheet = {
        name: specs[name] if name in specs else frames.empty(SHEETS[name])
        for name in ("accelerators", *SHEETS_AS_THEY_ARE, "region_footprint")
    }
    places = regions(vendor["regions"], sheet["region_footprint"])
    types = machines.machines(
        vendor["instance_types"],
        sheet["accelerators"],
        sheet["cpus"],
        sheet["cpu_families"],
        sheet["power_coefficients"],
    )
    wide = build_offers(vendor["prices"], types, places, sheet["benchmarks"])
    devices = accelerators.accelerators(
        sheet["accelerators"],
        types=vendor["instance_types"],
        availability=vendor["availability"],
        offers=wide,
        components=vendor["component_prices"],
        local=sheet["local_hardware"],
    )
    made = {
        "regions": places,
        "accelerators": devices,
        "offers": wide,
        **{name: sheet[name] for name in SHEETS_AS_THEY_ARE},
    }
    checked = {name: validate.check(made[name], TABLES[name]) for name in TABLES if name in made}
    return Joined(checked, accelerators.unmatched(vendor["instance_types"], sheet["accelerators"]))


def regions(vendor: pl.LazyFrame, sheet: pl.DataFrame) -> pl.DataFrame:
    """regions with the sheet's geography, grid and PUE where the vendor says nothing; the vendor's own word stays."""
    key = ["provider", "region"]
    fills = [name for group in TOGETHER for name in group]
    both = vendor.collect().join(sheet.select(*key, *fills), on=key, how="left", suffix="_sheet")
    silent = {group: pl.all_horizontal(pl.col(group).is_null()) for group in TOGETHER}
    filled = [
        pl.when(silent[group]).then(f"{name}_sheet").otherwise(name).alias(name)
        for group in TOGETHER
        for name in group
    ]
    return both.with_columns(filled).drop(f"{name}_sheet" for name in fills)


def build_offers(
    prices: pl.LazyFrame, types: pl.DataFrame, places: pl.DataFrame, benchmark_sheet: pl.DataFrame
) -> pl.DataFrame:
    """offers: every machine that has a Linux price or the reason for none, in every region; one that no type list knows too."""
    wide = offers.side_by_side(offers.relevant(prices))
    here = places.select("provider", "region", "country", "pue", "grid_gco2e_per_kwh")
    frame = wide.join(types, on=["provider", "instance_type"], how="left").join(
        here, on=["provider", "region"], how="left"
    )
    frame = frame.with_columns(  # assumptions are columns of every row, also where the machine is not known
        pl.col("cpu_utilisation").fill_null(formulas.CPU_UTILISATION),
        pl.col("accelerator_utilisation").fill_null(formulas.ACCELERATOR_UTILISATION),
        pl.col("embodied_lifetime_hours").fill_null(float(formulas.EMBODIED_LIFETIME_HOURS)),
    )
    frame = benchmarks.with_measured(offers.derived(frame), benchmark_sheet).drop("uniform")
    return frames.conform(frame.lazy(), Offers).collect()
