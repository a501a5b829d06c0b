"""Read landed pages into rows of the tables. Pure: no network, no clock.

Custom machines, GPUs attached to N1 and TPU slices can be priced with component_prices.

The catalog has no rates for flexible (spend-based) commitments. A commitment to an amount of money
per hour reduces the on-demand price of some components of some series to a share, which is in
data/specs/gcp_discounts.csv with its source. The other components stay at the full price.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.providers import Pages, Part, check_regions, gcp
from hwprices.providers.gcp import instance_types, regions
from hwprices.providers.gcp.classify import named_by_refused
from hwprices.providers.gcp.compose import (
    OFFER_KEY,
    LicensedPrices,
    MachinePrices,
    add_licenses,
    build_rates,
    compose,
)
from hwprices.providers.gcp.machine_type import ComponentId, Machines
from hwprices.providers.gcp.sheets import Sheets
from hwprices.providers.gcp.skus import SkuCatalog, disk_price_rows, read_skus
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN
from hwprices.schemas.tables import ComponentPrices, PriceComponents
from hwprices.units import HOURS_PER_MONTH, Money


def normalise(
    pages: Pages, sheets: Sheets | None = None, day: datetime | None = None
) -> Iterator[Part]:
    """Yield the inventory as one part per table, and the prices as one part per table and region.

    ``sheets`` are Google's rules; None loads those of the checkout or package. ``day``: use the
    prices that held then, from pages with past prices; None for the newest prices.

    Raises:
        HwpricesError: the SKU catalog has no page, a page has another format, a requested region
            does not exist, or most rows of a page cannot be read.
    """
    _check_catalog(pages)
    sheets = sheets or Sheets.load()
    requested = regions.requested_regions(pages)

    machines = instance_types.read_machines(pages, sheets)
    zones = regions.read_zones(pages, machines)
    listed = regions.read_regions(pages, zones)
    check_regions("gcp", requested or (), {place.region for place in listed})
    region_rows = regions.region_rows(listed, requested, sheets)
    yield Part("regions", region_rows)
    yield Part("zones", regions.zone_rows(zones, region_rows))
    types = instance_types.instance_type_rows(machines, sheets)
    yield Part("instance_types", types, refused=machines.refused)
    yield Part("availability", regions.availability_rows(machines, requested))

    catalog = read_skus(pages, day)
    rates = build_rates(catalog)
    faults = {**named_by_refused(catalog.refused, machines), **machines.faults}
    unfetched = {} if pages.of(gcp.TPU_SKUS) else {"tpu": "tpu_catalog_not_fetched"}
    composed_linux = compose(machines, rates, faults, unfetched)
    linux = add_flexible(composed_linux, machines, sheets)
    licensed = add_licenses(machines, rates, linux)
    composed = composed_prices(linux, licensed, machines)
    prices = _price_rows(composed)
    ids = composed.select(*LICENSED, "region", prices["price_id"])
    parts = [component_price_rows(rates.rates, sheets), disk_price_rows(catalog.disks)]
    refused = refused_rows(catalog, licensed, requested)
    yield from by_region("prices", prices, requested, refused, catalog.counts)
    yield from price_component_parts(ids, linux, licensed, requested)
    yield from by_region("component_prices", pl.concat(parts), requested)


def _check_catalog(pages: Pages) -> None:
    """Refuse a run without the SKU catalog: all machines would look unsold."""
    if pages.of(gcp.SKUS):
        return
    failed = [result for result in pages.run.results if result.unit.kind == gcp.SKUS]
    reason = f": {failed[0].reason}" if failed and failed[0].reason else ""
    raise HwpricesError(f"gcp: no page of the SKU catalog was landed{reason}")


PLAN = "flexible"
UNSOLD = "flexible_committed_use"  # The name of such a commitment in data/specs/gcp_not_sold.csv


def add_flexible(linux: MachinePrices, machines: Machines, sheets: Sheets) -> MachinePrices:
    """Add the prices of flexible commitments to composed prices.

    Each known on-demand price of a machine yields a price per term of its series. Its lines are
    those of the on-demand price, multiplied by the share that is paid and rounded to ten decimals;
    the price is their sum. A line at the full price has component_option on_demand, and the row the
    flag ``uncommitted_parts``, as under a commitment for resources.
    """
    lines = _lines(linux, _terms(machines, sheets), sheets.flexible_shares)
    prices = _prices(linux.prices, lines)
    components = lines.join(prices, on="offer", how="semi")
    return MachinePrices(
        pl.concat([linux.prices, prices.select(linux.prices.columns)], rechunk=True),
        pl.concat([linux.components, components.select(linux.components.columns)], rechunk=True),
    )


def _terms(machines: Machines, sheets: Sheets) -> pl.DataFrame:
    """Return one row per machine type and term: instance_type, machine_series, term_months."""
    series = pl.DataFrame(
        [(machine.name, machine.series.name) for machine in machines.types],
        schema={"instance_type": pl.String, "machine_series": pl.String},
        orient="row",
    )
    sold = sheets.flexible_shares.select("machine_series", "term_months").unique()
    unsold = machines.unsold.filter(pl.col("purchase_option") == UNSOLD)
    return series.join(sold, on="machine_series").join(unsold, on="instance_type", how="anti")


def _lines(linux: MachinePrices, terms: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Return one row per part and term of each on-demand price.

    ``from_offer`` is the number of the on-demand price. ``price`` is what is paid; ``pays_share``
    is null for a part at the full price.
    """
    is_on_demand = pl.col("purchase_option") == "on_demand"
    on_demand = linux.components.filter(is_on_demand).drop("term_months")
    # Numbers above those of all offers, with and without a price: one block per term.
    block = linux.prices.select(pl.col("offer").max().fill_null(0) + 1).item()
    joined = on_demand.join(terms, on="instance_type").join(
        shares, on=["machine_series", "component", "term_months"], how="left"
    )
    paid = (pl.col("price") * pl.col("pays_share")).cast(Money)
    is_full = pl.col("pays_share").is_null()
    option = pl.lit("committed_use")
    return joined.with_columns(
        pl.when(is_full).then("price").otherwise(paid).alias("price"),
        from_offer="offer",
        offer=(pl.col("offer") + block * (pl.col("term_months") // 12)).cast(pl.UInt32),
        purchase_option=option,
        component_option=pl.when(is_full).then(pl.lit("on_demand")).otherwise(option),
    ).with_columns(cost=(pl.col("quantity") * pl.col("price")).cast(Money))


def _prices(composed: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Sum the lines of each offer that has a part with a discount."""
    sums = lines.group_by("offer").agg(
        pl.col("from_offer", *OFFER_KEY).first(),
        pl.col("cost").sum().cast(Money).alias("hourly"),
        pl.col("pays_share").is_null().any().alias("uncommitted"),
        pl.col("pays_share").is_not_null().any().alias("committed"),
    )
    uncommitted = pl.when("uncommitted").then(pl.lit("uncommitted_parts"))
    unchanged = composed.drop(*OFFER_KEY, "hourly", "commitment_plan")
    return (
        sums.filter("committed")
        .join(unchanged.rename({"offer": "from_offer"}), on="from_offer")
        .with_columns(
            flags=pl.concat_list("flags", uncommitted).list.drop_nulls(),
            commitment_plan=pl.lit(PLAN),
        )
    )


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

    The columns are those of ``MachinePrices.prices``, os and software.
    """
    with_origin = _fill_origin(linux.prices, machines).with_columns(
        os=pl.lit("linux"), software=pl.lit("none")
    )
    return pl.concat([with_origin, licensed.prices])


def _price_rows(composed: pl.DataFrame) -> pl.DataFrame:
    """Return rows of prices, in the order of ``composed_prices``."""
    is_committed = pl.col("purchase_option") == "committed_use"
    is_derived = (pl.col("commitment_plan") == PLAN).fill_null(False)
    no_payment = pl.lit("none")
    return prices.price_rows(
        composed.lazy(),
        provider="gcp",
        # Dollars were requested; a null price has no currency.
        currency=pl.col("currency").fill_null("USD"),
        # At least a minute: https://cloud.google.com/compute/vm-instance-pricing
        billing_unit="second",
        basis=pl.when(is_derived).then(pl.lit("derived")).otherwise(pl.lit("composed")),
        payment_option=pl.when(is_committed).then(pl.lit("monthly")).otherwise(no_payment),
    ).collect()


def _fill_origin(composed: pl.DataFrame, machines: Machines) -> pl.DataFrame:
    """Fill in the page that lists the type if no part has a price, and so no page."""
    pair = ["region", "instance_type"]
    listed = machines.offers.select(*pair, *ORIGIN)
    listed = listed.unique(pair, keep="first", maintain_order=True)
    joined = composed.join(listed, on=pair, how="left", suffix="_listed")
    filled = joined.with_columns(pl.coalesce(name, f"{name}_listed") for name in ORIGIN)
    return filled.select(composed.columns)


def price_component_parts(
    ids: pl.DataFrame, linux: MachinePrices, licensed: LicensedPrices, regions: list[str] | None
) -> Iterator[Part]:
    """Yield the rows of price_components for the rows of prices, one part per region, sorted.

    The price of a licensed machine has the lines of its Linux price and those of its licenses.
    ``ids`` has ``LICENSED``, region and price_id of each price. ``regions`` limits them; None means
    all. Each part is joined separately, because the rows of all regions would take more memory than
    all other steps.
    """
    line_columns = [name for name in COMPONENT_COLUMNS if name != "price_id"]
    machine_lines = _divide(linux.components.select("offer", *line_columns), regions)
    license_lines = _divide(licensed.components.select(*LICENSED, *line_columns), regions)
    region_ids = _divide(ids, regions)
    for region, lines in sorted(machine_lines.items()):
        priced = region_ids[region].drop("region")
        joined = [lines.join(priced, on="offer").select(COMPONENT_COLUMNS)]
        if region in license_lines:
            fees = license_lines[region].join(priced, on=LICENSED)
            joined.append(fees.select(COMPONENT_COLUMNS))
        named = pl.concat(joined).rename(
            {"component_option": "purchase_option", "price": "unit_price"}
        )
        rows = named.lazy().with_columns(provider=pl.lit("gcp"))
        yield Part("price_components", frames.conform(rows, PriceComponents).collect(), region)


def _divide(rows: pl.DataFrame, regions: list[str] | None) -> dict[str, pl.DataFrame]:
    """Divide rows by region; ``regions`` limits them, None means all."""
    if regions is not None:
        rows = rows.filter(pl.col("region").is_in(regions))
    return frames.by_value(rows, "region")


def refused_rows(
    catalog: SkuCatalog, licensed: LicensedPrices, regions: list[str] | None
) -> pl.DataFrame:
    """Return quarantine rows of SKUs that are not understood.

    ``regions`` limits them to these regions and SKUs without a region; None means all.
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
    message = prices.message("{}: {} ({}, {})", "refused", "description", "group", "usage")
    quarantined = prices.refused(
        rows, table="prices", reason=pl.col("refused"), message=message, word=pl.col("word")
    )
    return prices.merge_refused([quarantined.collect(), catalog.new_members])


def by_region(
    table: str,
    rows: pl.DataFrame,
    regions: list[str] | None,
    refused: pl.DataFrame | None = None,
    counts: Mapping[str, int] | None = None,
) -> Iterator[Part]:
    """Yield one part per region, sorted; refused rows and counts go with the first.

    ``regions`` limits them; None means all.
    """
    for index, (region, frame) in enumerate(sorted(_divide(rows, regions).items())):
        if index == 0:
            yield Part(table, frame, region, refused, dict(counts or {}))
        else:
            yield Part(table, frame, region)


UNITS = {
    "core": "vcpu",
    "ram": "gib",
    "gpu": "gpu",
    "slice": "gpu",
    "local_ssd": "gib",
    "instance": "instance",
}
"""Kind of component → unit."""


@dataclass(frozen=True)
class _Description:
    """One unit of a component.

    ``units_per_sku`` is how many units one unit of the SKU has: four chips for a TPU board.
    ``accelerator_id`` is its spec sheet, None if it has none or is not an accelerator.
    """

    unit: str
    units_per_sku: int = 1
    accelerator_id: str | None = None


def component_price_rows(rates: pl.DataFrame, sheets: Sheets) -> pl.DataFrame:
    """Return all rates per unit and hour, in the columns of component_prices.

    ``rates`` is ``Rates.rates``. A month has 730 hours, the price of a TPU SKU of four chips is
    divided by four, and memory sold by the decimal gigabyte is converted to GiB. Results are
    rounded to ten decimals. price_components has Google's figure.
    """
    is_monthly = pl.col("per") == "month"
    hours = pl.when(is_monthly).then(pl.lit(HOURS_PER_MONTH)).otherwise(pl.lit(1))
    divisor = (hours * pl.col("units_per_sku")).cast(Money)
    price = (pl.col("price") * pl.col("sku_units")).cast(Money)
    is_committed = pl.col("purchase_option") == "committed_use"
    rows = rates.join(_descriptions(rates["component_id"], sheets), on="component_id").with_columns(
        provider=pl.lit("gcp"),
        component=pl.col("component_id"),
        hourly=(price / divisor).cast(Money),
        price=(price / divisor).cast(Money),
        per=pl.lit("hour"),
        tier_from=pl.lit(0),
        commitment_plan=pl.when(is_committed).then(pl.lit("resource")),
    )
    columns = [name for name in ComponentPrices.dtypes if name in rows.columns]
    return frames.conform(rows.lazy().select(columns), ComponentPrices).collect()


def _descriptions(component_ids: pl.Series, sheets: Sheets) -> pl.DataFrame:
    """Return one row per component id: unit, units_per_sku and accelerator_id."""
    ids = component_ids.unique().sort().to_list()
    described = [_describe(ComponentId.parse(component_id), sheets) for component_id in ids]
    return pl.DataFrame(
        {
            "component_id": ids,
            "unit": [description.unit for description in described],
            "units_per_sku": [description.units_per_sku for description in described],
            "accelerator_id": [description.accelerator_id for description in described],
        },
        schema={
            "component_id": pl.String,
            "unit": pl.String,
            "units_per_sku": pl.Int64,
            "accelerator_id": pl.String,
        },
    )


def _describe(component: ComponentId, sheets: Sheets) -> _Description:
    if component.kind == "tpu":
        return _describe_tpu(component, sheets)
    if component.kind == "premium":  # M2's premium on cores and on memory
        return _Description(UNITS[component.name])
    if component.kind in ("gpu", "slice"):
        match = sheets.match_accelerator(component.name, "")
        unit = "eighth_gpu" if component.variant == "eighth" else UNITS[component.kind]
        return _Description(unit, accelerator_id=match.accelerator_id if match else None)
    return _Description(UNITS[component.kind])


def _describe_tpu(component: ComponentId, sheets: Sheets) -> _Description:
    """Describe a TPU; a generation that gcp_tpu.csv does not list keeps the SKU's unit."""
    for tpu in sheets.tpus.values():
        if ComponentId.parse(f"tpu:{tpu.generation}") == component:
            return _Description("chip", tpu.chips_per_unit, tpu.accelerator_id)
    return _Description("sku_unit")
