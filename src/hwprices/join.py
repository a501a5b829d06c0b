"""Vendor tables × spec sheets → the tables a release derives: offers, regions, accelerators, and the sheets themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices import derive, frames, machines, measured, offers, validate
from hwprices.schemas import SHEETS, TABLES
from hwprices.schemas.offer import Offers, SoldAccelerators

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
        name: tables[name] if name in tables else frames.empty(TABLES[name]).lazy() for name in ("regions", "instance_types", "prices", "component_prices")
    }
    sheet = {name: specs[name] if name in specs else frames.empty(SHEETS[name]) for name in ("accelerators", *SHEETS_AS_THEY_ARE, "region_footprint")}
    places = regions(vendor["regions"], sheet["region_footprint"])
    types = machines.machines(vendor["instance_types"], sheet["accelerators"], sheet["cpus"], sheet["cpu_families"], sheet["power_coefficients"])
    wide = build_offers(vendor["prices"], types, places, sheet["benchmarks"])
    sold = sold_accelerators(sheet["accelerators"], vendor["instance_types"], wide, vendor["component_prices"], sheet["local_hardware"])
    made = {"regions": places, "accelerators": sold, "offers": wide, **{name: sheet[name] for name in SHEETS_AS_THEY_ARE}}
    checked = {name: validate.check(made[name], TABLES[name]) for name in TABLES if name in made}
    return Joined(checked, unmatched(vendor["instance_types"], sheet["accelerators"]))


def regions(vendor: pl.LazyFrame, sheet: pl.DataFrame) -> pl.DataFrame:
    """regions with the sheet's geography, grid and PUE where the vendor says nothing; the vendor's own word stays."""
    key = ["provider", "region"]
    fills = [name for group in TOGETHER for name in group]
    both = vendor.collect().join(sheet.select(*key, *fills), on=key, how="left", suffix="_sheet")
    silent = {group: pl.all_horizontal(pl.col(group).is_null()) for group in TOGETHER}
    filled = [pl.when(silent[group]).then(f"{name}_sheet").otherwise(name).alias(name) for group in TOGETHER for name in group]
    return both.with_columns(filled).drop(f"{name}_sheet" for name in fills)


def build_offers(prices: pl.LazyFrame, types: pl.DataFrame, places: pl.DataFrame, benchmarks: pl.DataFrame) -> pl.DataFrame:
    """offers: every machine that has a Linux price or the reason for none, in every region; one that no type list knows too."""
    wide = offers.side_by_side(offers.relevant(prices))
    here = places.select("provider", "region", "country", "pue", "grid_gco2e_per_kwh")
    frame = wide.join(types, on=["provider", "instance_type"], how="left").join(here, on=["provider", "region"], how="left")
    frame = frame.with_columns(  # assumptions are columns of every row, also where the machine is not known
        pl.col("cpu_utilisation").fill_null(derive.CPU_UTILISATION),
        pl.col("accelerator_utilisation").fill_null(derive.ACCELERATOR_UTILISATION),
        pl.col("embodied_lifetime_hours").fill_null(float(derive.EMBODIED_LIFETIME_HOURS)),
    )
    frame = measured.with_measured(offers.derived(frame), benchmarks).drop("uniform")
    return frames.conform(frame.lazy(), Offers).collect()


def sold_accelerators(sheet: pl.DataFrame, types: pl.LazyFrame, wide: pl.DataFrame, components: pl.LazyFrame, local: pl.DataFrame) -> pl.DataFrame:
    """The sheet with where each device is sold: providers, numbers of types and regions, cheapest prices, machines to buy."""
    inside = _inside(types).drop_nulls("accelerator_id").select("provider", "instance_type", "accelerator_id").unique().collect()
    parts = components.filter(pl.col("accelerator_id").is_not_null()).collect()
    have = ["accelerator_id", "provider", "region"]
    places = pl.concat(
        [
            wide.join(inside, on=["provider", "instance_type"], suffix="_inside").select(pl.col("accelerator_id_inside").alias(have[0]), *have[1:]),
            parts.select(have),
        ]
    )
    sellers = pl.concat([inside.select(have[:2]), parts.select(have[:2])]).group_by("accelerator_id").agg(pl.col("provider").unique().sort().alias("providers"))
    cheapest = wide.group_by("accelerator_id").agg(
        min_usd_per_accelerator_hour=pl.col("usd_per_accelerator_hour").min(), min_spot_usd_per_accelerator_hour=pl.col("spot_usd_per_accelerator_hour").min()
    )
    alone = (
        parts.filter(currency="USD", purchase_option="on_demand")
        .group_by("accelerator_id")
        .agg(min_part_usd_per_hour=derive.known_positive(pl.col("hourly").min()))
    )
    at_home = local.drop_nulls("accelerator_id").group_by("accelerator_id").agg(pl.col("device_id").sort().alias("local_devices"))
    counts = inside.group_by("accelerator_id").agg(instance_type_count=pl.len())
    regional = places.unique().group_by("accelerator_id").agg(region_count=pl.len())
    for found in (sellers, counts, regional, cheapest, alone, at_home):
        sheet = sheet.join(found, on="accelerator_id", how="left")
    sheet = sheet.with_columns(pl.col("providers", "local_devices").fill_null([]), pl.col("instance_type_count", "region_count").fill_null(0))
    return frames.conform(sheet.lazy(), SoldAccelerators).collect()


def _inside(types: pl.LazyFrame) -> pl.LazyFrame:
    """provider, instance_type and the fields of each of its accelerators; machines without one have no row."""
    devices = types.select("provider", "instance_type", "accelerators").filter(pl.col("accelerators").list.len() > 0)
    return devices.explode("accelerators").unnest("accelerators")


def unmatched(types: pl.LazyFrame, sheet: pl.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """Accelerators of instance_types without a spec sheet, for the release report, sorted."""
    known = pl.col("accelerator_id").is_in(sheet["accelerator_id"].implode()).fill_null(False)
    by = ["provider", "vendor_name", "accelerator_id"]
    found = _inside(types).filter(~known).group_by(by).agg(pl.col("instance_type").unique().sort().alias("instance_types"))
    return tuple(found.sort(by).collect().to_dicts())
