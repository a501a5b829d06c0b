"""RunPod's GPU types as tables: the recorded answer, and each trap of its four prices."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases, number
from tests.helpers.vendor_tables import Body, Tables, json_unit, landed_units, sample_pages

H100: dict[str, Any] = {
    "id": "NVIDIA H100 80GB HBM3",
    "displayName": "H100 SXM",
    "memoryInGb": 80,
    "securePrice": 3.29,
    "communityPrice": 2.69,
    "secureSpotPrice": 3.29,
    "communitySpotPrice": 2.69,
}


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


def test_secure_and_community_are_platforms_with_prices_of_their_own(sample: Read) -> None:
    assert sample.prices[ONE_H100, "secure", "on_demand"] == Decimal("3.29")
    assert sample.prices[ONE_H100, "community", "on_demand"] == Decimal("2.69")
    found = sample["regions"].select("region", "kind").rows()
    assert found == [("secure", "platform"), ("community", "platform")]


def test_community_is_not_spot(sample: Read) -> None:
    """A public index calls it interruptible."""
    assert set(sample["prices"]["purchase_option"]) == {"on_demand"}


def test_spot_is_a_row_only_where_it_is_lower(read) -> None:
    made = read({"communitySpotPrice": 1.35})
    assert made.prices == {
        (ONE_H100, "secure", "on_demand"): Decimal("3.29"),
        (ONE_H100, "community", "on_demand"): Decimal("2.69"),
        (ONE_H100, "community", "spot"): Decimal("1.35"),
    }
    assert made.counts["out_of_scope:spot=not_below_on_demand"] == 1


def test_zero_is_not_a_price(sample: Read) -> None:
    """The A100 with 40 GB is not in the secure cloud."""
    clouds = {cloud for name, cloud, _ in sample.prices if name == "1x NVIDIA A100-SXM4-40GB"}
    assert clouds == {"community"}
    assert sample.counts["out_of_scope:not_in_cloud=secure"] > 0


def test_a_cloud_that_is_said_to_be_without_the_type_has_no_price(read) -> None:
    made = read({"secureCloud": True, "communityCloud": False, "communitySpotPrice": 0.5})
    assert {cloud for _, cloud, _ in made.prices} == {"secure"}
    assert made.counts["out_of_scope:not_in_cloud=community"] == 1


def test_the_mi300x_has_a_placeholder_in_the_community_cloud(sample: Read) -> None:
    """Known wrong number O1: 0.50 USD beside 2.39 in the Secure Cloud, which alone has it."""
    prices = sample["prices"].filter(instance_type="1x AMD Instinct MI300X OAM")
    flags = dict(prices.select("region", "flags").iter_rows())
    assert flags == {"secure": [], "community": ["placeholder"]}
    flagged = sample["prices"].filter(pl.col("flags").list.len() > 0)
    assert flagged["instance_type"].to_list() == ["1x AMD Instinct MI300X OAM"]


@pytest.mark.parametrize("price", [0, None, 0.0])
def test_zero_or_null_means_that_the_cloud_has_none(read, price) -> None:
    made = read({"securePrice": price, "secureSpotPrice": price})
    assert {cloud for _, cloud, _ in made.prices} == {"community"}


@pytest.mark.parametrize("most", [8, "8"])
def test_a_machine_costs_its_number_of_gpus(read, most) -> None:
    made = read({"maxGpuCount": most})
    assert made.prices["8x NVIDIA H100 80GB HBM3", "secure", "on_demand"] == Decimal("26.32")
    assert made["instance_types"].height == 8
    parts = made["price_components"].filter(
        instance_type="8x NVIDIA H100 80GB HBM3", region="secure"
    )
    assert parts.select("quantity", "unit_price").row(0) == (8, Decimal("3.29"))


@pytest.mark.parametrize("most", [None, 0, -1, 1000, "eight", 2.5, True])
def test_without_a_number_of_gpus_there_is_one(read, most) -> None:
    assert read({"maxGpuCount": most})["instance_types"].height == 1


def test_minima_of_cpu_and_memory_are_not_the_machines(sample: Read) -> None:
    machines = sample["instance_types"]
    assert machines["vcpus"].null_count() == machines["memory_gib"].null_count() == machines.height


@cases("runpod/form_factors")
def test_the_id_has_the_form_factor(sample: Read, gpu_type: str, accelerator: str) -> None:
    row = sample["instance_types"].filter(instance_type=f"1x {gpu_type}")
    (device,) = row["accelerators"].item()
    assert device["accelerator_id"] == accelerator


def test_where_the_list_says_who_has_a_type_it_is_availability(read) -> None:
    made = read({"secureCloud": True, "communityCloud": False})
    rows = made["availability"].select("region", "offered").sort("region").rows()
    assert rows == [("community", False), ("secure", True)]


def test_a_price_below_zero_is_in_quarantine(read) -> None:
    made = read({"securePrice": -1, "secureSpotPrice": None})
    assert made.refused["reason"].to_list() == ["price_not_positive"]
    assert {cloud for _, cloud, _ in made.prices} == {"community"}


@cases("runpod/refused", change=yaml.safe_load)
def test_a_member_of_another_type_takes_its_line_and_no_other(read, change, refused) -> None:
    made = read(change, {"id": "NVIDIA H200"})
    assert made.refusals == [(refused, None)]
    assert made.prices["1x NVIDIA H200", "secure", "on_demand"] == Decimal("3.29")
    assert made.pages.unreadable == []


@pytest.mark.parametrize("name", ["securePrice", "communityPrice"])
def test_o5_without_its_price_a_cloud_has_none_and_no_spot_price(read, name) -> None:
    """Known wrong number O5: the repeated on-demand price became a spot price."""
    made = read({name: ...}, {"id": "NVIDIA H200"})
    cloud = "secure" if "secure" in name else "community"
    assert made.refusals == [("unknown_column", name)]
    clouds = {(machine, of) for machine, of, _ in made.prices}
    both = {("1x NVIDIA H200", "secure"), ("1x NVIDIA H200", "community")}
    other = (ONE_H100, "community" if cloud == "secure" else "secure")
    assert clouds == {*both, other}
    assert {option for _, _, option in made.prices} == {"on_demand"}


def test_without_a_spot_price_a_cloud_keeps_its_price_on_demand(read) -> None:
    made = read({"secureSpotPrice": ...})
    assert made.prices == read({}).prices
    assert made.refusals == [("unknown_column", "secureSpotPrice")]
    assert read({"secureSpotPrice": ..., "communitySpotPrice": ...}).refusals == []


CASE_12 = {
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": (0.5, 1.64, ["secure"]),
    "NVIDIA RTX A2000": (0.5, 0.12, ["secure"]),
    "AMD Instinct MI300X OAM": (2.39, 0.5, ["community"]),
    "NVIDIA RTX A4500": (0.25, 0.19, []),
    "NVIDIA GeForce RTX 3090": (0.5, 0.22, []),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb": (0.59, 0.5, []),
}
"""Prices in both clouds that RunPod listed in 2026-08, and in which cloud there is no machine."""


@pytest.mark.parametrize("name", CASE_12)
def test_o4_either_cloud_may_have_the_placeholder(read, name) -> None:
    """Known wrong number O4: the placeholder of the Secure Cloud made the real price look wrong."""
    secure, community, wrong = CASE_12[name]
    prices = {"securePrice": secure, "communityPrice": community}
    made = read({"id": name, **prices, "secureSpotPrice": None, "communitySpotPrice": None})
    flagged = made["prices"].filter(pl.col("flags").list.contains("placeholder"))
    assert flagged["region"].to_list() == wrong


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


def test_numbers_as_text_are_numbers(read) -> None:
    prices = {name: str(H100[name]) for name in H100 if name.endswith("Price")}
    made = read({"memoryInGb": "80"} | prices)
    assert made.prices == read({}).prices
    assert made["instance_types"]["accelerator_memory_gib"].to_list() == [80]
