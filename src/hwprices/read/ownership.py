"""Compute the cost of owning a machine per hour, and when it is cheaper than renting one."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.formulas import first_of
from hwprices.read.currency import Rates, offers_in_usd, read_rates, to_usd
from hwprices.read.overlays import apply, rules
from hwprices.read.overlays.apply import warn_unmatched
from hwprices.release.release import Tables, is_private_host
from hwprices.units import HOURS_PER_YEAR, Money

SHARE = "above 0 and at most 1: 0.5 is half of all hours, 1 a machine that never idles"


@dataclass(frozen=True)
class Ownership:
    """Assumptions about an owned machine. The defaults are averages; give your own figures."""

    lifetime_years: float = 5
    """Years of use. Computers are 5-year property for US tax:
    IRS Publication 946, https://www.irs.gov/publications/p946"""

    utilisation: float = 0.5
    """Share of all hours in which the machine is in use. No average is published; half is a
    guess."""

    usd_per_kwh: float = 0.13
    """Price of electricity. US commercial customers, 2024: EIA Electric Power Monthly, table 5.3,
    https://www.eia.gov/electricity/monthly/"""

    pue: float = 1.56
    """Energy of the building over energy of the computers. Average of data centers, 2024: Uptime
    Institute Global Data Center Survey, https://uptimeinstitute.com/, as quoted by Statista,
    https://datasetsearch.research.google.com/search?query=average+data+center+pue. 1 for a machine
    on a desk."""

    grid_gco2e_per_kwh: float | None = None
    """Carbon intensity of your grid. Without it the answer has no emissions."""

    usd_per: Mapping[str, Decimal | str] = field(default_factory=dict)
    """Exchange rates, such as {"EUR": "1.08"}. A machine priced in a currency without a rate here
    has no cost in USD."""

    def __post_init__(self) -> None:
        read_rates(self.usd_per)  # raises an error on invalid rates
        grid = self.grid_gco2e_per_kwh or 0.0
        rules = [
            ("lifetime_years", self.lifetime_years, self.lifetime_years > 0, "above 0"),
            ("utilisation", self.utilisation, 0 < self.utilisation <= 1, SHARE),
            ("usd_per_kwh", self.usd_per_kwh, self.usd_per_kwh >= 0, "0 or more"),
            ("pue", self.pue, self.pue >= 1, "1 or more"),
            ("grid_gco2e_per_kwh", grid, grid >= 0, "0 or more"),
        ]
        for name, value, holds, takes in rules:
            if not (holds and math.isfinite(value)):
                raise HwpricesError(f"{name} is {value:g}", f"It is a number, {takes}.")

    @property
    def rates(self) -> Rates:
        """The exchange rates of ``usd_per`` as Decimals, by currency code."""
        return read_rates(self.usd_per)

    @property
    def hours_of_use(self) -> float:
        """Hours of use in the lifetime of a machine."""
        return self.lifetime_years * HOURS_PER_YEAR * self.utilisation


DEFAULTS = Ownership()


def owned(dataset: Tables, ownership: Ownership = DEFAULTS) -> pl.DataFrame:
    """Add the cost of one hour of use to each machine of local_hardware.

    Returns the columns of local_hardware and: purchase_price_usd, power_w, power_basis (maker or
    estimate), capital_usd_per_hour, energy_usd_per_hour, tco_usd_per_hour, energy_kwh_per_hour,
    operational_gco2e_per_hour, gco2e_per_hour. A figure is null if the machine's price, power or
    exchange rate is unknown. tco_usd_per_hour is also null for a part that needs a host, because
    the price and power of the host are unknown.
    """
    c = pl.col
    power_basis = first_of(
        {"maker": c.max_power_w.is_not_null(), "estimate": c.power_estimate_w.is_not_null()}
    )
    machines = dataset.scan("local_hardware").with_columns(
        purchase_price_usd=to_usd(c.price, c.price_currency, ownership.rates),
        power_w=pl.coalesce("max_power_w", "power_estimate_w"),
        power_basis=power_basis,
    )
    lifetime_years = pl.lit(float(ownership.lifetime_years))
    utilisation = pl.lit(float(ownership.utilisation))
    pue = pl.lit(float(ownership.pue))
    usd_per_kwh = pl.lit(float(ownership.usd_per_kwh))
    grid = pl.lit(ownership.grid_gco2e_per_kwh, dtype=pl.Float64)

    energy = formulas.energy_kwh_per_hour(c.power_w, pue)
    operational = formulas.operational_gco2e_per_hour(energy, grid)
    hours_of_use = lifetime_years * HOURS_PER_YEAR * utilisation
    embodied = formulas.embodied_gco2e_per_hour(pl.lit(1.0), c.embodied_kgco2e, hours_of_use)
    tco = formulas.tco_usd_per_hour(
        price_usd=c.purchase_price_usd,
        lifetime_years=lifetime_years,
        utilisation=utilisation,
        watts=c.power_w,
        pue=pue,
        usd_per_kwh=usd_per_kwh,
    )
    return machines.with_columns(
        capital_usd_per_hour=formulas.capital_usd_per_hour(
            c.purchase_price_usd, lifetime_years, utilisation
        ),
        energy_usd_per_hour=formulas.energy_usd_per_hour(c.power_w, pue, usd_per_kwh),
        tco_usd_per_hour=pl.when("complete").then(tco),
        energy_kwh_per_hour=energy,
        operational_gco2e_per_hour=operational,
        gco2e_per_hour=formulas.gco2e_per_hour(operational, embodied),
    ).collect()


OLD_PRICE_YEARS = 4
"""Maximum age of a purchase price when its row was last read. A choice of this project: two
generations of accelerators, about two years each."""

COMMITTED_YEARS = (1, 3)
"""Terms of the commitments that owning is compared with: those with a best_ column in offers."""

BREAK_EVEN_COLUMNS = [
    *("device_id", "name", "complete", "accelerator_id", "accelerator_count"),
    *("purchase_price_usd", "price_date", "tco_usd_per_hour", "price_currency"),
    *("cloud_usd_per_hour", "cloud_offer", "private_host_usd_per_hour", "private_host_offer"),
    *("break_even_hours", "break_even_years", "energy_kwh_per_hour"),
    *("operational_gco2e_per_hour", "not_compared"),
    *(
        name.format(years)
        for years in COMMITTED_YEARS
        for name in (
            "cloud_{}y_usd_per_hour",
            "cloud_{}y_offer",
            "cloud_{}y_option",
            "break_even_{}y_hours",
            "break_even_{}y_years",
        )
    ),
]

NOT_COMPARED = {
    "needs_host": "needing a host",
    "no_price": "without a known price",
    "other_currency": "priced in another currency (--usd-per)",
    "old_price": f"without a price of the last {OLD_PRICE_YEARS} years",
    "power_unknown": "of unknown power",
    "not_rented": "with an accelerator that no cloud prices",
    "no_accelerator": "without an accelerator",
}
"""Codes of not_compared: why machines have no break-even."""

OVERLAY_COLUMNS = [
    "cloud_overlay",
    "private_host_overlay",
    *(f"cloud_{years}y_overlay" for years in COMMITTED_YEARS),
]
"""Additional columns with own discounts: the rules that changed a rent, or null."""


def break_even(
    dataset: Tables,
    ownership: Ownership = DEFAULTS,
    *,
    overlays: rules.Discounts = None,
) -> pl.DataFrame:
    """Compare each machine on sale with the cheapest cloud offer of the same accelerator.

    Returns BREAK_EVEN_COLUMNS, sorted by break_even_hours:

    - price_date: the day of the purchase price, often the launch.
    - cloud_usd_per_hour: the cheapest on-demand price of one accelerator in a data center, times
      the machine's number of accelerators; cloud_offer: that offer (provider/region/instance_type).
      private_host_usd_per_hour and private_host_offer: the same of community hosts.
    - break_even_hours: hours of use; break_even_years: calendar time at the utilisation. Both may
      exceed the machine's lifetime. They are null if no cloud sells the accelerator, if the
      electricity alone costs more than the cloud, for a part that needs a host (``complete`` is
      false), and if the purchase price is older than OLD_PRICE_YEARS.
    - not_compared: why the break-even is missing, a key of NOT_COMPARED; null if it is known, or if
      the electricity alone costs more.
    - cloud_1y_usd_per_hour, cloud_1y_offer, break_even_1y_hours, break_even_1y_years: the same of
      the cheapest commitment of one year in a data center, which cloud_1y_option names as
      best_1y_option of offers does; likewise with 3y. A commitment is paid for every hour of its
      term, so an hour of use costs its price divided by the utilisation.

    ``overlays``: own discounts on rents, which also decide the cheapest offer. Adds
    OVERLAY_COLUMNS.
    """
    c = pl.col
    machines = owned(dataset, ownership)
    count = c.accelerator_count.cast(Money)
    offers = dataset.scan("offers")
    discounts = rules.as_overlays(overlays)
    if discounts is None:
        offers = offers_in_usd(offers, ownership.rates)
    else:
        warn_unmatched(dataset, discounts)
        offers = apply.apply_to_offers(offers, discounts, ownership.rates)
    in_data_centers = offers.filter(~is_private_host())
    in_private_hosts = offers.filter(is_private_host())
    on_demand = "on_demand_usd_per_hour"
    cheapest = {
        "cloud": _cheapest_offers(in_data_centers, on_demand),
        "private_host": _cheapest_offers(in_private_hosts, on_demand),
    }
    for years in COMMITTED_YEARS:
        best = f"best_{years}y"
        option = pl.col(f"{best}_option")
        cheapest[f"cloud_{years}y"] = _cheapest_offers(
            in_data_centers, f"{best}_usd_per_hour", option=option
        )
    for name, best_offers in cheapest.items():
        columns = [column for column in best_offers.columns if column != "accelerator_id"]
        renamed = best_offers.rename({column: f"{name}_{column}" for column in columns})
        price = pl.col(f"{name}_usd_per_hour")
        machines = machines.join(renamed, on="accelerator_id", how="left").with_columns(
            formulas.known_positive((price * count).cast(Money)).name.keep()
        )
    return (
        machines.with_columns(**_hours_to_break_even(ownership))
        .with_columns(*_years_to_break_even(ownership), not_compared=_not_compared())
        .select(*BREAK_EVEN_COLUMNS, *(OVERLAY_COLUMNS if discounts is not None else []))
        .sort("break_even_hours", "device_id", nulls_last=True)
    )


def _hours_to_break_even(ownership: Ownership) -> Mapping[str, pl.Expr]:
    """Return the hours of use after which owning costs less than on demand and commitments."""
    c = pl.col
    utilisation = pl.lit(float(ownership.utilisation))
    costs = {"break_even_hours": c.cloud_usd_per_hour}
    for years in COMMITTED_YEARS:
        price = pl.col(f"cloud_{years}y_usd_per_hour")
        costs[f"break_even_{years}y_hours"] = formulas.divide(price, utilisation)
    return {
        name: pl.when(c.complete & ~has_old_price()).then(
            formulas.break_even_hours(c.purchase_price_usd, c.energy_usd_per_hour, cost)
        )
        for name, cost in costs.items()
    }


def _years_to_break_even(ownership: Ownership) -> Iterator[pl.Expr]:
    """Return the years in which a machine is used for the hours of ``_hours_to_break_even``."""
    for term in ("", *(f"{years}y_" for years in COMMITTED_YEARS)):
        hours = f"break_even_{term}hours"
        years = pl.col(hours) / (HOURS_PER_YEAR * ownership.utilisation)
        yield years.alias(hours.replace("hours", "years"))


def _not_compared() -> pl.Expr:
    """Return the code of NOT_COMPARED; null if a machine is compared."""
    c = pl.col
    reasons = {
        "needs_host": ~c.complete,
        "no_price": c.price.is_null(),
        "other_currency": c.purchase_price_usd.is_null(),
        "old_price": has_old_price(),
        "power_unknown": c.power_w.is_null(),
        "no_accelerator": c.cloud_usd_per_hour.is_null() & has_cpus_alone(),
        "not_rented": c.cloud_usd_per_hour.is_null(),
    }
    return formulas.first_of(reasons)


def has_old_price() -> pl.Expr:
    """Check whether the purchase price is older than OLD_PRICE_YEARS, or its day is unknown.

    Nobody sells the machine at such a price anymore.
    """
    c = pl.col
    is_recent = c.price_date >= c.as_of.dt.offset_by(f"-{OLD_PRICE_YEARS}y")
    return c.price.is_not_null() & ~is_recent.fill_null(False)


def has_cpus_alone() -> pl.Expr:
    """Check whether a machine on sale has no accelerator with memory of its own."""
    c = pl.col
    return c.accelerator_id.is_null() | (c.unified_memory & c.accelerator_memory_gb.is_null())


def _cheapest_offers(offers: pl.LazyFrame, price: str, **more: pl.Expr) -> pl.DataFrame:
    """Return one row per accelerator: accelerator_id, usd_per_hour (of one), offer, and ``more``.

    ``price``: the column with the hourly price of a machine. Adds ``overlay``, the names of the own
    discounts that changed the price, if the offers have them.
    """
    place = ["provider", "region", "instance_type"]
    if f"overlay_{price}" in offers.collect_schema():
        more["overlay"] = pl.col(f"overlay_{price}")
    return (
        offers.with_columns(
            usd_per_hour=formulas.divide(pl.col(price), pl.col("accelerator_count"))
        )
        .drop_nulls(["usd_per_hour", "accelerator_id"])
        .sort("usd_per_hour", *place)
        .unique("accelerator_id", keep="first", maintain_order=True)
        .select(
            "accelerator_id", "usd_per_hour", offer=pl.concat_str(*place, separator="/"), **more
        )
        .collect()
    )
