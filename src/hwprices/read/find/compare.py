"""Compare machine types side by side: what they have, and what they cost at best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import break_even, offers, request, words
from hwprices.read.find import search as searching
from hwprices.read.find.names import NamedMachine, ReleaseWords
from hwprices.read.find.options import Options
from hwprices.read.find.search import Search
from hwprices.release.release import Tables

if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays
    from hwprices.release.release import Release

SPECIFICATION = [
    *("provider", "instance_type", "arch", "vcpus", "physical_cores", "memory_gib"),
    *("accelerator_id", "accelerator_count", "accelerator_memory_gib"),
    *("accelerator_interconnect", "local_disk_gib", "network_gbps_max", "rdma"),
    *("block_storage_gbps_baseline", "block_storage_gbps_max", "block_storage_iops_baseline"),
    "block_storage_iops_max",
]

SHEET = ["memory_bandwidth_gbs", "fp16_dense_tflops", "bf16_dense_tflops", "fp8_dense_tflops"]
"""Columns of the accelerator's sheet, of one device."""

SIZES = ["vcpus", "memory_gib"]
"""What makes one machine with the same accelerators more like another."""

PURCHASES = {
    "on_demand": pl.col("purchase_option") == "on_demand",
    "spot": pl.col("purchase_option") == "spot",
    "commitment_1y": pl.col("term_months") == 12,
    "commitment_3y": pl.col("term_months") == 36,
}
"""Name of a purchase option: its prices. The cheapest of each is shown with its region."""

COMMITMENTS = [purchase for purchase in PURCHASES if purchase.startswith("commitment_")]

OF_COMMITMENT = ["purchase_option", "commitment_plan", "payment_option", break_even.COLUMN]
"""What a comparison says of a commitment beside its price and region."""


@dataclass(frozen=True)
class MachineComparison:
    """Machines side by side, one a row, and what to know about them.

    ``sheets``: providers with a price sheet, whose age the notes tell for all their prices.
    """

    rows: pl.DataFrame
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()


def compare(
    dataset: "Release",
    *names: str,
    equals: bool = False,
    overlays: "Overlays | None" = None,
    **options: Unpack[Options],
) -> MachineComparison:
    """Return one row for each machine: its specification and cheapest price by purchase option.

    Prices are USD for an hour of Linux on shared hardware, of the regions that ``options`` name, or
    of all, each with its region and whether it is stale. Null where the release has none. A
    commitment has its plan too, and the share of hours from which it costs less than on demand in
    its region.
    ``Dataset.compare`` describes the arguments.

    Raises:
        HwpricesError: a name or an option is not understood, or there are fewer than two machines.
    """
    vocabulary = ReleaseWords.of(dataset)
    chosen, named = words.resolve_machines(vocabulary, names)
    search = request.request(vocabulary, **options)
    found = of_search(dataset, chosen, search, equals=equals, overlays=overlays)
    return replace(found, notes=(*named, *found.notes))


def of_search(
    dataset: "Release",
    machines: Sequence[NamedMachine],
    search: Search,
    *,
    equals: bool = False,
    overlays: "Overlays | None" = None,
) -> MachineComparison:
    """Compare machines as ``compare`` does, by a search that was understood."""
    others = nearest(dataset, machines[0], search) if equals and machines else []
    chosen = list(dict.fromkeys([*machines, *others]))
    if len(chosen) < 2 and equals and machines:
        raise HwpricesError(
            f"no other cloud is known to have an equal of {machines[0].instance_type}",
            "Name the machines to compare it with.",
        )
    if len(chosen) < 2:
        raise HwpricesError(
            "there is nothing to compare", "Name two machine types or more, or one with --equals."
        )
    pairs = frozenset((machine.provider, machine.instance_type) for machine in chosen)
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
    cheapest = [_cheapest(prices.filter(condition)) for condition in PURCHASES.values()]
    shown = break_even.with_break_even(dataset, pl.concat(cheapest), search, overlays)
    for purchase, condition in PURCHASES.items():
        table = table.join(
            _named(shown.filter(condition), purchase),
            on=["provider", "instance_type"],
            how="left",
            maintain_order="left",
        )
    notes = [*answer.notes]  # with no prices, why
    if prices.height:
        notes = [*answer.currencies, *offers.notes_of(dataset, search, prices, shown)]
    notes += providers_without_equal(dataset, table) if equals else []
    return MachineComparison(table, tuple(notes), answer.sheets)


def specifications(dataset: "Release", pairs: frozenset[tuple[str, str]]) -> pl.DataFrame:
    """Return the specification of each machine, and the rates of its accelerator."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    rows = (
        searching.machine_types(dataset)
        .filter(searching.pairs("instance_type", pairs))
        .with_columns(accelerator_id=pl.when(pl.col("accelerators").list.len() == 1).then(first))
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


def _named(prices: pl.DataFrame, purchase: str) -> pl.DataFrame:
    """Return the columns of a comparison, named by the purchase option."""
    columns = ["usd_per_hour", "region", "stale", "price_id"]
    if purchase in COMMITMENTS:
        columns += OF_COMMITMENT
    return prices.select(
        "provider", "instance_type", *(pl.col(name).alias(f"{purchase}_{name}") for name in columns)
    )


LIKE_SIZE = (0.75, 3.0)
"""Share of the vCPUs and of the memory of a machine that its equal has: hardly less, and not many
times more. Sizes double, so that a complete list has a nearer one; a cloud of which the release has
two machines in a place would otherwise answer 40 vCPUs with 2."""


def nearest(dataset: Tables, machine: NamedMachine, search: Search) -> list[NamedMachine]:
    """Find the machine of every other provider that is most like this one.

    It has the same accelerators and as many (or none either) and the same instruction set. Of those
    it has the nearest vCPUs and memory: the least |log2| of the ratio of vCPUs plus that of memory,
    then the lowest price on demand, the smaller size, and the name. Without accelerators both sizes
    are known and within LIKE_SIZE, burstable machines are equals of each other alone, and the price
    decides only where a vendor says which are burstable: others sell shares of CPUs under names of
    their own. Clouds that sell accelerators often state no instruction set, which counts as the
    same, or no sizes: such a machine comes after those whose sizes are known. Only machines with a
    known price of the system and the tenancy that ``search`` asks for are looked at, in any region.

    Raises:
        HwpricesError: it has an accelerator, but no spec sheet says which.
    """
    return nearest_of(comparable(dataset, search), machine)


def nearest_of(types: pl.DataFrame, machine: NamedMachine) -> list[NamedMachine]:
    """Find the same among the machine types that ``comparable`` gave.

    Raises:
        HwpricesError: see ``nearest``.
    """
    like = types.filter(provider=machine.provider, instance_type=machine.instance_type)
    if like.is_empty():
        return []
    own = like.row(0, named=True)
    if own["has_accelerator"] and own["accelerator_id"] is None:
        raise HwpricesError(
            f"no spec sheet says which accelerator {machine.instance_type} has",
            "Name the machines to compare it with, without --equals.",
        )
    same_arch = pl.col("arch").eq_missing(own["arch"])
    if own["has_accelerator"]:
        same_arch |= pl.col("arch").is_null() | pl.lit(own["arch"] is None)
    unknown = pl.sum_horizontal(~_known(name) for name in SIZES)
    ratios = [_ratio(name, own[name]) for name in SIZES]
    alike = pl.all_horizontal(ratio.is_between(*LIKE_SIZE).fill_null(False) for ratio in ratios)
    distance = pl.sum_horizontal(ratio.log(2).abs() for ratio in ratios).round(6)
    return [
        NamedMachine(provider, name)
        for provider, name in types.filter(
            "is_priced",
            same_arch,
            pl.col("provider") != machine.provider,
            pl.col("has_accelerator") == own["has_accelerator"],
            pl.col("accelerator_id").eq_missing(own["accelerator_id"]),
            pl.col("accelerator_count").eq_missing(own["accelerator_count"]),
            alike | pl.lit(own["has_accelerator"]),
            (pl.col("burstable") == pl.lit(own["burstable"], pl.Boolean)).fill_null(value=True),
        )
        .with_columns(
            unknown=unknown,
            distance=distance,
            price=pl.when(pl.col("burstable").is_not_null() | own["has_accelerator"]).then("price"),
        )
        .sort("provider", "unknown", "distance", "price", *SIZES, "instance_type", nulls_last=True)
        .unique("provider", keep="first", maintain_order=True)
        .select("provider", "instance_type")
        .iter_rows()
    ]


def comparable(dataset: Tables, search: Search) -> pl.DataFrame:
    """Return what machine types are compared by, and whether they have a price (``is_priced``).

    ``price`` is the lowest in USD an hour on demand.
    """
    anywhere = Search(
        os=search.os,
        software=search.software,
        license_model=search.license_model,
        tenancy=search.tenancy,
    )
    key = ["provider", "instance_type"]
    in_usd = pl.col("effective_hourly").filter(purchase_option="on_demand", currency="USD")
    prices = searching.find(dataset, anywhere).group_by(key)
    sold = prices.agg(price=in_usd.min()).with_columns(is_priced=pl.lit(True))
    devices = pl.col("accelerators").list.len().fill_null(0)
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    return (
        dataset.scan("instance_types")
        .select(
            *key,
            "arch",
            "burstable",
            *SIZES,
            accelerator_id=pl.when(devices == 1).then(first),
            accelerator_count=pl.col("accelerator_count").fill_null(0),
            has_accelerator=devices > 0,
        )
        .join(sold, on=key, how="left")
        .with_columns(pl.col("is_priced").fill_null(False))
        .collect()
    )


def _known(name: str) -> pl.Expr:
    return (pl.col(name) > 0).fill_null(False)


def _ratio(name: str, own: float | None) -> pl.Expr:
    """Compute the ratio of a size to that of the machine; null where one is not known."""
    return pl.when(_known(name)).then(pl.col(name) / pl.lit(own or None, pl.Float64))


def providers_without_equal(dataset: "Release", compared: pl.DataFrame) -> list[str]:
    """List the providers that have no equal of the machine."""
    priced = [name for name, one in dataset.release.providers.items() if one.rows.get("prices")]
    others = [name for name in priced if name not in set(compared["provider"])]
    first = compared.row(0, named=True)
    count, device = first["accelerator_count"] or 0, first["accelerator_id"]
    arch = f"{first['arch']}, " if first["arch"] else ""
    size = f"{arch}no accelerator and about the same vCPUs and memory"
    has = f"{count:g} × {device}" if device else size
    if not others:
        return []
    return [f"No price of a machine that is known to have {has} at {', '.join(others)}."]
