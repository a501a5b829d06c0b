"""Where each accelerator of the sheet is sold, and which accelerators the clouds have that no sheet knows."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.rows import frames
from hwprices.schemas.offer import SoldAccelerators

BY = "accelerator_id"

NOT_OFFERED = "not_offered_here"  # flag of a price in a region where the vendor's own list does not have the machine


def accelerators(
    sheet: pl.DataFrame,
    *,
    types: pl.LazyFrame,
    availability: pl.LazyFrame,
    offers: pl.DataFrame,
    components: pl.LazyFrame,
    local: pl.DataFrame,
) -> pl.DataFrame:
    """The sheet with where each device is sold: providers, regions, number of types, cheapest prices, machines to buy."""
    inside = (
        inside_machines(types)
        .drop_nulls(BY)
        .select("provider", "instance_type", BY)
        .unique()
        .collect()
    )
    parts = components.filter(pl.col(BY).is_not_null()).collect()
    found = [
        pl.concat([inside.select(BY, "provider"), parts.select(BY, "provider")])
        .group_by(BY)
        .agg(providers=pl.col("provider").unique().sort()),
        inside.group_by(BY).agg(instance_type_count=pl.len()),
        _regions(inside, availability, offers, parts)
        .group_by(BY)
        .agg(regions=pl.col("place").unique().sort(), region_count=pl.col("place").n_unique()),
        offers.group_by(BY).agg(
            min_usd_per_accelerator_hour=pl.col("usd_per_accelerator_hour").min(),
            min_spot_usd_per_accelerator_hour=pl.col("spot_usd_per_accelerator_hour").min(),
        ),
        parts.filter(currency="USD", purchase_option="on_demand")
        .group_by(BY)
        .agg(min_part_usd_per_hour=formulas.known_positive(pl.col("hourly").min())),
        local.drop_nulls(BY).group_by(BY).agg(local_devices=pl.col("device_id").sort()),
    ]
    for frame in found:
        sheet = sheet.join(frame, on=BY, how="left")
    sheet = sheet.with_columns(
        pl.col("providers", "regions", "local_devices").fill_null([]),
        pl.col("instance_type_count", "region_count").fill_null(0),
    )
    return frames.conform(sheet.lazy(), SoldAccelerators).collect()


def _regions(
    inside: pl.DataFrame, availability: pl.LazyFrame, offers: pl.DataFrame, parts: pl.DataFrame
) -> pl.DataFrame:
    """accelerator_id, place (provider/region): where a vendor lists a machine with it, prices one it does not list elsewhere, or sells the part."""
    key = ["provider", "instance_type"]
    place = pl.concat_str("provider", "region", separator="/").alias("place")
    listed = (
        availability.filter("offered")
        .select(*key, "region")
        .unique()
        .join(inside.lazy(), on=key)
        .select(BY, place)
        .collect()
    )
    money = pl.col("on_demand_hourly", "^.*_usd_per_hour$")
    priced = offers.filter(
        pl.any_horizontal(money.is_not_null()), ~pl.col("flags").list.contains(NOT_OFFERED)
    )
    return pl.concat(
        [
            listed,
            priced.select(*key, "region").join(inside, on=key).select(BY, place),
            parts.select(BY, place),
        ]
    ).unique()


def inside_machines(types: pl.LazyFrame) -> pl.LazyFrame:
    """provider, instance_type and the fields of each of its accelerators; machines without one have no row."""
    devices = types.select("provider", "instance_type", "accelerators").filter(
        pl.col("accelerators").list.len() > 0
    )
    return devices.explode("accelerators").unnest("accelerators")


def unmatched(types: pl.LazyFrame, sheet: pl.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """Accelerators of instance_types without a spec sheet, for the release report, sorted."""
    known = pl.col(BY).is_in(sheet[BY].implode()).fill_null(False)
    by = ["provider", "vendor_name", BY]
    found = (
        inside_machines(types)
        .filter(~known)
        .group_by(by)
        .agg(pl.col("instance_type").unique().sort().alias("instance_types"))
    )
    return tuple(found.sort(by).collect().to_dicts())
