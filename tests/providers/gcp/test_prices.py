"""Cases where others published wrong numbers, each with the right one; and the laws that composed prices keep."""

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.gcp_pages import World, machine, sample, sku, world

from hwprices.errors import HwpricesError
from hwprices.providers.gcp.inventory.instance_types import nominal_gib
from hwprices.providers.gcp.prices import skus as skus_module
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

N2 = [
    sku("N2 Instance Core running in Americas", "0.031611"),
    sku("N2 Instance Ram running in Americas", "0.004237"),
]
N2_TYPES = {"us-central1-a": [machine("n2-standard-2", 2, 8192)]}


@pytest.fixture(scope="module")
def bundled(project_path: Path) -> World:
    return sample(project_path)


@pytest.fixture(scope="module")
def project_path() -> Path:
    return Path(__file__).resolve().parents[3]


# -- G1, G2: what is on demand and what is not ---------------------------------------------------------------------------


def test_g1_h100_on_demand_is_not_the_schedulers_price(bundled: World) -> None:
    prices = bundled.prices("a3-highgpu-8g")
    hourly = prices[("on_demand", 0)]["hourly"]
    assert abs(hourly - Decimal("88.4900")) < Decimal("0.00001")
    parts = bundled.components(prices[("on_demand", 0)]["price_id"])
    assert abs(parts["gpu"]["unit_price"] - Decimal("9.79655")) < Decimal("0.00001")
    assert parts["gpu"]["quantity"] == 8
    assert abs(
        parts["core"]["quantity"] * parts["core"]["unit_price"]
        + parts["ram"]["quantity"] * parts["ram"]["unit_price"]
        - Decimal("9.4600657")
    ) < Decimal("0.0001")
    assert parts["local_ssd"]["unit"] == "gib_month"
    assert abs(parts["local_ssd"]["quantity"] - Decimal(6000) / 730) < Decimal("1e-9")
    scheduled = bundled.components(prices[("dws_defined_duration", 0)]["price_id"])
    assert scheduled["gpu"]["unit_price"] == Decimal("4.200761")
    assert scheduled["gpu"]["sku_id"] == "341A-49A5-0C07"


def test_g2_b200_six_ways_to_buy_a_slice(bundled: World) -> None:
    parts = bundled.table("component_prices").filter(pl.col("component") == "slice:nvidia-b200")
    rows = {
        (r["purchase_option"], r["term_months"]): str(r["hourly"].normalize())
        for r in parts.to_dicts()
    }
    assert rows == {
        ("on_demand", 0): "16.11",
        ("dws_calendar", 0): "11.277",
        ("dws_defined_duration", 0): "8.055",
        ("committed_use", 12): "11.1159",
        ("committed_use", 36): "7.0884",
        ("spot", 0): "4.9542",
    }
    # Google does not sell the machine on demand; by every other option it is eight slices and nothing else.
    machine_prices = {k: v["hourly"] / 8 for k, v in bundled.prices("a4-highgpu-8g").items()}
    assert machine_prices == {k: Decimal(v) for k, v in rows.items() if k != ("on_demand", 0)}


# -- G3: billed vCPUs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hourly"), [("e2-micro", "0.00838"), ("e2-small", "0.01675"), ("e2-medium", "0.03351")]
)
def test_g3_shared_core_e2_bills_a_fraction(bundled: World, name: str, hourly: str) -> None:
    price = bundled.hourly(name)
    assert price is not None
    assert round(price, 5) == Decimal(hourly)
    billed = (
        bundled.table("instance_types").filter(pl.col("instance_type") == name).row(0, named=True)
    )
    assert billed["vcpus"] == 2
    assert billed["vcpus_billed"] == {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}[name]


def test_f1_and_g1_have_a_sku_for_the_whole_machine(bundled: World) -> None:
    assert bundled.hourly("f1-micro") == Decimal("0.0076")
    assert bundled.hourly("g1-small") == Decimal("0.0257")


# -- G4: bundled disks are billed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option", [("on_demand", 0), ("spot", 0), ("committed_use", 12), ("committed_use", 36)]
)
def test_g4_every_type_with_disks_is_dearer_than_its_diskless_twin(
    bundled: World, option: tuple[str, int]
) -> None:
    types = set(bundled.table("instance_types")["instance_type"])
    twins = sorted(t for t in types if t.endswith("-lssd") and t.removesuffix("-lssd") in types)
    assert len(twins) > 50
    rates = {
        (r["region"], r["series"]): r["hourly"] * 730
        for r in bundled.table("component_prices").to_dicts()
        if r["component"] == "local_ssd" and (r["purchase_option"], r["term_months"]) == option
    }
    disks = dict(bundled.table("instance_types").select("instance_type", "local_disk_gib").rows())
    checked = 0
    for region in ("us-central1", "europe-west4"):
        for name in twins:
            with_disks, without = (
                bundled.prices(name, region),
                bundled.prices(name.removesuffix("-lssd"), region),
            )
            if (
                option not in with_disks
                or with_disks[option]["hourly"] is None
                or option not in without
            ):
                continue
            series = name.split("-")[0]
            rate = rates[(region, series if series in ("c4", "c4a", "c4d") else "any")]
            expected = Decimal(disks[name]) * rate / 730
            assert abs(
                with_disks[option]["hourly"] - without[option]["hourly"] - expected
            ) < Decimal("1e-5"), name
            checked += 1
    assert checked > 60


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("a2-ultragpu-4g", 1500),
        ("a3-highgpu-1g", 750),
        ("z3-highmem-88-highlssd", 36000),
        ("c4-standard-288-lssd-metal", 18000),
    ],
)
def test_g4_disks_that_the_name_does_not_tell(bundled: World, name: str, gib: int) -> None:
    row = bundled.table("instance_types").filter(pl.col("instance_type") == name).row(0, named=True)
    assert row["local_disk_gib"] == gib
    price = bundled.prices(name)[("spot", 0)]
    if price["hourly"] is not None:
        assert "local_ssd" in bundled.components(price["price_id"])


def test_g4_the_apis_own_count_of_disks_is_read(tmp_path: Path) -> None:
    c3 = [
        sku("C3 Instance Core running in Iowa", "0.03465"),
        sku("C3 Instance Ram running in Iowa", "0.003938"),
        sku("SSD backed Local Storage in Iowa", "0.08"),
    ]
    type_ = machine(
        "c3-standard-22-lssd",
        22,
        90112,
        bundledLocalSsds={"defaultInterface": "NVME", "partitionCount": 4},
    )
    found = world(tmp_path, c3, {"us-central1-a": [type_]})
    exact = 22 * Decimal("0.03465") + 88 * Decimal("0.003938") + 1500 * Decimal("0.08") / 730
    assert abs(found.hourly("c3-standard-22-lssd") - exact) < Decimal("1e-9")  # type: ignore[operator]


# -- G5: C2, sold for a continent and for a region ------------------------------------------------------------------------


def test_g5_c2_for_many_regions_and_with_instance(tmp_path: Path) -> None:
    skus = [
        sku(
            "Compute optimized Core running in Americas",
            "0.03398",
            regions=["us-central1", "us-east1"],
        ),
        sku(
            "Compute optimized Ram running in Americas",
            "0.00455",
            regions=["us-central1", "us-east1"],
        ),
        sku("Compute optimized Instance Core running in Dammam", "0.05", regions=["me-central2"]),
        sku("Compute optimized Instance Ram running in Dammam", "0.006", regions=["me-central2"]),
    ]
    zones = {
        zone: [machine("c2-standard-4", 4, 16384)]
        for zone in ("us-central1-a", "us-east1-b", "me-central2-a")
    }
    found = world(tmp_path, skus, zones)
    for region in ("us-central1", "us-east1"):
        assert found.hourly("c2-standard-4", region=region) == 4 * Decimal(
            "0.03398"
        ) + 16 * Decimal("0.00455")
    assert found.hourly("c2-standard-4", region="me-central2") == 4 * Decimal(
        "0.05"
    ) + 16 * Decimal("0.006")


# -- G6: M2, M4, A3 Mega, A4, G4 ------------------------------------------------------------------------------------------


def test_g6_m2_is_m1_and_a_premium(bundled: World) -> None:
    price = bundled.prices("m2-ultramem-208")
    assert set(price) == {
        ("on_demand", 0),
        ("committed_use", 12),
        ("committed_use", 36),
    }  # M2 is not sold as spot
    parts = bundled.components(price[("on_demand", 0)]["price_id"])
    assert set(parts) == {"core", "ram", "premium", "premium_2"}
    assert parts["core"]["unit_price"] == Decimal("0.0348")
    assert parts["premium"]["unit_price"] == Decimal("0.004524")
    committed = bundled.components(price[("committed_use", 12)]["price_id"])
    assert {c: r["purchase_option"] for c, r in committed.items()} == {
        "core": "committed_use", "ram": "committed_use", "premium": "on_demand", "premium_2": "on_demand"
    }  # fmt: skip
    assert price[("committed_use", 12)]["flags"] == ["uncommitted_parts"]


def test_g6_m4_ultramem_224_has_its_own_skus(bundled: World) -> None:
    parts = bundled.components(bundled.prices("m4-ultramem-224")[("on_demand", 0)]["price_id"])
    assert parts["core"]["unit_price"] == Decimal("0.041568854")
    assert bundled.components(bundled.prices("m4-ultramem-56")[("on_demand", 0)]["price_id"])[
        "core"
    ]["unit_price"] == Decimal("0.0182784")


@pytest.mark.parametrize(
    "word", ["Nvidia H100 80GB Mega GPU", "Nvidia H100 80GB Plus GPU", "Nvidia H100 Mega 80GB GPU"]
)
def test_g6_a3_mega_under_each_of_its_names(tmp_path: Path, word: str) -> None:
    skus = [
        sku("A3Plus Instance Core running in Iowa", "0.022001048"),
        sku("A3Plus Instance Ram running in Iowa", "0.002861"),
        sku(f"{word} running in Iowa", "10.285286312"),
        sku("Nvidia H100 80GB GPU running in Iowa", "9.79655"),
        sku("SSD backed Local Storage in Iowa", "0.088"),
    ]
    found = world(
        tmp_path,
        skus,
        {"us-central1-a": [machine("a3-megagpu-8g", 208, 1916928, ("nvidia-h100-mega-80gb", 8))]},
    )
    exact = (
        208 * Decimal("0.022001048")
        + 1872 * Decimal("0.002861")
        + 8 * Decimal("10.285286312")
        + 6000 * Decimal("0.088") / 730
    )
    assert abs(found.hourly("a3-megagpu-8g") - exact) < Decimal("1e-8")  # type: ignore[operator]
    row = found.table("instance_types").row(0, named=True)
    assert row["accelerators"] == [
        {
            "accelerator_id": "nvidia-h100-sxm5-80gb",
            "vendor_name": "nvidia-h100-mega-80gb",
            "count": 8.0,
            "memory_gib": 80.0,
        }
    ]


def test_g6_part_of_a_gpu_is_sold_all_in(tmp_path: Path) -> None:
    skus = [
        sku("G4 Instance Core running in Iowa", "0.04891"),
        sku("G4 Instance Ram running in Iowa", "0.00587"),
        sku("RTX 6000 96GB running in Iowa", "1.09565"),
        sku("1/8 vGPU no lssd running in Iowa", "0.64688", group="GPU"),
    ]
    sizes = {
        "g4-standard-6": (6, 22528),
        "g4-standard-12": (12, 46080),
        "g4-standard-24": (24, 92160),
        "g4-standard-48": (48, 184320),
    }
    types = [
        machine(name, vcpus, mb, ("nvidia-rtx-pro-6000", 1)) for name, (vcpus, mb) in sizes.items()
    ]
    found = world(tmp_path, skus, {"us-central1-a": types})
    assert {t: found.hourly(t) for t in sizes} == {
        "g4-standard-6": Decimal("0.64688"),
        "g4-standard-12": Decimal("1.29376"),
        "g4-standard-24": Decimal("2.58752"),
        "g4-standard-48": Decimal("4.49993"),
    }
    counts = {
        r["instance_type"]: r["accelerator_count"] for r in found.table("instance_types").to_dicts()
    }
    assert counts == {
        "g4-standard-6": 0.125,
        "g4-standard-12": 0.25,
        "g4-standard-24": 0.5,
        "g4-standard-48": 1.0,
    }


def test_a_workstation_gpu_is_the_same_gpu(tmp_path: Path) -> None:
    skus = [
        sku("G2 Instance Core running in Iowa", "0.024"),
        sku("G2 Instance Ram running in Iowa", "0.003"),
        sku("Nvidia L4 GPU running in Iowa", "0.56"),
    ]
    found = world(
        tmp_path,
        skus,
        {"us-central1-a": [machine("g2-standard-4", 4, 16384, ("nvidia-l4-vws", 1))]},
    )
    assert found.hourly("g2-standard-4") == Decimal("0.704")
    assert (
        found.table("instance_types")["accelerators"].to_list()[0][0]["accelerator_id"]
        == "nvidia-l4"
    )


# -- G7: never a partial sum ----------------------------------------------------------------------------------------------


def test_g7_a_missing_gpu_sku_leaves_no_price(tmp_path: Path) -> None:
    skus = [
        sku("A2 Instance Core running in Iowa", "0.0316"),
        sku("A2 Instance Ram running in Iowa", "0.0042"),
    ]
    found = world(
        tmp_path,
        skus,
        {"us-central1-a": [machine("a2-highgpu-1g", 12, 87040, ("nvidia-tesla-a100", 1))]},
    )
    prices = found.prices("a2-highgpu-1g")
    assert set(prices) == {("on_demand", 0)}
    assert prices[("on_demand", 0)]["hourly"] is None
    assert prices[("on_demand", 0)]["price_reason"] == "gpu_sku_missing"
    assert found.table("price_components").is_empty()


def test_g7_the_other_parts_too(tmp_path: Path) -> None:
    skus = [
        sku("C3 Instance Core running in Iowa", "0.03"),
        sku("Spot Preemptible C3 Instance Core running in Iowa", "0.01", usage="Preemptible"),
    ]
    zones = {
        "us-central1-a": [
            machine("c3-standard-4-lssd", 4, 16384, description="4 vCPUs, 16 GB RAM, 1 local SSD"),
            machine("x4-960-12t-metal", 960, 12582912),
        ]
    }
    found = world(tmp_path, skus, zones)
    assert {k: r["price_reason"] for k, r in found.prices("c3-standard-4-lssd").items()} == {
        ("on_demand", 0): "local_ssd_sku_missing,ram_sku_missing",
        ("spot", 0): "local_ssd_sku_missing,ram_sku_missing",
    }
    assert (
        found.prices("x4-960-12t-metal")[("on_demand", 0)]["price_reason"]
        == "core_sku_missing,ram_sku_missing"
    )


# -- G8: the wire ---------------------------------------------------------------------------------------------------------


def test_g8_whole_dollars_nanos_free_tier_and_no_time(tmp_path: Path) -> None:
    gpu = sku("Nvidia H100 80GB GPU running in Iowa", "9.796550569")
    assert gpu["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"] == {
        "currencyCode": "USD",
        "units": "9",
        "nanos": 796550569,
    }
    core, ram = (
        sku("N2 Instance Core running in Iowa", "0.031611"),
        sku("N2 Instance Ram running in Iowa", "2"),
    )
    money = ram["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]
    del money["nanos"]  # left out when 0
    tiers = core["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    tiers[0]["startUsageAmount"] = 744
    tiers.insert(
        0, {"unitPrice": {"currencyCode": "USD"}}
    )  # a free allowance: units, nanos and start are all 0
    del core["pricingInfo"][0]["effectiveTime"]
    found = world(tmp_path, [gpu, core, ram], N2_TYPES)
    assert found.hourly("n2-standard-2") == 2 * Decimal("0.031611") + 8 * 2
    parts = {r["component"]: r for r in found.table("component_prices").to_dicts()}
    assert parts["gpu:nvidia-h100-80gb"]["hourly"] == Decimal("9.796550569")
    assert parts["core"]["effective_from"] is None
    assert parts["ram"]["effective_from"].isoformat() == "2026-07-01T00:00:00.500000+00:00"


def test_g8_the_first_paid_tier_is_that_of_one_machine_and_the_newest_price_holds(
    tmp_path: Path,
) -> None:
    core = sku("N2 Instance Core running in Iowa", "0.04")
    old = {
        "effectiveTime": "2020-01-01T00:00:00Z",
        "pricingExpression": sku("x", "9")["pricingInfo"][0]["pricingExpression"],
    }
    core["pricingInfo"].insert(0, old)
    core["pricingInfo"][1]["pricingExpression"]["tieredRates"].append(
        {"startUsageAmount": 1000, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 1}}
    )
    found = world(tmp_path, [core, sku("N2 Instance Ram running in Iowa", "0.01")], N2_TYPES)
    assert found.hourly("n2-standard-2") == Decimal("0.16")


def test_g8_the_second_page_and_a_zone_with_a_warning(tmp_path: Path) -> None:
    found = world(tmp_path, N2[:1], {**N2_TYPES, "us-central1-x": []}, more_skus=[N2[1:]])
    assert found.hourly("n2-standard-2") == 2 * Decimal("0.031611") + 8 * Decimal("0.004237")


def test_a_price_of_nothing_or_of_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    free, odd, other = (
        sku("N2 Instance Core running in Iowa", "0"),
        sku("N2 Instance Ram running in Iowa", "0.01", unit="By.s"),
        sku("C3 Instance Core running in Iowa", "1"),
    )
    other["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]["currencyCode"] = (
        "IDR"
    )
    found = world(tmp_path, [free, odd, other, {**N2[0], "pricingInfo": []}], N2_TYPES)
    assert sorted(r["reason"] for r in found.refused) == [
        "no_price",
        "not_usd",
        "unknown_unit",
        "zero_price",
    ]
    assert (
        found.prices("n2-standard-2")[("on_demand", 0)]["price_reason"]
        == "core_sku_missing,ram_sku_missing"
    )


# -- G9, G10: one key, one price ------------------------------------------------------------------------------------------


def shuffled(skus: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    orders = [skus, skus[::-1], list(skus)]
    random.Random(9).shuffle(orders[2])
    return orders


def test_g9_the_regions_own_name_holds_in_any_order(tmp_path: Path) -> None:
    tokyo = [
        sku(
            "Memory-optimized Instance Core running in Tokyo", "0.0426", regions=["asia-northeast1"]
        ),
        sku(
            "Memory-optimized Instance Core running in Japan",
            "0.0426489",
            regions=["asia-northeast1"],
        ),
        sku(
            "Memory-optimized Instance Ram running in Tokyo", "0.0062", regions=["asia-northeast1"]
        ),
        sku("N2 Instance Core running in Virginia", "0.9", regions=["us-east4"]),
        sku("N2 Instance Core running in Northern Virginia", "0.035", regions=["us-east4"]),
        sku(
            "N2 Instance Ram running in Virginia", "0.0047", regions=["us-east4"]
        ),  # only the old name: it stands
    ]
    zones = {
        "asia-northeast1-a": [machine("m1-ultramem-40", 40, 984064)],
        "us-east4-a": [machine("n2-standard-2", 2, 8192)],
    }
    for i, order in enumerate(shuffled(tokyo)):
        found = world(tmp_path / str(i), order, zones)
        assert found.hourly("m1-ultramem-40", region="asia-northeast1") == 40 * Decimal(
            "0.0426"
        ) + 961 * Decimal("0.0062")
        assert found.hourly("n2-standard-2", region="us-east4") == 2 * Decimal(
            "0.035"
        ) + 8 * Decimal("0.0047")
        assert found.refused == []


def test_g9_what_no_rule_decides_is_refused(tmp_path: Path) -> None:
    first, second = (
        sku(
            "N2 Instance Core running in Singapore",
            price,
            regions=["asia-southeast1"],
            sku_id=price,
        )
        for price in ("0.03", "0.04")
    )
    ram = sku("N2 Instance Ram running in Singapore", "0.004", regions=["asia-southeast1"])
    for i, order in enumerate(shuffled([first, second, ram])):
        found = world(
            tmp_path / str(i), order, {"asia-southeast1-a": [machine("n2-standard-2", 2, 8192)]}
        )
        row = found.prices("n2-standard-2", "asia-southeast1")[("on_demand", 0)]
        assert (row["hourly"], row["price_reason"]) == (None, "core_sku_ambiguous")
        assert [r["reason"] for r in found.refused] == ["ambiguous_sku", "ambiguous_sku"]


def test_g9_two_skus_that_agree_are_one(tmp_path: Path) -> None:
    twice = [
        sku("N2 Instance Core running in Iowa", "0.031611", sku_id=name) for name in ("B", "A")
    ]
    for i, order in enumerate(shuffled([*twice, N2[1]])):
        found = world(tmp_path / str(i), order, N2_TYPES)
        assert (
            found.components(found.prices("n2-standard-2")[("on_demand", 0)]["price_id"])["core"][
                "sku_id"
            ]
            == "A"
        )


def test_g10_europe_west1_is_not_the_beginning_of_europe_west10(tmp_path: Path) -> None:
    skus = [
        s
        for region, core in (
            ("europe-west1", "0.01"),
            ("europe-west10", "0.02"),
            ("europe-west12", "0.03"),
        )
        for s in (
            sku("N2 Instance Core running in X", core, regions=[region], sku_id=region),
            sku("N2 Instance Ram running in X", "0.001", regions=[region], sku_id=f"r{region}"),
        )
    ]
    zones = {
        f"{region}-b": [machine("n2-standard-2", 2, 8192)]
        for region in ("europe-west1", "europe-west10", "europe-west12")
    }
    found = world(tmp_path, skus, zones)
    assert [found.hourly("n2-standard-2", region=r) for r in ("europe-west1", "europe-west10", "europe-west12")] == [
        Decimal("0.028"), Decimal("0.048"), Decimal("0.068")
    ]  # fmt: skip


# -- G11: what is not understood ------------------------------------------------------------------------------------------


def test_g11_unknown_skus_are_quarantined_and_counted(tmp_path: Path) -> None:
    odd = [
        sku("N9 Instance Core running in Iowa", "0.03", sku_id="ODD"),
        sku("Storage PD Capacity", "0.04", family="Storage", group="PDStandard"),
    ]
    found = world(tmp_path, [*N2, *odd, sku("Reserved N2 Core in Iowa", "0")], N2_TYPES)
    assert [
        (r["reason"], r["table"], "N9 Instance Core" in r["message"]) for r in found.refused
    ] == [("unknown_grammar", "prices", True)]
    assert '"sku_id":"ODD"' in found.refused[0]["row"]
    assert found.counts == {
        "not_a_machine_price:reserved": 1,
        "out_of_scope:resource_family=Storage": 1,
    }


def test_g11_too_many_unknown_fail_the_provider(tmp_path: Path) -> None:
    odd = [
        sku(f"N9 Instance Core running in place {i}", "0.03", sku_id=str(i))
        for i in range(skus_module.UNKNOWN_FLOOR + 1)
    ]
    with pytest.raises(HwpricesError, match="21 of 23 machine SKUs are not understood"):
        world(tmp_path, [*N2, *odd], N2_TYPES)


def test_g11_a_type_of_an_unknown_series_is_listed_without_a_price(tmp_path: Path) -> None:
    found = world(tmp_path, N2, {"us-central1-a": [machine("n9-standard-2", 2, 8192)]})
    assert (
        found.prices("n9-standard-2")[("on_demand", 0)]["price_reason"]
        == "core_sku_missing,ram_sku_missing"
    )
    assert found.table("instance_types").row(0, named=True)["series"] == "n9"


# -- G12: commitments -----------------------------------------------------------------------------------------------------


def committed(what: str, price: str, years: int = 1, **more: Any) -> dict[str, Any]:
    return sku(
        f"Commitment v1: {what} in Iowa for {years} Year", price, usage=f"Commit{years}Yr", **more
    )


def test_g12_each_part_at_its_own_commitment_and_the_rest_marked(tmp_path: Path) -> None:
    skus = [
        *(
            sku("A2 Instance Core running in Iowa", "0.03"),
            sku("A2 Instance Ram running in Iowa", "0.004"),
            sku("Nvidia Tesla A100 80GB GPU running in Iowa", "3.9"),
        ),
        *(
            committed("A2 Cpu", "0.02", group="CPU"),
            committed("A2 Ram", "0.003", group="RAM"),
            committed("Nvidia Tesla A100 80GB GPU", "2.5"),
        ),
        sku("SSD backed Local Storage in Iowa", "0.08"),
        sku("Commitment - dollar based v1: A2 Cpu in Iowa for 1 Year", "0.72", usage="Commit1Yr"),
    ]
    found = world(
        tmp_path,
        skus,
        {
            "us-central1-a": [
                machine(
                    "a2-ultragpu-1g",
                    12,
                    174080,
                    ("nvidia-a100-80gb", 1),
                    description="170GB RAM, 1 local SSD",
                )
            ]
        },
    )
    row = found.prices("a2-ultragpu-1g")[("committed_use", 12)]
    parts = found.components(row["price_id"])
    assert {c: r["purchase_option"] for c, r in parts.items()} == {
        "gpu": "committed_use",
        "core": "committed_use",
        "ram": "committed_use",
        "local_ssd": "on_demand",
    }
    assert abs(
        row["hourly"]
        - (
            12 * Decimal("0.02")
            + 170 * Decimal("0.003")
            + Decimal("2.5")
            + 375 * Decimal("0.08") / 730
        )
    ) < Decimal("1e-9")
    assert (row["flags"], row["commitment_plan"], row["payment_option"]) == (
        ["uncommitted_parts"],
        "resource",
        "monthly",
    )
    assert ("committed_use", 36) not in found.prices("a2-ultragpu-1g")
    assert found.counts["not_a_machine_price:flexible_commitment"] == 1


def test_g12_a_commitment_needs_the_main_part(tmp_path: Path) -> None:
    skus = [
        *(
            sku("A2 Instance Core running in Iowa", "0.03"),
            sku("A2 Instance Ram running in Iowa", "0.004"),
            sku("Nvidia Tesla A100 GPU running in Iowa", "2.9"),
        ),
        *(committed("A2 Cpu", "0.02", group="CPU"), committed("A2 Ram", "0.003", group="RAM")),
    ]
    found = world(
        tmp_path,
        skus,
        {"us-central1-a": [machine("a2-highgpu-1g", 12, 87040, ("nvidia-tesla-a100", 1))]},
    )
    assert set(found.prices("a2-highgpu-1g")) == {("on_demand", 0)}


@pytest.mark.parametrize(
    ("name", "vcpus", "mb", "cpu", "ram"),
    [
        ("n1-standard-1", 1, 3840, "", ""),
        ("m1-ultramem-40", 40, 984064, "Memory-optimized ", "Memory-optimized "),
    ],
)
def test_g12_n1_plain_and_m1(
    tmp_path: Path, name: str, vcpus: int, mb: int, cpu: str, ram: str
) -> None:
    skus = [
        committed(f"{cpu}Cpu", "0.02", group="CPU"),
        committed(f"{ram}Ram", "0.003", group="RAM"),
    ]
    found = world(tmp_path, skus, {"us-central1-a": [machine(name, vcpus, mb)]})
    assert found.hourly(name, "committed_use", 12) == vcpus * Decimal("0.02") + nominal_gib(
        mb
    ) * Decimal("0.003")


# -- licences -------------------------------------------------------------------------------------------------------------


def test_licences_are_added_to_what_the_machine_costs(tmp_path: Path) -> None:
    def fee(text: str, price: str) -> dict[str, Any]:
        return sku(
            f"Licensing Fee for {text}", price, family="License", group="Google", regions=["global"]
        )

    skus = [
        *N2,
        fee("Windows Server 2019 Datacenter Edition (CPU cost)", "0.04"),
        fee("Windows Server 2025 Datacenter Edition on VM", "0.046"),
        fee("Windows Server 2025 Datacenter Edition on f1-micro", "0.02"),
        fee("Windows Server 2025 Datacenter Edition (RAM cost)", "0"),
        fee("Red Hat Enterprise Linux 9 on VM with up to 8 VCPU", "0.0144"),
        fee("Red Hat Enterprise Linux 9 on VM with 9 to 127 VCPU", "0.0108"),
        fee("SUSE Linux Enterprise Server 15 (CPU cost)", "0.11"),
        sku("T2A Arm Instance Core running in Iowa", "0.02"),
        sku("T2A Arm Instance Ram running in Iowa", "0.003"),
        sku("Micro Instance with burstable CPU running in Iowa", "0.0076", group="F1Micro"),
    ]
    types = [
        machine("n2-standard-2", 2, 8192),
        machine("n2-standard-16", 16, 65536),
        machine("t2a-standard-2", 2, 8192, architecture="ARM64"),
        machine("f1-micro", 1, 614),
    ]
    found = world(tmp_path, skus, {"us-central1-a": types})
    linux = found.hourly("n2-standard-2")
    assert linux is not None
    assert found.hourly("n2-standard-2", os="windows") == linux + 2 * Decimal("0.046")
    assert found.hourly("n2-standard-2", os="rhel") == linux + 2 * Decimal("0.0144")
    assert found.hourly("n2-standard-2", os="sles") == linux + Decimal("0.11")
    sixteen = found.hourly("n2-standard-16")
    assert found.hourly("n2-standard-16", os="rhel") == sixteen + 16 * Decimal("0.0108")  # type: ignore[operator]
    assert found.prices("t2a-standard-2", os="windows") == {}  # no Windows on Arm
    assert found.hourly("f1-micro", os="windows") == Decimal("0.0276")
    parts = found.components(
        found.prices("n2-standard-2", os="windows")[("on_demand", 0)]["price_id"]
    )
    assert set(parts) == {"core", "ram", "license"}
    assert (
        parts["license"]["unit"],
        parts["license"]["quantity"],
        parts["license"]["purchase_option"],
    ) == ("vcpu", 2, "on_demand")


# -- laws -----------------------------------------------------------------------------------------------------------------


def test_components_sum_to_the_price_and_every_price_has_them(bundled: World) -> None:
    prices = bundled.table("prices").filter(pl.col("hourly").is_not_null())
    cost = (pl.col("quantity") * pl.col("unit_price")).cast(pl.Decimal(20, 10))
    sums = bundled.table("price_components").group_by("price_id").agg(cost.sum().alias("total"))
    joined = prices.join(sums, on="price_id", how="full", coalesce=True)
    assert joined.filter(
        pl.col("hourly").is_null()
        | pl.col("total").is_null()
        | (pl.col("hourly") != pl.col("total"))
    ).is_empty()


def test_every_table_of_the_sample_keeps_its_promises(bundled: World) -> None:
    for name in (
        "regions",
        "zones",
        "instance_types",
        "availability",
        "prices",
        "price_components",
        "component_prices",
    ):
        frame = bundled.table(name)
        assert frame.height, name
        assert validate.split(frame, TABLES[name], {}).refused.is_empty(), name
    assert bundled.refused == []


def test_longer_commitments_are_cheaper_and_windows_is_dearer(bundled: World) -> None:
    wide = bundled.table("prices").filter(pl.col("hourly").is_not_null()).with_columns(
        way=pl.concat_str("os", "purchase_option", pl.col("term_months").cast(pl.String), separator=" ")
    ).pivot("way", index=["region", "instance_type"], values="hourly")  # fmt: skip
    cheaper = [
        ("linux committed_use 12", "linux on_demand 0"),
        ("linux committed_use 36", "linux committed_use 12"),
        ("linux on_demand 0", "windows on_demand 0"),
    ]
    for less, more in cheaper:
        assert wide.filter(pl.col(less) > pl.col(more)).is_empty(), (less, more)
    # spot above on demand would be odd, and is not in these figures
    assert wide.filter(pl.col("linux spot 0") > pl.col("linux on_demand 0")).is_empty()


def test_prices_are_linear_in_size_inside_a_series(bundled: World) -> None:
    for series, sizes in {
        "n2-standard": (2, 4, 8, 32),
        "c3-highmem": (4, 8, 22, 88),
        "e2-highcpu": (2, 4, 8, 16),
    }.items():
        for option in (("on_demand", 0), ("spot", 0), ("committed_use", 36)):
            each = {bundled.prices(f"{series}-{n}")[option]["hourly"] / n for n in sizes}
            assert max(each) - min(each) < Decimal("1e-9"), (series, option)


def test_the_same_pages_give_the_same_rows_in_the_same_order(
    project_path: Path, bundled: World
) -> None:
    again = sample(project_path)
    for name in ("instance_types", "prices", "price_components", "component_prices"):
        assert validate.sort_by_key(again.table(name), TABLES[name]).equals(
            validate.sort_by_key(bundled.table(name), TABLES[name])
        )


@pytest.mark.parametrize(
    ("mb", "gib"),
    [
        (14746, "14.4"),
        (1843, "1.8"),
        (614, "0.6"),
        (1740, "1.7"),
        (3840, "3.75"),
        (1468006, "1433.6"),
        (8192, "8"),
        (22528, "22"),
        (5000, "4.8828125"),
    ],
)
def test_memory_is_what_is_sold_not_what_was_rounded(mb: int, gib: str) -> None:
    assert nominal_gib(mb) == Decimal(gib)
