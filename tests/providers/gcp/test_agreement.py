"""Compare composed prices and discounts with the figures of another project."""

import csv
import gzip
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.gcp_pages import Tables, normalise_sample

from hwprices.read.gcp import sustained_use
from hwprices.units import HOURS_PER_MONTH

pytestmark = pytest.mark.shared

OPTIONS = {
    "on_demand_usd_per_hour": (("on_demand", 0), 1),
    "spot_usd_per_hour": (("spot", 0), 1),
    "commitment_1y_usd_per_month": (("committed_use", 12), 730),
    "commitment_3y_usd_per_month": (("committed_use", 36), 730),
}
RELATIVE = Decimal("1e-6")

NOT_LISTED = "Compute Engine does not list the type in the region"
CUSTOM = "a custom machine: priced by hwprices.read.gcp.quote_custom_machine"
SLICE = "below one GPU an all-in SKU is billed, which the sample lacks; the other adds up parts"
NOT_SOLD = "a3-highgpu below 8 GPUs is not sold on demand"
SUSTAINED = "no commitment is sold; the other project gives the sustained-use price"
PREMIUM = "the other gives M2's premium with the sustained-use discount, which is no commitment"


@pytest.fixture(scope="module")
def sample(project: Path) -> Tables:
    return normalise_sample(project)


@pytest.fixture(scope="module")
def other_project(shared: Path) -> list[dict[str, str]]:
    with gzip.open(shared / "truth" / "gcp_machine_prices_2026-07-30.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def reason_not_compared(
    name: str, region: str, option: tuple[str, int], listed: set[tuple[str, str]]
) -> str | None:
    """Why a figure is not compared."""
    if name.startswith("custom-"):
        return CUSTOM
    if (name, region) not in listed:
        return NOT_LISTED
    if name in ("g4-standard-6", "g4-standard-12", "g4-standard-24"):
        return SLICE
    if name in ("a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g") and option == ("on_demand", 0):
        return NOT_SOLD
    if name in ("f1-micro", "g1-small") and option[0] == "committed_use":
        return SUSTAINED
    if name.startswith("m2-") and option[0] == "committed_use":
        return PREMIUM
    return None


def test_prices_agree_with_another_projects_composition(
    sample: Tables, other_project: list[dict[str, str]]
) -> None:
    linux = {
        (r["instance_type"], r["region"], r["purchase_option"], r["term_months"]): r["hourly"]
        for r in sample.table("prices").to_dicts()
        if r["os"] == "linux"
    }
    regions = set(sample.table("regions")["region"])
    listed = set(sample.table("availability").select("instance_type", "region").rows())
    tally: Counter[str] = Counter()
    worst = Decimal(0)
    for row in other_project:
        for column, (option, divisor) in OPTIONS.items():
            if row["region"] not in regions or not row[column]:
                continue
            if why := reason_not_compared(row["instance_type"], row["region"], option, listed):
                tally[why] += 1
                continue
            expected = Decimal(row[column]) / divisor
            hourly = linux[(row["instance_type"], row["region"], *option)]
            assert hourly is not None, (row["instance_type"], row["region"], option)
            worst = max(worst, abs(hourly / expected - 1))
            tally["agree"] += 1
    assert worst < RELATIVE
    assert tally["agree"] == 7212
    assert {why: n for why, n in tally.items() if why != "agree"} == {
        NOT_LISTED: 456,
        CUSTOM: 48,
        SLICE: 36,
        NOT_SOLD: 12,
        SUSTAINED: 16,
        PREMIUM: 24,
    }


@pytest.mark.parametrize(
    "name",
    [
        "n1-standard-8",
        "n1-highcpu-16",
        "n2-standard-8",
        "n2d-highmem-4",
        "c2-standard-60",
        "m1-ultramem-40",
        "f1-micro",
        "e2-standard-4",
        "c3-highcpu-8",
    ],
)
def test_sustained_use_agrees_with_the_other_projects_monthly_figure(
    sample: Tables, other_project: list[dict[str, str]], name: str
) -> None:
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
