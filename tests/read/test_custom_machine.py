"""Machines that are in no list, and the discounts that are rules."""

import csv
import gzip
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.gcp_pages import sample, sku, world

from hwprices.errors import HwpricesError
from hwprices.read.gcp import custom_machine, discounts


@pytest.fixture(scope="module")
def components() -> pl.DataFrame:
    return sample(Path(__file__).resolve().parents[2]).table("component_prices")


@pytest.fixture
def attachable(tmp_path: Path) -> pl.DataFrame:
    skus = [
        sku("Custom Instance Core running in Iowa", "0.033"),
        sku("Custom Instance Ram running in Iowa", "0.004"),
        sku("Custom Extended Instance Ram running in Iowa", "0.009"),
        sku("Nvidia Tesla T4 GPU running in Iowa", "0.35"),
        sku("SSD backed Local Storage in Iowa", "0.073"),
        sku("Commitment v1: Cpu in Iowa for 1 Year", "0.02", usage="Commit1Yr", group="CPU"),
        sku("Commitment v1: Ram in Iowa for 1 Year", "0.003", usage="Commit1Yr", group="RAM"),
    ]
    return world(tmp_path, skus, {}).table("component_prices")


@pytest.mark.shared
@pytest.mark.parametrize("region", ["us-central1", "us-east4", "europe-west4", "asia-northeast1"])
def test_a_custom_machine_of_the_sample(
    components: pl.DataFrame, shared: Path, region: str
) -> None:
    """Three figures, of which two made the rates: the third is the check."""
    with gzip.open(shared / "truth" / "gcp_machine_prices_2026-07-30.csv.gz", "rt") as file:
        theirs = {r["instance_type"]: r for r in csv.DictReader(file) if r["region"] == region}
    rates = {
        r["component"]: r["hourly"]
        for r in components.filter(
            region=region, series="n1", purchase_option="on_demand"
        ).to_dicts()
    }
    four = 4 * rates["core_custom"] + 30 * rates["ram_custom"]
    assert abs(four - Decimal(theirs["custom-4-30720-ext"]["on_demand_usd_per_hour"])) < Decimal(
        "1e-8"
    )


def test_n1_with_gpus_disks_and_extended_memory(attachable: pl.DataFrame) -> None:
    quote = custom_machine.quote(
        attachable,
        region="us-central1",
        series="n1",
        vcpus=4,
        memory_gib=30,
        gpus={"nvidia-tesla-t4-vws": 2},
        local_ssd_gib=375,
    )
    assert [(x.component, x.quantity) for x in quote.lines] == [
        ("core_custom", 4), ("ram_custom", 26), ("ram_extended", 4), ("gpu:nvidia-tesla-t4", 2), ("local_ssd", 375)
    ]  # fmt: skip
    assert quote.hourly == sum(x.hourly for x in quote.lines)
    assert quote.hourly == 4 * Decimal("0.033") + 26 * Decimal("0.004") + 4 * Decimal(
        "0.009"
    ) + 2 * Decimal("0.35") + 375 * Decimal("0.0001")


def test_a_commitment_covers_custom_cores_and_memory_and_nothing_else(
    attachable: pl.DataFrame,
) -> None:
    quote = custom_machine.quote(
        attachable,
        region="us-central1",
        series="n1",
        vcpus=2,
        memory_gib=8,
        gpus={"nvidia-tesla-t4": 1},
        purchase_option="committed_use",
        term_months=12,
    )
    assert [(x.component, x.purchase_option) for x in quote.lines] == [
        ("core", "committed_use"),
        ("ram", "committed_use"),
        ("gpu:nvidia-tesla-t4", "on_demand"),
    ]
    assert quote.hourly == 2 * Decimal("0.02") + 8 * Decimal("0.003") + Decimal("0.35")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"series": "c3"}, "no custom machines of series 'c3'"),
        ({"series": "n2"}, "core_custom of n2 has no on_demand price in us-central1"),
        ({"series": "n2", "gpus": {"nvidia-tesla-t4": 1}}, "no GPU can be attached to n2"),
        ({"series": "e2", "memory_gib": 100}, "at most 8 GiB a vCPU"),
        ({"region": "europe-west9"}, "has no on_demand price in europe-west9"),
        ({"gpus": {"nvidia-l4": 1}}, "gpu:nvidia-l4 of any has no on_demand price"),
        ({"purchase_option": "spot"}, "core_custom of n1 has no spot price"),
    ],
)
def test_what_cannot_be_priced_says_what_is_missing(
    attachable: pl.DataFrame, asked: dict[str, object], words: str
) -> None:
    with pytest.raises(HwpricesError, match=words):
        custom_machine.quote(
            attachable,
            **{"region": "us-central1", "series": "n1", "vcpus": 2, "memory_gib": 8, **asked},
        )  # type: ignore[arg-type]


# -- sustained use and flexible commitments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("series", "share", "paid"),
    [
        *(("n1", "0.25", "1"), ("n1", "0.5", "0.9"), ("n1", "0.75", "0.8"), ("n1", "1", "0.7")),
        *(("n2", "0.25", "1"), ("n2", "0.5", "0.9339"), ("n2", "1", "0.8002")),
        *(("c3", "1", "1"), ("e2", "1", "1"), ("a2", "1", "1"), ("m3", "1", "1")),
    ],
)
def test_sustained_use_by_share_of_the_month(series: str, share: str, paid: str) -> None:
    assert discounts.sustained_use(series, [("core", Decimal(1))], share) == Decimal(paid)


def test_sustained_use_leaves_disks_and_licences_alone() -> None:
    parts = [
        ("core", Decimal(1)),
        ("ram", Decimal(1)),
        ("gpu", Decimal(1)),
        ("local_ssd", Decimal(1)),
        ("license", Decimal(1)),
    ]
    assert discounts.sustained_use("n1", parts, 1) == Decimal("4.1")
    assert discounts.sustained_use(
        "m2", [("premium", Decimal(1)), ("premium_2", Decimal(1))], 1
    ) == Decimal("1.4")


@given(
    st.sampled_from(["n1", "n2", "c2", "c3"]),
    st.decimals("0.01", "1", places=3),
    st.decimals("0.01", "1", places=3),
)
def test_using_more_never_costs_more_an_hour_and_never_less_in_all(
    series: str, a: Decimal, b: Decimal
) -> None:
    less, more = sorted((a, b))
    each = [
        discounts.sustained_use(series, [("core", Decimal(1))], share) for share in (less, more)
    ]
    assert each[1] <= each[0] + Decimal("1e-20")
    assert each[1] * more >= each[0] * less - Decimal("1e-20")


@pytest.mark.parametrize("share", [0, "-0.1", "1.01"])
def test_a_share_is_a_share(share: object) -> None:
    with pytest.raises(HwpricesError, match="share of a month"):
        discounts.sustained_use("n1", [], share)  # type: ignore[arg-type]


def test_flexible_commitments() -> None:
    parts = [("core", Decimal(1)), ("local_ssd", Decimal(1))]
    assert discounts.flexible_commitment("n2", parts, 12) == Decimal("1.72")
    assert discounts.flexible_commitment("n2", parts, 36) == Decimal("1.54")
    assert (
        discounts.flexible_commitment("m3", parts, 12) is None
    )  # memory-optimized takes 36 months only
    assert discounts.flexible_commitment("m3", parts, 36) == Decimal("1.37")
    assert discounts.flexible_commitment("a3", parts, 36) is None
