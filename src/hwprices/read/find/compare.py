"""Compare machine types side by side: what they have, and what they cost at best."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import machines, offers, request, words
from hwprices.read.find import search as searching
from hwprices.read.find.machines import Machine

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset
    from hwprices.read.overlays.rules import Overlays

SPECIFICATION = [
    "provider",
    "instance_type",
    "arch",
    "vcpus",
    "physical_cores",
    "memory_gib",
    "accelerator_id",
    "accelerator_count",
    "accelerator_memory_gib",
    "accelerator_interconnect",
    "local_disk_gib",
    "network_gbps_max",
    "rdma",
]

SHEET = ["memory_bandwidth_gbs", "fp16_dense_tflops", "bf16_dense_tflops", "fp8_dense_tflops"]
"""Columns of the accelerator's sheet, of one device."""

WAYS = {
    "on_demand": pl.col("purchase_option") == "on_demand",
    "spot": pl.col("purchase_option") == "spot",
    "commitment_1y": pl.col("term_months") == 12,
    "commitment_3y": pl.col("term_months") == 36,
}
"""Name of a way to buy: its prices. The cheapest of each is shown with its region."""


@dataclass(frozen=True)
class Comparison:
    """Machines side by side, one a row, and what to know about them."""

    rows: pl.DataFrame
    notes: tuple[str, ...]


def compare(
    dataset: "Dataset",
    *names: str,
    equals: bool = False,
    overlays: "Overlays | None" = None,
    **options: Any,
) -> Comparison:
    """Give one row for each machine: its specification and the cheapest price of each way to buy.

    Prices are USD for an hour of Linux on shared hardware, of the regions that ``options`` name, or
    of all. Null where the release has none.

    Args:
        dataset: the release.
        names: machine types, without case or the vendor's prefix.
        equals: add the nearest machine of every other provider to the first one.
        overlays: own discounts.
        options: those of ``request.Options``: region, country, continent, os, usd_per …

    Raises:
        HwpricesError: a name or an option is not understood, or there are fewer than two machines.
    """
    chosen = [machines.resolve(dataset, name) for name in names]
    if equals:
        chosen += nearest(dataset, chosen[0]) if chosen else []
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) < 2:
        raise HwpricesError(
            "there is nothing to compare", "Name two machine types or more, or one with --equals."
        )
    pairs = frozenset((machine.provider, machine.instance_type) for machine in chosen)
    given = {name: value for name, value in options.items() if value is not None}
    search = request.request(words.Vocabulary(dataset), **given)
    search = replace(search, machines=pairs)
    answer = offers.run(dataset, search, overlays=overlays)
    prices = answer.rows
    order = pl.DataFrame(
        [(machine.provider, machine.instance_type) for machine in chosen],
        schema=["provider", "instance_type"],
        orient="row",
    )
    table = order.join(
        specifications(dataset, pairs),
        on=["provider", "instance_type"],
        how="left",
        maintain_order="left",
    )
    for way, condition in WAYS.items():
        cheapest = _cheapest(prices.filter(condition), way)
        table = table.join(
            cheapest, on=["provider", "instance_type"], how="left", maintain_order="left"
        )
    notes = [*answer.notes, *(providers_without_equal(dataset, table) if equals else [])]
    return Comparison(table, tuple(notes))


def specifications(dataset: "Dataset", pairs: frozenset[tuple[str, str]]) -> pl.DataFrame:
    """Give the specification of each machine, and the rates of its accelerator."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    types = (
        dataset.scan("instance_types")
        .filter(searching.pairs("instance_type", pairs))
        .with_columns(accelerator_id=pl.when(pl.col("accelerators").list.len() == 1).then(first))
        .select(SPECIFICATION)
    )
    sheet = dataset.scan("accelerators").select(
        "accelerator_id", **{f"accelerator_{name}": pl.col(name) for name in SHEET}
    )
    return types.join(sheet, on="accelerator_id", how="left").collect()


def _cheapest(prices: pl.DataFrame, way: str) -> pl.DataFrame:
    known = prices.filter(pl.col("usd_per_hour").is_not_null())
    return (
        known.sort("usd_per_hour", "region", "price_id")
        .group_by("provider", "instance_type", maintain_order=True)
        .first()
        .select(
            "provider",
            "instance_type",
            pl.col("usd_per_hour").alias(f"{way}_usd_per_hour"),
            pl.col("region").alias(f"{way}_region"),
        )
    )


def nearest(dataset: "Dataset", machine: Machine) -> list[Machine]:
    """Find the machine of every other provider that is most like this one.

    It has the same accelerators and as many (or none either) and the same instruction set; of those
    the one with the nearest vCPUs and memory: the least |log2| of the ratio of vCPUs plus that of
    memory, then the name. Only machines that have a price are looked at.
    """
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    priced = dataset.scan("prices").select("provider", "instance_type").unique()
    types = (
        dataset.scan("instance_types")
        .with_columns(accelerator_id=first.fill_null(""))
        .select(
            "provider",
            "instance_type",
            "arch",
            "vcpus",
            "memory_gib",
            "accelerator_id",
            "accelerator_count",
        )
        .join(priced, on=["provider", "instance_type"], how="semi")
        .sort("provider", "instance_type")
        .collect()
    )
    own = types.filter(provider=machine.provider, instance_type=machine.instance_type)
    if own.is_empty():
        return []
    like = own.row(0, named=True)
    others = types.filter(
        pl.col("provider") != machine.provider,
        pl.col("accelerator_id") == like["accelerator_id"],
        pl.col("accelerator_count").fill_null(0) == (like["accelerator_count"] or 0),
        pl.col("arch").eq_missing(like["arch"]),
        pl.col("vcpus").is_not_null(),
        pl.col("memory_gib").is_not_null(),
    )
    best: dict[str, tuple[float, Machine]] = {}
    for row in others.iter_rows(named=True):
        distance = sum(
            abs(math.log2(row[name] / like[name])) for name in ("vcpus", "memory_gib") if like[name]
        )
        candidate = (distance, Machine(row["provider"], row["instance_type"]))
        if row["provider"] not in best or distance < best[row["provider"]][0]:
            best[row["provider"]] = candidate
    return [found for _, found in best.values()]


def providers_without_equal(dataset: "Dataset", compared: pl.DataFrame) -> list[str]:
    """Name the providers that have no equal of the machine."""
    others = [name for name in dataset.release.providers if name not in set(compared["provider"])]
    first = compared.row(0, named=True)
    count, device = first["accelerator_count"] or 0, first["accelerator_id"]
    has = f"{count:g} × {device}" if device else f"{first['arch']} and no accelerator"
    return [f"No machine with {has} and a price: {', '.join(others)}."] if others else []
