"""Each formula on numbers worked by hand, and the laws it must keep whatever the numbers."""

from decimal import Decimal
from inspect import signature
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hwprices import formulas
from hwprices.units import Money
from tests.helpers.cases import cases

FORMULAS = (
    *("divide", "discount", "usd_per_year", "usd_per_pflop_hour", "tflops_per_watt", "cpu_watts"),
    *("memory_watts", "disk_watts", "accelerator_watts", "machine_watts", "energy_kwh_per_hour"),
    *("operational_gco2e_per_hour", "embodied_gco2e_per_hour", "gco2e_per_hour"),
    *("usd_per_million_tokens", "usd_per_run", "energy_usd_per_hour", "capital_usd_per_hour"),
    "break_even_hours",
)

amounts = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(2000), places=6)
sizes = st.floats(min_value=0.125, max_value=4096, allow_nan=False)


def lit(value: object) -> pl.Expr:
    return pl.lit(value, dtype=Money if isinstance(value, Decimal) else pl.Float64)


def value(expression: pl.Expr) -> Decimal | float | None:
    return pl.select(expression).item()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_missing_input_makes_a_missing_figure(name: str) -> None:
    formula = getattr(formulas, name)
    count = len(signature(formula).parameters)
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
    assert value(getattr(formulas, name)(lit(Decimal("3.5")), lit(0.0))) is None


def read(written: Any) -> Any:
    """Read a value of a case: text is an amount of money."""
    return Decimal(written) if isinstance(written, str) else written


@cases("formulas", inputs=yaml.safe_load, expected=yaml.safe_load)
def test_each_formula_by_hand(name: str, inputs: Any, expected: Any) -> None:
    formula = getattr(formulas, name)
    if isinstance(inputs, dict):
        found = value(formula(**{key: lit(read(one)) for key, one in inputs.items()}))
    else:
        found = value(formula(*(lit(read(one)) for one in inputs)))
    if isinstance(expected, float):
        assert float(found) == pytest.approx(expected, rel=1e-8)  # type: ignore[arg-type]
    else:
        assert found == read(expected)


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
