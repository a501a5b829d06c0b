"""Compute the figures of one device: rent, speed, price of tokens, power, emissions, purchase."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.device.lookup import Values
from hwprices.read.device.measured import (
    DATED,
    OFFER_KEY,
    PRICE_OF_ONE,
    SAMPLE_MODELS,
    PriceDates,
    label,
)
from hwprices.read.ownership import Ownership, owned
from hwprices.release.release import Tables, is_private_host
from hwprices.specs import packaged_sheet
from hwprices.units import HOURS_PER_YEAR, NUMBER_FORMATS, Money

TOKEN_PRICE_PREFIX = "usd_per_million_tokens_"  # noqa: S105 - the tokens of a language model
MEASURED = "measured on as many accelerators"
DERIVED = "derived: one accelerator's share of a measured system"
OWNED = "owned, measured on as many accelerators"
OWNED_DERIVED = "owned, derived: their share of a measured system"
"""The basis of a token price."""

CPU_SCENARIOS = {"single_user": "SingleUser", "prompt": "Prompt", "serving": "Serving"}
"""Kinds of measurements on CPUs, in the words of benchmarks."""

CPU_RUN = ("model", "scenario", "precision", "software")  # distinguishes runs on a machine


@dataclass(frozen=True)
class LowestPrice:
    """The lowest price of one unit, its offer, and when it was seen."""

    price: Decimal | None = None
    offer: str | None = None
    seen: datetime | None = None


def regions(offers: pl.DataFrame) -> list[str]:
    """List every region with an offer, as provider/region."""
    region = pl.concat_str("provider", "region", separator="/")
    return offers.select(region.unique().sort()).to_series().to_list()


def rent(
    offers: pl.DataFrame,
    dates: PriceDates,
    *,
    on_demand: str,
    count: str,
    spot: str | None = None,
    part_usd_per_hour: Decimal | None = None,
) -> Values:
    """Find the cheapest prices of one unit: on demand, spot, and under any purchase option.

    Prices of community hosts are separate; the price of a year does not include them.

    ``offers`` have the columns that ``dates`` adds. ``on_demand`` and ``spot`` name the columns
    with prices of one unit, ``count`` the column with the number of units of a machine.
    ``part_usd_per_hour``: the price of the unit without a machine.
    """
    data_centers, private = offers.filter(~is_private_host()), offers.filter(is_private_host())
    listed = _lowest(data_centers, on_demand, "on_demand")
    cheapest_spot = _lowest(data_centers, spot, "spot") if spot else LowestPrice()
    options = _price_columns(offers)
    cheapest = _cheapest(data_centers, count, dates, options)
    private_host = _cheapest(private, count, dates, options)
    per_hour = listed.price or part_usd_per_hour
    year = _year(data_centers, count, dates)
    if year.price is None and per_hour is not None:
        year = LowestPrice(per_hour * HOURS_PER_YEAR, "the part, always on")
    return {
        "on_demand_usd_per_hour": listed.price,
        "on_demand_offer": listed.offer,
        "spot_usd_per_hour": cheapest_spot.price,
        "spot_offer": cheapest_spot.offer,
        "cheapest_usd_per_hour": cheapest.price,
        "cheapest_offer": cheapest.offer,
        "private_host_usd_per_hour": private_host.price,
        "private_host_offer": private_host.offer,
        "part_usd_per_hour": part_usd_per_hour,
        "prices_observed": _oldest_day(listed, cheapest_spot, cheapest, private_host, year),
        "usd_per_year": year.price,
        "usd_per_year_basis": year.offer,
    }


def _oldest_day(*prices: LowestPrice) -> date | None:
    times = [price.seen for price in prices if price.seen is not None]
    return min(times).date() if times else None


LESS_THAN_A_YEAR = ("spot", "low_priority", "dev_test", "capacity_block", "dws_", "serverless")
MORE_THAN_A_YEAR = ("_3y", "_5y")


def _year(offers: pl.DataFrame, count: str, dates: PriceDates) -> LowestPrice:
    """Find the cheapest price of one unit for a year: on demand, or committed for one year.

    The hourly price of a commitment includes the upfront payment.
    """
    options = [
        name
        for name in _price_columns(offers)
        if not name.startswith(LESS_THAN_A_YEAR)
        and not any(term in name for term in MORE_THAN_A_YEAR)
    ]
    hourly = _cheapest(offers, count, dates, options)
    if hourly.price is None:
        return hourly
    return replace(hourly, price=hourly.price * HOURS_PER_YEAR)


SUFFIX = "_usd_per_hour"


def _price_columns(offers: pl.DataFrame) -> list[str]:
    return [n for n in offers.columns if n.endswith(SUFFIX) and not n.startswith("best_")]


def _lowest(offers: pl.DataFrame, column: str, option: str) -> LowestPrice:
    """Find the lowest price in a column of a purchase option."""
    priced = offers.drop_nulls(column).sort(column, *OFFER_KEY)
    if priced.is_empty():
        return LowestPrice()
    offer = pl.concat_str(*OFFER_KEY, separator="/")
    return LowestPrice(*priced.select(column, offer, f"{option}_observed_at").row(0))


def _cheapest(
    offers: pl.DataFrame, count: str, dates: PriceDates, options: list[str]
) -> LowestPrice:
    """Find the lowest price of one unit in columns of prices, with its offer and option.

    ``count``: the column with the number of units of a machine.
    """
    seen = [f"{option}_observed_at" for option in DATED]
    prices = offers.unpivot(
        options, index=[*OFFER_KEY, count, *seen], variable_name="option", value_name="machine_usd"
    ).drop_nulls(["machine_usd", count])
    if prices.is_empty():
        return LowestPrice()
    price_of_one = formulas.divide(pl.col("machine_usd"), pl.col(count))
    best = (
        prices.with_columns(usd=price_of_one).sort("usd", *OFFER_KEY, "option").row(0, named=True)
    )
    place = {name: best[name] for name in OFFER_KEY}
    option = best["option"].removesuffix(SUFFIX)
    return LowestPrice(
        best["usd"],
        f"{'/'.join(place.values())}: {option}",
        best[f"{option}_observed_at"]
        if option in DATED
        else dates.seen(place, best["machine_usd"]),
    )


def measurements(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Return ``measured.results`` as values of the column ``measured``."""
    columns = ["model", "scenario", "round", "per_accelerator", "unit", "system"]
    system = {"result": "result", "result_unit": "result_unit", "accelerators": "accelerator_count"}
    lengths = ["input_tokens", "output_tokens"]
    return results.select(
        *columns, "source_url", *lengths, "precision", "software", **system
    ).to_dicts()


def cpu_measurements(cpu_id: str) -> list[dict[str, Any]]:
    """Return measured speeds of machines with a CPU as values of the column ``measured``.

    Sorted by model and scenario, small machines first.
    """
    rows = packaged_sheet("cpu_speeds").filter(cpu_id=cpu_id)
    return (
        rows.select(
            *("source_url", "input_tokens", "output_tokens", "vcpus", "users", "precision"),
            "software",
            model="model_id",
            scenario=pl.col("kind").replace_strict(CPU_SCENARIOS),
            unit=pl.lit("Tokens/s"),
            system=pl.format("{}/{}", "provider", "instance_type"),
            result="tokens_per_second",
            result_unit=pl.lit("Tokens/s"),
        )
        .sort(*CPU_RUN, "vcpus", "system", "result", maintain_order=True)
        .to_dicts()
    )


def token_prices(cheapest: pl.DataFrame, results: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the price of a million tokens, by model.

    It is the price of the cheapest data center offer with as many accelerators as a measured
    system. Without such an offer, it is the lowest price of one device divided by its share of a
    measured system's rate; it is marked as derived if the system and the machine with that price
    have different numbers of accelerators.

    ``cheapest``: ``measured.cheapest_offers`` of this accelerator. ``results``:
    ``measured.results`` for machines of the same sizes.
    """
    rates = {row["benchmark"]: row for row in _token_rates(results)}
    offers = {row["price"]: row for row in cheapest.iter_rows(named=True)}
    priced = [(name, offers.get(TOKEN_PRICE_PREFIX + name)) for name in formulas.TOKEN_MODELS]
    measured = [
        _token_price(name, offer["usd"], MEASURED, rates.get(offer["benchmark"]))
        for name, offer in priced
        if offer
    ]
    single = offers.get(PRICE_OF_ONE)
    if measured or single is None:
        return measured
    return [
        _token_price(
            name,
            _usd_per_million(single["usd"], row["per_accelerator"]),
            MEASURED if row["accelerator_count"] == single["accelerator_count"] else DERIVED,
            row,
        )
        for name, row in rates.items()
    ]


def owned_token_prices(
    results: pl.DataFrame, usd_per_hour: Decimal | None, count: float
) -> list[dict[str, Any]]:
    """Return an owner's price of a million tokens on ``count`` accelerators, by model.

    ``results``: for machines of this size. A result of a system of another size is marked as
    derived.
    """
    if usd_per_hour is None:
        return []
    return [
        _token_price(
            row["benchmark"],
            _usd_per_million(usd_per_hour, row["per_accelerator"] * count),
            OWNED if row["accelerator_count"] == count else OWNED_DERIVED,
            row,
        )
        for row in _token_rates(results)
    ]


def _token_rates(results: pl.DataFrame) -> list[dict[str, Any]]:
    """List the rates of token generation at full load."""
    return results.filter(scenario="Offline", result_unit="Tokens/s").to_dicts()


def _usd_per_million(usd_per_hour: Decimal, tokens_per_second: float) -> Decimal:
    price = formulas.usd_per_million_tokens(
        pl.lit(usd_per_hour, dtype=Money), pl.lit(tokens_per_second)
    )
    return Decimal(pl.select(price).item())


def _token_price(
    model: str, usd: Decimal, basis: str, system: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return a row of token_prices in ``lists.csv``; ``system``: its row of benchmarks."""
    system = system or {}
    return {
        "model": model,
        "usd": usd,
        "basis": basis,
        "tokens_per_second": system.get("result"),
        "accelerators": system.get("accelerator_count"),
        "measurement": label(system) if system else None,
        "input_tokens": system.get("input_tokens"),
        "output_tokens": system.get("output_tokens"),
    }


def sample_prices(
    results: pl.DataFrame, usd_per_hour: Decimal | None, count: float
) -> list[dict[str, Any]]:
    """Return the price of a thousand samples (images, pieces of speech, videos), by model."""
    if usd_per_hour is None:
        return []
    samples_per_hour = pl.col("per_accelerator") * count * formulas.SECONDS_PER_HOUR
    price = formulas.divide(pl.lit(usd_per_hour * 1000, dtype=Money), samples_per_hour)
    rates = results.filter(
        pl.col("model").is_in(SAMPLE_MODELS),
        pl.col("scenario") == "Offline",
        pl.col("result_unit") == "Samples/s",
    )
    return rates.select("model", usd=price.cast(Money)).to_dicts()


def power(row: dict[str, Any]) -> Values:
    """Return the watts of an accelerator at full load, and its dense rate per watt of TDP.

    The rate is the rate of the first native format of bf16, fp16, fp8, int8 and fp32. A format with
    a lower rate than fp32 is emulated or has few units, and is skipped.
    """
    sources = (
        (row["tdp_w"], "TDP"),
        (row["power_limit_default_w"], "power limit"),
        (row["tdp_estimate_w"], f"estimate: {row['tdp_estimate_source']}"),
    )
    power_w, basis = next((pair for pair in sources if pair[0] is not None), (None, None))
    native = row["fp32_dense_tflops"] or 0.0
    rates = {dtype: row[NUMBER_FORMATS[dtype]] for dtype in ("bf16", "fp16", "fp8", "int8", "fp32")}
    dtype = next((d for d, rate in rates.items() if rate and rate >= native), None)
    efficiency = rates[dtype] / row["tdp_w"] if dtype and row["tdp_w"] else None
    return {
        "power_w": power_w,
        "power_basis": basis,
        "tflops_per_watt": efficiency,
        "tflops_per_watt_dtype": dtype if efficiency else None,
        "tdp_w": row["tdp_w"],
    }


def emissions(offers: pl.DataFrame) -> Values:
    """Return the gCO2e per hour of one device, in the cheapest offer with such a figure.

    In this order: SCI, then electricity, of machines with published power; electricity from an
    estimated TDP; electricity of the parts with known power. Data centers come before community
    hosts.
    """
    col = pl.col
    published = pl.when(col.estimated_watts.is_not_null())
    estimated = pl.when(col.estimated_watts_from_tdp_estimate.is_not_null())
    electricity = col.operational_gco2e_per_hour
    figures = [
        (published.then(col.gco2e_per_hour), "SCI"),
        (published.then(electricity), "electricity alone"),
        (estimated.then(electricity), "electricity alone, from an estimated TDP"),
        (electricity, "electricity alone, without the host"),
    ]
    for machine_gco2e, basis in figures:
        device_gco2e = machine_gco2e / formulas.known_positive(col.accelerator_count)
        priced = (
            offers.select(*OFFER_KEY, "usd_per_accelerator_hour", gco2e_per_hour=device_gco2e)
            .drop_nulls("gco2e_per_hour")
            .sort(is_private_host(), "usd_per_accelerator_hour", *OFFER_KEY, nulls_last=True)
        )
        if priced.height:
            row = priced.row(0, named=True)
            offer = "/".join(row[name] for name in OFFER_KEY)
            return {"gco2e_per_hour": row["gco2e_per_hour"], "gco2e_basis": f"{basis}, {offer}"}
    return {}


def purchase(dataset: Tables, row: dict[str, Any], ownership: Ownership) -> Values:
    """Return the purchase price of an accelerator, and its cost in the cheapest owned machine."""
    machines = owned(dataset, ownership).filter(
        pl.col("accelerator_id") == row["accelerator_id"], pl.col("accelerator_count") > 0
    )
    count = pl.col("accelerator_count")
    shares = machines.with_columns(
        device_price_usd=formulas.divide(pl.col("purchase_price_usd"), count),
        device_tco=formulas.divide(pl.col("tco_usd_per_hour"), count),
    )
    complete = shares.filter("complete").drop_nulls("device_tco").sort("device_tco", "device_id")
    price_usd, basis = _purchase_price(row)
    share, share_basis = _machine_share(shares)
    return {
        "launch_price_usd": row["launch_price_usd"],
        "machine_share_usd": share,
        "machine_share_basis": share_basis,
        "purchase_price": price_usd,
        "purchase_currency": None if price_usd is None else "USD",
        "purchase_price_usd": price_usd,
        "purchase_basis": basis,
        "tco_usd_per_hour": complete["device_tco"][0] if complete.height else None,
    }


def _purchase_price(row: dict[str, Any]) -> tuple[Decimal | None, str | None]:
    """Return the price of one device in USD and its basis: an offer, else the price at launch."""
    if row["purchase_price_usd"] is not None:
        return row["purchase_price_usd"], f"one device, {row['purchase_price_date'] or 'undated'}"
    if row["launch_price_usd"] is not None:
        return row["launch_price_usd"], f"price at launch, {row['release_year'] or 'undated'}"
    return None, None


def _machine_share(shares: pl.DataFrame) -> tuple[Decimal | None, str | None]:
    """Return one device's share of the cheapest machine with it, and that machine.

    ``shares``: device_id, device_price_usd, price_date.
    """
    machines = shares.drop_nulls("device_price_usd").sort("device_price_usd", "device_id")
    if machines.is_empty():
        return None, None
    first = machines.row(0, named=True)
    return first["device_price_usd"], f"{first['device_id']}, {first['price_date'] or 'undated'}"
