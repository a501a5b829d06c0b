"""Compute what the machines of a bill cost on other clouds, or with another purchase option."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.bill import formats as line_keys
from hwprices.read.bill.formats import KEY
from hwprices.read.bill.prices import AMOUNT
from hwprices.read.bill.readers import BillLines
from hwprices.read.currency import Rates, read_rates, usd_per
from hwprices.read.find import break_even, offers, request
from hwprices.read.find.compare import comparable, nearest
from hwprices.read.find.names import NamedMachine, ReleaseWords
from hwprices.read.find.search import Search
from hwprices.release.release import Release

SYSTEM = ["os", "software", "tenancy"]
MACHINE = ["provider", "region", "instance_type", *SYSTEM, "option_now"]
SIZES = ("vcpus", "memory_gib", "local_disk_gib")

COLUMNS = (
    *(*MACHINE, *SIZES, "lines", "hours", "cost_now", "usd_per_hour_now"),
    *("on", "machine_there", "region_there", *(f"{size}_there" for size in SIZES)),
    *("option", "commitment_plan", "term_months", "usd_per_hour_there", "cost_there"),
    *(break_even.COLUMN, "gco2e_now", "gco2e_there", "price_id", "why_not"),
)
"""Columns of ``Repricing.rows``."""

ASSUMED = (
    "An equal machine of another cloud has the same number of the same accelerators, the same"
    " instruction set, and the nearest vCPUs and memory (without accelerators between three"
    " quarters and three times each, and burstable only if the other is); rows show both sizes.",
    "Hours are those of the bill: the other machine takes as long for the work.",
    "Local disks, network speed and your own discounts there are not compared; disks, data"
    " transfer and services stay where they are.",
)

HYBRID_BENEFIT = (
    "Azure bills Windows under Azure Hybrid Benefit as the machine without Windows: such lines are"
    " priced as Linux there, without the license."
)


@dataclass(frozen=True)
class Repricing:
    """What the machines of a bill cost elsewhere. Amounts are in USD.

    Attributes:
        totals: one row per target: the cost of the complete bill, the current cost of the machine
            hours with a price there (``cost_now``), their cost there (``cost_there``), and the cost
            of what could not be moved (``cost_machines_left``, ``cost_other``). gCO2e covers only
            the ``lines_with_gco2e``.
        rows: one row per machine and target, with both sizes, hourly prices, price_id,
            break_even_utilisation and gCO2e.
        left: what could not be moved, and why.
        assumed: the assumptions of the answer.
    """

    totals: pl.DataFrame
    rows: pl.DataFrame
    left: pl.DataFrame
    assumed: tuple[str, ...]


def reprice(
    dataset: Release,
    bill: BillLines,
    *,
    on: Sequence[str] = (),
    option: str = "on_demand",
    region: Sequence[str] = (),
    rates: Mapping[str, object] | None = None,
) -> Repricing:
    """Compute what the machines of a bill cost elsewhere; see ``Bill.reprice``."""
    words = ReleaseWords.of(dataset)
    parsed = read_rates(rates or {})
    on = request.split(on)
    search = request.request(
        words, provider=on or None, option=option, region=list(region) or None, usd_per=parsed
    )
    usage, other = _usage(dataset, bill, parsed)
    if not on:
        search = replace(search, providers=frozenset(usage["provider"]))
    offered, without_rate = _offered(dataset, usage, search)
    notes = [
        f"Offers in {currency} are left out: add --usd-per {currency}=…"
        for currency in without_rate
    ]
    if usage.filter(provider="azure", os="linux").height:
        notes.append(HYBRID_BENEFIT)
    targets = _targets(dataset, usage, offered, on, search)
    rows = _priced(dataset, usage, targets, offered, search)
    return Repricing(
        totals=_totals(usage, other, rows),
        rows=rows,
        left=_left(rows, other),
        assumed=(*notes, *ASSUMED),
    )


col = pl.col

NOT_MOVED = (
    (col.category != "usage", pl.format("{} (not usage)", "category")),
    (~col.is_use, pl.lit("unused part of a commitment")),
    (col.is_unstated, pl.lit("covered by a commitment whose cost the bill does not state")),
    (col.type.is_null(), pl.format("{}: no machine", col.service.fill_null("no service"))),
    (col.instance_type.is_null(), pl.format("{}: unknown machine type", "type")),
    (col.os.is_null(), pl.format("{}: no operating system stated", "type")),
    (col.license_model == "byol", pl.format("{}: with your own license", "type")),
    (col.hours.is_null(), pl.format("{}: unit {}", "type", col.unit.fill_null("none"))),
    (col.quantity == 0, pl.format("{}: no hours stated", "type")),
)
"""Why a line of a bill cannot be moved; the first condition that holds counts."""


def _usage(dataset: Release, bill: BillLines, rates: Rates) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Sum hours and cost in USD of each machine, and the cost of everything else.

    A line that a commitment covers costs its share of the commitment's fee, and Google's lines
    what their credits leave.
    """
    if bill.currency != "USD" and bill.currency not in rates:
        raise HwpricesError(
            f"the bill is in {bill.currency}, and prices are compared in USD",
            f"Give a rate: --usd-per {bill.currency}=…",
        )
    kinds = line_keys.distinct(bill.lines)
    spread = pl.col("commitment").is_not_null() | (pl.col("option") == "committed")
    spread = spread.fill_null(False)
    net = pl.coalesce("effective", "billed") + pl.col("unused").fill_null(0)
    cost = pl.when(spread | (pl.col("provider") == "gcp")).then(net).otherwise("billed")
    is_use = (pl.col("category") == "usage") & (
        pl.col("commitment_status").fill_null("used") != "unused"
    )
    sums = (
        bill.lines.with_columns(
            is_use=is_use, cost=cost, is_spread=spread, is_unstated=spread & (net == 0)
        )
        .group_by(KEY, "is_use", "is_spread", "is_unstated", "category")
        .agg(lines=pl.len(), quantity=pl.col("quantity").sum(), cost=pl.col("cost").sum())
        .collect(engine="streaming")
    )
    types = dataset.scan("instance_types").select(
        "provider", "instance_type", type=pl.col("instance_type").str.to_lowercase()
    )
    places = dataset.scan("regions").select(
        "provider", listed_region="region", place=line_keys.plain_place(pl.col("region"))
    )
    to_usd = usd_per(rates, pl.lit(bill.currency)).cast(AMOUNT)
    rows = (
        sums.join(kinds, on=KEY)
        .join(types.unique(["provider", "type"]).collect(), on=["provider", "type"], how="left")
        .join(places.unique(["provider", "place"]).collect(), on=["provider", "place"], how="left")
        .with_columns(
            cost=pl.col("cost") * to_usd,
            option_now=pl.when("is_spread").then(pl.lit("committed")).otherwise("bought"),
            hours=pl.col("quantity") * pl.col("hours").cast(AMOUNT) * pl.col("block"),
            region=pl.coalesce("listed_region", "region"),
            why=pl.coalesce(pl.when(condition).then(why) for condition, why in NOT_MOVED),
        )
    )
    machines = rows.filter(pl.col("why").is_null())
    others = rows.filter(pl.col("why").is_not_null())
    continents = dataset.scan("regions").select("provider", "region", "continent").collect()
    usage = (
        machines.group_by(MACHINE)
        .agg(pl.col("lines", "hours", "cost").sum())
        .sort("cost", *MACHINE, descending=[True] + [False] * len(MACHINE))
        .join(continents, on=["provider", "region"], how="left", maintain_order="left")
    )
    return usage, others.group_by("provider", "why").agg(pl.col("lines", "cost").sum())


def _offered(
    dataset: Release, usage: pl.DataFrame, search: Search
) -> tuple[pl.DataFrame, list[str]]:
    """Return all prices that machines may move to, the cheapest first, and currencies left out.

    Prices in a currency without a rate are left out.
    """
    systems = usage.select(SYSTEM).unique(maintain_order=True).iter_rows()
    frames = [
        offers.run(dataset, replace(search, os=os, software=software, tenancy=tenancy)).rows
        for os, software, tenancy in systems
    ] or [offers.run(dataset, replace(search, machines=frozenset())).rows]
    prices, in_usd = pl.concat(frames, how="vertical_relaxed"), pl.col("usd_per_hour").is_not_null()
    others = prices.filter(~in_usd)["currency"].unique().sort().to_list()
    return prices.filter(in_usd).sort("usd_per_hour", "region", "price_id"), others


def _targets(
    dataset: Release, usage: pl.DataFrame, offered: pl.DataFrame, on: Sequence[str], search: Search
) -> pl.DataFrame:
    """Pair each machine with its replacement at each provider.

    Replacements are sold in the requested regions, else on the machine's continent.
    """
    names = ["provider", "instance_type", *SYSTEM, "continent"]
    pairs = []
    groups = usage.group_by([*SYSTEM, "continent"], maintain_order=True)
    for (*system, continent), machines in groups:
        sold = offered.filter(
            *(pl.col(name) == value for name, value in zip(SYSTEM, system, strict=True)),
            pl.lit(search.regions is not None) | pl.col("continent").eq_missing(continent),
        )
        os, software, tenancy = map(str, system)
        types = (
            comparable(dataset, replace(search, os=os, software=software, tenancy=tenancy))
            .drop("is_priced", "price")
            .join(
                sold.group_by("provider", "instance_type").agg(price=pl.col("usd_per_hour").min()),
                on=["provider", "instance_type"],
                how="left",
            )
            .with_columns(is_priced=pl.col("price").is_not_null())
        )
        for provider, name in (
            machines.select("provider", "instance_type").unique(maintain_order=True).iter_rows()
        ):
            machine = NamedMachine(provider, name)
            why = "no equal machine has such a price"
            try:
                others = nearest(types, machine) if on else []
            except HwpricesError as error:
                others, why = [], error.message
            found = {other.provider: other.instance_type for other in [*others, machine]}
            for target in on or [provider]:
                there = found.get(target)
                reason = None if there else why
                pairs.append((provider, name, *system, continent, target, there, reason))
    schema = dict.fromkeys([*names, "on", "there", "reason"], pl.String)
    return pl.DataFrame(pairs, schema=schema, orient="row")


def _priced(
    dataset: Release,
    usage: pl.DataFrame,
    targets: pl.DataFrame,
    offered: pl.DataFrame,
    search: Search,
) -> pl.DataFrame:
    """Add the cheapest price of each target, in the requested regions or on its continent.

    At its current provider, a machine stays in its region unless regions are requested.
    """
    keys = ["provider", "instance_type", *SYSTEM, "continent"]
    rows = usage.join(targets, on=keys, nulls_equal=True, maintain_order="left")
    there = offered.rename({"provider": "on", "instance_type": "there", "region": "region_there"})
    pairs = rows.with_row_index("row").join(
        there, on=["on", "there", *SYSTEM], suffix="_there", maintain_order="left_right"
    )
    if search.regions is None:
        same = pl.col("continent").eq_missing(pl.col("continent_there"))
        here = pl.col("region") == pl.col("region_there")
        pairs = pairs.filter(pl.when(pl.col("on") == pl.col("provider")).then(here).otherwise(same))
    first = pairs.group_by("row", maintain_order=True).first()
    shares = break_even.with_break_even(
        dataset, offered.filter(pl.col("price_id").is_in(first["price_id"].implode())), search
    ).select("price_id", break_even.COLUMN)
    best = first.join(shares.unique("price_id"), on="price_id", how="left", maintain_order="left")
    priced = best.select(
        "row",
        *("region_there", "purchase_option", "commitment_plan", "term_months", "price_id"),
        break_even.COLUMN,
        usd_per_hour_there="usd_per_hour",
        cost_there=(pl.col("hours") * pl.col("usd_per_hour")).cast(AMOUNT),
        gco2e_there=pl.col("hours").cast(pl.Float64) * pl.col("gco2e_per_hour"),
    )
    answer = rows.with_row_index("row").join(priced, on="row", how="left", maintain_order="left")
    carbon = dataset.scan("offers").select(
        "provider", "region", "instance_type", hourly_now="gco2e_per_hour"
    )
    place = ["provider", "region", "instance_type"]
    sizes = (
        dataset.scan("instance_types")
        .select("provider", "instance_type", *(pl.col(name).cast(pl.Float64) for name in SIZES))
        .unique(["provider", "instance_type"])
        .collect()
    )
    hours = pl.col("hours").cast(pl.Float64)
    no_price = pl.lit("no price with this option and system there")
    return (
        answer.join(carbon.collect(), on=place, how="left", maintain_order="left")
        .join(sizes, on=["provider", "instance_type"], how="left", maintain_order="left")
        .join(
            sizes,
            left_on=["on", "there"],
            right_on=["provider", "instance_type"],
            how="left",
            suffix="_there",
            maintain_order="left",
        )
        .rename({"cost": "cost_now", "there": "machine_there", "purchase_option": "option"})
        .with_columns(
            usd_per_hour_now=pl.col("cost_now") / pl.col("hours"),
            gco2e_now=hours * pl.col("hourly_now"),
            why_not=pl.when(pl.col("cost_there").is_null()).then(pl.coalesce("reason", no_price)),
        )
        .select(COLUMNS)
    )


def _totals(usage: pl.DataFrame, other: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Sum each target: what moves, its cost now and there, and what does not move."""
    machines, other_cost = usage["cost"].sum(), other["cost"].sum()
    moved = pl.col("cost_there").is_not_null()
    has_gco2e = moved & pl.col("gco2e_now").is_not_null() & pl.col("gco2e_there").is_not_null()
    zero = pl.lit(0).cast(AMOUNT)
    return (
        rows.group_by("on", maintain_order=True)
        .agg(
            lines_moved=pl.col("lines").filter(moved).sum(),
            hours_moved=pl.col("hours").filter(moved).sum(),
            cost_now=pl.col("cost_now").filter(moved).sum(),
            cost_there=pl.col("cost_there").sum(),
            lines_with_gco2e=pl.col("lines").filter(has_gco2e).sum(),
            gco2e_now=pl.col("gco2e_now").filter(has_gco2e).sum(),
            gco2e_there=pl.col("gco2e_there").filter(has_gco2e).sum(),
        )
        .with_columns(
            cost_bill=zero + machines + other_cost,
            cost_machines_left=zero + machines - pl.col("cost_now"),
            cost_other=zero + other_cost,
        )
        .with_columns(saving=pl.col("cost_now") - pl.col("cost_there"))
    )


def _left(rows: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """List what could not be moved: machines by target, then everything that is not a machine."""
    machines = rows.filter(pl.col("cost_there").is_null()).select(
        "on",
        "provider",
        pl.format("{} in {}: {}", "instance_type", "region", "why_not").alias("why"),
        "lines",
        pl.col("cost_now").alias("cost"),
    )
    others = other.select(pl.lit(None, pl.String).alias("on"), "provider", "why", "lines", "cost")
    return pl.concat([machines, others], how="vertical_relaxed").sort(
        "on", "cost", "why", descending=[False, True, False], nulls_last=True
    )
