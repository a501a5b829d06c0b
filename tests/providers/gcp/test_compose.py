"""Compose prices: known wrong numbers (docs/known-wrong-numbers.md) and invariants."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.gcp_pages import Tables, core_and_ram, machine_type, normalise_skus, sku

from hwprices.providers.gcp.instance_types import nominal_gib


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


@pytest.mark.parametrize(
    "word", ["Nvidia H100 80GB Mega GPU", "Nvidia H100 80GB Plus GPU", "Nvidia H100 Mega 80GB GPU"]
)
def test_g6_a3_mega_under_each_of_its_names(tmp_path, word) -> None:
    """208 cores, 1,872 GiB of memory, 8 GPUs and 6,000 GiB of disks."""
    skus = [
        *core_and_ram("A3Plus", "0.022001048", "0.002861"),
        sku(f"{word} running in Iowa", "10.285286312"),
        sku("Nvidia H100 80GB GPU running in Iowa", "9.79655"),
        sku("SSD backed Local Storage in Iowa", "0.088"),
    ]
    type_ = machine_type("a3-megagpu-8g", 208, 1916928, ("nvidia-h100-mega-80gb", 8))
    tables = normalise_skus(tmp_path, skus, [type_])
    rates = {208: "0.022001048", 1872: "0.002861", 8: "10.285286312"}
    exact = sum(n * Decimal(rate) for n, rate in rates.items()) + 6000 * Decimal("0.088") / 730
    assert abs(tables.hourly("a3-megagpu-8g") - exact) < Decimal("1e-8")
    (device,) = tables.instance_type("a3-megagpu-8g")["accelerators"]
    vendor_name = "nvidia-h100-mega-80gb"
    assert tuple(device.values()) == ("nvidia-h100-sxm5-80gb", vendor_name, 8.0, 80.0)


def test_g15_part_of_a_gpu_is_sold_all_in(tmp_path) -> None:
    """The catalog's SKU D5C5-C5F4-086C; others have 0.5596 and 1.51825 for g4-standard-6."""
    skus = [
        *core_and_ram("G4", "0.04891", "0.00587"),
        sku("RTX 6000 96GB running in Iowa", "1.09565"),
        sku("1/8 vGPU no lssd running in Iowa", "0.64688", group="GPU"),
    ]
    sizes = {
        # vCPUs: memory, price, GPUs
        6: (22528, "0.64688", 0.125),
        12: (46080, "1.29376", 0.25),
        24: (92160, "2.58752", 0.5),
        48: (184320, "4.49993", 1.0),
    }
    types = [
        machine_type(f"g4-standard-{vcpus}", vcpus, mb, ("nvidia-rtx-pro-6000", 1))
        for vcpus, (mb, *_) in sizes.items()
    ]
    tables = normalise_skus(tmp_path, skus, types)
    for vcpus, (_, price, gpus) in sizes.items():
        assert tables.hourly(f"g4-standard-{vcpus}") == Decimal(price)
        assert tables.instance_type(f"g4-standard-{vcpus}")["accelerator_count"] == gpus


def test_g16_h4d_has_a_local_ssd_sku_of_its_own(tmp_path: Path) -> None:
    """The rates follow from Cloudspecs' three prices of H4D; the generic disk costs 0.08."""
    skus = [
        *core_and_ram("H4D", "0.036075", "0.001288"),
        sku("H4D Instance Local SSD running in Iowa", "0.11313", unit="GiBy.mo"),
        sku("SSD backed Local Storage in Iowa", "0.08", unit="GiBy.mo"),
        sku("DWS Flex Start H4D Standard Core running in Iowa", "0.01"),
    ]
    disks = {"description": "192 vCPUs, 1488 GB RAM, 10 local SSDs"}
    types = [
        machine_type("h4d-standard-192", 192, 720 * 1024),
        machine_type("h4d-highmem-192", 192, 1488 * 1024),
        machine_type("h4d-highmem-192-lssd", 192, 1488 * 1024, **disks),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    assert tables.hourly("h4d-standard-192") == Decimal("7.85376")
    assert tables.hourly("h4d-highmem-192") == Decimal("8.842944")
    assert abs(tables.hourly("h4d-highmem-192-lssd") - Decimal("9.4240912603")) < Decimal("1e-9")


def test_flex_start_of_h4d_is_an_option_of_its_own(tmp_path: Path) -> None:
    """No SKU of the sample has it: it is H4D's word for the scheduler alone."""
    skus = [
        *core_and_ram("H4D", "0.036075", "0.001288"),
        sku("DWS Flex Start H4D Standard Core running in Iowa", "0.018"),
        sku("DWS Flex Start H4D Standard Ram running in Iowa", "0.0006"),
    ]
    types = [machine_type("h4d-standard-192", 192, 720 * 1024)]
    tables = normalise_skus(tmp_path, skus, types)
    prices = {option: row["hourly"] for option, row in tables.prices("h4d-standard-192").items()}
    assert prices == {
        ("on_demand", 0): 192 * Decimal("0.036075") + 720 * Decimal("0.001288"),
        ("dws_flex_start", 0): 192 * Decimal("0.018") + 720 * Decimal("0.0006"),
    }


def test_g17_a3_edge_is_not_priced_as_a3_high(tmp_path: Path) -> None:
    skus = [
        *core_and_ram("A3", "0.020956063", "0.002725"),
        sku("Nvidia H100 80GB GPU running in Iowa", "9.796550569"),
        sku("SSD backed Local Storage in Iowa", "0.08", unit="GiBy.mo"),
    ]
    gpus = ("nvidia-h100-80gb", 8)
    types = [
        machine_type("a3-highgpu-8g", 208, 1872 * 1024, gpus),
        machine_type("a3-edgegpu-8g", 208, 1872 * 1024, gpus),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    assert abs(tables.hourly("a3-highgpu-8g") - Decimal("88.49")) < Decimal("1e-5")
    edge = tables.prices("a3-edgegpu-8g")[("on_demand", 0)]
    assert edge["hourly"] is None
    assert edge["price_reason"] == "core_sku_missing,ram_sku_missing"


@pytest.mark.parametrize(
    ("name", "vcpus", "listed_mib", "price"),
    [("n1-highcpu-2", 2, 1843, "0.0708486"), ("n1-highcpu-16", 16, 14746, "0.5667888")],
)
def test_g18_memory_is_billed_as_sold_and_not_as_listed(tmp_path, name, vcpus, listed_mib, price):
    """The API lists 1,843 MiB for 1.8 GiB; others have 0.0708478 for n1-highcpu-2."""
    skus = [
        sku("N1 Predefined Instance Core running in Iowa", "0.031611"),
        sku("N1 Predefined Instance Ram running in Iowa", "0.004237"),
    ]
    tables = normalise_skus(tmp_path, skus, [machine_type(name, vcpus, listed_mib)])
    assert tables.hourly(name) == Decimal(price)


A2_TYPE = machine_type("a2-highgpu-1g", 12, 87040, ("nvidia-tesla-a100", 1))


def test_g7_a_missing_gpu_sku_leaves_no_price(tmp_path) -> None:
    tables = normalise_skus(tmp_path, core_and_ram("A2", "0.0316", "0.0042"), [A2_TYPE])
    ((option, row),) = tables.prices("a2-highgpu-1g").items()
    assert option == ("on_demand", 0)
    assert (row["hourly"], row["price_reason"]) == (None, "gpu_sku_missing")
    assert tables.table("price_components").is_empty()


def test_g7_the_other_parts_too(tmp_path) -> None:
    skus = [
        sku("C3 Instance Core running in Iowa", "0.03"),
        sku("Spot Preemptible C3 Instance Core running in Iowa", "0.01", usage="Preemptible"),
    ]
    disk = {"description": "4 vCPUs, 16 GB RAM, 1 local SSD"}
    types = [
        machine_type("c3-standard-4-lssd", 4, 16384, **disk),
        machine_type("x4-960-12t-metal", 960, 12582912),
    ]
    tables = normalise_skus(tmp_path, skus, types)
    reasons = {key: r["price_reason"] for key, r in tables.prices("c3-standard-4-lssd").items()}
    missing = "local_ssd_sku_missing,ram_sku_missing"
    assert reasons == {("on_demand", 0): missing, ("spot", 0): missing}
    (metal,) = tables.prices("x4-960-12t-metal").values()
    assert metal["price_reason"] == "core_sku_missing,ram_sku_missing"


def committed(what: str, price: str, years: int = 1, **more: Any) -> dict[str, Any]:
    return sku(
        f"Commitment v1: {what} in Iowa for {years} Year", price, usage=f"Commit{years}Yr", **more
    )


def test_g12_each_part_at_its_own_commitment_and_the_rest_marked(tmp_path) -> None:
    gpu = "Nvidia Tesla A100 80GB GPU"
    skus = [
        *core_and_ram("A2", "0.03", "0.004"),
        *(sku(f"{gpu} running in Iowa", "3.9"), sku("SSD backed Local Storage in Iowa", "0.08")),
        committed("A2 Cpu", "0.02", group="CPU"),
        committed("A2 Ram", "0.003", group="RAM"),
        committed(gpu, "2.5"),
        sku("Commitment - dollar based v1: A2 Cpu in Iowa for 1 Year", "0.72", usage="Commit1Yr"),
    ]
    disk = {"description": "170GB RAM, 1 local SSD"}
    type_ = machine_type("a2-ultragpu-1g", 12, 174080, ("nvidia-a100-80gb", 1), **disk)
    tables = normalise_skus(tmp_path, skus, [type_])
    prices = tables.prices("a2-ultragpu-1g")
    assert ("committed_use", 36) not in prices
    row = prices["committed_use", 12]
    parts = tables.components(row["price_id"])
    assert {part: line["purchase_option"] for part, line in parts.items()} == {
        **dict.fromkeys(("gpu", "core", "ram"), "committed_use"),
        "local_ssd": "on_demand",
    }
    exact = 12 * Decimal("0.02") + 170 * Decimal("0.003") + Decimal("2.5")
    assert abs(row["hourly"] - exact - 375 * Decimal("0.08") / 730) < Decimal("1e-9")
    assert row["flags"] == ["uncommitted_parts"]
    assert (row["commitment_plan"], row["payment_option"]) == ("resource", "monthly")
    assert tables.counts["not_a_machine_price:flexible_commitment"] == 1


def test_g12_a_commitment_needs_the_main_part(tmp_path) -> None:
    skus = [
        *core_and_ram("A2", "0.03", "0.004"),
        sku("Nvidia Tesla A100 GPU running in Iowa", "2.9"),
        *(committed("A2 Cpu", "0.02", group="CPU"), committed("A2 Ram", "0.003", group="RAM")),
    ]
    tables = normalise_skus(tmp_path, skus, [A2_TYPE])
    assert set(tables.prices("a2-highgpu-1g")) == {("on_demand", 0)}


@pytest.mark.parametrize(
    ("name", "vcpus", "mb", "words"),
    [("n1-standard-1", 1, 3840, ""), ("m1-ultramem-40", 40, 984064, "Memory-optimized ")],
)
def test_g12_n1_plain_and_m1(tmp_path, name, vcpus, mb, words) -> None:
    skus = [
        committed(f"{words}Cpu", "0.02", group="CPU"),
        committed(f"{words}Ram", "0.003", group="RAM"),
    ]
    tables = normalise_skus(tmp_path, skus, [machine_type(name, vcpus, mb)])
    row = tables.prices(name)["committed_use", 12]
    exact = vcpus * Decimal("0.02") + nominal_gib(mb) * Decimal("0.003")
    assert (row["hourly"], row["flags"]) == (exact, [])


def test_g12_a_price_that_is_not_known_says_only_why(tmp_path) -> None:
    """Of a committed GPU without a SKU for its memory, there is no price to be marked."""
    skus = [
        sku("A2 Instance Core running in Iowa", "0.03"),
        sku("Nvidia Tesla A100 GPU running in Iowa", "2.9"),
        committed("Nvidia Tesla A100 GPU", "1.9"),
    ]
    row = normalise_skus(tmp_path, skus, [A2_TYPE]).prices("a2-highgpu-1g")["committed_use", 12]
    assert (row["hourly"], row["price_reason"], row["flags"]) == (None, "ram_sku_missing", [])


def test_two_missing_parts_of_a_kind_are_one_reason(tmp_path: Path) -> None:
    """M2 is M1 with a premium on cores and one on memory."""
    skus = [
        sku("Memory-optimized Instance Core running in Iowa", "0.0348"),
        sku("Memory-optimized Instance Ram running in Iowa", "0.0051"),
    ]
    types = [machine_type("m2-ultramem-208", 208, 5888 * 1024)]
    prices = normalise_skus(tmp_path, skus, types).prices("m2-ultramem-208")
    assert prices[("on_demand", 0)]["price_reason"] == "premium_sku_missing"


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
