"""docs/method.md works figures by hand; each sum is done again here, and each figure is what offers has."""

import ast
import operator
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers import small_release

from hwprices.specs import sheets

METHOD = Path(__file__).parents[2] / "docs" / "method.md"
EXAMPLES = [
    "p5.48xlarge",
    "p5en.48xlarge",
    "a3-highgpu-8g",
    "Standard_ND96isr_H100_v5",
    "g6.xlarge",
    "trn2.48xlarge",
    "ct6e-standard-4t",
    "m5zn.xlarge",
    "m7g.xlarge",
]

OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def lines() -> list[tuple[str, str, str, str]]:
    """(machine, column, sum, figure) of every worked line."""
    found, machine = [], ""
    for line in METHOD.read_text().splitlines():
        if heading := re.match(r"#{2,3} (\S+)", line):
            machine = heading[1]
        elif (
            machine in EXAMPLES
            and (cells := re.match(r"\| (\w+) \| (.+) \| (\S+) \|$", line))
            and cells[1] != "column"
        ):
            found.append((machine, cells[1], cells[2], cells[3]))
    return found


def done(node: ast.AST) -> float:
    """A sum of numbers, worked out."""
    if isinstance(node, ast.Expression):
        return done(node.body)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](done(node.left), done(node.right))
    assert isinstance(node, ast.Constant)
    return float(node.value)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def offers() -> dict[str, dict[str, object]]:
    return {
        row["instance_type"]: row
        for row in small_release.build().tables["offers"].iter_rows(named=True)
    }


def test_every_machine_is_worked() -> None:
    assert {machine for machine, *_ in lines()} == set(EXAMPLES)
    assert len(lines()) > 60


@pytest.mark.parametrize(("machine", "column", "written", "figure"), lines())
def test_worked_by_hand(
    offers: dict[str, dict[str, object]], machine: str, column: str, written: str, figure: str
) -> None:
    got = offers[machine][column]
    if figure == "null":
        assert got is None
        return
    assert float(got) == pytest.approx(float(figure), rel=1e-5)  # type: ignore[arg-type]
    assert done(ast.parse(written.replace("×", "*"), mode="eval")) == pytest.approx(
        float(got), rel=2e-5
    )  # type: ignore[arg-type]


def test_the_examples_use_the_figures_of_the_sheets() -> None:
    vcpu = ["provider", "component", "microarchitecture", "min_watts", "max_watts", "unit"]
    sheet = sheets.load("power_coefficients").select(vcpu).rows()
    assert [
        row
        for row in (tuple(row[name] for name in vcpu) for row in small_release.POWER)
        if row not in sheet
    ] == []
    place = ["provider", "region", "grid_gco2e_per_kwh", "pue"]
    known = sheets.load("region_footprint").select(place).rows()
    assert [
        row
        for row in (tuple(row[name] for name in place) for row in small_release.PLACES)
        if row not in known
    ] == []
    measured = ["accelerator_id", "model", "round", "system", "accelerator_count", "result"]
    results = sheets.load("benchmarks").select(measured).rows()
    assert [
        row
        for row in (tuple(row[name] for name in measured) for row in small_release.MEASURED)
        if row not in results
    ] == []


def test_every_derived_column_is_explained() -> None:
    from hwprices.rows import frames
    from hwprices.schemas.offer import Offers

    text = METHOD.read_text()
    names = list(frames.dtypes(Offers))
    derived = names[names.index("usd_per_vcpu_hour") :]
    inputs = {
        "power_basis",
        "cpu_min_watts_per_vcpu",
        "cpu_max_watts_per_vcpu",
        "flags",
        "on_demand_price_id",
        "spot_price_id",
        "observed_at",
    }
    stem = {
        name: re.sub(r"_(llama|mixtral|deepseek|gpt)\w+$|^spot_|_(bf16|fp8)$", "", name)
        for name in derived
        if name not in inputs
    }
    assert [
        name
        for name, word in stem.items()
        if word not in text and word.replace("cpu_", "") not in text
    ] == []
