"""RunPod's GPU types as tables: the recorded answer, and each trap of its four prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases, number
from tests.helpers.vendor_tables import (
    Body,
    Tables,
    json_unit,
    landed_units,
    record_of,
    sample_pages,
)

H100 = record_of("runpod", "gpu_types")


class Read(Tables):
    """The tables of landed answers."""

    @property
    def refusals(self) -> list[tuple[str, str | None]]:
        """Reason and word of the quarantine rows, each as often as it was refused."""
        rows = self.refused.select("reason", "word", "occurrences").rows()
        return [(reason, word) for reason, word, times in rows for _ in range(times)]

    @property
    def prices(self) -> dict[tuple[str, str, str], Decimal]:
        """Hourly price by machine, cloud and purchase option."""
        rows = self["prices"].select("instance_type", "region", "purchase_option", "hourly")
        return {(name, cloud, option): hourly for name, cloud, option, hourly in rows.iter_rows()}


def answer_of(*types: dict[str, Any]) -> Body:
    return json_unit("runpod", "gpu_types", {"data": {"gpuTypes": types}})


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    """Land an answer with GPU types that differ from H100 (... leaves out), and read it."""

    def make(*changes: dict[str, Any]) -> Read:
        types = [{**H100, **change} for change in changes]
        types = [{n: v for n, v in row.items() if v is not ...} for row in types]
        return Read("runpod", landed_units("runpod", tmp_path, [answer_of(*types)]))

    return make


@pytest.fixture(scope="module")
def sample(project: Path) -> Read:
    return Read("runpod", sample_pages("runpod", project))


ONE_H100 = "1x NVIDIA H100 80GB HBM3"


def test_community_is_not_spot(sample: Read) -> None:
    """A public index calls it interruptible."""
    assert set(sample["prices"]["purchase_option"]) == {"on_demand"}


def test_zero_is_not_a_price(sample: Read) -> None:
    """The A100 with 40 GB is not in the secure cloud."""
    clouds = {cloud for name, cloud, _ in sample.prices if name == "1x NVIDIA A100-SXM4-40GB"}
    assert clouds == {"community"}
    assert sample.counts["out_of_scope:not_in_cloud=secure"] > 0


def test_the_mi300x_has_a_placeholder_in_the_community_cloud(sample: Read) -> None:
    """Known wrong number O1: 0.50 USD beside 2.39 in the Secure Cloud, which alone has it."""
    prices = sample["prices"].filter(instance_type="1x AMD Instinct MI300X OAM")
    flags = dict(prices.select("region", "flags").iter_rows())
    assert flags == {"secure": [], "community": ["placeholder"]}
    flagged = sample["prices"].filter(pl.col("flags").list.len() > 0)
    assert flagged["instance_type"].to_list() == ["1x AMD Instinct MI300X OAM"]


def test_minima_of_cpu_and_memory_are_not_the_machines(sample: Read) -> None:
    machines = sample["instance_types"]
    assert machines["vcpus"].null_count() == machines["memory_gib"].null_count() == machines.height


@cases("runpod/form_factors")
def test_the_id_has_the_form_factor(sample: Read, gpu_type: str, accelerator: str) -> None:
    row = sample["instance_types"].filter(instance_type=f"1x {gpu_type}")
    (device,) = row["accelerators"].item()
    assert device["accelerator_id"] == accelerator


@cases("runpod/refused", change=yaml.safe_load)
def test_a_member_of_another_type_takes_its_line_and_no_other(read, change, refused) -> None:
    made = read(change, {"id": "NVIDIA H200"})
    assert made.refusals == [(refused, None)]
    assert made.prices["1x NVIDIA H200", "secure", "on_demand"] == Decimal("3.29")
    assert made.pages.unreadable == []


@cases("runpod/slices", listed=int, count=number, memory=yaml.safe_load, total=yaml.safe_load)
def test_o3_a_slice_is_a_fraction_of_a_gpu(read, name, listed, count, memory, total) -> None:
    """Known wrong number O3: a quarter of a GPU was one GPU without a name."""
    made = read({"id": name, "memoryInGb": listed})
    machine = made["instance_types"].row(0, named=True)
    (device,) = machine["accelerators"]
    assert (device["count"], device["memory_gib"]) == (count, memory)
    assert (machine["accelerator_count"], machine["accelerator_memory_gib"]) == (count, total)
    assert device["vendor_name"] == name
    assert (device["accelerator_id"] is None) == ("R100" in name)


def test_a_newer_answer_replaces_a_type(tmp_path) -> None:
    answers = [answer_of(H100), answer_of({**H100, "securePrice": 3.5})]
    made = Read("runpod", landed_units("runpod", tmp_path, answers))
    assert made.prices[ONE_H100, "secure", "on_demand"] == Decimal("3.5")
    assert made["instance_types"]["instance_type"].to_list() == [ONE_H100]


def stated(word: str | None, *counts: int) -> dict[str, Any]:
    """Make an answer with a word for the Secure Cloud, and none for the Community Cloud."""
    none = {"stockStatus": None, "availableGpuCounts": None}
    secure = {"stockStatus": word, "availableGpuCounts": list(counts)}
    row = {"id": H100["id"], "maxGpuCount": 2, "secure": secure, "community": none}
    return {"data": {"gpuTypes": [row]}}


@pytest.mark.parametrize(("word", "available"), [("Low", True), ("Very high", None)])
def test_stock_is_runpods_word_for_the_counts_it_lists(tmp_path, word, available) -> None:
    """The words are those RunPod documents, and one that it does not."""
    unit = json_unit("runpod", "stock", stated(word, 1))
    made = Read("runpod", landed_units("runpod", tmp_path, [unit]))
    rows = made["stock"].select("instance_type", "region", "state", "available").rows()
    two = ONE_H100.replace("1x", "2x")
    assert sorted(rows) == [
        (ONE_H100, "community", "none", False),
        (ONE_H100, "secure", word, available),
        (two, "community", "none", False),
        (two, "secure", "none", False),
    ]


@cases("runpod/refused_stock", secure=yaml.safe_load)
def test_stock_of_another_form_is_in_quarantine(tmp_path, secure, reason) -> None:
    answer = stated(None)
    answer["data"]["gpuTypes"][0]["secure"] = secure
    unit = json_unit("runpod", "stock", answer)
    made = Read("runpod", landed_units("runpod", tmp_path, [unit]))
    assert [code for code, _ in made.refusals] == [reason]
    assert made["stock"]["region"].unique().to_list() == ["community"]
