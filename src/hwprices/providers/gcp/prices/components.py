"""Parts sold on their own, as rows of component_prices: what a custom machine, an attached GPU or a TPU slice is made of."""

import polars as pl

from hwprices.providers.gcp import sheets
from hwprices.providers.gcp.prices.compose import HOURS_PER_MONTH
from hwprices.rows import frames
from hwprices.schemas.price import ComponentPrices
from hwprices.specs.accelerator_names import accelerator_matcher
from hwprices.units import Money

UNITS = {
    "core": "vcpu",
    "ram": "gib",
    "premium_core": "vcpu",
    "premium_ram": "gib",
    "gpu": "gpu",
    "slice": "gpu",
    "tpu": "chip",
    "local_ssd": "gib",
    "instance": "instance",
}


def component_prices(rates: pl.DataFrame) -> pl.DataFrame:
    """Every rate for one unit and one hour: a month is 730 hours, a TPU SKU of four chips is divided by four.

    The quotient is rounded at the tenth decimal. price_components keeps the vendor's undivided figure.
    """
    described = pl.DataFrame(
        [_describe(part) for part in rates["part"].unique().sort()], schema=_SCHEMA, orient="row"
    )
    hours = pl.when(pl.col("per") == "month").then(pl.lit(HOURS_PER_MONTH)).otherwise(pl.lit(1))
    rows = (
        rates.lazy()
        .join(described.lazy(), on="part")
        .with_columns(
            pl.lit("gcp").alias("provider"),
            hourly=(pl.col("price") / (hours * pl.col("divisor")).cast(Money)).cast(Money),
            commitment_plan=pl.when(pl.col("option") == "committed_use").then(pl.lit("resource")),
        )
    )
    named = rows.rename({"part": "component", "option": "purchase_option"})
    columns = [c for c in frames.dtypes(ComponentPrices) if c in named.collect_schema()]
    return frames.conform(named.select(columns), ComponentPrices).collect()


_SCHEMA: dict[str, type[pl.DataType]] = {
    "part": pl.String,
    "unit": pl.String,
    "divisor": pl.Int64,
    "accelerator_id": pl.String,
}


def _describe(part: str) -> tuple[str, str, int, str | None]:
    """Unit, units of it in one unit of the SKU, and the spec sheet of an accelerator."""
    kind, _, name = part.partition(":")
    if kind == "tpu":
        tpu = next((t for t in sheets.tpus().values() if t.generation == name), None)
        return (
            (part, "chip", tpu.chips_per_unit, tpu.accelerator_id)
            if tpu
            else (part, "sku_unit", 1, None)
        )
    unit = UNITS[kind.removesuffix("_custom").removesuffix("_extended")]
    if kind == "slice" and name.endswith("-eighth"):
        unit = "eighth_gpu"
    match = (
        accelerator_matcher("gcp")(name.removesuffix("-eighth"), "")
        if kind in ("gpu", "slice")
        else None
    )
    return part, unit, 1, match.accelerator_id if match else None
