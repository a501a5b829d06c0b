"""Compare the sample with figures that others collected, and with rules that need no source."""

import json
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.landed import landed_contents
from tests.helpers.nightly import only_at_night
from tests.helpers.vendor_tables import sample_pages
from tools.sample.aws import main as build_sample

from hwprices.providers import get
from hwprices.schemas.tables import TABLES
from hwprices.stage import corrections, validate


@pytest.fixture(scope="module")
def tables(project) -> dict[str, pl.DataFrame]:
    good: dict[str, list[pl.DataFrame]] = {}
    for part in get("aws").normalise(sample_pages("aws", project)):
        frame = part.frame.lazy().collect()
        if part.table == "instance_types":
            frame = corrections.apply(frame, "aws", corrections.load("aws"))
        outcome = validate.split(frame, TABLES[part.table], {})
        assert outcome.refused.is_empty()
        good.setdefault(part.table, []).append(outcome.good)
    return {name: pl.concat(frames) for name, frames in good.items()}


def linux_on_demand(tables, region: str) -> dict[str, Decimal]:
    rows = tables["prices"].filter(
        region=region, os="linux", software="none", tenancy="shared", purchase_option="on_demand"
    )
    return dict(rows.select("instance_type", "effective_hourly").iter_rows())


@pytest.mark.shared
def test_us_east_1_on_demand_agrees_with_the_collected_figures(tables, shared):
    truth = json.loads(
        (shared / "truth/aws_ondemand_us-east-1_2026-07.json").read_text(), parse_float=Decimal
    )["us-east-1"]
    prices = linux_on_demand(tables, "us-east-1")
    assert len(truth) == 1367
    assert set(prices) == set(truth)
    assert {
        name: (prices[name], price) for name, price in truth.items() if prices[name] != price
    } == {}


def test_x2iedn_agrees_with_the_collected_figures(tables, project):
    recording = project / "tests/recordings/aws/x2iedn.32xlarge_us-east-1_2026-07.json"
    figures = json.loads(recording.read_text())["pricing"]
    rows = tables["prices"].filter(instance_type="x2iedn.32xlarge", region="us-east-1")
    on_demand = rows.filter(purchase_option="on_demand")
    assert sorted(on_demand["effective_hourly"]) == sorted(
        Decimal(f["ondemand"]) for f in figures.values() if "ondemand" in f
    )
    reserved = rows.filter(
        purchase_option="reserved", os="linux", software="none", tenancy="shared"
    )
    assert reserved.height == 8
    for row in reserved.to_dicts():
        payment = row["payment_option"].split("_")[0]
        key = f"yrTerm{row['term_months'] // 12}{row['commitment_plan'].title()}.{payment}Upfront"
        difference = abs(row["effective_hourly"] - Decimal(figures["linux"]["reserved"][key]))
        assert difference <= Decimal("0.0000005"), key


def test_known_machines_of_the_sample(tables):
    prices = linux_on_demand(tables, "us-east-1")
    assert (prices["m5.large"], prices["p5.48xlarge"]) == (Decimal("0.096"), Decimal("55.04"))
    types = {row["instance_type"]: row for row in tables["instance_types"].to_dicts()}
    p5, m5 = types["p5.48xlarge"], types["m5.large"]
    assert (p5["vcpus"], p5["memory_gib"], p5["accelerator_count"]) == (192, 2048.0, 8.0)
    assert p5["accelerators"][0]["accelerator_id"] == "nvidia-h100-sxm5-80gb"
    assert (p5["network_gbps_max"], p5["rdma"], p5["local_disk_count"]) == (3200.0, "efa", 8)
    assert (m5["block_storage_gbps_baseline"], m5["block_storage_gbps_max"]) == (0.65, 4.75)
    assert (m5["block_storage_iops_baseline"], m5["block_storage_iops_max"]) == (3600, 18750)
    assert set(tables["prices"].filter(region="cn-north-1")["currency"]) == {"CNY"}
    assert {r["region"]: r["kind"] for r in tables["regions"].to_dicts()}["us-gov-west-1"] == "gov"


TWICE_ITS_TWIN = {"m8gb.metal-24xl", "r8gb.metal-24xl"}
"""us-east-1 lists these at twice the price of their 24xlarge, at shared tenancy."""


@pytest.mark.parametrize(
    ("region", "pairs"), [("us-east-1", 140), ("us-gov-west-1", 46), ("cn-north-1", 15)]
)
def test_a13_metal_costs_what_its_virtual_twin_costs(tables, region, pairs):
    """Known wrong number A13: at shared tenancy, and not up to 10 % more."""
    prices = linux_on_demand(tables, region)
    vcpus = dict(tables["instance_types"].select("instance_type", "vcpus").iter_rows())
    twins = {(name.partition(".")[0], vcpus[name]): name for name in prices if ".metal" not in name}
    compared = {
        name: (prices[name], prices[twins[key]])
        for name in prices
        if ".metal" in name and (key := (name.partition(".")[0], vcpus[name])) in twins
    }
    # 0.1 % is the rounding of i4i.metal, 10.982 beside 10.9824.
    different = {n for n, (price, twin) in compared.items() if abs(price / twin - 1) > 0.001}
    assert len(compared) == pairs
    assert different == (TWICE_ITS_TWIN if region == "us-east-1" else set())


def test_a13_dedicated_prices_of_metal_are_named_so(tables):
    dedicated = tables["prices"].filter(
        pl.col("instance_type").str.contains(".metal", literal=True), tenancy="dedicated"
    )
    found = dedicated.group_by("region").len().sort("region").rows()
    assert found == [("cn-north-1", 3), ("us-gov-west-1", 23)]
    shared = linux_on_demand(tables, "us-east-1")
    assert (shared["c7i.metal-24xl"], shared["c6g.metal"]) == (Decimal("4.284"), Decimal("2.176"))


def test_every_type_that_the_sample_prices_is_described(tables):
    priced = set(tables["prices"].filter(pl.col("tenancy") != "host")["instance_type"])
    described = tables["instance_types"].select("instance_type", "vcpus", "memory_gib")
    assert priced <= set(described["instance_type"])
    unknown = described.filter(pl.col("vcpus").is_null())
    assert unknown.height <= 3, unknown
    accelerated = tables["instance_types"].filter(pl.col("accelerator_kind") != "none")
    assert accelerated.height == 107
    missing = accelerated.filter(
        pl.col("accelerators")
        .list.eval(pl.element().struct.field("accelerator_id").is_null())
        .list.any()
    )
    assert missing.is_empty()


@pytest.mark.shared
@only_at_night("reads all recordings of AWS")
def test_the_sample_is_what_its_builder_writes(project, shared, tmp_path):
    """No page of the sample was edited by hand."""
    build_sample([str(shared), "--into", str(tmp_path)])
    bundled = landed_contents(project / "data/sample", "aws")
    assert landed_contents(tmp_path, "aws") == bundled
