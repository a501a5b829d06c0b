"""Find the accelerators of sizes."""

from pathlib import Path

import pytest
from tests.helpers.azure_pages import one_size


@pytest.mark.parametrize(
    ("name", "gpus", "accelerator", "count", "gib"),
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
def test_z7_accelerators_of_sizes(
    tmp_path: Path, name: str, gpus: str | None, accelerator: str, count: float, gib: float
) -> None:
    row = one_size(tmp_path, name, "family", GPUs=gpus)
    (device,) = row["accelerators"]  # type: ignore[misc]
    assert (device["accelerator_id"], row["accelerator_kind"]) == (accelerator, "gpu")
    assert device["count"] == row["accelerator_count"] == pytest.approx(count)
    assert row["accelerator_memory_gib"] == pytest.approx(gib)


def test_an_fpga_is_not_a_gpu(tmp_path: Path) -> None:
    row = one_size(tmp_path, "Standard_NP20s", "standardNPSFamily", GPUs="2")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("fpga", 2.0)


def test_an_accelerator_without_a_sheet_keeps_its_place(tmp_path: Path) -> None:
    row = one_size(tmp_path, "Standard_ND256isr_R300_v9", "standardNDv9Family")
    assert (row["accelerator_kind"], row["accelerator_count"]) == ("gpu", None)
    assert row["accelerators"] == [
        {"accelerator_id": None, "vendor_name": None, "count": None, "memory_gib": None}
    ]
