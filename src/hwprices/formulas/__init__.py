"""Every formula behind a derived figure, in one place.

Each function takes polars expressions and returns one. A null input gives a null figure, and so
does a divisor that is not above zero. No input is replaced by a default; assumed figures are
arguments, whose usual value is a constant below with its source. Money goes in and comes out as
decimal; watts, grams and ratios are Float64. docs/method.md computes each formula by hand.
"""

from collections.abc import Mapping
from functools import reduce
from operator import add

import polars as pl

from hwprices.units import HOURS_PER_YEAR, WideMoney

CPU_UTILISATION = 0.5
"""Average utilisation of hyperscale servers: Cloud Carbon Footprint's default, after LBNL's data
center energy report (2016). https://www.cloudcarbonfootprint.org/docs/methodology/#compute"""

ACCELERATOR_UTILISATION = 1.0
"""Share of an accelerator's power limit that is drawn. 1 is the upper bound: training and batched
inference run near the limit, and no cloud publishes a lower figure that could be cited."""

EMBODIED_LIFETIME_HOURS = 4 * HOURS_PER_YEAR
"""Four years of service, after Teads' cloud data set:
https://www.cloudcarbonfootprint.org/docs/embodied-emissions/"""

GB_PER_GIB = 2**30 / 10**9
SECONDS_PER_HOUR = 3600


def known_positive(expression: pl.Expr) -> pl.Expr:
    """Return the expression where it is above zero, else null.

    Decimals raise when they are divided by zero, floats become infinite.
    """
    return pl.when(expression > 0).then(expression)


def first_of(conditions: Mapping[str, pl.Expr], otherwise: str | None = None) -> pl.Expr:
    """Return the first code whose condition holds, else ``otherwise``."""
    codes = (pl.when(condition).then(pl.lit(code)) for code, condition in conditions.items())
    return pl.coalesce(*codes, pl.lit(otherwise))


def divide(money: pl.Expr, quantity: pl.Expr) -> pl.Expr:
    """Divide money by a quantity: money, rounded at the tenth decimal.

    The quantity may be a float (1/6 of a device).
    """
    return money.cast(WideMoney) / known_positive(quantity.cast(WideMoney))


def discount(price: pl.Expr, on_demand: pl.Expr) -> pl.Expr:
    """Compute 1 - price / on_demand: a ratio, negative where the price is the higher one."""
    return 1.0 - price.cast(pl.Float64) / known_positive(on_demand.cast(pl.Float64))


def usd_per_year(usd_per_hour: pl.Expr) -> pl.Expr:
    """Compute USD/h × 8760 h: USD/year of a machine that always runs."""
    return usd_per_hour.cast(WideMoney) * HOURS_PER_YEAR


def usd_per_pflop_hour(usd_per_hour: pl.Expr, count: pl.Expr, tflops: pl.Expr) -> pl.Expr:
    """Compute USD/h / (count × TFLOPS / 1000): USD per PFLOPS and hour.

    ``tflops`` is the dense peak rate of one device, because lists that use the sparse rate show
    half the price: known wrong number S2 (docs/known-wrong-numbers.md).
    """
    return divide(usd_per_hour, count * tflops / 1000)


def tflops_per_watt(tflops: pl.Expr, tdp_watts: pl.Expr) -> pl.Expr:
    """Compute dense peak rate / TDP of one device: TFLOPS/W, an upper bound for any workload.

    Null where the maker publishes no TDP: known wrong number S6 (docs/known-wrong-numbers.md).
    """
    return tflops / known_positive(tdp_watts)


def utilised(idle: pl.Expr, full: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """Compute idle + utilisation × (full - idle), in the unit of the inputs.

    The straight line between SPECpower's idle and full load:
    https://www.cloudcarbonfootprint.org/docs/methodology/#compute
    """
    return idle + utilisation * (full - idle)


def cpu_watts(vcpus: pl.Expr, idle: pl.Expr, full: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """Compute vcpus × W/vCPU at that utilisation: W.

    ``idle`` and ``full`` are W/vCPU. They include the server's other parts, except memory, disks
    and accelerators. https://www.cloudcarbonfootprint.org/docs/methodology/#compute
    """
    return vcpus * utilised(idle, full, utilisation)


def memory_watts(memory_gib: pl.Expr, watts_per_gb: pl.Expr) -> pl.Expr:
    """Compute GiB × W/GB: W.

    Memory makers write GB for 2^30 bytes, and the coefficient is the average of their data sheets:
    https://www.cloudcarbonfootprint.org/docs/methodology/#memory
    """
    return memory_gib * watts_per_gb


def disk_watts(disk_gib: pl.Expr, watts_per_tb: pl.Expr) -> pl.Expr:
    """Compute the disk in TB × W/TB: W. 0 GiB is 0 W, also without a coefficient.

    Disk makers write TB for 10^12 bytes:
    https://www.cloudcarbonfootprint.org/docs/methodology/#storage
    """
    return pl.when(disk_gib == 0).then(0.0).otherwise(disk_gib * GB_PER_GIB / 1000 * watts_per_tb)


def accelerator_watts(count: pl.Expr, watts: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """Compute count × W of one device × utilisation: W; 0 without a device."""
    return pl.when(count == 0).then(0.0).otherwise(count * watts * utilisation)


def machine_watts(*parts: pl.Expr) -> pl.Expr:
    """Add the watts of the parts: W; null as soon as one part is null."""
    return reduce(add, parts)


def energy_kwh_per_hour(watts: pl.Expr, pue: pl.Expr) -> pl.Expr:
    """Compute watts / 1000 × PUE: kWh in one hour, with the building's share (E of SCI).

    Source: Software Carbon Intensity, ISO/IEC 21031:2024, https://sci.greensoftware.foundation/
    """
    return watts / 1000 * pue


def operational_gco2e_per_hour(energy_kwh: pl.Expr, grid_gco2e_per_kwh: pl.Expr) -> pl.Expr:
    """Compute kWh × gCO2e/kWh: gCO2e in one hour (E × I of SCI).

    I is location based: certificates and offsets do not count, https://sci.greensoftware.foundation/
    """
    return energy_kwh * grid_gco2e_per_kwh


def embodied_gco2e_per_hour(count: pl.Expr, kgco2e: pl.Expr, lifetime_hours: pl.Expr) -> pl.Expr:
    """Compute count × kgCO2e of making one device × 1000 / service life in h: gCO2e in one hour.

    M of SCI, https://sci.greensoftware.foundation/, for the accelerators only: the emissions of
    making the rest of the machine are not known.
    """
    return pl.when(count > 0).then(count * kgco2e * 1000 / known_positive(lifetime_hours))


def gco2e_per_hour(operational: pl.Expr, embodied: pl.Expr) -> pl.Expr:
    """Compute SCI = (E × I + M) per R, where R is one hour of the machine: gCO2e/h.

    Source: Software Carbon Intensity, ISO/IEC 21031:2024, https://sci.greensoftware.foundation/
    """
    return operational + embodied


def usd_per_million_tokens(usd_per_hour: pl.Expr, tokens_per_second: pl.Expr) -> pl.Expr:
    """Compute USD/h × 10^6 / (tokens/s × 3600): USD per million tokens at that throughput."""
    return divide(usd_per_hour.cast(WideMoney) * 1_000_000, tokens_per_second * SECONDS_PER_HOUR)


def per_million_tokens(per_hour: pl.Expr, tokens_per_second: pl.Expr) -> pl.Expr:
    """Compute a quantity per hour × 10^6 / (tokens/s × 3600), such as grams per million tokens."""
    return per_hour * 1_000_000 / (known_positive(tokens_per_second) * SECONDS_PER_HOUR)


def usd_per_run(usd_per_hour: pl.Expr, minutes: pl.Expr) -> pl.Expr:
    """Compute USD/h × minutes / 60: USD for one run, without start-up and failed runs."""
    return divide(
        usd_per_hour.cast(WideMoney) * known_positive(minutes).cast(WideMoney), pl.lit(60)
    )


def energy_usd_per_hour(watts: pl.Expr, pue: pl.Expr, usd_per_kwh: pl.Expr) -> pl.Expr:
    """Compute watts / 1000 × PUE × USD/kWh: USD for one hour of running."""
    return energy_kwh_per_hour(watts, pue).cast(WideMoney) * usd_per_kwh.cast(WideMoney)


def capital_usd_per_hour(
    price_usd: pl.Expr, lifetime_years: pl.Expr, utilisation: pl.Expr
) -> pl.Expr:
    """Compute price / (lifetime × 8760 × utilisation): USD for one hour of use.

    A machine that is idle half of the time costs twice as much per hour of use.
    """
    return divide(price_usd, lifetime_years * HOURS_PER_YEAR * utilisation)


def tco_usd_per_hour(
    *,
    price_usd: pl.Expr,
    lifetime_years: pl.Expr,
    utilisation: pl.Expr,
    watts: pl.Expr,
    pue: pl.Expr,
    usd_per_kwh: pl.Expr,
) -> pl.Expr:
    """Compute the cost of owning a machine: USD for one hour of use.

    capital_usd_per_hour + energy_usd_per_hour. Left out are space, people, network, repair, resale,
    and the energy of an idle machine.
    """
    return capital_usd_per_hour(price_usd, lifetime_years, utilisation) + energy_usd_per_hour(
        watts, pue, usd_per_kwh
    )


def break_even_hours(
    price_usd: pl.Expr, energy_usd: pl.Expr, cloud_usd_per_hour: pl.Expr
) -> pl.Expr:
    """Compute price / (cloud USD/h - energy USD/h): hours of use after which owning is cheaper.

    Null where the cloud costs less than the energy.
    """
    return divide(price_usd, cloud_usd_per_hour - energy_usd).cast(pl.Float64)


def benchmark_round_order(benchmark_round: pl.Expr) -> pl.Expr:
    """Number an MLPerf round (v4.1) for sorting: v4.1 < v5.1 < v10.0, unlike as text."""
    numbers = benchmark_round.str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Int32))
    return numbers.list.get(0) * 1000 + numbers.list.get(1)


STRICTER = {"llama2-70b-99.9": "llama2-70b-99"}
"""Benchmark with a stricter accuracy: the one that it also counts for. MLPerf Inference v6.1 has
only the stricter one; in v6.0 a system's two figures are the same, or nearly so."""

TOKEN_MODELS = {
    "llama2_70b": "llama2-70b-99",
    "llama3_1_8b": "llama3.1-8b",
    "llama3_1_405b": "llama3.1-405b",
    "mixtral_8x7b": "mixtral-8x7b",
    "deepseek_r1": "deepseek-r1",
    "gpt_oss_120b": "gpt-oss-120b",
}
"""Name in our columns: benchmark as MLPerf spells it. Llama 2 70B has two accuracy targets; this is
the one of 99 %, for which results of 99.9 % count too."""

FINE_TUNING = "llama2_70b_lora"
"""Benchmark of MLPerf Training that has columns of its own, by the same name."""


def with_benchmark(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column benchmark: model, or what a stricter accuracy also counts for.

    A system that has both in a round keeps the row of the benchmark itself.
    """
    rows = rows.with_columns(benchmark=pl.col("model").replace(STRICTER))
    own = rows.filter(pl.col("model").is_in(list(STRICTER.values())))
    both = ["accelerator_id", "benchmark", "scenario", "round", "system"]
    stricter = pl.col("model").is_in(list(STRICTER))
    return pl.concat([rows.filter(~stricter), rows.filter(stricter).join(own, on=both, how="anti")])
