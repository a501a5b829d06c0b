"""From which share of the hours a commitment pays, worked out by hand from list prices.

x2iedn.32xlarge in us-east-1 costs 26.676 USD/h on demand, 16.41374 reserved for a year, or 134,199
USD at its start. The parts of Google's machines in us-central1 are those of the bundled sample.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.releases import Release, machine, price, prices, region, tables
from tests.helpers.terminal import run

import hwprices
from hwprices.cli import tables as drawing
from hwprices.read.find import break_even
from hwprices.read.find import search as searching
from hwprices.read.find.search import EVERY_WAY
from hwprices.read.overlays import apply, rules
from hwprices.read.overlays.rules import Overlays

X2, N1, M2, C3 = "x2iedn.32xlarge", "n1-standard-4", "m2-ultramem-208", "c3-standard-4"
ONE_YEAR = {"purchase_option": "reserved", "commitment_plan": "standard", "term_months": 12}
UPFRONT = {"payment_option": "all_upfront", "upfront": Decimal(134_199), "hourly": Decimal(0)}
CUD = {"purchase_option": "committed_use", "commitment_plan": "resource", "term_months": 12}

PARTS = {
    N1: {"core": (4, "0.031611", "0.019915"), "ram": (15, "0.004237", "0.002669")},
    M2: {
        "core": (208, "0.0348", "0.02055"),
        "ram": (5888, "0.0051", "0.00302"),
        "premium": (208, "0.004524", None),
        "premium_2": (5888, "0.000663", None),
    },
    C3: {"core": (4, "0.04", "0.028"), "license": (4, "0.046", None)},
}
"""Of a machine: quantity of each part, its price on demand, and for a year; None: not committed.
C3's are made up."""


def composed(name: str, os: str, *, committed: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Make a price of a machine, and its components."""
    components = []
    for part, (quantity, on_demand, for_a_year) in PARTS[name].items():
        is_committed = committed and for_a_year is not None
        unit_price = Decimal((for_a_year if is_committed else on_demand) or 0)
        option = "committed_use" if is_committed else "on_demand"
        components.append(
            {
                "component": part,
                "provider": "gcp",
                "region": "us-central1",
                "instance_type": name,
                "purchase_option": option,
                "quantity": Decimal(quantity),
                "unit_price": unit_price,
            }
        )
    total = sum((row["quantity"] * row["unit_price"] for row in components), Decimal(0))
    more = {"os": os, "basis": "composed"} | (CUD if committed else {})
    row = price("gcp", "us-central1", name, str(total), **more)
    price_id = prices(row)["price_id"][0]
    return row, [{**part, "price_id": price_id} for part in components]


def make() -> Release:
    """Make a release of the three machines, of which N1 and C3 run Windows."""
    made = [
        composed(name, "windows" if name == C3 else "linux", committed=committed)
        for name in PARTS
        for committed in (False, True)
    ]
    listed = [
        price("aws", "us-east-1", X2, "26.676"),
        price("aws", "us-east-1", X2, "16.41374", payment_option="no_upfront", **ONE_YEAR),
        price("aws", "us-east-1", X2, "15.3195205479", **ONE_YEAR) | UPFRONT,
        # no price on demand with this system, and a commitment that costs more than it
        price("aws", "us-east-1", X2, "17", os="rhel", payment_option="no_upfront", **ONE_YEAR),
        price("aws", "eu-west-1", X2, "10"),
        price("aws", "eu-west-1", X2, "11", payment_option="no_upfront", **ONE_YEAR),
    ]
    types = [machine("aws", X2)]
    types += [machine("gcp", name, series=name.partition("-")[0]) for name in PARTS]
    costs = [*listed, *(row for row, _ in made)]
    regions = [region("aws", "us-east-1"), region("gcp", "us-central1")]
    parts = [part for _, two in made for part in two]
    return Release(tables(costs, types, regions, price_components=parts, accelerators=[]))


def found(overlays: Overlays | None = None) -> dict[tuple[str, ...], float | None]:
    """Give the shares of a release by machine, region, system and payment."""
    release = make()
    listed = searching.prices(release, EVERY_WAY)
    if overlays is not None:
        listed = apply.apply(listed, overlays)
    answer = break_even.with_break_even(release, listed.collect(), EVERY_WAY, overlays)
    key = ["instance_type", "region", "os", "purchase_option", "payment_option"]
    return {
        tuple(row[name] for name in key): row[break_even.COLUMN]
        for row in answer.iter_rows(named=True)
    }


def test_a_reservation_pays_from_its_price_over_that_on_demand() -> None:
    shares = found()
    monthly = shares[X2, "us-east-1", "linux", "reserved", "no_upfront"]
    at_once = shares[X2, "us-east-1", "linux", "reserved", "all_upfront"]
    assert monthly == pytest.approx(16.41374 / 26.676)  # 61.5 %
    assert at_once == pytest.approx(134_199 / 8760 / 26.676)  # 57.4 %
    dearer = shares[X2, "eu-west-1", "linux", "reserved", "no_upfront"]
    assert dearer == pytest.approx(1.1)
    assert [drawing.pays_from(share) for share in (monthly, dearer)] == ["62%", "never"]
    assert shares[X2, "us-east-1", "rhel", "reserved", "no_upfront"] is None
    assert shares[X2, "us-east-1", "linux", "on_demand", "none"] is None


def test_sustained_use_discounts_make_a_commitment_pay_later() -> None:
    """0.119695 of 0.189999 are 63 %, but 75 % of a month cost 0.1139994 only.

    That is a quarter of the month at the full price, one at 0.8 and one at 0.6 of it. Of the hours
    after it, at 0.4, another 0.0056956 / (0.4 × 0.189999) of the month are paid.
    """
    share = found()[N1, "us-central1", "linux", "committed_use", "none"]
    assert share == pytest.approx(0.75 + 0.0056956 / (0.4 * 0.189999))  # 82.5 %


def test_what_is_not_committed_is_paid_for_hours_of_use_alone() -> None:
    """The license of c3 and the premium of m2 cost the same in both ways of buying.

    c3: 4 × 0.028 of 4 × 0.04, where 0.296 of 0.344 would be 86 %. m2: 22.05616 USD/h against
    37.2672, of which half a month costs 0.25 + 0.25 × 0.8 and each hour after it 0.6.
    """
    shares = found()
    assert shares[C3, "us-central1", "windows", "committed_use", "none"] == pytest.approx(0.7)
    m2 = shares[M2, "us-central1", "linux", "committed_use", "none"]
    assert m2 == pytest.approx(0.5 + (22.05616 - 0.45 * 37.2672) / (0.6 * 37.2672))  # 73.6 %


def test_own_discounts_count_on_both_sides() -> None:
    overlays = rules.parse("- {match: {option: on_demand}, discount: 20%}")
    shares = found(overlays)
    monthly = shares[X2, "us-east-1", "linux", "reserved", "no_upfront"]
    assert monthly == pytest.approx(16.41374 / (26.676 * 0.8))  # 76.9 %
    on_n1 = shares[N1, "us-central1", "linux", "committed_use", "none"]
    assert on_n1 == pytest.approx(0.119695 / (0.7 * 0.8 * 0.189999))  # above a month
    assert drawing.pays_from(on_n1) == "never"


def test_price_and_compare_say_from_when_a_commitment_pays(market: Path) -> None:
    """62.5 USD/h for a year beside 90.1 on demand in europe-west4; us-east4 asks 88.49."""
    data = hwprices.open(market)
    alone = data.price(
        "a3-highgpu-8g", option="commitment"
    )  # the on-demand price was not requested
    assert alone[break_even.COLUMN].to_list() == [pytest.approx(62.5 / 90.1)]
    both = data.compare("p5.48xlarge", "a3-highgpu-8g")
    column = f"commitment_1y_{break_even.COLUMN}"
    assert both[column].to_list() == [None, pytest.approx(62.5 / 90.1)]
    assert both["commitment_1y_purchase_option"].to_list() == [None, "committed_use"]
    screen = run("price", "a3-highgpu-8g", root=market)
    assert drawing.PAYS_FROM_CAPTION in " ".join(screen.stdout.split())
    [line] = [line for line in screen.stdout.splitlines() if line.startswith("1 year")]
    assert line.split() == [
        *("1", "year", "62.50", "45,625", "547,500", "31%", "69%", "committed", "use"),
        *("europe-west4", "1"),
    ]
    compared = run("compare", "p5.48xlarge", "a3-highgpu-8g", root=market)
    lines = {" ".join(text.split()) for text in compared.stdout.splitlines()}
    assert {"option - committed use", "≠ break-even - 69%"} <= lines


def test_an_answer_without_a_commitment_has_no_such_column(market: Path) -> None:
    screen = run("price", "m7g.large", root=market)
    assert drawing.PAYS_FROM not in screen.stdout
    rows_of = hwprices.open(market).price("m7g.large")
    assert rows_of.schema[break_even.COLUMN] == pl.Float64
