"""The order catalog: which plans are machines by the hour, and what they cost.

Prices are those recorded 2026-08-22 (h100-380, h200-1920, l40s-90 of the US) unless said otherwise.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.ovh_pages import B3_8, body, plan, read
from tests.helpers.stub_server import Reply, StubServer
from tests.helpers.vendor_tables import sample_pages

from hwprices import settings
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, get
from hwprices.stage import stage
from hwprices.storage.store import Store


def prices(*plans, **more):
    columns = ("instance_type", "region", "os", "currency", "hourly")
    return read(*plans, **more).rows["prices"].select(columns).rows()


def test_a_price_is_in_units_of_1e_minus_8() -> None:
    assert prices(plan()) == [("h100-380", "standard", "linux", "EUR", Decimal("2.8"))]
    assert prices(plan("b2-7.consumption", 7090000, technical=B3_8))[0][4] == Decimal("0.0709")


def test_the_currency_of_the_catalog_is_kept() -> None:
    """The unit of a US plan is "none": the code says that it is by the hour."""
    pricing = {"price": 180000000, "interval": 0, "intervalUnit": "none"}
    us = plan("l40s-90.consumption", pricings=[pricing])
    assert prices(us, currency="USD") == [("l40s-90", "standard", "linux", "USD", Decimal("1.8"))]


def test_a_month_is_not_an_hour() -> None:
    tables = read(plan(), plan("h100-380.monthly.postpaid", 194000000000))
    assert tables.rows["prices"]["hourly"].to_list() == [Decimal("2.8")]
    assert tables.counts == {"out_of_scope:planCode=not hourly": 1}


def test_other_kinds_of_zones_have_prices_of_their_own() -> None:
    codes = {"b3-8.consumption": 5, "b3-8.consumption.3AZ": 9, "b3-8.consumption.LZ.EU": 6}
    plans = [plan(code, price * 10**6, technical=B3_8) for code, price in codes.items()]
    found = {row[1]: row[4] for row in prices(*plans)}
    assert found == {"standard": Decimal("0.05"), "3az": Decimal("0.09"), "lz-eu": Decimal("0.06")}
    regions = read(*plans).rows["regions"].select("region", "kind").rows()
    assert regions == [("3az", "region"), ("lz-eu", "local_zone"), ("standard", "region")]


def test_win_is_the_same_machine_with_windows() -> None:
    windows = plan("win-h100-380.consumption", 400000000)
    found = {(row[0], row[2], row[4]) for row in prices(plan(), windows)}
    assert found == {("h100-380", "linux", Decimal("2.8")), ("h100-380", "windows", Decimal("4"))}


def test_plans_of_one_flavor_that_describe_two_machines_are_refused() -> None:
    smaller = plan("h100-380.consumption.3AZ", technical=B3_8)
    tables = read(plan(), smaller, plan("b3-8.consumption", 5 * 10**6, technical=B3_8))
    assert tables.rows["prices"]["instance_type"].to_list() == ["b3-8"]
    assert tables.rows["instance_types"]["instance_type"].to_list() == ["b3-8"]
    assert [reason for reason, _ in tables.refused] == ["duplicate_key"] * 2


@pytest.mark.parametrize(
    "different",
    [
        {"storage": {"disks": [{"number": 1, "capacity": 100, "sizeUnit": "GB"}]}},
        {"bandwidth": {"level": 1000}},
    ],
)
def test_disks_and_bandwidth_are_the_machines_too(different) -> None:
    described = {**B3_8, "storage": {"disks": [{"capacity": 50}]}, "bandwidth": {"level": 500}}
    plans = [plan("b3-8.consumption", 5 * 10**6, technical=described)]
    plans += [plan("b3-8.consumption.3AZ", 9 * 10**6, technical={**described, **different})]
    assert [reason for reason, _ in read(*plans).refused] == ["duplicate_key"] * 2


def test_a_managed_service_with_a_gpu_is_no_machine() -> None:
    """An ai-serving plan has a whole GPU and a price by the minute."""
    tables = read(plan(), plan("ai-app-l4-1.consumption", 1500000, product="ai-serving"))
    assert tables.rows["prices"]["instance_type"].to_list() == ["h100-380"]
    assert tables.counts == {"out_of_scope:product=not an instance": 1}


def test_zero_is_not_a_price() -> None:
    rows = read(plan(price=0)).rows["prices"]
    assert rows.select("hourly", "price_reason").rows() == [(None, "listed_at_zero")]


@cases("ovh/refused", changes=yaml.safe_load)
def test_what_is_not_understood_is_in_quarantine(changes, reason) -> None:
    """Some plans are stubs that describe no machine."""
    tables = read(plan(), plan("x-1.consumption", **changes))
    ((refused, message),) = tables.refused
    assert refused == reason
    assert "x-1.consumption" in message
    assert tables.rows["prices"]["instance_type"].to_list() == ["h100-380"]


def test_the_number_in_the_name_is_memory() -> None:
    (machine,) = read(plan()).rows["instance_types"].to_dicts()
    assert (machine["memory_gib"], machine["accelerator_count"]) == (380, 1)
    assert machine["accelerators"] == [
        {
            "accelerator_id": "nvidia-h100-sxm5-80gb",
            "vendor_name": "H100",
            "count": 1,
            "memory_gib": 80,
        }
    ]


def test_memory_of_a_gpu_is_of_one() -> None:
    gpu = {"model": "H200", "number": 8, "memory": {"size": 141}}
    technical = {"cpu": {"cores": 224}, "memory": {"size": 1920}, "gpu": gpu}
    (machine,) = (
        read(plan("h200-1920.consumption", technical=technical)).rows["instance_types"].to_dicts()
    )
    assert machine["accelerator_memory_gib"] == 8 * 141
    assert machine["accelerators"][0]["accelerator_id"] is None


@cases("ovh/vcores", cpu=yaml.safe_load, vcpus=int, cores=yaml.safe_load, metal=yaml.safe_load)
def test_a_vcore_is_a_thread(cpu, vcpus, cores, metal) -> None:
    technical = {"cpu": cpu, "memory": {"size": 8}}
    (machine,) = (
        read(plan("x-8.consumption", technical=technical)).rows["instance_types"].to_dicts()
    )
    found = (machine["vcpus"], machine["physical_cores"], machine["bare_metal"])
    assert found == (vcpus, cores, metal)


@pytest.mark.parametrize(
    ("tags", "status"),
    [(["active"], "current"), (["legacy"], "previous"), (["coming_soon"], None), ([], None)],
)
def test_legacy_is_kept_and_marked(tags, status) -> None:
    tables = read(plan(tags=tags))
    assert tables.rows["instance_types"]["status"].to_list() == [status]
    assert tables.rows["prices"]["hourly"].to_list() == [Decimal("2.8")]


def test_disks_have_a_size_where_they_have_a_unit() -> None:
    disk = {"number": 2, "capacity": 3840, "sizeUnit": "GB", "technology": "NVMe"}
    machine = {**B3_8, "storage": {"disks": [disk]}, "bandwidth": {"level": 500}}
    row = read(plan(technical=machine)).rows["instance_types"].to_dicts()[0]
    assert row["local_disk_gib"] == pytest.approx(7152.56, abs=0.01)
    assert (row["local_disk_count"], row["local_disk_kind"]) == (2, "nvme_ssd")
    assert row["network_gbps_baseline"] == 0.5
    machine["storage"] = {"disks": [{"capacity": 50}]}
    row = read(plan(technical=machine)).rows["instance_types"].to_dicts()[0]
    found = (row["local_disk_gib"], row["local_disk_count"], row["local_disk_kind"])
    assert found == (None, 1, None)


def changed(code: str = "b3-8.consumption", **more):
    return plan(code, 5 * 10**6, technical=B3_8) | more


KNOWN = [("b3-8", "standard", "linux", "EUR", Decimal("0.05"))]


@pytest.mark.parametrize(
    ("other", "reason", "word"),
    [
        (changed("b3-8.consumption.v2"), "unknown_location", "v2"),
        (changed("b3-8.consumption.ATLANTIS"), "unknown_location", "ATLANTIS"),
        (changed("b3-8.flash"), "unknown_option", ".flash"),
        (changed("b3-8.5years"), "unknown_option", ".5years"),
        (changed("rhel-b3-8.consumption"), "unknown_platform", "rhel"),
        (
            changed(product="publiccloud-instance-box"),
            "unknown_product",
            "publiccloud-instance-box",
        ),
        (changed(pricings=[{"price": 1, "intervalUnit": "cycle"}]), "unknown_unit", "cycle"),
        (changed(pricings=[{"interval": 5, "price": 1}]), "unknown_unit", "5 none"),
        (changed(pricings=[{"intervalUnit": "hour"}]), "unknown_column", "price"),
        ({"planCode": "b3-8.consumption"}, "unknown_column", "product"),
        ({"product": "publiccloud-instance"}, "unknown_column", "planCode"),
    ],
)
def test_o8_a_new_word_is_named_and_changes_no_known_row(other, reason, word) -> None:
    """Known wrong number O8: what follows the code of a plan became a region of its own."""
    tables = read(changed(), other)
    assert tables.words == [(reason, word)]
    assert tables.rows["prices"].select("region", "hourly").rows() == [("standard", KNOWN[0][4])]
    assert tables.rows["regions"]["region"].to_list() == ["standard"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [(5, "unreadable_line"), ({"pricings": [{"price": "5 euros"}]}, "unreadable_line")],
)
def test_a_broken_line_takes_no_other(bad, reason) -> None:
    line = bad if isinstance(bad, int) else changed("b3-16.consumption") | bad
    tables = read(changed(), line)
    assert tables.words == [(reason, None)]
    assert tables.rows["prices"]["instance_type"].to_list() == ["b3-8"]


def test_a_machine_that_cannot_be_read_keeps_its_price() -> None:
    broken = plan("b3-8.consumption", 5 * 10**6, technical=B3_8 | {"memory": {"size": "eight"}})
    tables = read(broken)
    assert tables.rows["prices"]["hourly"].to_list() == [Decimal("0.05")]
    assert tables.rows["instance_types"].is_empty()
    assert tables.words == [("unreadable_line", None)]


def test_o9_specifications_of_the_a10_are_the_catalogs(project: Path, tmp_path: Path) -> None:
    """Known wrong number O9: the list that the sample is made of has other figures."""
    pages = sample_pages("ovh", project)
    staged = stage(get("ovh"), pages.run, pages.landing, Store(tmp_path), keep=1)
    (file,) = staged.of("instance_types")
    machines = pl.read_parquet(tmp_path / staged.directory / file.key)
    machines = machines.filter(pl.col("instance_type").str.starts_with("a10-"))
    columns = ("instance_type", "vcpus", "physical_cores", "memory_gib")
    found = machines.select(columns).sort("instance_type").rows()
    assert found == [("a10-45", 30, 15, 45), ("a10-90", 60, 30, 90)]


@pytest.mark.parametrize("name", ["blobs", "technical", "cpu", "memory"])
def test_a_plan_without_its_machine_is_named_by_what_is_missing(name) -> None:
    broken = changed("b3-16.consumption")
    broken["blobs"] = {"technical": {**B3_8}}
    holders = {"blobs": broken, "technical": broken["blobs"]}
    del holders.get(name, broken["blobs"]["technical"])[name]
    tables = read(changed(), broken)
    assert tables.words == [("unknown_product", name)]
    assert tables.rows["prices"]["instance_type"].to_list() == ["b3-8"]


def test_a_gpu_flavor_without_its_gpu_has_no_specification() -> None:
    blobs = {"commercial": {"brick": "gpu"}, "technical": B3_8}
    tables = read(changed("h100-380.consumption", blobs=blobs))
    assert tables.words == [("unknown_column", "gpu")]
    assert tables.rows["instance_types"].is_empty()
    assert tables.rows["prices"]["hourly"].to_list() == [Decimal("0.05")]


@pytest.mark.parametrize("unit", ["Hour", "hours", "HOURS", "none"])
def test_an_hour_is_an_hour_in_any_spelling(unit) -> None:
    pricing = {"price": "5000000", "interval": "1", "intervalUnit": unit}
    assert prices(plan("b3-8.consumption", technical=B3_8, pricings=[pricing])) == KNOWN


PATH = "/order/catalog/public/cloud"


@pytest.fixture
def ovh(live: Callable[..., StubServer]) -> StubServer:
    """Serve a catalog."""
    return live(ovh_api_url="").on(PATH, Reply.gzipped(body(plan())))


def run_live() -> Run:
    with Collector("ovh", settings.load()) as collector:
        results = [collector.fetch(unit) for unit in collector.plan()]
        return collector.record(datetime.now(UTC), results)


def test_a_live_run_needs_no_account(ovh: StubServer, tmp_path: Path) -> None:
    pages = Pages(run_live(), Landing(tmp_path / "raw"))
    assert [request.query for request in ovh.requests] == [{"ovhSubsidiary": "FR"}]
    (prices,) = [p.frame for p in get("ovh").normalise(pages) if p.table == "prices"]
    row = prices.lazy().select("instance_type", "hourly", "currency", "basis").collect()
    assert row.rows() == [("h100-380", Decimal("2.8"), "EUR", "listed")]


def test_the_catalog_of_another_subsidiary_is_refused(ovh: StubServer) -> None:
    """Its prices would be published in another currency under the same keys."""
    run_live()
    ovh.on(PATH, Reply(body(plan(), currency="USD", subsidiary="US")))
    with pytest.raises(HwpricesError, match="is the catalog of US, not of FR"):
        run_live()
