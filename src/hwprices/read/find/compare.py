"""Compare machine types side by side: specification and cheapest prices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import break_even, offers, request, words
from hwprices.read.find import search as searching
from hwprices.read.find.names import NamedMachine, ReleaseWords
from hwprices.read.find.options import Options
from hwprices.read.find.search import Search
from hwprices.read.overlays.rules import Discounts, Overlays, as_overlays
from hwprices.release.release import Release, Tables

SPECIFICATION = [
    *("provider", "instance_type", "arch", "vcpus", "physical_cores", "memory_gib"),
    *("accelerator_id", "accelerator_count", "accelerator_memory_gib"),
    *("accelerator_interconnect", "local_disk_gib", "network_gbps_max", "rdma"),
    *("block_storage_gbps_baseline", "block_storage_gbps_max", "block_storage_iops_baseline"),
    "block_storage_iops_max",
]

SHEET = ["memory_bandwidth_gbs", "fp16_dense_tflops", "bf16_dense_tflops", "fp8_dense_tflops"]
"""Columns of the accelerator's spec sheet, for one device."""

SIZES = ["vcpus", "memory_gib"]  # decide between machines with the same accelerators

PURCHASES = {
    "on_demand": pl.col("purchase_option") == "on_demand",
    "spot": pl.col("purchase_option") == "spot",
    "commitment_1y": pl.col("term_months") == 12,
    "commitment_3y": pl.col("term_months") == 36,
}
"""Purchase options: the condition on their prices."""

COMMITMENTS = [purchase for purchase in PURCHASES if purchase.startswith("commitment_")]

COMMITMENT_COLUMNS = ["purchase_option", "commitment_plan", "payment_option", break_even.COLUMN]
"""Columns of a commitment besides its price and region."""


@dataclass(frozen=True)
class MachineComparison:
    """Machines side by side, one a row, and notes on them.

    ``sheets``: the providers with a price sheet. The notes state its age for all their prices.
    """

    rows: pl.DataFrame
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()


def compare(
    dataset: Release,
    *names: str,
    equals: bool = False,
    overlays: Discounts = None,
    **options: Unpack[Options],
) -> MachineComparison:
    """Return one row for each machine: its specification and cheapest price by purchase option.

    Prices are USD for an hour of Linux on shared hardware in the regions that ``options`` name, or
    in any region. Each price has its region and whether it is stale; it is null if the release has
    none. A commitment also has its plan, and the share of hours from which it costs less than on
    demand in its region. ``Dataset.compare`` describes the arguments.

    Raises:
        HwpricesError: a name or an option is not understood, or there are fewer than two machines.
    """
    rules = as_overlays(overlays)
    vocabulary = ReleaseWords.of(dataset)
    machines, notes = words.resolve_machines(vocabulary, names)
    search = request.request(vocabulary, **options)
    answer = run(dataset, machines, search, equals=equals, overlays=rules)
    return replace(answer, notes=(*notes, *answer.notes))


def run(
    dataset: Release,
    machines: Sequence[NamedMachine],
    search: Search,
    *,
    equals: bool = False,
    overlays: Overlays | None = None,
) -> MachineComparison:
    """Compare machines as ``compare`` does, with a search instead of options."""
    others = nearest(comparable(dataset, search), machines[0]) if equals and machines else []
    chosen = list(dict.fromkeys([*machines, *others]))
    if len(chosen) < 2 and equals and machines:
        raise HwpricesError(
            f"no other cloud in this release has an equal of {machines[0].instance_type}",
            "Name the machines to compare it with.",
        )
    if len(chosen) < 2:
        raise HwpricesError(
            "there is nothing to compare", "Name two machine types or more, or one with --equals."
        )
    search = replace(search, machines=frozenset(chosen))
    answer = offers.run(dataset, search, overlays=overlays)
    prices = answer.rows
    table = pl.DataFrame(chosen, schema=["provider", "instance_type"], orient="row").join(
        specifications(dataset, frozenset(chosen)),
        on=["provider", "instance_type"],
        how="left",
        maintain_order="left",
    )
    cheapest = [_cheapest(prices.filter(condition)) for condition in PURCHASES.values()]
    shown = break_even.with_break_even(dataset, pl.concat(cheapest), search, overlays)
    for purchase, condition in PURCHASES.items():
        table = table.join(
            _prefixed(shown.filter(condition), purchase),
            on=["provider", "instance_type"],
            how="left",
            maintain_order="left",
        )
    notes = [*answer.notes]  # without prices, the reason
    if prices.height:
        notes = [*answer.currencies, *offers.notes_of(dataset, search, prices, shown)]
    notes += providers_without_equal(dataset, table) if equals else []
    return MachineComparison(table, tuple(notes), answer.sheets)


def specifications(dataset: Release, pairs: frozenset[tuple[str, str]]) -> pl.DataFrame:
    """Return the specification of each machine, and the SHEET columns of its accelerator."""
    rows = (
        searching.machine_types(dataset)
        .filter(searching.pairs("instance_type", pairs))
        .with_columns(accelerator_id=searching.only_accelerator())
    )
    present = rows.collect_schema()
    # a release that is older than a column has no figure for it
    types = rows.select(
        pl.col(name) if name in present else pl.lit(None, dtype=pl.Float64).alias(name)
        for name in SPECIFICATION
    )
    sheet = dataset.scan("accelerators").select(
        "accelerator_id", **{f"accelerator_{name}": pl.col(name) for name in SHEET}
    )
    return types.join(sheet, on="accelerator_id", how="left").collect()


def _cheapest(prices: pl.DataFrame) -> pl.DataFrame:
    known = prices.filter(pl.col("usd_per_hour").is_not_null())
    return (
        known.sort("usd_per_hour", "region", "price_id")
        .group_by("provider", "instance_type", maintain_order=True)
        .first()
    )


def _prefixed(prices: pl.DataFrame, purchase: str) -> pl.DataFrame:
    """Return the columns of a comparison, with the purchase option in their names."""
    columns = ["usd_per_hour", "region", "stale", "price_id"]
    if purchase in COMMITMENTS:
        columns += COMMITMENT_COLUMNS
    return prices.select(
        "provider", "instance_type", *(pl.col(name).alias(f"{purchase}_{name}") for name in columns)
    )


EQUAL_SIZE = (0.75, 3.0)
"""Lowest and highest ratio of an equal's vCPUs and memory to those of the machine. Otherwise, a
cloud with two machines in the release could have a 2-vCPU equal of a 40-vCPU machine."""


def nearest(types: pl.DataFrame, machine: NamedMachine) -> list[NamedMachine]:
    """Find the most similar machine of every other provider among the rows of ``comparable``.

    Candidates have a known price in any region, the same accelerators and number of accelerators,
    and the same instruction set. Without accelerators, both sizes must be known and within
    EQUAL_SIZE, and burstable machines are compared only with each other. With accelerators, a
    machine without a stated instruction set is a candidate too.

    The most similar candidate has the smallest sum of |log2(ratio)| of vCPUs and memory, then the
    lowest on-demand price, the smaller size, and the first name. Unknown sizes come last. The price
    of a machine without accelerators counts only if the vendor states whether it is burstable,
    because others sell shares of CPUs under their own names.

    Raises:
        HwpricesError: the machine has an accelerator that no spec sheet describes.
    """
    rows = types.filter(provider=machine.provider, instance_type=machine.instance_type)
    if rows.is_empty():
        return []
    row = rows.row(0, named=True)
    if row["has_accelerator"] and row["accelerator_id"] is None:
        raise HwpricesError(
            f"no spec sheet says which accelerator {machine.instance_type} has",
            "Name the machines to compare it with, without --equals.",
        )
    same_arch = pl.col("arch").eq_missing(row["arch"])
    if row["has_accelerator"]:
        same_arch |= pl.col("arch").is_null() | pl.lit(row["arch"] is None)
    unknown = pl.sum_horizontal(~_is_known(name) for name in SIZES)
    ratios = [_ratio(name, row[name]) for name in SIZES]
    alike = pl.all_horizontal(ratio.is_between(*EQUAL_SIZE).fill_null(False) for ratio in ratios)
    distance = pl.sum_horizontal(ratio.log(2).abs() for ratio in ratios).round(6)
    return [
        NamedMachine(provider, name)
        for provider, name in types.filter(
            "is_priced",
            same_arch,
            pl.col("provider") != machine.provider,
            pl.col("has_accelerator") == row["has_accelerator"],
            pl.col("accelerator_id").eq_missing(row["accelerator_id"]),
            pl.col("accelerator_count").eq_missing(row["accelerator_count"]),
            alike | pl.lit(row["has_accelerator"]),
            (pl.col("burstable") == pl.lit(row["burstable"], pl.Boolean)).fill_null(value=True),
        )
        .with_columns(
            unknown=unknown,
            distance=distance,
            price=pl.when(pl.col("burstable").is_not_null() | row["has_accelerator"]).then("price"),
        )
        .sort("provider", "unknown", "distance", "price", *SIZES, "instance_type", nulls_last=True)
        .unique("provider", keep="first", maintain_order=True)
        .select("provider", "instance_type")
        .iter_rows()
    ]


def comparable(dataset: Tables, search: Search) -> pl.DataFrame:
    """Return a row for each machine type with the columns that ``nearest`` compares.

    ``is_priced``: it has a price with the system, software, license and tenancy of ``search``.
    ``price``: its lowest on-demand price in USD per hour.
    """
    anywhere = Search(**{name: getattr(search, name) for name in searching.SYSTEM})
    key = ["provider", "instance_type"]
    in_usd = pl.col("effective_hourly").filter(purchase_option="on_demand", currency="USD")
    prices = searching.find(dataset, anywhere).group_by(key)
    sold = prices.agg(price=in_usd.min()).with_columns(is_priced=pl.lit(True))
    return (
        dataset.scan("instance_types")
        .select(
            *key,
            "arch",
            "burstable",
            *SIZES,
            accelerator_id=searching.only_accelerator(),
            accelerator_count=pl.col("accelerator_count").fill_null(0),
            has_accelerator=pl.col("accelerators").list.len().fill_null(0) > 0,
        )
        .join(sold, on=key, how="left")
        .with_columns(pl.col("is_priced").fill_null(False))
        .collect()
    )


def _is_known(name: str) -> pl.Expr:
    return (pl.col(name) > 0).fill_null(False)


def _ratio(name: str, size: float | None) -> pl.Expr:
    """Divide the column by the size of the machine; null if either is unknown."""
    return pl.when(_is_known(name)).then(pl.col(name) / pl.lit(size or None, pl.Float64))


def providers_without_equal(dataset: Release, compared: pl.DataFrame) -> list[str]:
    """List the providers that have no equal of the machine."""
    entries = dataset.release.providers.items()
    priced = [name for name, entry in entries if entry.rows.get("prices")]
    others = [name for name in priced if name not in set(compared["provider"])]
    first = compared.row(0, named=True)
    count, device = first["accelerator_count"] or 0, first["accelerator_id"]
    arch = f"{first['arch']}, " if first["arch"] else ""
    size = f"{arch}no accelerator and about the same vCPUs and memory"
    has = f"{count:g} × {device}" if device else size
    if not others:
        return []
    return [f"No price of a machine that is known to have {has} at {', '.join(others)}."]
