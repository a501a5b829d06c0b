"""Case Z7 and the sizes: specifications, accelerators, where a size is offered."""

import gzip
import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.azure_pages import NOW, Landed, barred, frame, refused, sku

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def sizes(folder: Path, *skus: dict[str, object]) -> pl.DataFrame:
    return frame(Landed(folder).skus(*skus).parts()["instance_types"])


def one(
    folder: Path, name: str, family: str = "standardDSv3Family", **more: str | None
) -> dict[str, object]:
    return sizes(folder, sku(name, family, **more)).row(0, named=True)


def test_z7_a_constrained_size_has_fewer_vcpus(tmp_path: Path) -> None:
    row = one(
        tmp_path,
        "Standard_E8-4s_v5",
        "standardESv5Family",
        vCPUs="8",
        vCPUsAvailable="4",
        MemoryGB="64",
    )
    assert (row["vcpus"], row["vcpus_billed"], row["physical_cores"], row["memory_gib"]) == (
        4,
        8.0,
        None,
        64.0,
    )
    assert (row["series"], row["generation"], row["cpu_vendor"]) == ("Esv5", "v5", "intel")


@pytest.mark.parametrize(
    ("name", "said", "accelerator", "count", "gib"),
    [
        ("Standard_ND96isr_H100_v5", "12", "nvidia-h100-sxm5-80gb", 8, 640),
        ("Standard_ND96isr_H100_v5", "8", "nvidia-h100-sxm5-80gb", 8, 640),
        ("Standard_ND128isr_NDR_GB200_v6", None, "nvidia-gb200", 4, 744),
        ("Standard_ND128isr_GB300_v6", None, "nvidia-gb300", 4, 1116),
        ("Standard_ND96is_MI300X_v5", None, "amd-mi300x", 8, 1536),
        ("Standard_NV6ads_A10_v5", "1", "nvidia-a10", 1 / 6, 4),
        ("Standard_NV12ads_A10_v5", "1", "nvidia-a10", 1 / 3, 8),
        ("Standard_NV18ads_A10_v5", "1", "nvidia-a10", 1 / 2, 12),
        ("Standard_NV72ads_A10_v5", "2", "nvidia-a10", 2, 48),
        ("Standard_NV4ads_V710_v5", None, "amd-v710", 1 / 6, 4),
        ("Standard_NC24lds_xl_RTXPRO6000BSE_v6", "1", "nvidia-rtx-pro-6000-server", 1 / 4, 24),
        ("Standard_NC72ds_xl_RTXPRO6000BSE_v6", "1", "nvidia-rtx-pro-6000-server", 1 / 2, 48),
        ("Standard_NC288ds_xl_RTXPRO6000BSE_v6", "2", "nvidia-rtx-pro-6000-server", 2, 192),
        ("Standard_NG8ads_V620_v1", None, "amd-v620", 1 / 4, 8),
        ("Standard_NV4as_v4", "1", "amd-mi25", 1 / 8, 2),
        ("Standard_NCC40ads_H100_v5", "1", "nvidia-h100-nvl-94gb", 1, 94),
        ("Standard_NC80adis_H100_v5", "2", "nvidia-h100-nvl-94gb", 2, 188),
        ("Standard_NC24ads_A100_v4", "1", "nvidia-a100-pcie-80gb", 1, 80),
        ("Standard_ND96asr_v4", "8", "nvidia-a100-sxm4-40gb", 8, 320),
        ("Standard_ND96amsr_A100_v4", "8", "nvidia-a100-sxm4-80gb", 8, 640),
        ("Standard_NC64as_T4_v3", "4", "nvidia-t4", 4, 64),
        ("Standard_ND40rs_v2", "8", "nvidia-v100-sxm2-32gb", 8, 256),
        ("Standard_NC24rs_v3", "4", "nvidia-v100-pcie-16gb", 4, 64),
        ("Standard_NC24s_v2", "4", "nvidia-p100", 4, 64),
        ("Standard_ND24rs", "4", "nvidia-p40", 4, 96),
        ("Standard_NV48s_v3", "4", "nvidia-m60", 4, 32),
        ("Standard_NC24r", "4", "nvidia-k80", 4, 48),
    ],
)
def test_z7_accelerators(
    tmp_path: Path, name: str, said: str | None, accelerator: str, count: float, gib: float
) -> None:
    row = one(tmp_path, name, "family", GPUs=said)
    (device,) = row["accelerators"]  # type: ignore[misc]
    assert (device["accelerator_id"], row["accelerator_kind"]) == (accelerator, "gpu")
    assert device["count"] == row["accelerator_count"] == pytest.approx(count)
    assert row["accelerator_memory_gib"] == pytest.approx(gib)


def test_an_fpga_is_no_gpu(tmp_path: Path) -> None:
    row = one(tmp_path, "Standard_NP20s", "standardNPSFamily", GPUs="2")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("fpga", 2.0)


def test_an_accelerator_that_no_rule_knows_is_said_to_be_there(tmp_path: Path) -> None:
    row = one(tmp_path, "Standard_ND256isr_R300_v9", "standardNDv9Family")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("gpu", None)
    assert row["accelerators"] == [
        {"accelerator_id": None, "vendor_name": None, "count": None, "memory_gib": None}
    ]


def test_disks_rdma_confidential_and_arch(tmp_path: Path) -> None:
    rows = sizes(
        tmp_path,
        sku(
            "Standard_L8s_v3",
            "standardLSv3Family",
            MaxResourceVolumeMB="81920",
            NvmeDiskSizeInMiB="1831054",
            NvmeSizePerDiskInMiB="1831054",
        ),
        sku(
            "Standard_D2pls_v5",
            "standardDPLSv5Family",
            CpuArchitectureType="Arm64",
            MaxResourceVolumeMB="0",
        ),
        sku("Standard_HB120rs_v3", "standardHBv3Family", RdmaEnabled="True"),
        sku(
            "Standard_DC2as_v5",
            "standardDCASv5Family",
            ConfidentialComputingType="SNP",
            RdmaEnabled="False",
        ),
        sku("Basic_A0", "basicAFamily", MaxResourceVolumeMB="20480", MemoryGB="0.75"),
        sku("Standard_B1ls", "standardBSFamily", MemoryGB="0.5"),
    )
    by = {row["instance_type"]: row for row in rows.iter_rows(named=True)}
    assert by["Standard_L8s_v3"]["local_disk_gib"] == pytest.approx(80 + 1831054 / 1024)
    assert [by["Standard_L8s_v3"][c] for c in ("local_disk_count", "local_disk_kind")] == [
        2,
        "nvme_ssd",
    ]
    assert [
        by["Standard_D2pls_v5"][c]
        for c in ("arch", "local_disk_gib", "local_disk_kind", "cpu_vendor")
    ] == ["arm64", 0.0, None, "ampere"]
    assert by["Standard_HB120rs_v3"]["rdma"] == "infiniband"
    assert [by["Standard_DC2as_v5"][c] for c in ("confidential_computing", "rdma")] == [
        ["sev_snp"],
        "none",
    ]
    assert [by["Basic_A0"][c] for c in ("local_disk_kind", "memory_gib")] == ["hdd", 0.75]
    assert [
        by["Standard_B1ls"][c]
        for c in ("burstable", "memory_gib", "accelerator_kind", "accelerator_count")
    ] == [True, 0.5, "none", 0.0]


@pytest.mark.parametrize(
    ("wire", "status", "day"),
    [
        ("11/15/2028", "retiring", date(2028, 11, 15)),
        ("01/01/9999", "current", None),
        (None, None, None),
        ("soon", None, None),
    ],
)
def test_retirement(tmp_path: Path, wire: str | None, status: str | None, day: date | None) -> None:
    row = one(tmp_path, "Standard_D2s_v3", RetirementDateUtc=wire)
    assert (row["status"], row["retirement_date"]) == (status, day)


def test_zones_and_restrictions(tmp_path: Path) -> None:
    """Zones in any order, a location in another case, restrictions of both kinds at once, a zone only the restriction names."""
    landed = Landed(tmp_path).skus(
        sku(
            "Standard_D2s_v3",
            location="EastUS",
            zones=["2", "3", "1"],
            restrictions=[barred("Zone", "EastUS", ["3", "4"])],
        ),
        sku(
            "Standard_D4s_v3",
            location="eastus",
            zones=["1"],
            restrictions=[barred("Location", "eastus"), barred("Zone", "eastus", ["1"])],
        ),
        sku("Standard_D8s_v3", location="eastus"),
        sku("Standard_D16s_v3", location="eastus", restrictions=[barred("Zone", "eastus", ["2"])]),
    )
    rows = (
        frame(landed.parts()["availability"])
        .select("instance_type", "region", "zone", "restricted", "restriction_reason")
        .rows()
    )
    no = "NotAvailableForSubscription"
    assert sorted(rows, key=str) == sorted(
        [
            ("Standard_D2s_v3", "eastus", "1", False, None),
            ("Standard_D2s_v3", "eastus", "2", False, None),
            ("Standard_D2s_v3", "eastus", "3", True, no),
            ("Standard_D2s_v3", "eastus", "4", True, no),
            ("Standard_D4s_v3", "eastus", "1", True, no),
            ("Standard_D8s_v3", "eastus", None, False, None),
            ("Standard_D16s_v3", "eastus", "2", True, no),
        ],
        key=str,
    )


def test_other_resources_are_counted_and_nameless_ones_refused(tmp_path: Path) -> None:
    landed = Landed(tmp_path).skus(
        sku("Standard_D2s_v3"),
        {**sku("x"), "resourceType": "disks"},
        {**sku("y"), "resourceType": "disks"},
        {**sku("z"), "name": None},
    )
    part = landed.parts()["instance_types"]
    assert (frame(part).height, dict(part.counts), refused(part)) == (
        1,
        {"out_of_scope:resource_type=disks": 2},
        ["sku_without_name"],
    )


def test_the_api_goes_before_the_bundled_table(tmp_path: Path) -> None:
    bundled = {"bundled": "2026-08-31"}
    landed = Landed(tmp_path).skus(
        sku("Standard_D2s_v3", MemoryGB="9"),
        sku("Standard_D4s_v3"),
        sku("Standard_D8s_v3", location="westus"),
        region="global",
        params=bundled,
    )
    landed.skus(sku("Standard_D2s_v3"))
    parts = landed.parts()
    types = {
        r["instance_type"]: (r["spec_source"], r["memory_gib"])
        for r in frame(parts["instance_types"]).iter_rows(named=True)
    }
    assert types["Standard_D2s_v3"] == ("api", 8.0)
    assert types["Standard_D8s_v3"][0] == "bundled"
    assert sorted(frame(parts["availability"]).select("region", "instance_type").rows()) == [
        ("eastus", "Standard_D2s_v3"),
        ("westus", "Standard_D8s_v3"),
    ]


@pytest.mark.shared
def test_732_recorded_skus_parse_with_nothing_lost(shared: Path, tmp_path: Path) -> None:
    body = gzip.decompress(
        (shared / "recordings/azure/compute_skus_westus_24-Oct-2024.wire.json.gz").read_bytes()
    )
    names = {value["name"] for value in json.loads(body)["value"]}
    parts = Landed(tmp_path).add("skus", "westus", body, NOW).parts()
    types = frame(parts["instance_types"])
    assert len(names) == 732
    assert set(types["instance_type"]) == names
    assert (refused(parts["instance_types"]), dict(parts["instance_types"].counts)) == ([], {})
    for column in ("vcpus", "memory_gib", "arch", "series", "physical_cores", "local_disk_gib"):
        allowed = (
            types.filter(pl.col("vcpus").cast(pl.Float64) != pl.col("vcpus_billed")).height
            if column == "physical_cores"
            else 0
        )
        assert types[column].null_count() == allowed, column
    assert set(frame(parts["availability"])["instance_type"]) == names
    assert validate.split(types, TABLES["instance_types"], {}).refused.is_empty()
    assert validate.split(
        frame(parts["availability"]), TABLES["availability"], {}
    ).refused.is_empty()
    h100 = types.filter(instance_type="Standard_ND96isr_H100_v5")["accelerator_count"].to_list()
    assert h100 in ([8.0], [])


@pytest.mark.shared
def test_a_recorded_answer_with_zone_details(shared: Path, tmp_path: Path) -> None:
    body = (shared / "recordings/azure/eastus_small_2023.json").read_bytes()
    names = {
        value["name"]
        for value in json.loads(body)["value"]
        if value["resourceType"] == "virtualMachines"
    }
    parts = Landed(tmp_path).add("skus", "eastus", body).parts()
    assert set(frame(parts["instance_types"])["instance_type"]) == names
    assert set(frame(parts["availability"]).filter(instance_type="Standard_D2_v2")["zone"]) == {
        "1",
        "2",
        "3",
    }


@pytest.mark.shared
def test_recorded_locations(shared: Path, tmp_path: Path) -> None:
    body = (shared / "recordings/azure/locations_with_zones.json").read_bytes()
    parts = (
        Landed(tmp_path)
        .add("locations", "global", body)
        .skus(sku("Standard_D2s_v3", location="austriaeast"), region="austriaeast")
        .parts()
    )
    regions = frame(parts["regions"])
    assert (regions.height, dict(parts["regions"].counts)) == (
        55,
        {"out_of_scope:logical_or_test_location": 43},
    )
    west = regions.filter(region="westeurope").row(0, named=True)
    assert (west["display_name"], west["country"], west["continent"], west["latitude"]) == (
        "West Europe",
        "NL",
        "europe",
        52.3667,
    )
    assert regions.filter(pl.col("country").is_null())["region"].to_list() == ["austriaeast"]
    assert regions.filter(region="brazilus")["latitude"].to_list() == [None]
    zones = frame(parts["zones"]).filter(region="eastus").select("zone", "zone_id").rows()
    assert zones == [("1", "eastus-az2"), ("2", "eastus-az3"), ("3", "eastus-az1")]
    for table in ("regions", "zones"):
        assert validate.split(frame(parts[table]), TABLES[table], {}).refused.is_empty()


@pytest.mark.parametrize(
    ("region", "kind"),
    [
        ("usgovvirginia", "gov"),
        ("usdodeast", "gov"),
        ("chinanorth3", "china"),
        ("eastus", "region"),
    ],
)
def test_kinds_of_regions(tmp_path: Path, region: str, kind: str) -> None:
    parts = Landed(tmp_path).skus(sku("Standard_D2s_v3", location=region), region=region).parts()
    assert frame(parts["regions"]).select("region", "kind").rows() == [(region, kind)]
