"""Make rows of component_prices: the components that Google sells on their own.

A custom machine, a GPU attached to N1 or a TPU slice is made of them.
"""

from dataclasses import dataclass

import polars as pl

from hwprices.providers.gcp.component_id import ComponentId
from hwprices.providers.gcp.sheets import Sheets
from hwprices.rows import frames
from hwprices.schemas.price import ComponentPrices
from hwprices.units import HOURS_PER_MONTH, Money

UNITS = {
    "core": "vcpu",
    "ram": "gib",
    "gpu": "gpu",
    "slice": "gpu",
    "local_ssd": "gib",
    "instance": "instance",
}
"""Kind of component → what one unit of it is."""


@dataclass(frozen=True)
class _Description:
    """One unit of a component.

    ``units_per_sku`` is how many units one unit of the SKU holds: four chips for a TPU board.
    ``accelerator_id`` is its spec sheet, None where it is not an accelerator or has none.
    """

    unit: str
    units_per_sku: int = 1
    accelerator_id: str | None = None


def component_price_rows(rates: pl.DataFrame, sheets: Sheets) -> pl.DataFrame:
    """Return every rate for one unit and one hour, in the columns of component_prices.

    ``rates`` is ``rates.Rates.rates``. A month is 730 hours, and the price of a TPU SKU of four
    chips is divided by four; memory sold by the decimal gigabyte is for one GiB. Results are
    rounded at the tenth decimal. price_components keeps Google's undivided figure.
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
    columns = [name for name in frames.dtypes(ComponentPrices) if name in rows.columns]
    return frames.conform(rows.lazy().select(columns), ComponentPrices).collect()


def _descriptions(component_ids: pl.Series, sheets: Sheets) -> pl.DataFrame:
    """Return one row for each component id: unit, units_per_sku and accelerator_id."""
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
    """Describe a TPU; a generation that gcp_tpu.csv does not list is kept by the SKU's unit."""
    for tpu in sheets.tpus.values():
        if ComponentId.parse(f"tpu:{tpu.generation}") == component:
            return _Description("chip", tpu.chips_per_unit, tpu.accelerator_id)
    return _Description("sku_unit")
