"""Find the accelerators of sizes."""

from pathlib import Path

import pytest
from tests.helpers.azure_pages import one_size
from tests.helpers.cases import cases, number, optional


@cases("azure/accelerators", gpus=optional, count=number, gib=int)
def test_z7_accelerators_of_sizes(tmp_path, name, gpus, accelerator, count, gib) -> None:
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
