"""Landed pages into tables: no network, no clock.

Prices are selected over the whole provider at once: 200,000 items are one frame, and what is derived from them (hybrid benefit,
flags) joins them with themselves.
"""

from collections.abc import Iterator

import polars as pl

from hwprices.providers import Pages, Part
from hwprices.providers.azure.inventory import availability, instance_types, regions
from hwprices.providers.azure.prices import classify, rows
from hwprices.providers.azure.prices import items as wire
from hwprices.rows import quarantine


def normalise(pages: Pages) -> Iterator[Part]:
    """regions, zones, instance_types, availability and prices of a run, in this order.

    Raises:
        HwpricesError: a landed page is altered or is not what its endpoint answers.
    """
    skus = instance_types.read(pages)
    offered = availability.availability(skus.rows)
    items, found = wire.read(pages)
    table = wire.page_table(found)
    yield from _places(
        pages, offered, items.join(table, on="page", how="left", maintain_order="left")
    )
    yield Part(
        "instance_types",
        instance_types.instance_types(skus.rows),
        refused=skus.refused,
        counts=skus.out_of_scope,
    )
    yield Part("availability", offered)
    yield _prices(items, table, offered)


def _places(pages: Pages, offered: pl.DataFrame, items: pl.DataFrame) -> Iterator[Part]:
    locations = regions.read(pages)
    columns = ["region", "observed_at", "raw_sha256"]
    sold_in = items.with_columns(
        pl.col("armRegionName").str.strip_chars().str.to_lowercase().alias("region")
    )
    seen = pl.concat(
        [
            offered.select(columns).unique(maintain_order=True),
            sold_in.select(columns).unique(maintain_order=True),
        ]
    )
    others = locations.filter(~regions.is_public()).height
    yield Part(
        "regions",
        regions.regions(locations, seen),
        counts={"out_of_scope:logical_or_test_location": others} if others else {},
    )
    yield Part("zones", regions.zones(locations))


def _prices(items: pl.DataFrame, table: pl.DataFrame, offered: pl.DataFrame) -> Part:
    selected = classify.select(_spelled(items, offered), table)
    odd = rows.odd_plans(selected.chosen)
    wrong = [frame for frame in (_refused(selected.refused), _refused(odd)) if frame.height]
    return Part(
        "prices",
        rows.build(selected.chosen, table, offered),
        refused=pl.concat(wrong) if wrong else None,
        counts={f"out_of_scope:{reason}": count for reason, count in selected.out_of_scope.items()},
    )


def _refused(items: pl.DataFrame) -> pl.DataFrame:
    """Items with reason and message as quarantine rows; the item is kept as the vendor wrote it."""
    shown = [
        "provider",
        "region",
        *(name for name in wire.ITEM if name != "savingsPlan"),
        "observed_at",
        "source_url",
        "raw_sha256",
    ]
    return quarantine.refused(
        items.select(shown).lazy(),
        table="prices",
        reason=pl.lit(items["reason"]),
        message=pl.lit(items["message"]),
    ).collect()


def _spelled(items: pl.DataFrame, offered: pl.DataFrame) -> pl.DataFrame:
    """Items with armSkuName spelled as the list of sizes spells it: the two differ in case here and there."""
    spelling = (
        offered.select("instance_type")
        .unique()
        .with_columns(pl.col("instance_type").str.to_lowercase().alias("lower"))
        .unique("lower", keep="first")
    )
    named = items.with_columns(
        pl.col("armSkuName").str.strip_chars().str.to_lowercase().alias("lower")
    )
    joined = named.join(spelling, on="lower", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("instance_type", "armSkuName").alias("armSkuName")).drop(
        "lower", "instance_type"
    )
