"""Every formula behind a derived figure, in one place.

Each function takes polars expressions and gives one back; a null input makes a null figure, and so does a divisor that is not
above zero. Nothing is filled in, assumed figures are arguments whose default has its source beside it. Money goes in and comes
out as decimal; watts, grams and ratios are Float64. docs/method.md works each formula by hand.
"""

from functools import reduce
from operator import add

import polars as pl

from hwprices.units import HOURS_PER_YEAR, WideMoney

CPU_UTILISATION = 0.5
"""Average utilisation of hyperscale servers: Cloud Carbon Footprint's default, after LBNL's data center energy report (2016).
https://www.cloudcarbonfootprint.org/docs/methodology/#compute"""

ACCELERATOR_UTILISATION = 1.0
"""Share of an accelerator's power limit that is drawn. 1 is the ceiling: training and batched inference run near the limit, and
no cloud publishes a lower figure that could be cited."""

EMBODIED_LIFETIME_HOURS = 4 * HOURS_PER_YEAR
"""Four years of service: https://www.cloudcarbonfootprint.org/docs/embodied-emissions/ (after Teads' cloud data set)."""

GB_PER_GIB = 2**30 / 10**9


def known_positive(expression: pl.Expr) -> pl.Expr:
    """The expression where it is above zero, else null: decimals raise when divided by zero, floats turn infinite."""
    return pl.when(expression > 0).then(expression)


def divide(money: pl.Expr, quantity: pl.Expr) -> pl.Expr:
    """Money over a quantity, as money, rounded at the tenth decimal. The quantity may be a float (1/6 of a device)."""
    return money.cast(WideMoney) / known_positive(quantity.cast(WideMoney))


def discount(price: pl.Expr, on_demand: pl.Expr) -> pl.Expr:
    """1 - price / on_demand, a ratio; negative where the price is the dearer one."""
    return 1.0 - price.cast(pl.Float64) / known_positive(on_demand.cast(pl.Float64))


def usd_per_year(usd_per_hour: pl.Expr) -> pl.Expr:
    """USD/h × 8760 h, in USD/year, running all the time."""
    return usd_per_hour.cast(WideMoney) * HOURS_PER_YEAR


def usd_per_pflop_hour(usd_per_hour: pl.Expr, count: pl.Expr, tflops: pl.Expr) -> pl.Expr:
    """USD/h / (count × TFLOPS / 1000), in USD per PFLOPS and hour. ``tflops`` is the dense peak of one device (case S2)."""
    return divide(usd_per_hour, count * tflops / 1000)


def tflops_per_watt(tflops: pl.Expr, tdp_watts: pl.Expr) -> pl.Expr:
    """Dense peak rate / published TDP of one device: an upper bound that no workload reaches. Null without a TDP (case S6)."""
    return tflops / known_positive(tdp_watts)


def utilised(idle: pl.Expr, full: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """idle + utilisation × (full - idle): the straight line between SPECpower's idle and full load, in the inputs' unit.

    Source: https://www.cloudcarbonfootprint.org/docs/methodology/#compute
    """
    return idle + utilisation * (full - idle)


def cpu_watts(vcpus: pl.Expr, idle: pl.Expr, full: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """vcpus × W/vCPU at that utilisation, in W. Coefficients hold the server's other parts but memory, disks and accelerators."""
    return vcpus * utilised(idle, full, utilisation)


def memory_watts(memory_gib: pl.Expr, watts_per_gb: pl.Expr) -> pl.Expr:
    """GiB × W/GB, in W: memory makers write GB for 2^30 bytes, and the coefficient is averaged over their sheets.

    Source: https://www.cloudcarbonfootprint.org/docs/methodology/#memory
    """
    return memory_gib * watts_per_gb


def disk_watts(disk_gib: pl.Expr, watts_per_tb: pl.Expr) -> pl.Expr:
    """GiB in TB × W/TB, in W: disk makers write TB for 10^12 bytes. 0 GiB is 0 W whatever the coefficient.

    Source: https://www.cloudcarbonfootprint.org/docs/methodology/#storage
    """
    return pl.when(disk_gib == 0).then(0.0).otherwise(disk_gib * GB_PER_GIB / 1000 * watts_per_tb)


def accelerator_watts(count: pl.Expr, watts: pl.Expr, utilisation: pl.Expr) -> pl.Expr:
    """count × power of one device × utilisation, in W; 0 where there is no device."""
    return pl.when(count == 0).then(0.0).otherwise(count * watts * utilisation)


def machine_watts(*parts: pl.Expr) -> pl.Expr:
    """Sum of the parts' watts: null as soon as one part is."""
    return reduce(add, parts)


def energy_kwh_per_hour(watts: pl.Expr, pue: pl.Expr) -> pl.Expr:
    """E of SCI: watts / 1000 × PUE, in kWh for one hour, the building's share included."""
    return watts / 1000 * pue


def operational_gco2e_per_hour(energy_kwh: pl.Expr, grid_gco2e_per_kwh: pl.Expr) -> pl.Expr:
    """E × I of SCI, in gCO2e for one hour. I is location based: certificates and offsets do not count in SCI."""
    return energy_kwh * grid_gco2e_per_kwh


def embodied_gco2e_per_hour(count: pl.Expr, kgco2e: pl.Expr, lifetime_hours: pl.Expr) -> pl.Expr:
    """M of SCI, in gCO2e for one hour: count × kgCO2e of making one × 1000 / service life. Accelerators only, the host is not known."""
    return pl.when(count > 0).then(count * kgco2e * 1000 / known_positive(lifetime_hours))


def gco2e_per_hour(operational: pl.Expr, embodied: pl.Expr) -> pl.Expr:
    """SCI = (E × I + M) per R, with R one hour of the machine, in gCO2e/h.

    Source: Software Carbon Intensity, ISO/IEC 21031:2024, https://sci.greensoftware.foundation/
    """
    return operational + embodied


def usd_per_million_tokens(usd_per_hour: pl.Expr, tokens_per_second: pl.Expr) -> pl.Expr:
    """USD/h × 10^6 / (tokens/s × 3600), in USD per million tokens, at the measured throughput all the time."""
    return divide(usd_per_hour.cast(WideMoney) * 1_000_000, tokens_per_second * 3600)


def usd_per_run(usd_per_hour: pl.Expr, minutes: pl.Expr) -> pl.Expr:
    """USD/h × minutes / 60, in USD for one run; start-up and failed runs not counted."""
    return divide(
        usd_per_hour.cast(WideMoney) * known_positive(minutes).cast(WideMoney), pl.lit(60)
    )


def energy_usd_per_hour(watts: pl.Expr, pue: pl.Expr, usd_per_kwh: pl.Expr) -> pl.Expr:
    """watts / 1000 × PUE × USD/kWh, in USD for one hour of running."""
    return energy_kwh_per_hour(watts, pue).cast(WideMoney) * usd_per_kwh.cast(WideMoney)


def capital_usd_per_hour(
    price_usd: pl.Expr, lifetime_years: pl.Expr, utilisation: pl.Expr
) -> pl.Expr:
    """price / (lifetime × 8760 × utilisation), in USD for one hour of use: a machine that idles half the time costs twice as much."""
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
    """Cost of owning a machine for one hour of use, in USD: capital_usd_per_hour + energy_usd_per_hour.

    Not in it: space, people, network, repair, resale, and what it draws while idle.
    """
    return capital_usd_per_hour(price_usd, lifetime_years, utilisation) + energy_usd_per_hour(
        watts, pue, usd_per_kwh
    )


def break_even_hours(
    price_usd: pl.Expr, energy_usd: pl.Expr, cloud_usd_per_hour: pl.Expr
) -> pl.Expr:
    """Hours of use after which owning is cheaper: price / (cloud USD/h - energy USD/h). Null where the cloud costs less than the power."""
    return divide(price_usd, cloud_usd_per_hour - energy_usd).cast(pl.Float64)


def benchmark_round_order(benchmark_round: pl.Expr) -> pl.Expr:
    """Number of an MLPerf round, for sorting: v4.1 < v5.1 < v10.0, which letters would order wrongly."""
    numbers = benchmark_round.str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Int32))
    return numbers.list.get(0) * 1000 + numbers.list.get(1)
