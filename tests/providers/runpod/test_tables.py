"""RunPod's sample: the traps of its four prices. Answers are in tests/cases/runpod/answers.yaml."""

from decimal import Decimal

import polars as pl
from tests.helpers.vendor_tables import Tables, json_unit, read_units, record_of

H100 = record_of("runpod", "gpu_types")
ONE_H100 = "1x NVIDIA H100 80GB HBM3"


def test_community_is_not_spot(sample: Tables) -> None:
    """A public index calls it interruptible."""
    assert set(sample["prices"]["purchase_option"]) == {"on_demand"}


def test_zero_is_not_a_price(sample: Tables) -> None:
    """The A100 with 40 GB is not in the secure cloud."""
    a100 = sample["prices"].filter(instance_type="1x NVIDIA A100-SXM4-40GB")
    assert set(a100["region"]) == {"community"}
    assert sample.counts["out_of_scope:not_in_cloud=secure"] > 0


def test_the_mi300x_has_a_placeholder_in_the_community_cloud(sample: Tables) -> None:
    """Known wrong number O1: 0.50 USD beside 2.39 in the Secure Cloud, which alone has it."""
    prices = sample["prices"].filter(instance_type="1x AMD Instinct MI300X OAM")
    flags = dict(prices.select("region", "flags").iter_rows())
    assert flags == {"secure": [], "community": ["placeholder"]}
    flagged = sample["prices"].filter(pl.col("flags").list.len() > 0)
    assert flagged["instance_type"].to_list() == ["1x AMD Instinct MI300X OAM"]


def test_minima_of_cpu_and_memory_are_not_the_machines(sample: Tables) -> None:
    machines = sample["instance_types"]
    assert machines["vcpus"].null_count() == machines["memory_gib"].null_count() == machines.height


def test_a_newer_answer_replaces_a_type(tmp_path) -> None:
    listed = [{"data": {"gpuTypes": [H100 | {"securePrice": price}]}} for price in (3.29, 3.5)]
    units = [json_unit("runpod", "gpu_types", content) for content in listed]
    made = read_units("runpod", tmp_path, units)
    secure = made.one("prices", region="secure", purchase_option="on_demand")
    assert secure["hourly"] == Decimal("3.5")
    assert made["instance_types"]["instance_type"].to_list() == [ONE_H100]
