"""Landed pages → the tables' rows. Pure: no network, no clock."""

from collections.abc import Iterator

import polars as pl

from hwprices.providers import Pages, Part
from hwprices.providers.gcp.inventory import instance_types, regions
from hwprices.providers.gcp.prices import compose, licenses, rates, skus
from hwprices.providers.gcp.prices.components import component_prices
from hwprices.rows import frames, quarantine
from hwprices.rows.prices import price_id
from hwprices.schemas.catalog import Availability
from hwprices.schemas.columns import Table
from hwprices.schemas.price import ComponentPrices, PriceComponents, Prices

PROVIDER = pl.lit("gcp").alias("provider")

SOLD = ["region", "instance_type", "purchase_option", "term_months"]
"""compose.SOLD as the tables name it."""


def normalise(pages: Pages) -> Iterator[Part]:
    """Tables of the run: regions, zones, instance_types, availability, prices, price_components, component_prices.

    Raises:
        HwpricesError: a page is not what it should be, or too many SKUs are not understood.
    """
    found = instance_types.read(pages)
    read = skus.read(pages)
    priced = rates.build(read)
    chosen = _regions(pages)
    linux = compose.compose(found, priced)
    licensed = licenses.license(found, priced, linux)
    yield from regions.places(pages, found, chosen)
    yield Part("instance_types", regions.instance_types(found))
    yield Part("availability", _availability(found, chosen))
    refused = pl.concat(
        [
            read.refused,
            priced.refused.with_columns(regions=pl.concat_list("region")).drop("region"),
            licensed.refused,
        ],
        how="diagonal_relaxed",
    )
    prices, parts = _tables(found, linux, licensed)
    yield from _by_region(
        Prices, prices, chosen, refused=_quarantine(refused, chosen), counts=dict(read.counts)
    )
    yield from _by_region(PriceComponents, parts, chosen)
    yield from _by_region(ComponentPrices, component_prices(priced.rates), chosen)


def _regions(pages: Pages) -> list[str] | None:
    """Regions that the run was asked for, or None for all: the catalog comes as a whole, and is narrowed here."""
    asked = {
        name
        for r in pages.run.results
        for name in r.unit.params.get("regions", "").split(",")
        if name
    }
    return sorted(asked) or None


def _availability(found: instance_types.Machines, regions: list[str] | None) -> pl.DataFrame:
    rows = found.offers if regions is None else found.offers.filter(pl.col("region").is_in(regions))
    return frames.conform(
        rows.lazy().drop("source_url").with_columns(PROVIDER, offered=pl.lit(True)), Availability
    ).collect()


def _tables(
    found: instance_types.Machines, linux: compose.Composed, licensed: licenses.Licensed
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of prices and price_components, all regions. price_id is made once a price and joined to its parts."""
    everywhere = pl.concat([linux.prices.with_columns(os=pl.lit("linux")), licensed.prices])
    keyed = _as_prices(_with_source(everywhere, found))
    ids = keyed.select(*SOLD, "os", "price_id")
    each_os = linux.components.join(ids, left_on=compose.SOLD, right_on=SOLD)
    fees = licensed.components.join(ids, left_on=[*compose.SOLD, "os"], right_on=[*SOLD, "os"])
    columns = [
        "price_id",
        "region",
        "instance_type",
        "component",
        "part_option",
        "quantity",
        "unit",
        "price",
        "currency",
        "sku_id",
        "observed_at",
        "raw_sha256",
    ]
    lines = pl.concat([each_os.select(columns), fees.select(columns)])
    parts = (
        lines.lazy()
        .rename({"part_option": "purchase_option", "price": "unit_price"})
        .with_columns(PROVIDER)
    )
    return keyed, frames.conform(parts, PriceComponents).collect()


def _with_source(prices: pl.DataFrame, found: instance_types.Machines) -> pl.DataFrame:
    """A price of which no part is known comes from the page that lists the type."""
    listed = found.offers.select(
        "region", "instance_type", "observed_at", "source_url", "raw_sha256"
    ).unique(["region", "instance_type"], keep="first", maintain_order=True)
    joined = prices.join(listed, on=["region", "instance_type"], how="left", suffix="_listed")
    return joined.with_columns(
        pl.coalesce(c, f"{c}_listed") for c in ("observed_at", "source_url", "raw_sha256")
    ).select(prices.columns)


def _as_prices(rows: pl.DataFrame) -> pl.DataFrame:
    full = (
        rows.lazy()
        .rename({"option": "purchase_option"})
        .with_columns(
            PROVIDER,
            zone=pl.lit(None, dtype=pl.String),
            software=pl.lit("none"),
            license_model=pl.lit("included"),
            tenancy=pl.lit("shared"),
            currency=pl.col("currency").fill_null(
                "USD"
            ),  # asked for in the request; a price that is null has none of its own
            billing_unit=pl.lit(
                "second"
            ),  # https://cloud.google.com/compute/vm-instance-pricing: per second, at least a minute
            basis=pl.lit("composed"),
            effective_hourly=pl.col("hourly"),
        )
    )
    committed = pl.col("purchase_option") == "committed_use"
    full = full.with_columns(
        commitment_plan=pl.when(committed).then(pl.lit("resource")),
        payment_option=pl.when(committed).then(pl.lit("monthly")).otherwise(pl.lit("none")),
    ).with_columns(price_id())
    return frames.conform(full, Prices).collect()


def _quarantine(refused: pl.DataFrame, regions: list[str] | None) -> pl.DataFrame:
    """SKUs that were not understood, or that contradict each other: those of the regions asked for, and of no region."""
    if regions is not None:
        elsewhere = pl.col("regions").list.set_intersection([*regions, "global"]).list.len() == 0
        refused = refused.filter(~elsewhere.fill_null(False))
    shown = refused.select(
        "sku_id",
        "description",
        "family",
        "group",
        "usage",
        "price",
        "currency",
        "place",
        "refused",
        "observed_at",
        "source_url",
        "raw_sha256",
        regions=pl.col("regions").list.sort().list.join(","),
    )
    rows = shown.lazy().with_columns(PROVIDER)
    said = pl.format("{}: {} ({}, {})", "refused", "description", "group", "usage")
    return quarantine.merge_refused(
        [quarantine.refused(rows, table="prices", reason=pl.col("refused"), message=said).collect()]
    )


def _by_region(
    model: type[Table],
    rows: pl.DataFrame,
    regions: list[str] | None,
    *,
    refused: pl.DataFrame | None = None,
    counts: dict[str, int] | None = None,
) -> Iterator[Part]:
    """One part a region; what is refused goes with the first."""
    name = str(model.Config.name)  # type: ignore[attr-defined]
    wanted = rows if regions is None else rows.filter(pl.col("region").is_in(regions))
    parts = wanted.partition_by("region", as_dict=True)
    for i, region in enumerate(sorted(str(key[0]) for key in parts)):
        first = i == 0
        yield Part(
            name,
            parts[(region,)],
            region,
            refused if first else None,
            counts or {} if first else {},
        )
