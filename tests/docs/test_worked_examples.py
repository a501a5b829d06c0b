"""docs/method.md computes figures by hand: compute each again and compare it with the offers."""

import ast
import csv
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from tests.helpers import small_release

from hwprices.read.ownership import Ownership
from hwprices.schemas.tables import Offers
from hwprices.specs import sheets

METHOD = Path(__file__).parents[2] / "docs" / "method.md"
EXAMPLES = METHOD.with_suffix("") / "examples.csv"

MACHINES = [
    *("p5.48xlarge", "p5en.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5", "g6.xlarge"),
    *("trn2.48xlarge", "ct6e-standard-4t", "m5zn.xlarge", "m7g.xlarge"),
]

OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

INPUTS = {
    *("power_basis", "cpu_min_watts_per_vcpu", "cpu_max_watts_per_vcpu", "flags", "observed_at"),
    *("on_demand_price_id", "spot_price_id", "serverless_usd_per_hour"),
}
"""Columns of offers after the first derived one that are not derived themselves."""


class Example(NamedTuple):
    """One line of a worked example: the sum and the figure as written."""

    machine: str
    column: str
    written: str
    figure: str


def examples() -> list[Example]:
    """List the lines of the page's table, which is about the first machine, and of the CSV file."""
    _, _, section = METHOD.read_text().partition(f"### {MACHINES[0]}")
    table = re.findall(r"^\| (\w+) \| (.+) \| (\S+) \|$", section.partition("\n#")[0], re.M)
    lines = [Example(MACHINES[0], *cells) for cells in table if cells[0] != "column"]
    with EXAMPLES.open(newline="") as file:
        lines += [Example(*cells) for cells in csv.reader(file)][1:]
    return lines


def compute(node: ast.AST) -> float:
    """Compute a sum of numbers."""
    if isinstance(node, ast.Expression):
        return compute(node.body)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](compute(node.left), compute(node.right))
    assert isinstance(node, ast.Constant)
    return float(node.value)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def offers() -> dict[str, dict[str, Any]]:
    """Row of offers by machine."""
    rows = small_release.build().tables["offers"].iter_rows(named=True)
    return {row["instance_type"]: row for row in rows}


def test_every_machine_has_examples() -> None:
    assert {example.machine for example in examples()} == set(MACHINES)
    assert len(examples()) > 60


@pytest.mark.parametrize("example", examples(), ids=lambda e: f"{e.machine}-{e.column}")
def test_the_example_agrees_with_the_code(offers, example) -> None:
    value = offers[example.machine][example.column]
    if example.figure in ("", "null"):
        assert value is None
        return
    assert float(value) == pytest.approx(float(example.figure), rel=1e-5)
    total = compute(ast.parse(example.written.replace("×", "*"), mode="eval"))
    assert total == pytest.approx(float(value), rel=2e-5)


def test_the_example_of_owning_uses_the_price_of_the_sheet() -> None:
    """A DGX H100: price and power of local_hardware, the defaults of ``Ownership``."""
    machines = sheets.load("local_hardware")
    dgx = machines.row(by_predicate=pl.col("device_id") == "nvidia-dgx-h100", named=True)
    default = Ownership()
    capital = float(dgx["price"]) / (default.lifetime_years * 8760 * default.utilisation)
    energy = dgx["max_power_w"] / 1000 * default.pue * default.usd_per_kwh
    hours = float(dgx["price"]) / (55.04 - energy)
    text = " ".join(METHOD.read_text().split())
    for sentence in (
        f"a DGX H100 costs {dgx['price']:,.0f} USD and draws {dgx['max_power_w'] / 1000:g} kW",
        f"= {capital:.2f} and",
        f"= {energy:.2f}, together {capital + energy:.2f} USD/h",
        f"= {hours:,.0f} hours of use, which is {hours / 4380:.1f} years",
    ):
        assert sentence in text


def test_every_derived_column_is_explained() -> None:
    text = METHOD.read_text()
    columns = list(Offers.dtypes)
    derived = set(columns[columns.index("usd_per_vcpu_hour") :]) - INPUTS
    # one line explains all models, number formats and both on-demand and spot
    variants = r"_(llama|mixtral|deepseek|gpt)\w+$|^spot_|_(bf16|fp8)$"
    stems = {column: re.sub(variants, "", column) for column in derived}
    assert [column for column, stem in stems.items() if stem not in text] == []
