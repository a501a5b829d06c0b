"""Compare discounts with the figures of another project; tools.crosschecks has the prices."""

import csv
import gzip
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.cases import cases

from hwprices.read.gcp import sustained_use
from hwprices.units import HOURS_PER_MONTH

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def other_project(shared: Path) -> list[dict[str, str]]:
    with gzip.open(shared / "truth" / "gcp_machine_prices_2026-07-30.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


@cases("gcp/sustained_use")
def test_sustained_use_agrees_with_the_other_projects_monthly_figure(sample, other_project, name):
    row = next(
        r for r in other_project if (r["instance_type"], r["region"]) == (name, "us-central1")
    )
    price = sample.prices(name)[("on_demand", 0)]
    series = sample.instance_type(name)["series"]
    costs = {
        component: line["quantity"] * line["unit_price"]
        for component, line in sample.components(price["price_id"]).items()
    }
    month = sustained_use(series, costs, 1) * HOURS_PER_MONTH
    # The other project rounds 20 % of N2, N2D and C2 to what a full month comes to: 0.80020
    assert abs(month / Decimal(row["month_usd"]) - 1) < Decimal("0.0003")
