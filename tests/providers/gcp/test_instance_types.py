"""Machine types: what is read from the API, the sheets and names."""

from decimal import Decimal

import polars as pl
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import Tables

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


@cases("gcp/memory", mb=int)
def test_memory_is_what_is_sold_not_what_was_rounded(mb: int, gib: str) -> None:
    assert nominal_gib(mb) == Decimal(gib)
