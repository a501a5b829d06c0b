"""Compose prices: known wrong numbers (docs/known-wrong-numbers.md) and invariants."""

from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.gcp_pages import Tables, core_and_ram, machine_type, normalise_skus, sku


def test_g1_h100_on_demand_is_not_the_schedulers_price(sample) -> None:
    assert round(sample.hourly("a3-highgpu-8g"), 5) == Decimal("88.49000")
    parts = sample.lines("a3-highgpu-8g")
    assert round(parts["gpu"]["unit_price"], 5) == Decimal("9.79655")
    assert parts["gpu"]["quantity"] == 8
    host = sum(parts[name]["quantity"] * parts[name]["unit_price"] for name in ("core", "ram"))
    assert abs(host - Decimal("9.4600657")) < Decimal("0.0001")
    assert parts["local_ssd"]["unit"] == "gib_month"
    assert abs(parts["local_ssd"]["quantity"] - Decimal(6000) / 730) < Decimal("1e-9")
    scheduled = sample.lines("a3-highgpu-8g", "dws_defined_duration")["gpu"]
    found = (scheduled["unit_price"], scheduled["sku_id"])
    assert found == (Decimal("4.200761"), "341A-49A5-0C07")


def test_g2_b200_six_prices_of_one_slice(sample) -> None:
    parts = sample.table("component_prices").filter(component="slice:nvidia-b200")
    rows = parts.select("purchase_option", "term_months", "hourly").rows()
    hourly = {(option, months): price for option, months, price in rows}
    assert hourly == {
        ("on_demand", 0): Decimal("16.11"),
        ("dws_calendar", 0): Decimal("11.277"),
        ("dws_defined_duration", 0): Decimal("8.055"),
        ("committed_use", 12): Decimal("11.1159"),
        ("committed_use", 36): Decimal("7.0884"),
        ("spot", 0): Decimal("4.9542"),
    }
    # Google does not sell the machine on demand; by every other option it is eight slices and
    # nothing else.
    del hourly["on_demand", 0]
    assert sample.amounts("a4-highgpu-8g") == {key: 8 * price for key, price in hourly.items()}


@pytest.mark.parametrize(
    ("name", "hourly", "billed"),
    [("e2-micro", "0.00838", 0.25), ("e2-small", "0.01675", 0.5), ("e2-medium", "0.03351", 1.0)],
)
def test_g3_shared_core_e2_bills_a_fraction(sample, name, hourly, billed) -> None:
    assert round(sample.hourly(name), 5) == Decimal(hourly)
    machine = sample.instance_type(name)
    assert (machine["vcpus"], machine["vcpus_billed"]) == (2, billed)


def test_f1_and_g1_have_a_sku_for_the_whole_machine(sample: Tables) -> None:
    assert sample.hourly("f1-micro") == Decimal("0.0076")
    assert sample.hourly("g1-small") == Decimal("0.0257")


@pytest.mark.parametrize(
    "option", [("on_demand", 0), ("spot", 0), ("committed_use", 12), ("committed_use", 36)]
)
def test_g4_every_type_with_disks_is_dearer_than_its_diskless_twin(sample, option) -> None:
    disks = dict(sample.table("instance_types").select("instance_type", "local_disk_gib").rows())
    twins = [name for name in disks if name.endswith("-lssd") and name[:-5] in disks]
    assert len(twins) > 50
    rates = {
        (r["region"], r["series"]): r["hourly"]
        for r in sample.table("component_prices").to_dicts()
        if r["component"] == "local_ssd" and (r["purchase_option"], r["term_months"]) == option
    }
    checked = 0
    for region in ("us-central1", "europe-west4"):
        for name in twins:
            with_disks, without = (
                sample.amounts(each, region=region).get(option) for each in (name, name[:-5])
            )
            if with_disks is None or without is None:
                continue
            series = name.split("-")[0]
            rate = rates[region, series if series in ("c4", "c4a", "c4d") else "any"]
            difference = with_disks - without - Decimal(disks[name]) * rate
            assert abs(difference) < Decimal("1e-5"), name
            checked += 1
    assert checked > 60


@pytest.mark.parametrize(
    ("name", "hourly"), [("z3-highmem-88", "13.0000"), ("z3-highmem-176", "22.0548")]
)
def test_g14_z3_without_a_suffix_has_36000_gib_of_disk(sample, name, hourly) -> None:
    """Known wrong number G14: 9.0548 and 18.1096 are without the disks."""
    assert sample.instance_type(name)["local_disk_gib"] == 36000
    price = sample.prices(name)[("on_demand", 0)]
    assert round(price["hourly"], 4) == Decimal(hourly)
    disks = sample.components(price["price_id"])["local_ssd"]
    assert disks["unit"] == "gib_month"
    assert abs(disks["quantity"] * 730 - 36000) < Decimal("1e-6")


def test_g6_m2_is_m1_and_a_premium(sample) -> None:
    """It is not sold as spot."""
    prices = sample.prices("m2-ultramem-208")
    assert set(prices) == {("on_demand", 0), ("committed_use", 12), ("committed_use", 36)}
    parts = sample.lines("m2-ultramem-208")
    assert set(parts) == {"core", "ram", "premium", "premium_2"}
    assert parts["core"]["unit_price"] == Decimal("0.0348")
    assert parts["premium"]["unit_price"] == Decimal("0.004524")
    committed = sample.lines("m2-ultramem-208", "committed_use", 12)
    assert {part: line["purchase_option"] for part, line in committed.items()} == {
        **dict.fromkeys(("core", "ram"), "committed_use"),
        **dict.fromkeys(("premium", "premium_2"), "on_demand"),
    }
    assert prices["committed_use", 12]["flags"] == ["uncommitted_parts"]


def test_g6_m4_ultramem_224_has_its_own_skus(sample) -> None:
    rates = [sample.lines(f"m4-ultramem-{n}")["core"]["unit_price"] for n in (224, 56)]
    assert rates == [Decimal("0.041568854"), Decimal("0.0182784")]


A2_TYPE = machine_type("a2-highgpu-1g", 12, 87040, ("nvidia-tesla-a100", 1))


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0)])
def test_a_price_has_the_page_of_its_main_part_and_the_newest_date_of_all(tmp_path, order) -> None:
    gpu = sku("Nvidia Tesla A100 GPU running in Iowa", "2.9")
    skus = [*core_and_ram("A2", "0.03", "0.004"), gpu]
    for each, month in zip(skus, (3, 5, 4), strict=True):
        each["pricingInfo"][0]["effectiveTime"] = f"2026-0{month}-01T00:00:00Z"
    first, *more = [[skus[place]] for place in order]
    tables = normalise_skus(tmp_path, first, [A2_TYPE], more_pages=more)
    row = tables.prices("a2-highgpu-1g")["on_demand", 0]
    pages_of = {part: line["raw_sha256"] for part, line in tables.lines("a2-highgpu-1g").items()}
    assert len(set(pages_of.values())) == 3
    assert row["raw_sha256"] == pages_of["gpu"]
    assert row["effective_from"] == datetime(2026, 5, 1, tzinfo=UTC)


def test_longer_commitments_are_cheaper_and_windows_is_dearer(sample: Tables) -> None:
    known = sample.table("prices").filter(pl.col("hourly").is_not_null())
    option = pl.coalesce("commitment_plan", "purchase_option").replace("resource", "committed_use")
    offer = pl.concat_str("os", option, pl.col("term_months"), separator=" ")
    by_offer = known.with_columns(offer=offer).pivot(
        "offer", index=["region", "instance_type"], values="hourly"
    )
    cheaper_than = [
        ("linux committed_use 12", "linux on_demand 0"),
        ("linux committed_use 36", "linux committed_use 12"),
        ("linux flexible 12", "linux on_demand 0"),
        ("linux flexible 36", "linux flexible 12"),
        ("linux on_demand 0", "windows on_demand 0"),
        ("linux spot 0", "linux on_demand 0"),
    ]
    for cheaper, dearer in cheaper_than:
        both = by_offer.filter(pl.col(cheaper).is_not_null() & pl.col(dearer).is_not_null())
        assert both.height > 100, (cheaper, dearer)
        assert both.filter(pl.col(cheaper) > pl.col(dearer)).is_empty(), (cheaper, dearer)
