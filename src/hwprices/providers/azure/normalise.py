"""Read landed pages into tables: no network, no clock.

Prices of all regions whose pages have changed are read at once: 200,000 items are one frame, which
takes less time than sixty small ones. They are divided by region when they are rows.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from hwprices.providers import Pages, Part, azure
from hwprices.providers.azure.instance_types import instance_type_rows, named_sizes, read_skus
from hwprices.providers.azure.items import price_units, read_items
from hwprices.providers.azure.licenses import (
    LICENSED_BY,
    Licenses,
    license_lines,
    read_licenses,
    with_licenses,
)
from hwprices.providers.azure.price_rows import prices_by_region
from hwprices.providers.azure.regions import (
    availability_rows,
    is_public,
    read_locations,
    region_rows,
    zone_rows,
)
from hwprices.providers.azure.sizes import read_accelerator_sheet
from hwprices.rows import frames
from hwprices.rows.earlier import Source
from hwprices.rows.frames import origins
from hwprices.schemas.price import PriceComponents, Prices
from hwprices.specs import sheets

PRICED = "priced"  # The name of a part's fact that lists, as raw_sha256, the pages with prices
PARTS = "price_components"

SIZES = "sizes"
"""The name of a part's fact that lists the sizes with a price: instance_type and raw_sha256."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Read regions, zones, instance_types, availability and prices of a run, in this order.

    Raises:
        HwpricesError: a landed page is altered or is not what its endpoint answers.
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
    """Yield the prices of a region with those of licenses, and the components of these."""
    assert part.source is not None
    source = replace(part.source, table=PARTS)
    if part.earlier is not None:
        earlier = pages.earlier(source)
        assert earlier is not None, "_price_parts reads a region anew without it"
        yield part
        yield Part.taken_over(source, earlier, no_components)
        return
    prices, components = part.frame, no_components
    if not lines.is_empty():
        assert isinstance(prices, pl.DataFrame)
        licensed, components = with_licenses(prices, lines)
        prices = pl.concat([prices, licensed])
    yield replace(part, frame=prices)
    until = part.holds_until
    yield Part(PARTS, components, part.region, source=source, holds_until=until)


def _price_parts(
    pages: Pages, availability: pl.DataFrame, types: pl.DataFrame, licenses: Licenses
) -> list[Part]:
    """Read the prices of each region without licenses, or take over all of an earlier run."""
    sources = _sources(pages, availability, types)
    earlier = {
        region: rows
        for region, source in sources.items()
        if (rows := pages.earlier(source)) and pages.earlier(replace(source, table=PARTS))
    }
    items = read_items(pages, [region for region in sources if region not in earlier])
    read = prices_by_region(items, availability)
    priced = items.rows.select(pl.col("page").unique()).join(items.pages, on="page")
    priced_pages = frames.by_value(
        priced.select("page_region", "raw_sha256").unique().sort(pl.all()), "page_region"
    )
    columns = ["instance_type", "raw_sha256"]
    priced_sizes = [read[one].rows[["region", *columns]] for one in sources if one in read]
    none = pl.DataFrame(schema=dict.fromkeys(["region", *columns], pl.String))
    sizes = frames.by_value(pl.concat([none, *priced_sizes]).unique().sort(pl.all()), "region")
    parts = []
    for region, source in sources.items():
        if region in earlier:
            parts.append(Part.taken_over(source, earlier[region], frames.empty(Prices)))
            continue
        changes = [read[region].holds_until, licenses.holds_until]
        part = Part(
            "prices",
            read[region].rows,
            region,
            refused=read[region].refused,
            counts=read[region].counts,
            source=source,
            facts={
                PRICED: priced_pages.get(region, none)[["raw_sha256"]],
                SIZES: sizes.get(region, none)[columns],
            },
            holds_until=min((day for day in changes if day is not None), default=None),
        )
        parts.append(part)
    return parts


def _sources(pages: Pages, availability: pl.DataFrame, types: pl.DataFrame) -> Mapping[str, Source]:
    """List for each region what its prices are read from, sorted by region.

    Beside its pages and those of licenses that is how the lists of sizes spell the names, what
    decides a size's licenses, and which sizes the region offers.
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
    """Return region, observed_at and raw_sha256 of pages whose sizes or prices name a region."""
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
