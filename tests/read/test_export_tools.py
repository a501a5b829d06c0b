"""Files of other tools: their own clients, or their rules, answer as ``find`` does."""

import json
import re
import threading
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml
from tests.helpers.cases import FOLDER, rows
from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.cli.export import TOOLS
from hwprices.read.export.tools import FORMATS, LEFT_OUT, gpuhunt, kubernetes, skypilot
from hwprices.read.export.tools.catalog import Catalog
from hwprices.read.overlays import rules

KEY = ["provider", "instance_type", "region"]

RULES = """
- name: negotiated percentage
  match: { provider: [aws, azure], option: [on_demand, spot] }
  discount: 18%
- name: negotiated
  match: { type: p5.48xlarge, option: on_demand }
  price: 31.00
  to: 2027-12-31
- name: fee
  match: { provider: gcp, option: spot, type: "n2-*" }
  change: 0.10
- name: past
  match: { provider: gcp }
  discount: 50%
  to: 2026-01-01
"""


@pytest.fixture(scope="module")
def data() -> hwprices.Dataset:
    return hwprices.open("sample")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tools")


@pytest.fixture(scope="module")
def catalogs(data: hwprices.Dataset, folder: Path) -> dict[str, Catalog]:
    file = folder / "rules.yaml"
    file.write_text(RULES)
    plain = {
        name: data.export_as(name, folder / name) for name in ("gpuhunt", "skypilot", "opencost")
    }
    return {**plain, "karpenter": data.export_as("karpenter", folder / "karpenter", overlays=file)}


def sold(data: hwprices.Dataset, words: str, **options: Any) -> pl.DataFrame:
    """Answer as ``find`` does, without machines that their region does not offer."""
    here = ~pl.col("flags").list.contains("not_offered_here")
    return data.find(words, **options).filter(here, pl.col("currency") == "USD")


def test_every_price_is_exported_or_left_out_with_a_reason(data, folder, catalogs) -> None:
    prices = data.prices.select(pl.len()).collect().item()
    for name, catalog in catalogs.items():
        written = pl.read_csv(folder / name / LEFT_OUT)
        assert written.columns == ["provider", "reason", "prices"]
        assert written.equals(catalog.left_out.cast({"prices": pl.Int64}))
        assert catalog.exported + written["prices"].sum() == prices
        windows = written.filter(pl.col("reason").str.contains("windows"))["prices"].sum()
        assert windows > 1000
        assert catalog.details


# gpuhunt


def asked_of_gpuhunt(query: str) -> dict[str, Any]:
    """Read ``gpu_name=H100 min_gpu_count=8 spot=false`` as arguments of ``Catalog.query``."""
    words = dict(word.split("=") for word in query.split())
    names = {name: words.pop(name).split(",") for name in ("gpu_name",) if name in words}
    return {**names, **{name: yaml.safe_load(value) for name, value in words.items()}}


@pytest.fixture
def served(folder: Path, catalogs: dict[str, Catalog]) -> Iterator[str]:
    """Serve the catalogs of gpuhunt on this machine."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder / "gpuhunt"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_gpuhunt_answers_thirty_questions_as_find_does(data, folder, catalogs, served, monkeypatch):
    client = pytest.importorskip("gpuhunt", reason="gpuhunt is not installed")
    monkeypatch.setenv("GPUHUNT_CATALOG_URL", served)
    catalog = client.Catalog(auto_reload=False)
    catalog.load()
    ours = {theirs: name for name, theirs in gpuhunt.PROVIDERS.items()}
    providers = [name for name in gpuhunt.PROVIDERS if name in data.release.providers]
    questions = rows("tools/gpuhunt")
    for question in questions:
        count = pl.col("accelerator_count").fill_null(0)
        is_listed = (
            (count % 1 == 0)
            & pl.col("vcpus").is_not_null()
            & pl.col("memory_gib").is_not_null()
            & ((count == 0) | pl.col("accelerator_id").is_not_null())
        )
        options = {"option": ["on_demand", "spot"]} if "_" not in question["words"] else {}
        query = asked_of_gpuhunt(question["query"])
        chosen = ours.get(query.get("provider", ""), providers)
        found = sold(data, question["words"], provider=chosen, **options)
        expected = (
            found.filter(is_listed)
            .group_by(*KEY, "purchase_option")
            .agg(pl.col("effective_hourly").min())
        )
        answer = {
            (
                ours[item.provider],
                item.instance_name,
                item.location.rpartition("-")[0] if item.provider == "gcp" else item.location,
                "spot" if item.spot else "on_demand",
                Decimal(str(item.price)),
            )
            for item in catalog.query(**query)
        }
        assert answer == set(expected.rows()), question["words"]
        assert answer, question["words"]
    assert len(questions) == 30
    verda = catalogs["gpuhunt"].left_out.filter(provider="verda")
    assert dict(verda.select("reason", "prices").rows()) == {
        "vCPUs or memory not stated": 12,
        "exact model of the accelerator not known": 2,  # V100 of 16 GB: PCIe or SXM2
    }
    everything = sorted(map(repr, catalog.query()))
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(folder / "gpuhunt"))
    assert sorted(map(repr, client.Catalog(auto_reload=False).query())) == everything


def test_the_example_for_gpuhunt_runs(folder, catalogs, monkeypatch, capsys) -> None:
    pytest.importorskip("gpuhunt", reason="gpuhunt is not installed")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", "")
    exec(examples()[0], {})
    assert "aws p5.48xlarge us-east-1 55.04" in capsys.readouterr().out


def examples() -> list[str]:
    """Read the examples in Python of the page about integrations."""
    text = (FOLDER.parents[1] / "docs" / "integrations.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_the_example_joins_a_focus_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bill of March 2025 has p5.48xlarge at 98.32 USD/h; since June it is 55.04."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "focus.csv").write_text(
        "SkuPriceId,RegionId,PricingQuantity,ListUnitPrice\n"
        "SAMPLE2BD1D29050.JRTCKXETXF.6YS6EN2CT7,us-east-1,24,98.32\n"
        "2ETY8Y426S4237JU.JRTCKXETXF.6YS6EN2CT7,us-west-2,1,0.008\n"
    )
    names: dict[str, Any] = {}
    exec(examples()[1], names)
    [line] = names["lines"].select("x_InstanceType", "ListUnitPrice", "ListUnitPriceNow").rows()
    assert line == ("p5.48xlarge", 98.32, Decimal("55.04"))


# SkyPilot


@pytest.mark.parametrize(
    ("cloud", "option", "column"),
    [
        (cloud, option, column)
        for cloud in skypilot.CLOUDS
        for option, column in (("on_demand", "Price"), ("spot", "SpotPrice"))
    ],
)
def test_skypilot_lists_nearly_all_machines_at_the_price_of_find(
    cloud: str, option: str, column: str, data: hwprices.Dataset, folder: Path, catalogs: object
) -> None:
    place = ["InstanceType", "Region"]
    table = pl.read_csv(folder / "skypilot" / cloud / "vms.csv", infer_schema=False)
    listed = (
        table.drop_nulls([*place, column])
        .group_by(place)
        .agg(listed=pl.col(column).cast(pl.Decimal(20, 10)).min())
    )
    found = sold(data, option, provider=cloud).group_by(KEY).agg(pl.col("effective_hourly").min())

    both = found.join(listed, left_on=KEY[1:], right_on=place)
    assert both.filter(pl.col("listed") != pl.col("effective_hourly")).is_empty()
    # the others have no zone, or an accelerator that SkyPilot does not know
    assert both.height == listed.height > 0.95 * found.height


# OpenCost


def price_of_node(file: Path, region: str, instance_type: str) -> str:
    """Look a node up as OpenCost does: by region and the label that InstanceIDField names."""
    table = {}
    for row in pl.read_csv(file, infer_schema=False).iter_rows(named=True):
        assert (row["AssetClass"], row["InstanceIDField"].partition(".labels.")[2]) == (
            "node",
            "node.kubernetes.io/instance-type",
        )
        key = f"{row['Region']},{row['InstanceID']}".lower()
        assert key not in table
        table[key] = row["MarketPriceHourly"]
    return table[f"{region},{instance_type}".lower()]


def test_opencost_prices_thirty_nodes_as_find_does(data, folder, catalogs) -> None:
    file = folder / "opencost" / "pricing.csv"
    assert file.read_text().splitlines()[0] == (
        "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,"
        "MarketPriceHourly,Version"
    )
    nodes = sold(data, "on_demand", provider=["aws", "azure", "gcp"]).sort(KEY)
    every = nodes.height // 30
    for node in nodes.gather_every(every).head(30).iter_rows(named=True):
        price = price_of_node(file, node["region"], node["instance_type"])
        assert Decimal(price) == node["effective_hourly"]


# Karpenter


def node_overlays(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the objects by cloud."""
    files = sorted(folder.glob("nodeoverlays-*.yaml"))
    return {file.stem.partition("-")[2]: list(yaml.safe_load_all(file.open())) for file in files}


def of_node(objects: list[dict[str, Any]], node: dict[str, str | None]) -> list[dict[str, Any]]:
    """Return the specs of the objects all of whose requirements a node meets."""
    return [
        each["spec"]
        for each in objects
        if all(node[wanted["key"]] in wanted["values"] for wanted in each["spec"]["requirements"])
    ]


def adjusted(listed: Decimal, spec: dict[str, Any]) -> Decimal:
    """Compute a price as Karpenter does (AdjustedPrice of pkg/cloudprovider/types.go)."""
    if "price" in spec:
        return Decimal(spec["price"])
    change = spec["priceAdjustment"]
    if change.endswith("%"):
        return listed * (1 + Decimal(change[:-1]) / 100)
    return listed + Decimal(change)


def test_nodeoverlays_fit_the_schema_of_karpenter(folder, catalogs) -> None:
    schema = json.loads((FOLDER / "tools" / "nodeoverlay.schema.json").read_text())
    objects = [each for listed in node_overlays(folder / "karpenter").values() for each in listed]
    assert len({each["metadata"]["name"] for each in objects}) == len(objects) == 13
    for each in objects:
        jsonschema.validate(each, schema)
        assert len({"price", "priceAdjustment"} & each["spec"].keys()) == 1


def test_karpenter_prices_thirty_nodes_as_find_does_with_own_discounts(data, folder, catalogs):
    overlays = rules.load(folder / "rules.yaml")
    found = sold(
        data, "", option=["on_demand", "spot"], provider=list(kubernetes.CLOUDS), overlays=overlays
    ).sort(*KEY, "purchase_option", "zone")
    every_cloud = found.group_by("provider", "overlay", maintain_order=True).agg(pl.all().head(10))
    nodes = every_cloud.explode(pl.exclude("provider", "overlay"))
    listed = data.prices.select("price_id", listed="effective_hourly").collect()
    objects = node_overlays(folder / "karpenter")
    checked = 0
    for node in nodes.join(listed, on="price_id").iter_rows(named=True):
        labels = {
            kubernetes.TYPE_LABEL: node["instance_type"],
            kubernetes.REGION_LABEL: node["region"],
            kubernetes.ZONE_LABEL: node["zone"],
            kubernetes.CAPACITY_LABEL: node["purchase_option"].replace("_", "-"),
        }
        specs = of_node(objects[node["provider"]], labels)
        assert len(specs) == (node["overlay"] is not None), "objects for one node are in conflict"
        price = adjusted(node["listed"], specs[0]) if specs else node["listed"]
        assert price == pytest.approx(node["effective_hourly"], rel=Decimal("1e-6"))
        checked += 1
    assert checked >= 30


def test_karpenter_is_told_what_a_commitment_costs(data: hwprices.Dataset, tmp_path: Path) -> None:
    """Resource-based CUD of n2-standard-8 for 3 years: 0.174824 of 0.388472 USD/h."""
    data.export_as(
        "karpenter", tmp_path / "new", option="committed_use", term="3y", region="us-central1"
    )
    node = {
        kubernetes.TYPE_LABEL: "n2-standard-8",
        kubernetes.REGION_LABEL: "us-central1",
        kubernetes.CAPACITY_LABEL: "on-demand",
    }
    [spec] = of_node(node_overlays(tmp_path / "new")["gcp"], node)
    assert spec["priceAdjustment"] == "-54.997%"
    price = adjusted(Decimal("0.388472"), spec)
    assert price == pytest.approx(Decimal("0.174824"), rel=Decimal("1e-6"))


# the command


def test_the_command_prints_what_is_left_out(tmp_path: Path) -> None:
    assert tuple(FORMATS) == TOOLS
    run = partial(CliRunner().invoke, app)
    folder = str(tmp_path / "new")
    done = run(["export", folder, "--as", "opencost", "--root", "sample", "--provider", "aws"])
    assert done.exit_code == 0
    assert "wrote 1,225 prices" in done.output
    assert "5  spot: the list cannot tell a spot node from another" in done.output
    for arguments, message in (
        ([folder, "--as", "opencost"], "is there already"),
        ([f"{folder}2", "--as", "kubecost"], "Choose one of gpuhunt, skypilot, opencost"),
        ([f"{folder}2", "--as", "karpenter"], "Give own discounts"),
        ([f"{folder}2", "--as", "gpuhunt", "--table", "prices"], "Leave out --table"),
        ([f"{folder}2.csv", "--provider", "aws"], "need --as"),
    ):
        failed = run(["export", *arguments, "--root", "sample"])
        assert failed.exit_code != 0
        assert message in " ".join(failed.output.split())
