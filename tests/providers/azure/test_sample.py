"""Read the bundled sample: figures that can be checked, and nothing lost."""

import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.azure_pages import SAMPLE, frame, item_rows, refused, sample_parts, sample_prices
from tests.helpers.cases import cases
from tests.helpers.landed import landed_contents
from tests.helpers.nightly import only_at_night

from hwprices.landing import pages
from hwprices.landing.pages import Landing, Run
from hwprices.providers import azure
from hwprices.providers.azure.instance_types import memory_of_name, parse_size

PROJECT = Path(__file__).resolve().parents[3]
BUNDLED = PROJECT / "data" / "bundled" / "azure"


def sample_run() -> Run:
    run = Landing(SAMPLE).latest_run("azure")
    assert run is not None
    return run


def linux_price(size: str, region: str) -> Decimal:
    (price,) = sample_prices().filter(
        region=region, instance_type=size, os="linux", purchase_option="on_demand"
    )["effective_hourly"]
    return Decimal(price)


@cases("azure/linux_prices")
def test_linux_prices(size: str, region: str, price: str) -> None:
    assert linux_price(size, region) == Decimal(price)


def test_a_reservation_and_the_savings_plans_of_one_size() -> None:
    size = sample_prices().filter(region="eastus", instance_type="Standard_D2als_v7", os="linux")
    (year,) = size.filter(payment_option="all_upfront", term_months=12)["effective_hourly"]
    assert year == Decimal("0.0474885845")  # 416 / 8760
    plans = size.filter(purchase_option="savings_plan").select("term_months", "hourly")
    assert dict(plans.iter_rows()) == {12: Decimal("0.053868"), 36: Decimal("0.035376")}


def test_every_item_is_a_price_or_refused_or_out_of_scope() -> None:
    landing = Landing(SAMPLE)
    retail = [r for r in sample_run().results if azure.is_retail(r.unit.kind)]
    items = sum(len(json.loads(landing.read(page))["Items"]) for r in retail for page in r.pages)
    part = sample_parts()["prices"]
    counted = item_rows(sample_prices()).height + len(refused(part)) + sum(part.counts.values())
    assert items == counted
    assert Counter(refused(part)) == {"no_size_name": 4}


def test_spot_prices_above_on_demand_are_flagged() -> None:
    machine = ["region", "instance_type", "os", "software"]
    shared = sample_prices().filter(tenancy="shared", license_model="included")
    on_demand = shared.filter(purchase_option="on_demand").select(
        *machine, pl.col("hourly").alias("on_demand")
    )
    spot = shared.filter(purchase_option="spot").join(on_demand, on=machine)
    is_flagged = pl.col("flags").list.eval(pl.element().str.starts_with("spot_")).list.any()
    is_above = pl.col("hourly") >= pl.col("on_demand")
    assert spot.height > 1000
    assert spot.filter(is_flagged != is_above).is_empty()


def test_the_memory_that_a_name_gives_is_that_of_every_listed_size() -> None:
    listed = frame(sample_parts()["instance_types"]).filter(spec_source="bundled")
    read = [
        (name, memory, memory_of_name(size))
        for name, memory in listed.select("instance_type", "memory_gib").iter_rows()
        if (size := parse_size(name)) is not None and not size.middle
    ]
    given = [row for row in read if row[2] is not None]
    assert len(given) == 553
    assert [row for row in given if row[1] != row[2]] == []


def test_a_priced_name_without_vcpus_is_a_dedicated_host_or_one_of_two_sizes() -> None:
    """Only those two number their size: D15_v2, their twin, has 20 vCPUs."""
    known = frame(sample_parts()["instance_types"]).drop_nulls("vcpus").select("instance_type")
    without = sample_prices().join(known, on="instance_type", how="anti")
    sizes = without.filter(tenancy="shared")["instance_type"].unique().sort()
    assert sizes.to_list() == ["Standard_D15i_v2", "Standard_DS15i_v2"]
    assert without.filter(tenancy="host")["instance_type"].n_unique() == 65


def test_every_size_has_the_speed_of_its_disks() -> None:
    types = frame(sample_parts()["instance_types"]).filter(spec_source="bundled")
    baseline = ["block_storage_gbps_baseline", "block_storage_iops_baseline"]
    assert types.select(baseline).null_count().row(0) == (0, 0)
    nvme = types.filter(pl.col("local_disk_read_iops").is_not_null())
    assert (nvme.height, set(nvme["local_disk_kind"])) == (323, {"nvme_ssd"})
    assert (nvme["local_disk_read_iops"] >= nvme["local_disk_write_iops"]).all()
    (d2s,) = types.filter(instance_type="Standard_D2s_v5").select(baseline).rows()
    assert d2s == (0.68, 3750)


NETWORK_MBPS = {
    "Standard_D{}s_v5": {2: 12500, 8: 12500, 32: 16000, 48: 24000, 64: 30000, 96: 35000},
    "Standard_L{}as_v4": {2: 12500, 32: 16000, 48: 28000, 64: 36000, 80: 40000, 96: 40000},
    "Standard_E{}ads_v7": {2: 16000, 8: 25000, 48: 35000, 64: 45000, 96: 70000, 160: 80000},
    "Standard_B{}as_v2": {2: 6250, 32: 6250},
    "Standard_NC{}ads_A100_v4": {24: 20000, 48: 40000, 96: 80000},
}
"""Sizes by vCPUs with the bandwidth on Microsoft's own pages of five series (CC BY 4.0,
https://github.com/MicrosoftDocs/azure-compute-docs, articles/virtual-machines/sizes)."""


def test_the_network_is_what_microsoft_documents() -> None:
    types = frame(sample_parts()["instance_types"])
    stated = dict(types.select("instance_type", "network_gbps_max").iter_rows())
    for series, figures in NETWORK_MBPS.items():
        for vcpus, mbps in figures.items():
            assert stated[series.format(vcpus)] == mbps / 1000, (series, vcpus)
    known = types.filter(pl.col("network_gbps_max").is_not_null())
    listed = types.filter(spec_source="bundled").height
    assert (listed, types.height, known.height) == (1467, 1725, 897)
    assert set(known["rdma"]) == {"none"}  # of InfiniBand the pages do not count the bandwidth
    assert stated["Standard_ND96isr_H100_v5"] is None
    assert types["network_gbps_baseline"].null_count() == types.height


def test_every_listed_accelerator_but_one_has_a_spec_sheet() -> None:
    types = frame(sample_parts()["instance_types"]).filter(pl.col("accelerator_kind") != "none")
    types = types.filter(spec_source="bundled")
    ids = pl.col("accelerators").list.eval(pl.element().struct.field("accelerator_id").is_null())
    assert types.filter(ids.list.any())["instance_type"].to_list() == ["Standard_PB6s"]
    assert types.height > 60


def test_the_bundled_pages_are_those_of_the_sample() -> None:
    for kind in (azure.SKUS, azure.LOCATIONS):
        (page,) = sample_run().of(kind)
        (copy,) = pages.read_pages("azure", kind)
        assert copy.content == Landing(SAMPLE).read(page)
        assert (copy.url, copy.retrieved_at) == (page.url, page.retrieved_at)
        assert copy.params == page.params
    index = json.loads((BUNDLED / "pages.json").read_text(encoding="utf-8"))
    assert all(entry["source"] for entry in index["pages"])


def files_below(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.shared
@only_at_night("reads all recordings of Azure")
def test_the_sample_is_what_its_script_writes(shared: Path, tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tools.sample.azure", str(shared)]
    targets = ["--into", str(tmp_path / "sample"), "--bundled", str(tmp_path / "bundled")]
    subprocess.run([*script, *targets], check=True, capture_output=True, cwd=PROJECT)
    assert landed_contents(tmp_path / "sample", "azure") == landed_contents(SAMPLE, "azure")
    assert files_below(tmp_path / "bundled") == files_below(BUNDLED)
    assert sum(map(len, files_below(SAMPLE / "azure").values())) < 5_000_000


def test_windows_costs_no_less_than_linux() -> None:
    on_demand = sample_prices().filter(
        tenancy="shared", license_model="included", purchase_option="on_demand", software="none"
    )
    wide = on_demand.pivot("os", index=["region", "instance_type"], values="hourly")
    assert wide.drop_nulls(["linux", "windows"]).height > 1000
    assert wide.filter(pl.col("windows") < pl.col("linux")).is_empty()
