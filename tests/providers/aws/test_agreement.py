"""The sample and the recordings against figures that others collected."""

import gzip
import json
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.aws_pages import World

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get
from hwprices.schemas.tables import TABLES
from hwprices.stage import corrections, validate


@pytest.fixture(scope="module")
def tables(project) -> dict[str, pl.DataFrame]:
    landing = Landing(project / "data/sample")
    run = landing.latest_run("aws")
    assert run is not None
    found: dict[str, list[pl.DataFrame]] = {}
    for part in get("aws").normalise(Pages(run, landing)):
        frame = part.frame.lazy().collect()
        if part.table == "instance_types":
            frame = corrections.apply(frame, "aws", corrections.load("aws"))
        outcome = validate.split(frame, TABLES[part.table], {})
        assert outcome.refused.is_empty()
        found.setdefault(part.table, []).append(outcome.good)
    return {name: pl.concat(frames) for name, frames in found.items()}


def linux(tables, region: str) -> dict[str, Decimal]:
    rows = tables["prices"].filter(
        region=region, os="linux", software="none", tenancy="shared", purchase_option="on_demand"
    )
    return dict(rows.select("instance_type", "effective_hourly").iter_rows())


@pytest.mark.shared
def test_us_east_1_on_demand_agrees_with_the_collected_figures(tables, shared):
    truth = json.loads(
        (shared / "truth/aws_ondemand_us-east-1_2026-07.json").read_text(), parse_float=Decimal
    )["us-east-1"]
    ours = linux(tables, "us-east-1")
    assert len(truth) == 1367
    assert set(ours) == set(truth)
    assert {name: (ours[name], price) for name, price in truth.items() if ours[name] != price} == {}


@pytest.mark.shared
def test_x2iedn_agrees_with_the_collected_figures(tables, shared):
    figures = json.loads(
        (shared / "truth/aws_reserved_x2iedn.32xlarge_us-east-1_2026-07.json").read_text()
    )["pricing"]
    rows = tables["prices"].filter(instance_type="x2iedn.32xlarge", region="us-east-1")
    on_demand = rows.filter(purchase_option="on_demand")
    assert sorted(on_demand["effective_hourly"]) == sorted(
        Decimal(f["ondemand"]) for f in figures.values() if "ondemand" in f
    )
    reserved = rows.filter(
        purchase_option="reserved", os="linux", software="none", tenancy="shared"
    )
    found = {
        (r["term_months"], r["commitment_plan"], r["payment_option"]): r["effective_hourly"]
        for r in reserved.to_dicts()
    }
    assert len(found) == 8
    for (months, plan, payment), hourly in found.items():
        key = f"yrTerm{months // 12}{plan.title()}.{payment.split('_')[0]}Upfront"
        assert abs(hourly - Decimal(figures["linux"]["reserved"][key])) <= Decimal("0.0000005"), key


def test_known_machines_of_the_sample(tables):
    ours = linux(tables, "us-east-1")
    assert (ours["m5.large"], ours["p5.48xlarge"]) == (Decimal("0.096"), Decimal("55.04"))
    p5 = tables["instance_types"].filter(instance_type="p5.48xlarge").to_dicts()[0]
    assert (
        p5["vcpus"],
        p5["memory_gib"],
        p5["accelerator_count"],
        p5["accelerators"][0]["accelerator_id"],
    ) == (192, 2048.0, 8.0, "nvidia-h100-sxm5-80gb")
    assert (p5["network_gbps_max"], p5["rdma"], p5["local_disk_count"]) == (3200.0, "efa", 8)
    assert set(tables["prices"].filter(region="cn-north-1")["currency"]) == {"CNY"}
    assert {r["region"]: r["kind"] for r in tables["regions"].to_dicts()}["us-gov-west-1"] == "gov"


TWICE_ITS_TWIN = {"m8gb.metal-24xl", "r8gb.metal-24xl"}
"""us-east-1 lists these at twice the price of their 24xlarge, at shared tenancy."""


@pytest.mark.parametrize(
    ("region", "pairs"), [("us-east-1", 140), ("us-gov-west-1", 46), ("cn-north-1", 15)]
)
def test_a13_metal_costs_what_its_virtual_twin_costs(tables, region, pairs):
    """Known wrong number A13: at shared tenancy, and not up to 10 % more."""
    prices = linux(tables, region)
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
    assert dedicated.group_by("region").len().sort("region").rows() == [
        ("cn-north-1", 3),
        ("us-gov-west-1", 23),
    ]
    shared = linux(tables, "us-east-1")
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


def test_spot_of_the_sample_is_below_on_demand(tables):
    spot = tables["prices"].filter(purchase_option="spot")
    assert set(spot["zone"]) == {f"us-east-1{letter}" for letter in "abcdf"} or spot.height >= 5
    assert (spot["effective_hourly"] <= Decimal("0.096")).all()


@pytest.mark.shared
def test_a_recorded_price_list_of_an_old_format_is_read(shared, tmp_path):
    """Real lines of 2017 and 2021 with wrong ones among them: dates day first, `3 yr`, `AllUpfront`, no Region Code."""
    folder = shared / "recordings/aws/bulk"
    body = (folder / "offers/v1.0/aws/AmazonEC2/current/eu-west-1/index.csv").read_bytes()
    plans = (
        folder / "savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/eu-west-1/index.json"
    ).read_bytes()
    world = World(tmp_path).add("prices", "eu-west-1", body)
    lines = body.count(b"\n") - 6 + (not body.endswith(b"\n"))
    prices = next(p.frame for p in world.parts() if p.table == "prices").lazy().collect()
    assert prices.height + world.refused().height + sum(world.counts().values()) == lines
    assert world.refused()["reason"].to_list() == ["unknown_platform", "unknown_platform"]
    rows = prices.filter(
        instance_type="c1.medium", purchase_option="reserved", os="linux", tenancy="shared"
    ).to_dicts()
    assert [(r["upfront"], r["term_months"], r["payment_option"]) for r in rows] == [
        (Decimal(1680), 36, "all_upfront")
    ]
    assert rows[0]["effective_hourly"] == round(Decimal(1680) / 26280, 10)
    saved = (
        world.add("savings_plans", "eu-west-1", plans, suffix="json")
        .table("prices")
        .filter(purchase_option="savings_plan")
    )
    assert sorted(saved.select("commitment_plan", "payment_option", "hourly").iter_rows()) == [
        ("compute", "all_upfront", Decimal("0.098")),
        ("ec2_instance", "no_upfront", Decimal("0.087")),
    ]


@pytest.mark.shared
def test_recorded_api_answers_and_advisor_are_read(shared, tmp_path):
    pages = [
        gzip.decompress((shared / f"recordings/aws/ec2_xml/page{n}.xml.gz").read_bytes())
        for n in (1, 2)
    ]
    advisor = gzip.decompress((shared / "recordings/aws/spot-advisor-data.json.gz").read_bytes())
    world = (
        World(tmp_path)
        .add("instance_types", "us-east-1", *pages, suffix="xml")
        .add("spot_advisor", "global", advisor, suffix="json")
    )
    types = world.table("instance_types")
    assert types.height == sum(page.count(b"<instanceType>") for page in pages)
    m5dn = types.filter(instance_type="m5dn.8xlarge").to_dicts()[0]
    assert (
        m5dn["vcpus"],
        m5dn["memory_gib"],
        m5dn["local_disk_count"],
        m5dn["network_gbps_max"],
        m5dn["boost_ghz"],
    ) == (32, 128.0, 2, 25.0, 3.1)
    assert (
        world.table("spot_advice")["instance_type"].n_unique() == 895
    )  # of 929 that the file describes
