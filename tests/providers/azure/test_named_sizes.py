"""Sizes with a price that no list of sizes describes."""

from datetime import UTC, datetime

import polars as pl
import pytest

from hwprices.providers.azure.inventory.named_sizes import named_sizes
from hwprices.rows import frames
from hwprices.schemas.inventory import InstanceTypes
from hwprices.stage import validate

LISTED = {
    "provider": "azure",
    "accelerators": [],
    "accelerator_kind": "none",
    "corrections": [],
    "spec_source": "bundled",
    "observed_at": datetime(2026, 8, 31, tzinfo=UTC),
    "raw_sha256": "b" * 64,
}
PARENTS = [("Standard_E16as_v6", 16, 128.0), ("Standard_M176s_3_v3", 176, 2794.0)]

SIZES = {
    "Standard_E16-4as_v6": ("Easv6", 4, 16, 128.0, "AMD"),
    "Standard_M176s-44_3_v3": ("Msv3", 44, 176, 2794.0, "Intel"),
    "Standard_E8-2as_v6": ("Easv6", 2, 8, None, "AMD"),
    "Standard_D248s_v7": ("Dsv7", 248, 248, 992.0, "Intel"),
    "Standard_D248ls_v7": ("Dlsv7", 248, 248, 496.0, "Intel"),
    "Standard_F72als_v6": ("Falsv6", 72, 72, 144.0, "AMD"),
    "Standard_E64bs_v6": ("Ebsv6", 64, 64, 512.0, "Intel"),
    "Standard_E96bs_v6": ("Ebsv6", 96, 96, None, "Intel"),  # E96s_v5 has 7 GiB for each vCPU
    "Standard_D64ps_v5": ("Dpsv5", 64, 64, None, "Ampere"),  # has 208 GiB
    "Standard_M896ixds_24_v3": ("Mixdsv3", 896, 896, None, "Intel"),
}
"""Name → series, vCPUs, vCPUs that are billed, memory, maker of the CPU."""

NOT_SAID = ["Standard_D15i_v2", "Standard_H16m", "Dsv3_Type1", "Standard_A1", "Standard_ND40s_v2"]
"""Names that do not say it: the v2 has 20 vCPUs; hosts and old sizes have other names."""


@pytest.fixture
def found() -> pl.DataFrame:
    parents = [
        {**LISTED, "instance_type": name, "family": "f", "vcpus": vcpus, "memory_gib": memory}
        for name, vcpus, memory in PARENTS
    ]
    listed = frames.conform(pl.LazyFrame(parents), InstanceTypes).collect()
    seen = {"observed_at": datetime(2026, 10, 31, tzinfo=UTC), "raw_sha256": "a" * 64}
    priced = [{"instance_type": name, **seen} for name in (*SIZES, *NOT_SAID, PARENTS[0][0])]
    return named_sizes(pl.DataFrame(priced), listed)


def test_a_name_says_the_vcpus_and_the_size_it_is_made_of_the_rest(found):
    columns = ("series", "vcpus", "vcpus_billed", "memory_gib", "cpu_vendor")
    assert {r["instance_type"]: tuple(r[c] for c in columns) for r in found.to_dicts()} == {
        **SIZES,
        "Standard_E16-4as_v6": ("Easv6", 4, 16, 128.0, None),
        "Standard_M176s-44_3_v3": ("Msv3", 44, 176, 2794.0, None),
    }
    assert set(found["spec_source"]) == {"name"}
    assert set(found["raw_sha256"]) == {"a" * 64}


def test_the_rows_pass_the_checks_of_the_table(found):
    assert validate.split(found, InstanceTypes, {}).good.height == len(SIZES)
