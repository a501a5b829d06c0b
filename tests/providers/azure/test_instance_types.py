"""Read specifications of sizes from resource SKUs."""

import json
from datetime import date
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.helpers.azure_pages import (
    NOW,
    Landed,
    frame,
    instance_types,
    one_size,
    recording,
    refused,
    sku,
)
from tests.helpers.cases import cases, number

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def test_z7_a_constrained_size_has_fewer_vcpus(tmp_path: Path) -> None:
    row = one_size(
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
    assert (row["series"], row["generation"], row["cpu_vendor"]) == ("Esv5", "v5", "Intel")


def test_disks_rdma_confidential_and_arch(tmp_path: Path) -> None:
    rows = instance_types(
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
    ] == ["arm64", 0.0, None, "Ampere"]
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
    ("date_text", "status", "day"),
    [
        ("11/15/2028", "retiring", date(2028, 11, 15)),
        ("01/01/9999", "current", None),
        (None, None, None),
        ("soon", None, None),
    ],
)
def test_retirement(tmp_path, date_text, status, day) -> None:
    row = one_size(tmp_path, "Standard_D2s_v3", RetirementDateUtc=date_text)
    assert (row["status"], row["retirement_date"]) == (status, day)


DISK_SPEEDS = [
    *("block_storage_gbps_baseline", "block_storage_iops_baseline"),
    *("block_storage_gbps_max", "block_storage_iops_max"),
    *("local_disk_read_iops", "local_disk_write_iops"),
]


@pytest.mark.parametrize(
    ("name", "capabilities", "speeds"),
    [
        (
            "Standard_D2s_v5",  # 85 MB/s
            {
                "UncachedDiskIOPS": "3750",
                "UncachedDiskBytesPerSecond": "85000000",
                "CombinedTempDiskAndCachedIOPS": "9000",
            },
            (0.68, 3750, None, None, None, None),
        ),
        (
            "Standard_L8as_v4",
            {
                "UncachedDiskIOPS": "15200",
                "UncachedDiskBytesPerSecond": "360000000",
                "NvmeMaxReadIops": "550000",
                "NvmeMaxWriteIops": "220000",
            },
            (2.88, 15200, None, None, 550000, 220000),
        ),
        ("Standard_A0", {"UncachedDiskIOPS": "0", "UncachedDiskBytesPerSecond": "0"}, (None,) * 6),
        ("Standard_A1", {}, (None,) * 6),
    ],
)
def test_disk_speeds_are_those_without_bursts(tmp_path, name, capabilities, speeds) -> None:
    row = one_size(tmp_path, name, "standardDSv5Family", **capabilities)
    assert tuple(row[column] for column in DISK_SPEEDS) == speeds


@cases("azure/networks", gbps=number)
def test_the_network_is_that_of_the_sheet(tmp_path, name, rdma, gbps) -> None:
    row = one_size(tmp_path, name, "standardDSv5Family", RdmaEnabled=rdma)
    assert (row["network_gbps_max"], row["network_gbps_baseline"]) == (gbps, None)


def test_other_resources_are_counted_and_nameless_sizes_refused(tmp_path: Path) -> None:
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


@cases("azure/impossible_figures", figures=yaml.safe_load)
def test_a_size_with_an_impossible_figure_is_in_quarantine(tmp_path, figures) -> None:
    landed = Landed(tmp_path).skus(sku("Standard_D2s_v3"), sku("Standard_D4s_v3", **figures))
    part = landed.parts()["instance_types"]
    assert frame(part)["instance_type"].to_list() == ["Standard_D2s_v3"]
    assert part.refused is not None
    assert part.refused.select("reason", "message").rows() == [
        ("impossible_figure", "Standard_D4s_v3 has a figure that no machine has")
    ]


def test_the_api_goes_before_the_bundled_sizes(tmp_path: Path) -> None:
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


def test_every_recorded_sku_is_read(tmp_path: Path) -> None:
    body = recording("skus_westus_2024-10.json.gz")
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
