"""Make rows of prices and price_components, and quarantine rows of refused SKUs."""

from collections.abc import Iterator, Mapping

import polars as pl

from hwprices.providers import Part
from hwprices.providers.gcp.inventory.machine_type import Machines
from hwprices.providers.gcp.prices import flexible
from hwprices.providers.gcp.prices.compose import MachinePrices
from hwprices.providers.gcp.prices.licenses import LicensedPrices
from hwprices.providers.gcp.prices.skus import SkuCatalog
from hwprices.rows import frames, prices, quarantine
from hwprices.rows.origin import ORIGIN
from hwprices.schemas.price import PriceComponents

COMPONENT_COLUMNS = [
    *("price_id", "region", "instance_type", "component", "component_option"),
    *("quantity", "unit", "price", "currency", "sku_id", "observed_at", "raw_sha256"),
]

LICENSED = ["offer", "os", "software"]

REFUSED_COLUMNS = [
    *("sku_id", "description", "family", "group", "usage", "price", "currency", "place", "refused"),
    "word",
    *ORIGIN,
]


def composed_prices(
    linux: MachinePrices, licensed: LicensedPrices, machines: Machines
) -> pl.DataFrame:
    """Return the prices of all regions, with Linux and with licenses.

    They have the columns of ``MachinePrices.prices``, os and software.
    """
    with_origin = _fill_origin(linux.prices, machines).with_columns(
        os=pl.lit("linux"), software=pl.lit("none")
    )
    return pl.concat([with_origin, licensed.prices])


def price_rows(composed: pl.DataFrame) -> pl.DataFrame:
    """Return rows of prices, in the order of ``composed_prices``."""
    is_committed = pl.col("purchase_option") == "committed_use"
    is_derived = (pl.col("commitment_plan") == flexible.PLAN).fill_null(False)
    no_payment = pl.lit("none")
    return prices.price_rows(
        composed.lazy(),
        provider="gcp",
        # Dollars were requested; a price that is null has no currency of its own.
        currency=pl.col("currency").fill_null("USD"),
        # Billed by the second, at least a minute:
        # https://cloud.google.com/compute/vm-instance-pricing
        billing_unit="second",
        basis=pl.when(is_derived).then(pl.lit("derived")).otherwise(pl.lit("composed")),
        payment_option=pl.when(is_committed).then(pl.lit("monthly")).otherwise(no_payment),
    ).collect()


def _fill_origin(composed: pl.DataFrame, machines: Machines) -> pl.DataFrame:
    """Return the page that lists the type where no part has a price, and so no page."""
    pair = ["region", "instance_type"]
    listed = machines.offers.select(*pair, *ORIGIN)
    listed = listed.unique(pair, keep="first", maintain_order=True)
    joined = composed.join(listed, on=pair, how="left", suffix="_listed")
    filled = joined.with_columns(pl.coalesce(name, f"{name}_listed") for name in ORIGIN)
    return filled.select(composed.columns)


def price_component_parts(
    ids: pl.DataFrame, linux: MachinePrices, licensed: LicensedPrices, regions: list[str] | None
) -> Iterator[Part]:
    """Yield the rows of price_components for the rows of prices, one part for each region, sorted.

    The price of a licensed machine has the lines of its Linux price and those of its licenses.
    ``ids`` has ``LICENSED``, region and price_id of each price. ``regions`` limits them; None means
    all. Each part is joined on its own: the rows of all regions together are most of the memory
    that normalising takes.
    """
    of_parts = [name for name in COMPONENT_COLUMNS if name != "price_id"]
    machine_lines = _of_regions(linux.components.select("offer", *of_parts), regions)
    license_lines = _of_regions(licensed.components.select(*LICENSED, *of_parts), regions)
    ids_of = _of_regions(ids, regions)
    for region, lines in sorted(machine_lines.items()):
        of_region = ids_of[region].drop("region")
        joined = [lines.join(of_region, on="offer").select(COMPONENT_COLUMNS)]
        if region in license_lines:
            fees = license_lines[region].join(of_region, on=LICENSED)
            joined.append(fees.select(COMPONENT_COLUMNS))
        named = pl.concat(joined).rename(
            {"component_option": "purchase_option", "price": "unit_price"}
        )
        rows = named.lazy().with_columns(provider=pl.lit("gcp"))
        yield Part("price_components", frames.conform(rows, PriceComponents).collect(), region)


def _of_regions(rows: pl.DataFrame, regions: list[str] | None) -> dict[str, pl.DataFrame]:
    """Divide rows by region; ``regions`` limits them, None means all."""
    kept = rows if regions is None else rows.filter(pl.col("region").is_in(regions))
    return {str(key): part for (key,), part in kept.partition_by("region", as_dict=True).items()}


def refused_rows(
    catalog: SkuCatalog, licensed: LicensedPrices, regions: list[str] | None
) -> pl.DataFrame:
    """Return quarantine rows of SKUs that are not understood.

    ``regions`` keeps those of these regions and those of no region; None means all.
    """
    disks = catalog.disks.filter(pl.col("refused").is_not_null())
    refused = pl.concat([catalog.refused, licensed.refused, disks], how="diagonal_relaxed")
    if regions is not None:
        in_regions = pl.col("regions").list.set_intersection([*regions, "global"]).list.len() > 0
        refused = refused.filter(in_regions.fill_null(True))
    rows = refused.lazy().select(
        *REFUSED_COLUMNS,
        regions=pl.col("regions").list.sort().list.join(","),
        provider=pl.lit("gcp"),
    )
    message = quarantine.message("{}: {} ({}, {})", "refused", "description", "group", "usage")
    quarantined = quarantine.refused(
        rows, table="prices", reason=pl.col("refused"), message=message, word=pl.col("word")
    )
    return quarantine.merge_refused([quarantined.collect(), catalog.new_members])


def by_region(
    table: str,
    rows: pl.DataFrame,
    regions: list[str] | None,
    refused: pl.DataFrame | None = None,
    counts: Mapping[str, int] | None = None,
) -> Iterator[Part]:
    """Yield one part for each region, sorted; refused rows and counts go with the first.

    ``regions`` limits them; None means all.
    """
    for index, (region, frame) in enumerate(sorted(_of_regions(rows, regions).items())):
        if index == 0:
            yield Part(table, frame, region, refused, dict(counts or {}))
        else:
            yield Part(table, frame, region)
