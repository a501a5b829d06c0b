"""Read landed pages into tables. Pure: no network, no clock.

Prices of all regions whose pages have changed are read together, because one frame of 200,000 items
takes less time than sixty small ones. Afterwards, the rows are divided by region.

Rows that follow from a listed price by Azure's rules:

- A reservation's retailPrice is for the complete term, though its unit is "1 Hour". It can be paid
  upfront or monthly at the same total
  (https://learn.microsoft.com/azure/cost-management-billing/reservations/prepare-buy-reservation),
  so it makes two rows.
- Prices of savings plans are inside the on-demand item and are hourly
  (https://learn.microsoft.com/azure/cost-management-billing/savings-plan/savings-plan-compute-overview).
- With Azure Hybrid Benefit, a Windows machine costs the same as the Linux machine
  (https://learn.microsoft.com/azure/virtual-machines/windows/hybrid-use-benefit-licensing): a
  derived row.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from hwprices.formulas import first_of
from hwprices.providers import Pages, Part, azure
from hwprices.providers.azure.classify import TERMS, ClassifiedItems, classify_items
from hwprices.providers.azure.instance_types import (
    instance_type_rows,
    named_sizes,
    read_accelerator_sheet,
    read_skus,
)
from hwprices.providers.azure.items import (
    AMOUNTS,
    MEMBERS,
    PLANS,
    Items,
    price_units,
    read_items,
    time,
)
from hwprices.providers.azure.licenses import (
    LICENSED_BY,
    Licenses,
    license_lines,
    read_licenses,
    with_licenses,
)
from hwprices.providers.azure.regions import (
    availability_rows,
    is_public,
    read_locations,
    region_rows,
    zone_rows,
)
from hwprices.rows import frames, prices
from hwprices.rows.earlier import Source
from hwprices.rows.frames import ORIGIN, origins
from hwprices.rows.prices import price_rows
from hwprices.schemas.tables import PriceComponents, Prices, Quarantine
from hwprices.specs import sheets
from hwprices.units import HOURS_PER_YEAR, Money

PRICED = "priced"  # Name of a part's fact: the pages with prices, as raw_sha256
SIZES = "sizes"  # Name of a part's fact: the sizes with a price, as instance_type and raw_sha256
PARTS = "price_components"
_SIZE = ["instance_type", "raw_sha256"]


def normalise(pages: Pages) -> Iterator[Part]:
    """Read regions, zones, instance_types, availability and prices of a run, in this order.

    Raises:
        HwpricesError: a landed page was altered, or no list of sizes can be read.
    """
    locations = read_locations(pages)
    skus = read_skus(pages)
    availability = availability_rows(skus.machines)
    sheet = read_accelerator_sheet()
    types, impossible = instance_type_rows(skus.machines, sheet, sheets.load("azure_network"))
    licenses = read_licenses(pages)
    prices = _price_parts(pages, availability, types, licenses)
    others = locations.filter(~is_public()).height
    counts = {"out_of_scope:logical_or_test_location": others} if others else {}
    observed = _observed_regions(availability, prices)
    yield Part("regions", region_rows(locations, observed), counts=counts)
    yield Part("zones", zone_rows(locations))
    refused = pl.concat([skus.refused, impossible])
    named = named_sizes(_sizes(prices), types, sheet, sheets.load("azure_sizes"))
    types = pl.concat([types, named])
    yield Part("instance_types", types, refused=refused, counts=skus.counts)
    yield Part("availability", availability)
    lines = license_lines(licenses.fees, types)
    counts = dict(licenses.counts)
    if unused := licenses.fees.join(lines, on=["sku_id", "currency"], how="anti").height:
        counts["out_of_scope:license_of_no_size"] = unused
    no_components = frames.empty(PriceComponents)
    yield Part(PARTS, no_components, refused=licenses.refused, counts=counts)
    for part in prices:
        yield from _with_licenses(pages, part, lines, no_components)


def _with_licenses(
    pages: Pages, part: Part, lines: pl.DataFrame, no_components: pl.DataFrame
) -> Iterator[Part]:
    """Yield a region's prices including those with licenses, and the components of the latter."""
    assert part.source is not None
    source = replace(part.source, table=PARTS)
    if part.earlier is not None:
        earlier = pages.earlier(source)
        assert earlier is not None, "_price_parts takes over a region only if both tables exist"
        yield part
        yield Part.taken_over(source, earlier, no_components)
        return
    prices, components = part.frame, no_components
    if not lines.is_empty():
        assert isinstance(prices, pl.DataFrame)
        licensed, components = with_licenses(prices, lines)
        prices = pl.concat([prices, licensed])
    yield replace(part, frame=prices)
    yield Part(PARTS, components, part.region, source=source, holds_until=part.holds_until)


def _price_parts(
    pages: Pages, availability: pl.DataFrame, types: pl.DataFrame, licenses: Licenses
) -> list[Part]:
    """Read the prices of each region without licenses, or take over those of an earlier run."""
    sources = _sources(pages, availability, types)
    earlier = {
        region: rows
        for region, source in sources.items()
        if (rows := pages.earlier(source)) and pages.earlier(replace(source, table=PARTS))
    }
    by_region = prices_by_region(
        pages, [region for region in sources if region not in earlier], availability
    )
    parts = []
    for region, source in sources.items():
        if region in earlier:
            parts.append(Part.taken_over(source, earlier[region], frames.empty(Prices)))
            continue
        changes = [by_region[region].holds_until, licenses.holds_until]
        part = Part(
            "prices",
            by_region[region].rows,
            region,
            refused=by_region[region].refused,
            counts=by_region[region].counts,
            source=source,
            facts={
                PRICED: by_region[region].priced,
                SIZES: by_region[region].rows[_SIZE].unique().sort(pl.all()),
            },
            holds_until=min((day for day in changes if day is not None), default=None),
        )
        parts.append(part)
    return parts


def _sources(pages: Pages, availability: pl.DataFrame, types: pl.DataFrame) -> Mapping[str, Source]:
    """List for each region what its prices are read from, sorted by region.

    These are its pages and those of licenses, and also the spelling of names in the lists of sizes,
    the facts that determine a size's licenses, and the sizes that the region offers.
    """
    licenses = [unit for units in price_units(pages, azure.is_license).values() for unit in units]
    facts = pl.col(LICENSED_BY).cast(pl.String).fill_null("")
    licensed = _digest(types.select(pl.concat_str(facts, separator=" ")).to_series())
    spellings = _digest(availability["instance_type"])
    offered = {
        region: _digest(rows["instance_type"])
        for region, rows in frames.by_value(availability, "region").items()
    }
    return {
        region: Source(
            "prices",
            region,
            tuple(page for unit in [*units, *licenses] for page in unit.pages),
            about=(spellings, offered.get(region, ""), licensed),
        )
        for region, units in sorted(price_units(pages).items())
    }


def _digest(names: pl.Series) -> str:
    return hashlib.sha256("\n".join(names.unique().sort()).encode()).hexdigest()


def _observed_regions(availability: pl.DataFrame, prices: Sequence[Part]) -> pl.DataFrame:
    """Return region, observed_at and raw_sha256 of the pages with sizes or prices of a region."""
    columns = ["region", "observed_at", "raw_sha256"]
    listed = [(part.region, page) for part in prices for page in part.facts[PRICED]["raw_sha256"]]
    priced = pl.DataFrame(listed, schema=["region", "raw_sha256"], orient="row")
    seen = _price_pages(prices)
    observed = [seen.join(priced, on=["region", "raw_sha256"], how="semi")] if listed else []
    return pl.concat(frame.select(columns).unique() for frame in [availability, *observed])


def _price_pages(prices: Sequence[Part]) -> pl.DataFrame:
    """Return region and the origin columns of every page that prices are read from."""
    pages = [(part.region, page) for part in prices if part.source for page in part.source.pages]
    return origins([page for _, page in pages]).with_columns(
        pl.Series("region", [region for region, _ in pages], dtype=pl.String)
    )


def _sizes(prices: Sequence[Part]) -> pl.DataFrame:
    """Return instance_type, observed_at and raw_sha256 of the sizes with a price."""
    times = _price_pages(prices).group_by("raw_sha256").agg(pl.col("observed_at").max())
    empty = pl.DataFrame(schema={"instance_type": pl.String, "raw_sha256": pl.String})
    return pl.concat([empty, *(part.facts[SIZES] for part in prices)]).join(times, on="raw_sha256")


HYBRID_BENEFIT_OPTIONS = ["on_demand", "reserved"]
"""Purchase options for which Windows without its license has the Linux price, including savings
plans, which are part of on-demand items. Microsoft's page does not mention spot."""

FLAGS = ["availability_flag", "spot_flag", "host_flag", "meter_flag"]
"""Columns with at most one flag."""

MACHINE = ["region", "instance_type", "os", "tenancy", "currency"]
"""The key of a machine with at most one on-demand and one spot price."""


@dataclass(frozen=True)
class RegionPrices:
    """The prices of a region.

    ``rows`` has the columns of the prices table, ``refused`` those of the quarantine table.
    ``priced`` lists the pages with items, as raw_sha256. ``counts`` counts the items left out on
    purpose, by reason. ``holds_until`` is when the first item takes effect or ends; None if none
    does.
    """

    rows: pl.DataFrame
    refused: pl.DataFrame
    priced: pl.DataFrame
    counts: Mapping[str, int]
    holds_until: datetime | None


def prices_by_region(
    pages: Pages, regions: Collection[str], availability: pl.DataFrame
) -> dict[str, RegionPrices]:
    """Make price rows of all items of these regions: requested region → its prices.

    ``availability`` has region and instance_type of offered sizes. Regions whose pages have no
    items are included.

    Raises:
        HwpricesError: a landed page was altered.
    """
    items = read_items(pages, regions)
    requested = items.pages["page_region"].unique()
    priced = _priced_pages(items)
    classified = classify_items(items, _spelling(availability))
    refused, chosen = _refused(classified), classified.chosen
    out_of_scope, next_changes = classified.out_of_scope, classified.next_changes
    del items, classified  # 0.5 GB of 420,000 items, which the rows need
    rows = _rows(chosen, availability)
    no_rows, none_refused = frames.empty(Prices), frames.empty(Quarantine)
    no_pages = pl.DataFrame(schema={"raw_sha256": pl.String})
    return {
        region: RegionPrices(
            rows.get(region, no_rows),
            refused.get(region, none_refused),
            priced.get(region, no_pages),
            _counts(out_of_scope.get(region, {})),
            next_changes.get(region),
        )
        for region in requested
    }


def _priced_pages(items: Items) -> dict[str, pl.DataFrame]:
    """List the pages with items: requested region → raw_sha256."""
    pages = items.rows.select(pl.col("page").unique()).join(items.pages, on="page")
    listed = pages.select("page_region", "raw_sha256").unique().sort(pl.all())
    by_region = frames.by_value(listed, "page_region")
    return {region: rows[["raw_sha256"]] for region, rows in by_region.items()}


def _counts(out_of_scope: Mapping[str, int]) -> dict[str, int]:
    return {f"out_of_scope:{reason}": number for reason, number in out_of_scope.items()}


def _spelling(availability: pl.DataFrame) -> pl.DataFrame:
    """Return how the lists of sizes spell each size: lower, spelling. Prices differ in case.

    If the lists have several spellings, the first in the alphabet is used.
    """
    return (
        availability.select(pl.col("instance_type").alias("spelling"))
        .unique()
        .with_columns(pl.col("spelling").str.to_lowercase().alias("lower"))
        .sort("spelling")
        .unique("lower", keep="first", maintain_order=True)
    )


def _rows(chosen: pl.DataFrame, availability: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Make rows of the prices table from ``ClassifiedItems.chosen``: region → rows."""
    items = (
        chosen.lazy()
        .rename({"skuId": "sku_id", "meterId": "sku_price_id"})
        .with_columns(
            _availability_flag(availability).alias("availability_flag"),
            _spot_flag(chosen).alias("spot_flag"),
            pl.when(pl.col("tenancy") == "host").then(pl.lit("whole_host")).alias("host_flag"),
        )
        .with_columns(
            time(pl.col("effectiveStartDate")).alias("effective_from"),
            pl.col("price").alias("hourly"),
            pl.concat_list(FLAGS).list.drop_nulls().alias("flags"),
        )
        .collect()  # computed once, because several frames are made of it
        .lazy()
    )
    benefit = {"os": "windows", "license_model": "byol", "basis": "derived"}
    listed = [*_list_prices(items), *_list_prices(_with_hybrid_benefit(items), **benefit)]
    by_region: dict[str, list[pl.DataFrame]] = {}
    for rows in listed:  # dividing all together takes twice their memory: 0.3 GB of 420,000 items
        for region, part in frames.by_value(rows.collect(), "region").items():
            by_region.setdefault(region, []).append(part)
    return {region: pl.concat(parts) for region, parts in by_region.items()}


def _list_prices(items: pl.LazyFrame, **constants: str) -> list[pl.LazyFrame]:
    """Make the rows of all purchase options of the items, with ``constants`` in each row."""
    return [
        _complete(items.filter(pl.col("purchase_option") != "reserved"), **constants),
        _savings_plans(items, **constants),
        *_reservations(items, **constants),
    ]


def _complete(items: pl.LazyFrame, **constants: pl.Expr | str | int) -> pl.LazyFrame:
    return price_rows(items, provider="azure", **constants)


def _has_known_plan() -> pl.Expr:
    """Check that the term and the price of a savings plan are known (one plan per row)."""
    return (pl.col("plan_terms").is_in(list(TERMS)) & (pl.col("plan_prices") > 0)).fill_null(False)


def _plans(items: pl.LazyFrame) -> pl.LazyFrame:
    """Make one row per savings plan, in the columns ``PLANS``."""
    has_plans = pl.col("plan_terms").list.len() > 0
    return items.filter(has_plans).explode(*PLANS, empty_as_null=False)


def _savings_plans(items: pl.LazyFrame, **constants: str) -> pl.LazyFrame:
    """Make one row per savings plan of an on-demand item.

    Azure bills the commitment monthly, or upfront for the same total.
    """
    plans = _plans(items.filter(pl.col("purchase_option") == "on_demand"))
    months = pl.col("plan_terms").replace_strict(TERMS, default=None, return_dtype=pl.Int32)
    values: dict[str, pl.Expr | str] = {
        "purchase_option": "savings_plan",
        "commitment_plan": "compute",
        "term_months": months,
        "payment_option": "monthly",
        "hourly": pl.col("plan_prices"),
    }
    return _complete(plans.filter(_has_known_plan()), **values, **constants)


def _reservations(items: pl.LazyFrame, **constants: str) -> list[pl.LazyFrame]:
    """Make rows of reservations: the term paid upfront (listed), and monthly (derived)."""
    reserved = items.filter(pl.col("purchase_option") == "reserved")
    hours = (pl.col("term_months") * (HOURS_PER_YEAR // 12)).cast(Money)
    upfront: dict[str, pl.Expr | str | int] = {
        "commitment_plan": "standard",
        "payment_option": "all_upfront",
        "hourly": 0,
        "upfront": pl.col("price"),
        "billing_unit": "term",
    }
    monthly: dict[str, pl.Expr | str | int] = {
        "commitment_plan": "standard",
        "payment_option": "monthly",
        "hourly": pl.col("price") / hours,
        "basis": "derived",
    }
    return [_complete(reserved, **values | constants) for values in (upfront, monthly)]


def _with_hybrid_benefit(items: pl.LazyFrame) -> pl.LazyFrame:
    """Return the Linux items whose price is that of Windows with the buyer's license.

    These are sizes that Azure sells with Windows in the region.
    """
    size = ["region", "instance_type", "currency"]
    shared = items.filter(pl.col("tenancy") == "shared")
    is_on_demand = pl.col("purchase_option") == "on_demand"
    with_windows = shared.filter((pl.col("os") == "windows") & is_on_demand).select(size).unique()
    linux = shared.filter(
        (pl.col("os") == "linux") & pl.col("purchase_option").is_in(HYBRID_BENEFIT_OPTIONS)
    )
    return linux.join(with_windows, on=size, how="semi", maintain_order="left").collect().lazy()


def _availability_flag(availability: pl.DataFrame) -> pl.Expr:
    """Make the availability_flag of a row; null if the size is offered.

    not_offered_here: the region's list of sizes lacks it. availability_unknown: no list covers the
    region, or the row is a dedicated host, which lists of sizes never have.
    """
    place = pl.concat_str("region", "size", separator="\x1f")
    offered = availability.select("region", size=pl.col("instance_type").str.to_lowercase())
    is_listed = pl.col("region").is_in(availability["region"].unique().implode())
    is_offered = place.is_in(offered.select(place).to_series().unique().implode())
    return first_of(
        {
            "availability_unknown": ~is_listed | (pl.col("tenancy") == "host"),
            "not_offered_here": ~is_offered,
        }
    )


def _spot_flag(chosen: pl.DataFrame) -> pl.Expr:
    """Make the spot_flag of a row, for spot prices at or above the on-demand price.

    These sizes have no spot market yet.
    """
    option = pl.col("purchase_option")
    prices = chosen.select(*MACHINE, "purchase_option", "row", "price")
    on_demand = prices.filter(option == "on_demand").select(
        *MACHINE, pl.col("price").alias("on_demand")
    )
    not_below = (
        prices.filter(option == "spot")
        .join(on_demand, on=MACHINE, how="inner")
        .filter(pl.col("price") >= pl.col("on_demand"))
        .select("row", is_equal=pl.col("price") == pl.col("on_demand"))
    )
    equal, above = not_below.filter("is_equal")["row"], not_below.filter(~pl.col("is_equal"))["row"]
    return first_of(
        {
            "spot_equals_on_demand": pl.col("row").is_in(equal.implode()),
            "spot_above_on_demand": pl.col("row").is_in(above.implode()),
        }
    )


def _refused(classified: ClassifiedItems) -> dict[str, pl.DataFrame]:
    """Make quarantine rows of refused items, unknown savings plans and unknown members.

    The items are shown as the vendor wrote them. The rows are divided by requested region.
    """
    members = [pl.col(f"{name}_text").alias(name) if name in AMOUNTS else name for name in MEMBERS]
    columns = ["provider", "region", *members, *ORIGIN, "reason", "message", "word", "page_region"]
    kinds = [classified.refused, _unknown_plans(classified), _new_members(classified)]
    items = pl.concat([kind.select(columns) for kind in kinds]).sort(
        "page_region", maintain_order=True
    )
    rows = prices.refused(items.drop("page_region").lazy(), table="prices").collect()
    divided = frames.by_value(rows.with_columns(items["page_region"]), "page_region")
    return {region: part.drop("page_region") for region, part in divided.items()}


def _unknown_plans(classified: ClassifiedItems) -> pl.DataFrame:
    """Return items with a savings plan of unknown term or price. The item itself is a price.

    Adds reason, message and word.
    """
    unknown = _plans(classified.chosen.lazy()).filter(~_has_known_plan()).select("row").collect()
    return (
        classified.all_items.drop("reason")
        .filter(pl.col("row").is_in(unknown["row"].implode()))
        .explode(*PLANS, "plan_prices_text", empty_as_null=False)
        .filter(~_has_known_plan())
        .with_columns(
            pl.lit("unknown_savings_plan").alias("reason"),
            pl.format(
                "savings plan term={} retailPrice={}",
                pl.col("plan_terms").fill_null("null"),
                pl.col("plan_prices_text").fill_null("null"),
            ).alias("message"),
            pl.when(~pl.col("plan_terms").is_in(list(TERMS))).then("plan_terms").alias("word"),
        )
    )


def _new_members(classified: ClassifiedItems) -> pl.DataFrame:
    """Return a region's first item with an unknown member. The item itself may be a price.

    Adds reason, message and word. Items that are refused for such a member are left out.
    """
    refused = classified.refused.filter(reason="unknown_column")
    member = pl.col("new_members_text")
    return (
        classified.all_items.drop("reason")
        .filter(member.is_not_null() & ~pl.col("row").is_in(refused["row"].implode()))
        .unique(["page_region", "new_members_text"], keep="first", maintain_order=True)
        .with_columns(
            pl.lit("unknown_column").alias("reason"),
            pl.format("the member {} is not known, and is ignored", member).alias("message"),
            member.alias("word"),
        )
    )
