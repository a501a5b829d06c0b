"""What a machine of one's own costs an hour, and when that beats the cloud."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from hwprices import formulas
from hwprices.errors import HwpricesError
from hwprices.units import HOURS_PER_YEAR, Money


class Tables(Protocol):
    """Anything with the tables of a release: ``hwprices.open(…)`` is one."""

    def scan(self, table: str) -> pl.LazyFrame: ...


@dataclass(frozen=True)
class Ownership:
    """What owning is reckoned with. Every default is somebody's average, not yours."""

    lifetime_years: float = 5
    """Computers are 5-year property for US tax: IRS Publication 946, https://www.irs.gov/publications/p946"""

    utilisation: float = 0.5
    """Share of all hours in which the machine works; nobody's average, so half."""

    usd_per_kwh: float = 0.13
    """US commercial customers, 2024: EIA Electric Power Monthly, table 5.3, https://www.eia.gov/electricity/monthly/"""

    pue: float = 1.56
    """Average of data centers, 2024: Uptime Institute Global Data Center Survey, https://uptimeinstitute.com/. 1 for a desk."""

    grid_gco2e_per_kwh: float | None = None
    """Your grid's carbon intensity; without it no emissions are given."""

    usd_per: Mapping[str, float] = field(default_factory=dict)
    """Exchange rates for prices in other currencies: {"EUR": 1.1}. Without one such a machine has no cost in USD."""

    def __post_init__(self) -> None:
        if not (
            self.lifetime_years > 0
            and 0 < self.utilisation <= 1
            and self.usd_per_kwh >= 0
            and self.pue >= 1
        ):
            raise HwpricesError(
                "owning needs lifetime_years above 0, utilisation above 0 and at most 1, usd_per_kwh from 0, pue from 1",
                "Correct the value; utilisation 1 is a machine that never idles.",
            )


DEFAULTS = Ownership()


def owned(dataset: Tables, ownership: Ownership = DEFAULTS) -> pl.DataFrame:
    """local_hardware with what an hour of use costs.

    Adds usd, watts, watts_basis (maker, estimate), capital_usd_per_hour, energy_usd_per_hour, tco_usd_per_hour (Decimal, USD),
    kwh_per_hour, gco2e_per_hour. A machine without a price, a power or an exchange rate has null there.
    """
    c, o = pl.col, ownership
    rates = {"USD": 1.0, **o.usd_per}
    rate = c.price_currency.replace_strict(rates, default=None, return_dtype=pl.Float64)
    frame = dataset.scan("local_hardware").with_columns(
        usd=(c.price * rate.cast(Money)).cast(Money),
        watts=pl.coalesce("max_power_w", "power_estimate_w"),
        watts_basis=pl.when(c.max_power_w.is_not_null())
        .then(pl.lit("maker"))
        .when(c.power_estimate_w.is_not_null())
        .then(pl.lit("estimate")),
    )
    life, use, pue, kwh = (
        pl.lit(float(value)) for value in (o.lifetime_years, o.utilisation, o.pue, o.usd_per_kwh)
    )
    energy = formulas.energy_kwh_per_hour(c.watts, pue)
    embodied = formulas.embodied_gco2e_per_hour(
        pl.lit(1.0), c.embodied_kgco2e, life * HOURS_PER_YEAR * use
    )
    operational = formulas.operational_gco2e_per_hour(
        energy, pl.lit(o.grid_gco2e_per_kwh, dtype=pl.Float64)
    )
    return frame.with_columns(
        capital_usd_per_hour=formulas.capital_usd_per_hour(c.usd, life, use),
        energy_usd_per_hour=formulas.energy_usd_per_hour(c.watts, pue, kwh),
        tco_usd_per_hour=formulas.tco_usd_per_hour(
            price_usd=c.usd,
            lifetime_years=life,
            utilisation=use,
            watts=c.watts,
            pue=pue,
            usd_per_kwh=kwh,
        ),
        kwh_per_hour=energy,
        operational_gco2e_per_hour=operational,
        gco2e_per_hour=formulas.gco2e_per_hour(operational, embodied),
    ).collect()


def break_even(dataset: Tables, ownership: Ownership = DEFAULTS) -> pl.DataFrame:
    """Each machine one can buy against the cheapest on-demand offer of the same accelerator, device for device.

    device_id, name, accelerator_id, accelerator_count, usd, tco_usd_per_hour, cloud_usd_per_hour (as many accelerators at the
    cheapest offer's price of one), cloud_offer (provider/region/type), break_even_hours, break_even_years (at that utilisation).
    Null where no cloud sells the accelerator, or the power alone costs more than the cloud.
    """
    c = pl.col
    offers = dataset.scan("offers").filter(
        c.usd_per_accelerator_hour.is_not_null(), c.accelerator_id.is_not_null()
    )
    cheapest = (
        offers.sort("usd_per_accelerator_hour", "provider", "region", "instance_type")
        .unique("accelerator_id", keep="first", maintain_order=True)
        .select(
            "accelerator_id",
            "usd_per_accelerator_hour",
            cloud_offer=pl.concat_str("provider", "region", "instance_type", separator="/"),
        )
        .collect()
    )
    cloud = (c.usd_per_accelerator_hour * c.accelerator_count.cast(Money)).cast(Money)
    frame = (
        owned(dataset, ownership)
        .join(cheapest, on="accelerator_id", how="left")
        .with_columns(cloud_usd_per_hour=formulas.known_positive(cloud))
    )
    hours = formulas.break_even_hours(c.usd, c.energy_usd_per_hour, c.cloud_usd_per_hour)
    wanted = [
        "device_id",
        "name",
        "accelerator_id",
        "accelerator_count",
        "usd",
        "tco_usd_per_hour",
        "cloud_usd_per_hour",
        "cloud_offer",
        "break_even_hours",
    ]
    years = c.break_even_hours / (HOURS_PER_YEAR * ownership.utilisation)
    return (
        frame.with_columns(break_even_hours=hours)
        .select(*wanted, break_even_years=years)
        .sort("break_even_hours", "device_id", nulls_last=True)
    )
