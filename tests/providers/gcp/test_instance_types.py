"""Machine types: what is read from the API, the sheets and names."""

from decimal import Decimal
from pathlib import Path

import polars as pl
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import Tables, core_and_ram, machine_type, n2_skus, normalise_skus, sku

from hwprices.providers.gcp.instance_types import nominal_gib


def test_the_network_of_most_types_is_known(sample: Tables) -> None:
    types = sample.table("instance_types")
    unknown = types.filter(pl.col("network_gbps_max").is_null())
    assert (types.height, unknown.height) == (568, 61)
    by_series = dict(unknown["series"].value_counts().iter_rows())
    assert (by_series["c4n"], by_series["m4n"], by_series["tpu"]) == (24, 8, 14)
    tier_1 = types.filter(pl.col("network_gbps_max_at_extra_charge").is_not_null())
    assert tier_1.height == 156
    more = pl.col("network_gbps_max_at_extra_charge") > pl.col("network_gbps_max")
    assert tier_1.select(more.all()).item()
    (c3,) = tier_1.filter(instance_type="c3-standard-44").to_dicts()
    assert (c3["network_gbps_max"], c3["network_gbps_baseline"], c3["rdma"]) == (32.0, None, None)


@cases("gcp/disks_of_names", gib=int)
def test_g4_disks_that_the_name_does_not_tell(sample: Tables, name: str, gib: int) -> None:
    row = sample.table("instance_types").filter(pl.col("instance_type") == name).row(0, named=True)
    assert row["local_disk_gib"] == gib
    price = sample.prices(name)[("spot", 0)]
    if price["hourly"] is not None:
        assert "local_ssd" in sample.components(price["price_id"])


def test_g4_the_apis_own_count_of_disks_is_read(tmp_path: Path) -> None:
    c3 = [
        *core_and_ram("C3", "0.03465", "0.003938"),
        sku("SSD backed Local Storage in Iowa", "0.08"),
    ]
    type_ = machine_type(
        "c3-standard-22-lssd",
        22,
        90112,
        bundledLocalSsds={"defaultInterface": "NVME", "partitionCount": 4},
    )
    tables = normalise_skus(tmp_path, c3, [type_])
    exact = 22 * Decimal("0.03465") + 88 * Decimal("0.003938") + 1500 * Decimal("0.08") / 730
    assert abs(tables.hourly("c3-standard-22-lssd") - exact) < Decimal("1e-9")


def test_a_workstation_gpu_is_the_same_gpu(tmp_path: Path) -> None:
    skus = [*core_and_ram("G2", "0.024", "0.003"), sku("Nvidia L4 GPU running in Iowa", "0.56")]
    tables = normalise_skus(
        tmp_path, skus, [machine_type("g2-standard-4", 4, 16384, ("nvidia-l4-vws", 1))]
    )
    assert tables.hourly("g2-standard-4") == Decimal("0.704")
    found = tables.table("instance_types")["accelerators"].to_list()[0][0]["accelerator_id"]
    assert found == "nvidia-l4"


def test_g11_a_type_of_an_unknown_series_is_listed_without_a_price(tmp_path: Path) -> None:
    tables = normalise_skus(tmp_path, n2_skus(), [machine_type("n9-standard-2", 2, 8192)])
    assert tables.prices("n9-standard-2")[("on_demand", 0)]["price_reason"] == "unknown_series"
    assert tables.table("instance_types").row(0, named=True)["series"] == "n9"


@cases("gcp/memory", mb=int)
def test_memory_is_what_is_sold_not_what_was_rounded(mb: int, gib: str) -> None:
    assert nominal_gib(mb) == Decimal(gib)
