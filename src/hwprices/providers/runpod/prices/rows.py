"""Make price rows: the price of one GPU in a cloud, times the GPUs of the machine.

A type has no price in a cloud where that is 0 or null, or that is said to be without the type. The
spot price is a row of its own only where it is lower than the on-demand price, because RunPod
repeats that price where there is no market.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.providers.runpod import kinds
from hwprices.providers.runpod.inventory.gpu_types import GpuType, by_page
from hwprices.rows import frames, quarantine
from hwprices.rows.origin import origin
from hwprices.rows.prices import LARGEST_PRICE, PriceRows, price_rows
from hwprices.schemas.price import PriceComponents, Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.units import Money

PLACEHOLDER_SHARE = Decimal("0.25")
"""A price of the Community Cloud below this share of the Secure Cloud's is no offer. In two
recorded lists of 2026 it is 0.44 to 0.88 of it, and 0.21 for one type: the MI300X, at 0.50 USD,
which RunPod has in the Secure Cloud only (known wrong number O1, docs/known-wrong-numbers.md)."""

LINE: dict[str, Any] = {
    "region": pl.String,
    "instance_type": pl.String,
    "purchase_option": pl.String,
    "hourly": Money,
    "basis": pl.String,
    "sku_id": pl.String,
    "gpus": pl.Int32,
    "per_gpu": Money,
    "flags": pl.List(pl.String),
}


@dataclass(frozen=True)
class Rate:
    """What one GPU of a type costs in a cloud."""

    cloud: str
    purchase_option: str
    per_gpu: Decimal
    flags: tuple[str, ...] = ()


def read_prices(types: list[GpuType]) -> tuple[PriceRows, pl.DataFrame]:
    """Make the rows of prices, those refused, and the rows of price_components."""
    counts: Counter[str] = Counter()
    refused: list[pl.DataFrame] = []
    lines: list[pl.DataFrame] = []
    for of_page in by_page(types):
        rows: list[dict[str, Any]] = []
        for gpu_type in of_page:
            rates = [rate for cloud in kinds.CLOUDS for rate in _rates(gpu_type, cloud, counts)]
            bad = [rate for rate in rates if not 0 < rate.per_gpu < LARGEST_PRICE]
            refused += [_refused(gpu_type, rate) for rate in bad]
            rows += [row for rate in rates if rate not in bad for row in _rows(gpu_type, rate)]
        if rows:
            lines.append(pl.DataFrame(rows, schema=LINE).with_columns(origin(of_page[0].page)))
    if not lines:
        empty = PriceRows(frames.empty(Prices).lazy(), _all(refused), counts)
        return empty, frames.empty(PriceComponents)
    frame = pl.concat(lines)
    prices = price_rows(frame.lazy(), provider="runpod", currency="USD").collect()
    return PriceRows(prices.lazy(), _all(refused), counts), _components(prices, frame)


def _all(refused: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([frames.empty(Quarantine), *refused])


def _rates(gpu_type: GpuType, cloud: str, counts: Counter[str]) -> Iterator[Rate]:
    """Yield the on-demand rate, and the spot rate if it is lower; count what is left out."""
    on_demand, spot = gpu_type.price(cloud), gpu_type.price(cloud, spot=True)
    has_no_machine = gpu_type.offered(cloud) is False
    if has_no_machine or not on_demand:
        counts[f"out_of_scope:not_in_cloud={cloud}"] += 1
    if has_no_machine:
        return
    flags = ("placeholder",) if _is_placeholder(gpu_type, cloud) else ()
    if on_demand:
        yield Rate(cloud, "on_demand", on_demand, flags)
    if not spot:
        return
    if on_demand and spot >= on_demand:
        counts["out_of_scope:spot=not_below_on_demand"] += 1
    else:
        yield Rate(cloud, "spot", spot, flags)


def _is_placeholder(gpu_type: GpuType, cloud: str) -> bool:
    """Tell whether the on-demand price of a cloud is too far below the Secure Cloud's."""
    price, secure = gpu_type.price(cloud), gpu_type.price("secure")
    return bool(price and secure and price < PLACEHOLDER_SHARE * secure)


def _rows(gpu_type: GpuType, rate: Rate) -> Iterator[dict[str, Any]]:
    """Yield a row for each machine with GPUs of this type."""
    for gpus, name in gpu_type.machines:
        yield {
            "region": rate.cloud,
            "instance_type": name,
            "purchase_option": rate.purchase_option,
            "hourly": rate.per_gpu * gpus,
            "basis": "listed" if gpus == 1 else "composed",
            "sku_id": gpu_type.id,
            "gpus": gpus,
            "per_gpu": rate.per_gpu,
            "flags": list(rate.flags),
        }


def _components(prices: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Write the price of one GPU and their number behind each composed price."""
    key = ["region", "instance_type", "purchase_option"]
    rates = lines.select(*key, quantity="gpus", unit_price="per_gpu")
    parts = prices.filter(pl.col("basis") == "composed").join(rates, on=key, how="left")
    parts = parts.with_columns(component=pl.lit("gpu"), unit=pl.lit("gpu"))
    columns = [name for name in frames.dtypes(PriceComponents) if name in parts.columns]
    return frames.conform(parts.lazy().select(columns), PriceComponents).collect()


def _refused(gpu_type: GpuType, rate: Rate) -> pl.DataFrame:
    row = {
        "id": gpu_type.id,
        "region": rate.cloud,
        "purchase_option": rate.purchase_option,
        "price": str(rate.per_gpu),
    }
    frame = pl.LazyFrame([row]).with_columns(
        pl.lit("runpod").alias("provider"), *origin(gpu_type.page)
    )
    return quarantine.refused(
        frame,
        table="prices",
        reason="price_not_positive" if rate.per_gpu <= 0 else "price_not_a_number",
        message=f"{gpu_type.id} costs {rate.per_gpu} in {rate.cloud}",
    ).collect()
