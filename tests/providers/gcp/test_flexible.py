"""Derive the prices of flexible commitments: real figures, and a computation by hand."""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from tests.helpers.cases import cases, optional
from tests.helpers.gcp_pages import (
    N2_RATES,
    Tables,
)

from hwprices.providers.gcp.compose import LINE_COLUMNS, OFFER_KEY, MachinePrices
from hwprices.providers.gcp.machine_type import Machines, MachineType
from hwprices.providers.gcp.normalise import add_flexible
from hwprices.providers.gcp.sheets import Sheets
from hwprices.read.gcp import read_discount_rules
from hwprices.rows.frames import ORIGIN
from hwprices.specs.rules import flexible_shares

NANO = Decimal("1e-8")
"""Google rounds the price of each component under a commitment to the ninth decimal."""


@cases("gcp/flexible_prices", one_year=optional, three_years=optional)
def test_the_figures_of_googles_price_page(sample, name, one_year, three_years) -> None:
    """us-central1 as in https://cloud.google.com/compute/vm-instance-pricing.

    There e2-micro is both said to have none and shown with prices; of the others without a figure
    none has a price under a flexible commitment, or for a year the on-demand price.
    """
    rows = sample.flexible(name)
    shown = {12: one_year, 36: three_years}
    assert set(rows) == {months for months, figure in shown.items() if figure}
    for months, row in rows.items():
        # each vCPU and each GiB is rounded on its own there
        size = sum(line["quantity"] for line in sample.components(row["price_id"]).values())
        assert abs(row["hourly"] - Decimal(shown[months])) <= NANO + size * Decimal("1e-9"), months
        assert (row["purchase_option"], row["payment_option"]) == ("committed_use", "monthly")
        assert (row["basis"], row["flags"]) == ("derived", [])


def test_local_disks_of_c3_stay_at_the_full_price(sample: Tables) -> None:
    """0.201608 of cores and memory at 72 %, and 375 GiB at 0.08 a month at the whole of it."""
    row = sample.flexible("c3-standard-4-lssd")[12]
    disks = 375 * Decimal("0.08") / 730
    assert abs(row["hourly"] - (Decimal("0.201608") * Decimal("0.72") + disks)) < NANO
    assert row["flags"] == ["uncommitted_parts"]
    parts = sample.components(row["price_id"])
    found = {name: line["purchase_option"] for name, line in parts.items()}
    assert found == {"core": "committed_use", "ram": "committed_use", "local_ssd": "on_demand"}


def test_each_line_is_a_share_of_googles_on_demand_sku(sample: Tables) -> None:
    on_demand = sample.components(sample.prices("n2-standard-4")[("on_demand", 0)]["price_id"])
    flexible = sample.components(sample.flexible("n2-standard-4")[36]["price_id"])
    assert {part: line["sku_id"] for part, line in flexible.items()} == {
        part: line["sku_id"] for part, line in on_demand.items()
    }
    assert on_demand["core"]["unit_price"] == Decimal(N2_RATES["core"])
    assert flexible["core"]["unit_price"] == Decimal("0.01706994")
    assert flexible["ram"]["unit_price"] == Decimal("0.00228798")


def flexible_commitment(series: str, costs: dict[str, Decimal], months: int) -> Decimal | None:
    """The cost per hour of components under a flexible commitment; None if it is not offered."""
    paid = shares()
    if not any((series, name, months) in paid for name in costs):
        return None
    return sum(
        (cost * paid.get((series, name, months), 1) for name, cost in costs.items()), Decimal(0)
    )


@cache
def shares() -> Mapping[tuple[str, str, int], Decimal]:
    """Read once what is paid under a flexible commitment: by series, component and months."""
    return flexible_shares(read_discount_rules())


def test_flexible_commitments_by_hand() -> None:
    costs = {"core": Decimal(1), "local_ssd": Decimal(1)}
    assert flexible_commitment("n2", costs, 12) == Decimal("1.72")
    assert flexible_commitment("n2", costs, 36) == Decimal("1.54")
    assert flexible_commitment("m3", costs, 12) is None  # memory-optimized takes 36 months only
    assert flexible_commitment("m3", costs, 36) == Decimal("1.37")
    assert flexible_commitment("a3", costs, 36) is None


def test_all_prices_of_the_sample_agree_with_those_by_hand(sample: Tables) -> None:
    prices = sample.table("prices")
    series = dict(sample.table("instance_types").select("instance_type", "series").iter_rows())
    linux = prices.filter(os="linux")
    on_demand = linux.filter(pl.col("hourly").is_not_null(), purchase_option="on_demand")
    derived = {
        (row["region"], row["instance_type"], row["term_months"]): row["hourly"]
        for row in linux.filter(commitment_plan="flexible").to_dicts()
    }
    costs: dict[str, dict[str, Decimal]] = {}
    lines = sample.table("price_components").join(on_demand, on="price_id", how="semi")
    for row in lines.to_dicts():
        cost = row["quantity"] * row["unit_price"]
        costs.setdefault(row["price_id"], {})[row["component"]] = cost
    for row in on_demand.to_dicts():
        if row["instance_type"] in ("e2-micro", "e2-small", "e2-medium"):
            continue
        for months in (12, 36):
            expected = flexible_commitment(
                series[row["instance_type"]], costs[row["price_id"]], months
            )
            actual = derived.pop((row["region"], row["instance_type"], months), None)
            if expected is None or actual is None:
                assert actual == expected, (row["instance_type"], months)
            else:  # each unit price is rounded at the tenth decimal
                assert abs(actual - expected) < Decimal("1e-6"), row["instance_type"]
    assert not derived


def test_lines_never_go_to_an_offer_without_a_price(project: Path) -> None:
    """Offers that follow the last one with a price have numbers too."""
    origin = dict.fromkeys(ORIGIN)
    key = {"region": "r", "purchase_option": "on_demand", "term_months": 0}
    priced: dict[str, Any] = {"offer": 0, **key, "instance_type": "n2-standard-2"}
    unpriced: dict[str, Any] = {"offer": 1, **key, "instance_type": "n2-standard-4"}
    more = {"currency": "USD", "flags": [], "commitment_plan": None, **origin}
    price = {"hourly": Decimal(2), "price_reason": None, "effective_from": None, **more}
    prices = pl.DataFrame(
        [{**priced, **price}, {**unpriced, **price, "hourly": None}],
        schema_overrides={
            "offer": pl.UInt32,
            "term_months": pl.Int32,
            "hourly": pl.Decimal(20, 10),
            "flags": pl.List(pl.String),
            "commitment_plan": pl.String,
        },
    )
    line = {"component": "core", "component_option": "on_demand", "quantity": Decimal(2)}
    line |= {"unit": "vcpu", "price": Decimal(1), "sku_id": "A", "currency": "USD"}
    overrides = {name: pl.Decimal(20, 10) for name in ("quantity", "price")}
    components = pl.DataFrame(
        [{**priced, **line, **origin}],
        schema_overrides={"offer": pl.UInt32, "term_months": pl.Int32, **overrides},
    ).select(LINE_COLUMNS)
    machines = _machines("n2-standard-2", "n2-standard-4")
    both = add_flexible(MachinePrices(prices, components), machines, Sheets.load())
    assert both.prices["offer"].is_unique().all()
    found = both.prices.sort("offer").select("hourly", "term_months").rows()
    assert found == [(Decimal(2), 0), (None, 0), (Decimal("1.44"), 12), (Decimal("1.08"), 36)]
    assert both.components.select(OFFER_KEY).n_unique() == 3


def _machines(*names: str) -> Machines:
    """Make machine types of which only name and series are known."""
    sheets = Sheets.load()
    types = [
        MachineType(name, sheets.series_of(name), 2, None, None, (), page=None)  # type: ignore[arg-type]
        for name in names
    ]
    empty = pl.DataFrame(schema={"instance_type": pl.String, "purchase_option": pl.String})
    return Machines(types, empty, empty, {}, empty, empty)
