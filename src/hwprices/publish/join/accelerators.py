"""Find where each accelerator of the sheet is sold, and which accelerators have no sheet."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.release.real_prices import is_private_host
from hwprices.rows import frames
from hwprices.schemas.offer import SoldAccelerators

DEVICE = "accelerator_id"
MACHINE = ["provider", "instance_type"]

NOT_OFFERED = "not_offered_here"
"""Flag of a price in a region whose list of machines, from the vendor, lacks the machine."""


def accelerators(
    sheet: pl.DataFrame,
    *,
    types: pl.LazyFrame,
    availability: pl.LazyFrame,
    offers: pl.DataFrame,
    components: pl.LazyFrame,
    local: pl.DataFrame,
) -> pl.DataFrame:
    """Add to the accelerator sheet where each device is sold.

    ``sheet`` is the accelerator sheet, ``local`` the sheet of local hardware; ``types``,
    ``availability`` and ``components`` are the tables instance_types, availability and
    component_prices; ``offers`` is the offers table. Returns the published accelerators table: one
    row per device of the sheet.
    """
    machines = accelerators_of_machines(types).drop_nulls(DEVICE).select(*MACHINE, DEVICE)
    contained = machines.unique().collect()
    parts = components.filter(pl.col(DEVICE).is_not_null()).collect()
    additions = [
        _providers(contained, parts),
        contained.group_by(DEVICE).agg(instance_type_count=pl.len()),
        _regions(contained, availability, offers, parts),
        _cheapest_machines(offers),
        _cheapest_parts(parts),
        local.drop_nulls(DEVICE).group_by(DEVICE).agg(local_devices=pl.col("device_id").sort()),
    ]
    for addition in additions:
        sheet = sheet.join(addition, on=DEVICE, how="left")
    sheet = sheet.with_columns(
        pl.col("providers", "regions", "local_devices").fill_null([]),
        pl.col("instance_type_count", "region_count").fill_null(0),
    )
    return frames.conform(sheet.lazy(), SoldAccelerators).collect()


def _providers(contained: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and providers: who has it in a machine or sells it as a part."""
    sold = pl.concat([contained.select(DEVICE, "provider"), parts.select(DEVICE, "provider")])
    return sold.group_by(DEVICE).agg(providers=pl.col("provider").unique().sort())


def _cheapest_machines(offers: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and the lowest on-demand and spot price of one device in a machine.

    Community hosts do not count, because whether one is free is not known, nor do prices
    in regions that lack the machine.
    """
    lacks_machine = pl.col("flags").list.contains(NOT_OFFERED)
    return (
        offers.filter(~is_private_host(), ~lacks_machine)
        .group_by(DEVICE)
        .agg(
            min_usd_per_accelerator_hour=pl.col("usd_per_accelerator_hour").min(),
            min_spot_usd_per_accelerator_hour=pl.col("spot_usd_per_accelerator_hour").min(),
        )
    )


def _cheapest_parts(parts: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and the lowest on-demand price of one device sold as a part.

    The price of a slice is that of the cores and memory of a machine too.
    """
    is_slice = pl.col("component").str.starts_with("slice:")
    priced = parts.filter(~is_slice, currency="USD", purchase_option="on_demand")
    lowest = formulas.known_positive(pl.col("hourly").min())
    return priced.group_by(DEVICE).agg(min_part_usd_per_hour=lowest)


def _regions(
    contained: pl.DataFrame, availability: pl.LazyFrame, offers: pl.DataFrame, parts: pl.DataFrame
) -> pl.DataFrame:
    """Return accelerator_id, regions (provider/region, sorted) and region_count.

    A region counts where the vendor lists a machine with the device, prices one that no list
    excludes, or sells the device as a part. ``contained`` has provider, instance_type and
    accelerator_id.
    """
    name = pl.concat_str("provider", "region", separator="/").alias("name")
    listed = availability.filter("offered").select(*MACHINE, "region").unique()
    price_columns = pl.col("on_demand_hourly", "^.*_usd_per_hour$")
    priced = offers.filter(
        pl.any_horizontal(price_columns.is_not_null()),
        ~pl.col("flags").list.contains(NOT_OFFERED),
    )
    sold = pl.concat(
        [
            listed.join(contained.lazy(), on=MACHINE).select(DEVICE, name).collect(),
            priced.select(*MACHINE, "region").join(contained, on=MACHINE).select(DEVICE, name),
            parts.select(DEVICE, name),
        ]
    )
    return sold.group_by(DEVICE).agg(
        regions=pl.col("name").unique().sort(), region_count=pl.col("name").n_unique()
    )


def accelerators_of_machines(types: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per machine type and accelerator.

    ``types`` is instance_types. The columns are provider, instance_type and the fields of the
    accelerator; machines without accelerators have no row.
    """
    machines = types.select(*MACHINE, "accelerators")
    equipped = machines.filter(pl.col("accelerators").list.len() > 0)
    return equipped.explode("accelerators").unnest("accelerators")


def unmatched(types: pl.LazyFrame, sheet: pl.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """List the accelerators of instance_types that have no spec sheet, for the release report.

    Each has provider, vendor_name, accelerator_id (None: the name has no match) and instance_types;
    sorted by the first three.
    """
    has_sheet = pl.col(DEVICE).is_in(sheet[DEVICE].implode()).fill_null(False)
    by = ["provider", "vendor_name", DEVICE]
    missing = accelerators_of_machines(types).filter(~has_sheet).group_by(by)
    named = missing.agg(instance_types=pl.col("instance_type").unique().sort())
    return tuple(named.sort(by).collect().to_dicts())
