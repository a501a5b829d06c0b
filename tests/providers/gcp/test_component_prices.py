"""Prices of one unit of a component: what a unit is, and which accelerator."""

from decimal import Decimal
from pathlib import Path

from tests.helpers.gcp_pages import machine_type, normalise_skus, sku


def test_each_component_has_its_unit_and_its_accelerator(tmp_path: Path) -> None:
    """A TPU v2 is sold as a board of four chips; of v9 no sheet says what its SKU is for."""
    skus = [
        sku("TpuV2 running in Iowa", "4.5", group="TPU"),
        sku("TpuV9 running in Iowa", "7", group="TPU"),
        sku("Nvidia L4 GPU running in Iowa", "0.56", group="GPU"),
        sku("A4 Nvidia B200 (1 gpu slice) running in Iowa", "16.11", group="GPU"),
        sku("1/8 vGPU no lssd running in Iowa", "0.64688", group="GPU"),
        sku("SSD backed Local Storage in Iowa", "0.073", unit="GiBy.mo"),
    ]
    types = [machine_type("n2-standard-2", 2, 8192)]
    tables = normalise_skus(tmp_path, skus, {"us-central1-a": types})
    columns = ("component", "unit", "accelerator_id", "hourly")
    rows = tables.table("component_prices").select(columns).rows()
    eighth = "nvidia-rtx-pro-6000-server"
    assert sorted(rows) == [
        ("gpu:nvidia-l4", "gpu", "nvidia-l4", Decimal("0.56")),
        ("local_ssd", "gib", None, Decimal("0.0001")),
        ("slice:nvidia-b200", "gpu", "nvidia-b200", Decimal("16.11")),
        ("slice:nvidia-rtx-pro-6000-eighth", "eighth_gpu", eighth, Decimal("0.64688")),
        ("tpu:v2", "chip", "google-tpu-v2", Decimal("1.125")),
        ("tpu:v9", "sku_unit", None, Decimal(7)),
    ]


def test_a_commitment_of_a_component_is_for_resources(tmp_path: Path) -> None:
    skus = [
        sku("Nvidia L4 GPU running in Iowa", "0.56", group="GPU"),
        sku("Commitment v1: Nvidia L4 GPU in Iowa for 1 Year", "0.35", usage="Commit1Yr"),
    ]
    types = [machine_type("n2-standard-2", 2, 8192)]
    tables = normalise_skus(tmp_path, skus, {"us-central1-a": types})
    columns = ("purchase_option", "term_months", "commitment_plan", "hourly")
    rows = tables.table("component_prices").select(columns).rows()
    assert sorted(rows) == [
        ("committed_use", 12, "resource", Decimal("0.35")),
        ("on_demand", 0, None, Decimal("0.56")),
    ]
