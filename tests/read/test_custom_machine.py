"""Price custom machines, and apply sustained-use discounts."""

import csv
import gzip
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import core_and_ram, normalise_sample, normalise_skus, sku

from hwprices.errors import HwpricesError
from hwprices.read.gcp import (
    CustomMachine,
    quote_custom_machine,
    sustained_use,
)
from hwprices.specs.rules import parse_rules


@pytest.fixture(scope="module")
def components(project: Path) -> pl.DataFrame:
    return normalise_sample(project).table("component_prices")


@pytest.fixture
def attachable(tmp_path: Path) -> pl.DataFrame:
    skus = [
        *core_and_ram("Custom", "0.033", "0.004"),
        sku("Custom Extended Instance Ram running in Iowa", "0.009"),
        sku("Nvidia Tesla T4 GPU running in Iowa", "0.35"),
        sku("SSD backed Local Storage in Iowa", "0.073"),
        sku("Commitment v1: Cpu in Iowa for 1 Year", "0.02", usage="Commit1Yr", group="CPU"),
        sku("Commitment v1: Ram in Iowa for 1 Year", "0.003", usage="Commit1Yr", group="RAM"),
    ]
    return normalise_skus(tmp_path, skus, {}).table("component_prices")


@pytest.mark.shared
@pytest.mark.parametrize("region", ["us-central1", "us-east4", "europe-west4", "asia-northeast1"])
def test_a_custom_machine_of_the_sample(components, shared, region) -> None:
    """Three figures, of which two made the rates: the third is the check."""
    with gzip.open(shared / "truth" / "gcp_machine_prices_2026-07-30.csv.gz", "rt") as file:
        other_project = {
            r["instance_type"]: r for r in csv.DictReader(file) if r["region"] == region
        }
    rates = {
        r["component"]: r["hourly"]
        for r in components.filter(
            region=region, series="n1", purchase_option="on_demand"
        ).to_dicts()
    }
    four = 4 * rates["core_custom"] + 30 * rates["ram_custom"]
    assert abs(
        four - Decimal(other_project["custom-4-30720-ext"]["on_demand_usd_per_hour"])
    ) < Decimal("1e-8")


def test_n1_with_gpus_disks_and_extended_memory(attachable: pl.DataFrame) -> None:
    quote = quote_custom_machine(
        attachable,
        CustomMachine("n1", 4, 30, gpus={"nvidia-tesla-t4-vws": 2}, local_ssd_gib=375),
        region="us-central1",
    )
    assert [(x.component, x.quantity) for x in quote.lines] == [
        ("core_custom", 4),
        ("ram_custom", 26),
        ("ram_extended", 4),
        ("gpu:nvidia-tesla-t4", 2),
        ("local_ssd", 375),
    ]
    assert quote.hourly == sum(x.hourly for x in quote.lines)
    assert quote.hourly == 4 * Decimal("0.033") + 26 * Decimal("0.004") + 4 * Decimal(
        "0.009"
    ) + 2 * Decimal("0.35") + 375 * Decimal("0.0001")


def test_a_commitment_covers_custom_cores_and_memory_and_nothing_else(attachable) -> None:
    quote = quote_custom_machine(
        attachable,
        CustomMachine("n1", 2, 8, gpus={"nvidia-tesla-t4": 1}),
        region="us-central1",
        purchase_option="committed_use",
        term_months=12,
    )
    assert [(x.component, x.purchase_option) for x in quote.lines] == [
        ("core", "committed_use"),
        ("ram", "committed_use"),
        ("gpu:nvidia-tesla-t4", "on_demand"),
    ]
    assert quote.hourly == 2 * Decimal("0.02") + 8 * Decimal("0.003") + Decimal("0.35")


@cases("read/custom_machines", request_=yaml.safe_load)
def test_what_has_no_price_or_is_not_sold_is_named(attachable, request_, words) -> None:
    asked = {"series": "n1", "vcpus": 2, "memory_gib": 8, "region": "us-central1", **request_}
    bought = {name: asked.pop(name) for name in BOUGHT if name in asked}
    machine = CustomMachine(**asked)  # type: ignore[arg-type]
    with pytest.raises(HwpricesError, match=words):
        quote_custom_machine(attachable, machine, **bought)  # type: ignore[arg-type]


BOUGHT = ("region", "purchase_option", "term_months")


# -- sustained use --


@pytest.mark.parametrize(
    ("series", "share", "paid"),
    [
        *(("n1", "0.25", "1"), ("n1", "0.5", "0.9"), ("n1", "0.75", "0.8"), ("n1", "1", "0.7")),
        *(("n2", "0.25", "1"), ("n2", "0.5", "0.9339"), ("n2", "1", "0.8002")),
        *(("c3", "1", "1"), ("e2", "1", "1"), ("a2", "1", "1"), ("m3", "1", "1")),
    ],
)
def test_sustained_use_by_share_of_the_month(series: str, share: str, paid: str) -> None:
    assert sustained_use(series, {"core": Decimal(1)}, share) == Decimal(paid)


def test_sustained_use_leaves_disks_and_licenses_alone() -> None:
    one_dollar_each = dict.fromkeys(("core", "ram", "gpu", "local_ssd", "license"), Decimal(1))
    assert sustained_use("n1", one_dollar_each, 1) == Decimal("4.1")
    assert sustained_use("m2", {"premium": Decimal(1), "premium_2": Decimal(1)}, 1) == Decimal(
        "1.4"
    )


@settings(deadline=None)
@given(
    st.sampled_from(["n1", "n2", "c2", "c3"]),
    st.decimals("0.01", "1", places=3),
    st.decimals("0.01", "1", places=3),
)
def test_using_more_never_costs_more_an_hour_and_never_less_in_all(series, a, b) -> None:
    less, more = sorted((a, b))
    each = [sustained_use(series, {"core": Decimal(1)}, share) for share in (less, more)]
    assert each[1] <= each[0] + Decimal("1e-20")
    assert each[1] * more >= each[0] * less - Decimal("1e-20")


@pytest.mark.parametrize("share", [0, "-0.1", "1.01"])
def test_a_share_outside_zero_to_one_is_refused(share: object) -> None:
    with pytest.raises(HwpricesError, match="share of a month"):
        sustained_use("n1", {}, share)  # type: ignore[arg-type]


def test_two_rules_for_one_component_are_refused() -> None:
    """Which of them counts would be a matter of their order."""
    sheet = pl.DataFrame(
        {
            "kind": ["flexible_commitment"] * 2,
            "series": ["n2;c3", "c3;c4"],
            "components": ["core;ram", "ram"],
            "term_months": [12, 12],
            "from_share_of_month": [Decimal(0), Decimal(0)],
            "pays_share": [Decimal("0.72"), Decimal("0.54")],
        }
    )
    with pytest.raises(HwpricesError, match="two rows of flexible_commitment for ram of c3, 12"):
        parse_rules(sheet)
    assert len(parse_rules(sheet.with_columns(term_months=pl.Series([12, 36])))) == 2
