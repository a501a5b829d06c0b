"""Each formula on numbers worked by hand, and the laws it must keep whatever the numbers."""

from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices import formulas
from hwprices.units import Money

FORMULAS: dict[str, tuple[Callable[..., pl.Expr], int]] = {
    "divide": (formulas.divide, 2),
    "discount": (formulas.discount, 2),
    "usd_per_year": (formulas.usd_per_year, 1),
    "usd_per_pflop_hour": (formulas.usd_per_pflop_hour, 3),
    "tflops_per_watt": (formulas.tflops_per_watt, 2),
    "cpu_watts": (formulas.cpu_watts, 4),
    "memory_watts": (formulas.memory_watts, 2),
    "disk_watts": (formulas.disk_watts, 2),
    "accelerator_watts": (formulas.accelerator_watts, 3),
    "machine_watts": (formulas.machine_watts, 4),
    "energy_kwh_per_hour": (formulas.energy_kwh_per_hour, 2),
    "operational_gco2e_per_hour": (formulas.operational_gco2e_per_hour, 2),
    "embodied_gco2e_per_hour": (formulas.embodied_gco2e_per_hour, 3),
    "gco2e_per_hour": (formulas.gco2e_per_hour, 2),
    "usd_per_million_tokens": (formulas.usd_per_million_tokens, 2),
    "usd_per_run": (formulas.usd_per_run, 2),
    "energy_usd_per_hour": (formulas.energy_usd_per_hour, 3),
    "capital_usd_per_hour": (formulas.capital_usd_per_hour, 3),
    "break_even_hours": (formulas.break_even_hours, 3),
}

amounts = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(2000), places=6)
sizes = st.floats(min_value=0.125, max_value=4096, allow_nan=False)


def lit(value: object) -> pl.Expr:
    return pl.lit(value, dtype=Money if isinstance(value, Decimal) else pl.Float64)


def value(expression: pl.Expr) -> Decimal | float | None:
    return pl.select(expression).item()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_missing_input_makes_a_missing_figure(name: str) -> None:
    formula, count = FORMULAS[name]
    inputs = [lit(3.0 + position) for position in range(count)]
    assert value(formula(*inputs)) is not None
    for missing in range(count):
        assert value(formula(*inputs[:missing], lit(None), *inputs[missing + 1 :])) is None, (
            f"input {missing + 1} of {name}"
        )


@pytest.mark.parametrize(
    "name", ["divide", "discount", "tflops_per_watt", "usd_per_million_tokens"]
)
def test_dividing_by_zero_gives_null(name: str) -> None:
    formula, _ = FORMULAS[name]
    assert value(formula(lit(Decimal("3.5")), lit(0.0))) is None


def test_the_highest_prices_do_not_overflow() -> None:
    """A year of a 20,000-dollar hour, and a token at one a second."""
    assert value(formulas.usd_per_million_tokens(lit(Decimal(20_000)), lit(1.0))) == pytest.approx(
        Decimal("5555555.5555555556")
    )
    assert value(formulas.usd_per_year(lit(Decimal(2_000_000)))) == Decimal(17_520_000_000)


def test_each_formula_by_hand() -> None:
    d = formulas
    assert value(d.divide(lit(Decimal("55.04")), lit(8.0))) == Decimal("6.88")
    assert value(d.divide(lit(Decimal("0.2268")), lit(1 / 6))) == pytest.approx(
        Decimal("1.3608"), abs=Decimal("1e-8")
    )
    assert value(d.discount(lit(Decimal("3")), lit(Decimal("4")))) == 0.25
    assert value(d.discount(lit(Decimal("5")), lit(Decimal("4")))) == -0.25
    assert value(d.usd_per_year(lit(Decimal("6.88")))) == Decimal("60268.8")
    assert value(d.tflops_per_watt(lit(30.3), lit(72.0))) == pytest.approx(
        0.4208, abs=1e-4
    )  # known wrong number S4: L4, FP32
    assert value(d.tflops_per_watt(lit(121.0), lit(72.0))) == pytest.approx(
        1.6806, abs=1e-4
    )  # S4: L4, dense FP16
    assert value(d.cpu_watts(lit(4.0), lit(1.0), lit(4.0), lit(0.5))) == 10.0
    assert value(d.memory_watts(lit(16.0), lit(0.392))) == pytest.approx(6.272)
    assert value(d.disk_watts(lit(1000 / d.GB_PER_GIB), lit(1.2))) == pytest.approx(1.2)
    assert value(d.accelerator_watts(lit(8.0), lit(700.0), lit(1.0))) == 5600.0
    assert value(d.energy_kwh_per_hour(lit(1000.0), lit(1.15))) == pytest.approx(1.15)
    assert value(d.embodied_gco2e_per_hour(lit(8.0), lit(164.0), lit(35040.0))) == pytest.approx(
        37.4429, abs=1e-4
    )
    assert value(d.usd_per_million_tokens(lit(Decimal("36")), lit(10_000.0))) == Decimal(1)
    assert value(d.usd_per_run(lit(Decimal("60")), lit(28.0))) == Decimal(28)
    assert value(d.energy_usd_per_hour(lit(1000.0), lit(1.5), lit(0.1))) == Decimal("0.15")
    assert value(d.capital_usd_per_hour(lit(Decimal(35040)), lit(4.0), lit(0.5))) == Decimal(2)
    total = d.tco_usd_per_hour(
        price_usd=lit(Decimal(35040)),
        lifetime_years=lit(4.0),
        utilisation=lit(0.5),
        watts=lit(1000.0),
        pue=lit(1.5),
        usd_per_kwh=lit(0.1),
    )
    assert value(total) == Decimal("2.15")
    assert (
        value(d.break_even_hours(lit(Decimal(30000)), lit(Decimal("0.15")), lit(Decimal("3.15"))))
        == 10_000
    )
    assert (
        value(d.break_even_hours(lit(Decimal(30000)), lit(Decimal("0.2")), lit(Decimal("0.1"))))
        is None
    )


def test_no_accelerator_and_no_disk_draw_nothing_though_their_power_is_not_known() -> None:
    assert value(formulas.accelerator_watts(lit(0.0), lit(None), lit(1.0))) == 0
    assert value(formulas.disk_watts(lit(0.0), lit(None))) == 0


@given(amounts, sizes)
def test_twice_the_price_is_twice_the_unit_price(amount: Decimal, size: float) -> None:
    once, twice = (value(formulas.divide(lit(amount * n), lit(size))) for n in (1, 2))
    assert isinstance(once, Decimal)
    assert twice == pytest.approx(2 * once, abs=Decimal("2e-10"))


@given(amounts, sizes, st.floats(min_value=1, max_value=5000))
def test_two_machines_cost_the_same_per_pflop_as_one(amount, count, tflops) -> None:
    one = value(formulas.usd_per_pflop_hour(lit(amount), lit(count), lit(tflops)))
    two = value(formulas.usd_per_pflop_hour(lit(amount * 2), lit(count * 2), lit(tflops)))
    # at a ten-billionth of a PFLOPS the quantity's own rounding shows
    assert two == pytest.approx(one, rel=Decimal("1e-5"))


@given(amounts, st.lists(st.floats(min_value=0.1, max_value=100_000), min_size=2, max_size=6))
def test_faster_is_never_dearer_per_token(amount: Decimal, rates: list[float]) -> None:
    costs = [
        value(formulas.usd_per_million_tokens(lit(amount), lit(rate))) for rate in sorted(rates)
    ]
    assert all(a >= b for a, b in pairwise(costs))  # type: ignore[operator]


@given(
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=5),
    st.floats(min_value=5, max_value=10),
)
def test_more_load_never_draws_less_and_stays_between_idle_and_full(a, b, idle, full) -> None:
    low, high = (value(formulas.utilised(lit(idle), lit(full), lit(u))) for u in sorted([a, b]))
    assert idle <= low <= high <= full + 1e-9  # type: ignore[operator]


@given(
    st.floats(min_value=1, max_value=20_000),
    st.floats(min_value=1, max_value=2),
    st.floats(min_value=0, max_value=1000),
    st.floats(min_value=0, max_value=100),
)
def test_sci_is_linear_in_the_grid_and_never_below_what_making_it_emitted(
    watts: float, pue: float, grid: float, embodied: float
) -> None:
    energy = formulas.energy_kwh_per_hour(lit(watts), lit(pue))
    total = value(
        formulas.gco2e_per_hour(
            formulas.operational_gco2e_per_hour(energy, lit(grid)), lit(embodied)
        )
    )
    assert total == pytest.approx(watts / 1000 * pue * grid + embodied)
    assert total >= embodied  # type: ignore[operator]


@given(amounts, st.floats(min_value=0.05, max_value=1), st.floats(min_value=0.05, max_value=1))
def test_a_machine_that_is_used_more_costs_less_an_hour(amount, a, b) -> None:
    rare, often = (
        value(formulas.capital_usd_per_hour(lit(amount), lit(4.0), lit(u))) for u in sorted([a, b])
    )
    assert rare >= often  # type: ignore[operator]


def test_rounds_of_benchmarks_are_ordered_by_number() -> None:
    rounds = pl.DataFrame({"round": ["v10.0", "v4.1", "v5.1", "v5.0"]})
    ordered = rounds.sort(formulas.benchmark_round_order(pl.col("round")))["round"]
    assert ordered.to_list() == ["v4.1", "v5.0", "v5.1", "v10.0"]
