"""Derive the prices of flexible commitments: real figures, and a computation by hand."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from tests.helpers.cases import cases, optional
from tests.helpers.gcp_pages import (
    N2_RATES,
    Tables,
    core_and_ram,
    fee,
    machine_type,
    n2_skus,
    n2_zones,
    normalise_skus,
    sku,
    spot_core_and_ram,
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


def test_local_disks_of_h4d_have_the_discount_of_h4d(tmp_path: Path) -> None:
    """17 % and 38 % off all of it, as the price page has it; the sample lacks H4D's SKUs."""
    skus = [
        *core_and_ram("H4D", "0.036075", "0.001288"),
        sku("H4D Instance Local SSD running in Iowa", "0.11313"),
    ]
    listed = machine_type(
        "h4d-highmem-192-lssd", 192, 1488 * 1024, description="1488GB RAM, 10 local SSD"
    )
    tables = normalise_skus(tmp_path, skus, [listed])
    rows = tables.flexible("h4d-highmem-192-lssd")
    assert abs(rows[12]["hourly"] - Decimal("7.821995746")) < NANO
    assert abs(rows[36]["hourly"] - Decimal("5.842936581")) < NANO
    assert rows[12]["flags"] == []


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
    paid = flexible_shares(read_discount_rules())
    if not any((series, name, months) in paid for name in costs):
        return None
    return sum(
        (cost * paid.get((series, name, months), 1) for name, cost in costs.items()), Decimal(0)
    )


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


def test_a_gpu_attached_to_n1_pays_the_full_price(tmp_path: Path) -> None:
    skus = [
        sku("N1 Predefined Instance Core running in Americas", "0.031611", group="N1Standard"),
        sku("N1 Predefined Instance Ram running in Americas", "0.004237", group="N1Standard"),
        sku("Nvidia Tesla T4 GPU running in Iowa", "0.35"),
    ]
    with_gpu = machine_type("n1-standard-4", 4, 15360, ("nvidia-tesla-t4", 1))
    row = normalise_skus(tmp_path, skus, [with_gpu]).flexible("n1-standard-4")
    cores_and_memory = 4 * Decimal("0.031611") + 15 * Decimal("0.004237")
    assert row[12]["hourly"] == cores_and_memory * Decimal("0.72") + Decimal("0.35")
    assert row[36]["hourly"] == cores_and_memory * Decimal("0.54") + Decimal("0.35")
    assert row[12]["flags"] == row[36]["flags"] == ["uncommitted_parts"]


def test_a_license_is_added_and_spot_has_no_commitment(tmp_path: Path) -> None:
    windows = fee("Windows Server 2025 Datacenter Edition on VM", "0.046")
    skus = [*n2_skus(), *spot_core_and_ram("N2", "0.01", "0.001"), windows]
    tables = normalise_skus(tmp_path, skus, n2_zones())
    linux = 2 * Decimal(N2_RATES["core"]) + 8 * Decimal(N2_RATES["ram"])
    assert tables.flexible("n2-standard-2")[12]["hourly"] == linux * Decimal("0.72")
    windows = tables.flexible("n2-standard-2", os="windows")[12]
    assert windows["hourly"] == linux * Decimal("0.72") + 2 * Decimal("0.046")
    assert windows["basis"] == "derived"
    options = tables.table("prices").filter(os="linux")["purchase_option"].value_counts()
    assert dict(options.iter_rows()) == {"on_demand": 1, "spot": 1, "committed_use": 2}


def test_a_price_that_is_not_known_has_none_under_a_commitment(tmp_path: Path) -> None:
    tables = normalise_skus(tmp_path, n2_skus()[:1], n2_zones())  # without memory
    assert tables.prices("n2-standard-2")[("on_demand", 0)]["price_reason"] == "ram_sku_missing"
    assert tables.flexible("n2-standard-2") == {}


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
