"""The figures of one device: rent, measured speed, price of tokens, power, emissions, purchase."""

from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.ownership import Ownership, Tables, owned
from hwprices.units import Money

TOKENS = "usd_per_million_tokens_"


def cheapest(offers: pl.DataFrame, count: str) -> dict[str, Any]:
    """Cheapest price of one unit in any way it is sold: cheapest_usd, cheapest_offer (provider/region/type: purchase option).

    ``count`` is the column of units that a machine has. Machines with several kinds of accelerators have no accelerator_id and are not here.
    """
    suffix = "_usd_per_hour"
    options = [
        name for name in offers.columns if name.endswith(suffix) and not name.startswith("best_")
    ]
    where = ["provider", "region", "instance_type"]
    long = offers.unpivot(
        options, index=[*where, count], variable_name="option", value_name="usd"
    ).drop_nulls(["usd", count])
    if not long.height:
        return {"cheapest_usd": None, "cheapest_offer": None}
    best = (
        long.with_columns(usd=formulas.divide(pl.col("usd"), pl.col(count)))
        .sort("usd", *where, "option")
        .row(0, named=True)
    )
    offer = "/".join(best[name] for name in where)
    return {
        "cheapest_usd": best["usd"],
        "cheapest_offer": f"{offer}: {best['option'].removesuffix(suffix)}",
    }


def rent(offers: pl.DataFrame, price: str, spot: str | None) -> dict[str, Any]:
    """Cheapest on-demand and spot price of one unit, the offers they are of, and every region with an offer."""
    where = pl.concat_str("provider", "region", "instance_type", separator="/")
    found: dict[str, Any] = {
        "regions": offers.select(pl.concat_str("provider", "region", separator="/").unique().sort())
        .to_series()
        .to_list()
    }
    for column, value, offer in (
        (price, "hourly_usd", "hourly_offer"),
        (spot, "spot_hourly_usd", "spot_offer"),
    ):
        best = (
            None
            if column is None
            else offers.drop_nulls(column)
            .sort(column, "provider", "region", "instance_type")
            .select(column, where)
            .head(1)
        )
        found[value], found[offer] = (
            best.row(0) if best is not None and best.height else (None, None)
        )
    return found


def measured(dataset: Tables, key: str) -> pl.DataFrame:
    """Newest results of each model and scenario, the best system first; times (training) have accelerator_hours instead of a rate."""
    rows = dataset.scan("benchmarks").filter(pl.col("accelerator_id") == key).collect()
    by = ["model", "scenario", "result_unit"]
    # the rate of one accelerator; for a time, what it took of one accelerator: minutes × accelerators
    figure = pl.coalesce(
        "per_accelerator",
        pl.col("accelerator_hours") * 60,
        pl.col("result") / pl.col("accelerator_count"),
    )
    numbers = pl.col("round").str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Int32))
    dated = rows.with_columns(
        per_accelerator=figure, age=numbers.list.get(0) * 1000 + numbers.list.get(1)
    ).drop_nulls("per_accelerator")
    unit = (
        pl.when(pl.col("result_unit").is_in(["minutes", "ms"]))
        .then("accelerator-" + pl.col("result_unit"))
        .otherwise(pl.col("result_unit") + " per accelerator")
    )
    newest = dated.with_columns(unit=unit).filter(pl.col("age") == pl.col("age").max().over(by))
    faster = (
        pl.when(pl.col("result_unit").is_in(["minutes", "ms"]))
        .then(pl.col("per_accelerator"))
        .otherwise(-pl.col("per_accelerator"))
    )
    return (
        newest.with_columns(order=faster)
        .sort(*by, "order", "system")
        .unique(by, keep="first", maintain_order=True)
    )


def token_prices(offers: pl.DataFrame, measured: pl.DataFrame, hourly: Any) -> list[dict[str, Any]]:
    """Cheapest offer whose machine was measured; else, marked so, the price of one device over its share of a bigger system."""
    prices = [
        {
            "model": column.removeprefix(TOKENS),
            "usd": offers[column].min(),
            "basis": "measured on as many accelerators",
        }
        for column in offers.columns
        if column.startswith(TOKENS) and offers[column].count()
    ]
    if prices or hourly is None:
        return prices
    shared = measured.filter(scenario="Offline", result_unit="Tokens/s")
    price = formulas.usd_per_million_tokens(pl.lit(hourly, dtype=Money), pl.col("per_accelerator"))
    return shared.select(
        "model", usd=price, basis=pl.lit("derived: one accelerator's share of a measured system")
    ).to_dicts()


def power(row: dict[str, Any]) -> dict[str, Any]:
    """Watts of the device at full load, and its dense rate per watt of published TDP: in BF16, else FP16, else FP32."""
    known = (
        (row["power_limit_default_w"], "power limit"),
        (row["tdp_w"], "TDP"),
        (row["tdp_estimate_w"], f"estimate: {row['tdp_estimate_source']}"),
    )
    watts, basis = next(((value, what) for value, what in known if value is not None), (None, None))
    dtype = next((d for d in ("bf16", "fp16", "fp32") if row[f"{d}_dense_tflops"]), None)
    efficiency = row[f"{dtype}_dense_tflops"] / row["tdp_w"] if dtype and row["tdp_w"] else None
    return {
        "watts": watts,
        "watts_basis": basis,
        "tflops_per_watt": efficiency,
        "tflops_per_watt_dtype": dtype if efficiency else None,
    }


def carbon(offers: pl.DataFrame) -> dict[str, Any]:
    """gCO2e for one hour of one device, in the cheapest offer that has a figure: SCI, else electricity alone, else from a TDP estimate."""
    c = pl.col
    estimate = formulas.operational_gco2e_per_hour(
        formulas.energy_kwh_per_hour(c.estimated_watts_from_tdp_estimate, c.pue),
        c.grid_gco2e_per_kwh,
    )
    ways = [
        (c.gco2e_per_hour, "SCI"),
        (c.operational_gco2e_per_hour, "electricity alone"),
        (estimate, "electricity alone, from an estimated TDP"),
    ]
    for figure, what in ways:
        each = offers.select(
            "provider",
            "region",
            "instance_type",
            "usd_per_accelerator_hour",
            figure=figure / formulas.known_positive(c.accelerator_count),
        )
        best = each.drop_nulls("figure").sort(
            "usd_per_accelerator_hour", "provider", "region", "instance_type", nulls_last=True
        )
        if best.height:
            first = best.row(0, named=True)
            return {
                "gco2e_per_hour": first["figure"],
                "gco2e_basis": f"{what}, {first['provider']}/{first['region']}/{first['instance_type']}",
            }
    return {"gco2e_per_hour": None, "gco2e_basis": None}


def purchase(dataset: Tables, row: dict[str, Any], ownership: Ownership) -> dict[str, Any]:
    """What one device costs to buy, and to own in the cheapest whole machine with it."""
    machines = owned(dataset, ownership).filter(
        pl.col("accelerator_id") == row["accelerator_id"], pl.col("accelerator_count") > 0
    )
    each = machines.with_columns(
        device_usd=formulas.divide(pl.col("usd"), pl.col("accelerator_count")),
        device_tco=formulas.divide(pl.col("tco_usd_per_hour"), pl.col("accelerator_count")),
    )
    running = each.filter("complete").drop_nulls("device_tco").sort("device_tco", "device_id")
    found = {"owned_hourly_usd": running["device_tco"][0] if running.height else None}
    if row["purchase_price_usd"] is not None:
        return found | {
            "purchase_usd": row["purchase_price_usd"],
            "purchase_basis": f"one device, {row['purchase_price_date']}",
        }
    bought = each.drop_nulls("device_usd").sort("device_usd", "device_id")
    if bought.height:
        return found | {
            "purchase_usd": bought["device_usd"][0],
            "purchase_basis": f"its share of {bought['device_id'][0]}",
        }
    launch = row["launch_price_usd"]
    return found | {
        "purchase_usd": launch,
        "purchase_basis": None if launch is None else "price at launch",
    }
