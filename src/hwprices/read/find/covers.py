"""Describe what a release covers, what was refused, and why an answer has no rows."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.read.currency import USD
from hwprices.read.find import search as searching
from hwprices.read.find.names import NamedMachine
from hwprices.read.find.options import FIGURES
from hwprices.read.find.search import EVERY_WAY, FIELDS, SYSTEM, Search
from hwprices.release.release import Release, Tables, names_of
from hwprices.release.wording import counted, why_unknown


def coverage(dataset: Release) -> pl.DataFrame:
    """Return one row for each region that the release knows, with or without prices.

    Columns: provider, region, display_name, country, continent, prices, machine_types (that have a
    price), purchase_options, operating_systems, currencies, observed_from, observed_to.
    """
    prices = (
        dataset.scan("prices")
        .group_by("provider", "region")
        .agg(
            prices=pl.len(),
            machine_types=pl.col("instance_type").n_unique(),
            purchase_options=pl.col("purchase_option").unique().sort(),
            operating_systems=pl.col("os").unique().sort(),
            currencies=pl.col("currency").unique().sort(),
            observed_from=pl.col("observed_at").min(),
            observed_to=pl.col("observed_at").max(),
        )
    )
    regions = dataset.scan("regions").select(
        "provider", "region", "display_name", "country", "continent"
    )
    joined = regions.join(prices, on=["provider", "region"], how="full", coalesce=True)
    return (
        joined.with_columns(pl.col("prices", "machine_types").fill_null(0))
        .sort("provider", "region")
        .collect()
    )


def by_provider(regions: pl.DataFrame) -> pl.DataFrame:
    """Sum up ``coverage`` by provider."""

    def union(column: str) -> pl.Expr:
        return pl.col(column).drop_nulls().explode().drop_nulls().unique().sort()

    return (
        regions.group_by("provider", maintain_order=True)
        .agg(
            regions=pl.len(),
            regions_with_prices=(pl.col("prices") > 0).sum(),
            prices=pl.col("prices").sum(),
            purchase_options=union("purchase_options"),
            operating_systems=union("operating_systems"),
            currencies=union("currencies"),
            observed_from=pl.col("observed_from").min(),
            observed_to=pl.col("observed_to").max(),
        )
        .sort("provider")
    )


def columns(dataset: Release, providers: Collection[str] = ()) -> pl.DataFrame:
    """Count the values of each column of each table; an empty list is a value.

    ``providers``: count only their rows, and leave out tables without a column ``provider``.

    Columns: table, column, rows, filled (rows with a value), share (of rows; null without rows),
    providers (with a value; null for tables without a column ``provider``).
    """
    tables = (_columns_of(name, dataset.scan(name), providers) for name in dataset.tables)
    share = pl.when(pl.col("rows") > 0).then(pl.col("filled") / pl.col("rows"))
    counted = pl.concat(tables).with_columns(share=share)
    return counted.select("table", "column", "rows", "filled", "share", "providers")


def _columns_of(table: str, rows: pl.LazyFrame, providers: Collection[str]) -> pl.DataFrame:
    """Count the values of each column of a table, with one scan."""
    names = list(rows.collect_schema())
    has_provider = "provider" in names
    if providers:
        rows = rows.filter(pl.col("provider").is_in(sorted(providers)) if has_provider else False)
    counts = [pl.len().alias("rows"), *(pl.col(n).count().alias(f"in {n}") for n in names)]
    group = pl.col("provider") if has_provider else pl.lit(None, pl.String)
    by_provider = rows.group_by(of=group).agg(counts).sort("of").collect(engine="streaming")
    if providers and not has_provider:
        names = []
    filled_by = [by_provider.filter(pl.col(f"in {name}") > 0)["of"].to_list() for name in names]
    return pl.DataFrame(
        {
            "table": [table] * len(names),
            "column": names,
            "rows": [by_provider["rows"].sum()] * len(names),
            "filled": [by_provider[f"in {name}"].sum() for name in names],
            "providers": filled_by if has_provider else [None] * len(names),
        },
        schema={
            "table": pl.String,
            "column": pl.String,
            "rows": pl.Int64,
            "filled": pl.Int64,
            "providers": pl.List(pl.String),
        },
    )


def quarantine(dataset: Release) -> pl.DataFrame:
    """Group the refused rows: one row for each provider, table and reason.

    Columns: provider, table, reason, rows (distinct), occurrences, regions, example (the message of
    one row).
    """
    return (
        dataset.scan("quarantine")
        .sort("row_hash")
        .group_by("provider", "table", "reason")
        .agg(
            rows=pl.len(),
            occurrences=pl.col("occurrences").sum(),
            regions=pl.col("region").drop_nulls().unique().sort(),
            example=pl.col("message").first(),
        )
        .sort("occurrences", "provider", "table", "reason", descending=[True, False, False, False])
        .collect()
    )


def new_words(dataset: Release, providers: Collection[str] = ()) -> pl.DataFrame:
    """List the unknown words by provider, the words that cost most rows first.

    ``providers``: only their words. Columns as in the table new_words.
    """
    rows = dataset.scan("new_words")
    if providers:
        rows = rows.filter(pl.col("provider").is_in(sorted(providers)))
    cost = (pl.col("lines") + pl.col("dependants")).cast(pl.Int64)
    return rows.sort("provider", -cost, "reason", "word").collect()


MAX_NAMED = 4  # regions or reasons named in a sentence
CENT = Decimal("0.01")


@dataclass(frozen=True)
class Coverage:
    """The number of known regions of a provider, and its regions with prices."""

    known: int
    priced: frozenset[str]


def coverage_by_provider(dataset: Tables) -> dict[str, Coverage]:
    """Return the coverage of each provider."""
    priced = names_of(dataset).filter("priced").select("provider", "region").unique()
    regions = dataset.scan("regions").select("provider", "region").collect()
    providers = sorted({*priced["provider"], *regions["provider"]})
    return {
        provider: Coverage(
            regions.filter(provider=provider).height,
            frozenset(priced.filter(provider=provider)["region"]),
        )
        for provider in providers
    }


def why_nothing(dataset: Tables, search: Search) -> list[str]:
    """Explain in sentences why a search finds nothing, the most certain reason first."""
    machines = _machines(dataset, search)
    if machines.is_empty():
        return ["No machine type in this release matches.", *_without(dataset, search)]
    covered = coverage_by_provider(dataset)
    regions = requested_regions(search, machines, covered)
    reason = why_not_sold(dataset, machines, regions, covered)
    if reason is not None:
        return [reason, *_without(dataset, search)]
    unsure = [*not_compared(dataset, search), *_not_known(dataset, search)]
    sentences = unsure or [f"The release has no such {_option_name(search)}price."]
    return [*sentences, *_without(dataset, search)]


def not_compared(dataset: Tables, search: Search) -> list[str]:
    """Count by currency the prices that a price limit leaves out because they have no rate."""
    without_limit = replace(search, max_price=None, max_price_per_accelerator=None)
    if search == without_limit:
        return []
    others = searching.find(dataset, without_limit).filter(
        ~pl.col("currency").is_in([USD, *search.usd_per])
    )
    counts = others.group_by("currency").len().sort("currency").collect()
    return [
        f"{counted(count, 'price')} in {currency} left out:"
        f" the price limit is in USD and needs --usd-per {currency}=… for them."
        for currency, count in counts.iter_rows()
    ]


def requested_regions(
    search: Search, machines: pl.DataFrame, covered: dict[str, Coverage]
) -> set[tuple[str, str]]:
    """Return the requested regions of the machines' providers; by default all with prices."""
    providers = set(machines["provider"])
    priced = {(name, region) for name, entry in covered.items() for region in entry.priced}
    regions = priced if search.regions is None else search.regions
    return {(provider, region) for provider, region in regions if provider in providers}


def why_not_sold(
    dataset: Tables,
    machines: pl.DataFrame,
    regions: set[tuple[str, str]],
    covered: dict[str, Coverage],
) -> str | None:
    """Explain whether the release does not cover machines, or the vendor does not sell them.

    ``machines``: provider and instance_type. ``regions``: provider and region, of the machines'
    providers. ``covered``: the result of ``coverage_by_provider``.

    Returns None if the machines have any price in one of the regions.
    """
    if not regions:
        return "No provider of these machines has a region there."
    priced = {(p, r) for p, r in regions if r in covered[p].priced}
    providers = {provider for provider, _ in regions}
    machines = machines.filter(pl.col("provider").is_in(sorted(providers)))
    absent = regions - priced
    coverage = f"Not in this release: it has no prices of {_pairs(absent)}. " if absent else ""
    coverage += extent(covered, providers)
    if not priced:
        return coverage
    machines = machines.filter(pl.col("provider").is_in(sorted({name for name, _ in priced})))
    on = ["provider", "instance_type"]
    here = searching.pairs("region", frozenset(priced))
    rows = names_of(dataset).filter("priced", here).select(on).unique()
    if not rows.join(machines, on=on).is_empty():
        return None
    names = _listed(sorted(set(machines["instance_type"])))
    hosts = sold_by_host(dataset, machines).filter(here).select("host", "region").unique().collect()
    if hosts.height:
        return _by_host_only(names, hosts)
    lists = dataset.scan("availability").filter(searching.pairs("region", frozenset(regions)))
    there = lists.filter("offered").join(machines.lazy(), on=on)
    if offered := _regions(there):
        types = there.select(pl.col("instance_type").unique().sort()).collect()["instance_type"]
        return _offered_without_price(_listed(types.to_list()), offered, priced)
    listed = _regions(lists) & priced
    lack = (
        f"Not sold in {_pairs(listed)}: the vendor's lists do not have {names}."
        if listed
        else f"The release has no price there: {names}, {_pairs(priced)}."
    )
    return f"{lack} {coverage}"


def sold_by_host(dataset: Tables, machines: pl.DataFrame) -> pl.LazyFrame:
    """List the dedicated hosts of machines that are sold only by the host, as AWS's Macs are.

    A host is sold for a family: mac2.metal for mac2. Columns: provider, region, instance_type, host
    (the instance type of the host's prices).
    """
    on = ["provider", "instance_type"]
    known = dataset.scan("prices").filter(pl.col("effective_hourly").is_not_null())
    names = machines["instance_type"].unique().to_list()
    priced = known.filter(pl.col("instance_type").is_in(names)).select(on).unique()
    hosts = known.filter(tenancy="host").select("provider", "region", host="instance_type").unique()
    family = pl.col("instance_type").str.extract(r"^([^.]+)\.")
    without = machines.lazy().select(on).join(priced, on=on, how="anti").with_columns(host=family)
    return without.join(hosts, on=["provider", "host"])


def hosts_of(dataset: Tables, machine: NamedMachine) -> list[str]:
    """List the dedicated hosts of a machine that is sold only by the host."""
    frame = pl.DataFrame([machine._asdict()])
    hosts = sold_by_host(dataset, frame).select(pl.col("host").unique().sort()).collect()
    return hosts["host"].to_list()


def _by_host_only(names: str, hosts: pl.DataFrame) -> str:
    host = sorted(hosts["host"].unique())
    regions = _listed(sorted(hosts["region"].unique()))
    return f"{names}: sold only as a dedicated host, {_listed(host)}, in {regions}."


def _offered_without_price(
    names: str, offered: set[tuple[str, str]], priced: set[tuple[str, str]]
) -> str:
    if offered & priced:
        return f"{names}: offered in {_pairs(offered & priced)}, but no price is listed there."
    return f"Not in this release: {names}, offered in {_pairs(offered)}, not covered here."


def _regions(rows: pl.LazyFrame) -> set[tuple[str, str]]:
    return set(rows.select("provider", "region").unique().collect().iter_rows())


def extent(covered: dict[str, Coverage], providers: set[str]) -> str:
    """State how many regions have prices in the release."""
    counts = [
        f"{len(covered[name].priced)} of {covered[name].known} regions of {name}"
        for name in sorted(providers)
        if name in covered
    ]
    return f"The release has prices of {', '.join(counts)}."


def _machines(dataset: Tables, search: Search) -> pl.DataFrame:
    """Return provider and instance type of the machines of a search."""
    conditions = searching.machine_conditions(search)
    if search.providers:
        conditions.append(pl.col("provider").is_in(sorted(search.providers)))
    if search.machines is not None:
        conditions.append(searching.pairs("instance_type", search.machines))
    types = searching.machine_types(dataset).filter(conditions).select("provider", "instance_type")
    matching = types.collect()
    if matching.is_empty() and search.machines is not None and len(conditions) == 2:  # prices alone
        rows = sorted(search.machines)
        return pl.DataFrame(rows, schema=["provider", "instance_type"], orient="row")
    return matching


def _not_known(dataset: Tables, search: Search) -> Iterator[str]:
    """Count the unknown prices of a search, with the reasons."""
    rows = searching.prices(dataset, search).filter(pl.col("effective_hourly").is_null())
    reasons = rows.group_by("price_reason").len().sort("len", descending=True).collect()
    if reasons.height:
        named = _listed(
            [f"{why_unknown(reason)} ({count})" for reason, count in reasons.iter_rows()]
        )
        yield f"{counted(int(reasons['len'].sum()), 'such price')} not known: {named}."


WIDENED = {row["field"]: row["without"] for row in FIELDS if row["without"]} | {
    column: f"condition on the {noun}" for column, noun in FIGURES.items()
}
"""Fields of a search: the name of each in "Without the place: 2 offers"."""


def _without(dataset: Tables, search: Search) -> Iterator[str]:
    """State what the search would find without each of its conditions."""
    default = Search()
    if sum(map(bool, (search.purchase_options, search.terms, search.payments))) > 1:
        none: frozenset[Any] = frozenset()
        any_purchase = replace(search, purchase_options=none, terms=none, payments=none)
        yield from _wider(dataset, any_purchase, "term, payment and purchase option")
    if sum(getattr(search, name) != getattr(default, name) for name in SYSTEM) > 1:
        any_system = replace(search, **{name: getattr(EVERY_WAY, name) for name in SYSTEM})
        yield from _wider(dataset, any_system, "system, software, license and tenancy")
    for field in fields(search):
        value = getattr(search, field.name)
        if field.name not in WIDENED or value == getattr(default, field.name):
            continue
        change: dict[str, Any] = {field.name: getattr(EVERY_WAY, field.name)}
        yield from _wider(dataset, replace(search, **change), f"the {WIDENED[field.name]}")


def _wider(dataset: Tables, search: Search, without: str) -> Iterator[str]:
    """State how many offers a wider search finds, if it finds any."""
    summed = searching.find(dataset, search).select(
        pl.len(), pl.col("usd_per_hour").min(), pl.col("purchase_option").unique().sort().implode()
    )
    count, least, options = summed.collect().row(0)
    if count:
        cheapest = ""
        if least is not None:
            shown = f"{least:.2g}" if least < 10 * CENT else least.quantize(CENT)
            cheapest = f", from {shown} USD/h"
        named = ", ".join(str(option).replace("_", " ") for option in options)
        yield f"Without {without}: {counted(count, 'offer')}{cheapest} ({named})."


def _option_name(search: Search) -> str:
    """Write the requested purchase option and a blank; empty unless there is exactly one."""
    (option,) = search.purchase_options if len(search.purchase_options) == 1 else ("",)
    return f"{option.replace('_', ' ')} " if option else ""


def unstated(dataset: Tables, search: Search) -> int:
    """Count the offers that match except that their vendor does not state the place."""
    if search.regions is None or len(search.regions) == 1:
        return 0
    is_unstated = pl.col("country").is_null() & pl.col("continent").is_null()
    regions = dataset.scan("regions").filter(is_unstated).select("provider", "region").collect()
    pairs = frozenset(regions.iter_rows()) - search.regions
    found = searching.find(dataset, replace(search, regions=frozenset(pairs)))
    return int(found.select(pl.len()).collect().item()) if pairs else 0


def _pairs(pairs: Collection[tuple[str, str]]) -> str:
    """List regions by their providers: aws us-east-1, us-west-2; gcp us-central1."""
    return _listed([f"{provider} {region}" for provider, region in sorted(pairs)])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
