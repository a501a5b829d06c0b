"""Names of sizes, and sizes with a price that no list of sizes describes."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases, number, optional
from tests.helpers.cases import rows as case_rows
from tests.helpers.releases import machine, rows

from hwprices.providers.azure.instance_types import named_sizes, parse_size, read_accelerator_sheet
from hwprices.schemas.tables import InstanceTypes
from hwprices.specs import sheets
from hwprices.stage import validate

PARENTS = [
    machine("azure", "Standard_E16as_v6", vcpus=16, memory_gib=128.0),
    machine("azure", "Standard_M176s_3_v3", vcpus=176, memory_gib=2794.0),
]

FIGURES = dict.fromkeys(("vcpus", "vcpus_billed", "memory_gib"), number)
SIZES = {
    row.pop("name"): tuple(row.values())
    for row in case_rows("azure/named_sizes", **FIGURES, cpu_vendor=optional)
}
"""Name → series, vCPUs, vCPUs that are billed, memory, maker of the CPU."""

NO_SIZES = ["Dsv3_Type1", "NDasrA100v4_Type1", "L192isv4", "Standard_D2as_v5_Promo"]
"""Names that do not follow the rules: those of dedicated hosts, and a promotion."""


@pytest.fixture
def found() -> pl.DataFrame:
    listed = rows("instance_types", *PARENTS)
    seen = {"observed_at": datetime(2026, 10, 31, tzinfo=UTC), "raw_sha256": "a" * 64}
    priced = [
        {"instance_type": name, **seen} for name in (*SIZES, *NO_SIZES, PARENTS[0]["instance_type"])
    ]
    sheet, stated = read_accelerator_sheet(), sheets.load("azure_sizes")
    return named_sizes(pl.DataFrame(priced), listed, sheet, stated)


def test_a_name_says_the_vcpus_and_the_size_it_is_made_of_the_rest(found):
    columns = ("series", "vcpus", "vcpus_billed", "memory_gib", "cpu_vendor")
    assert {row[0]: row[1:] for row in found.select("instance_type", *columns).rows()} == SIZES
    assert set(found["spec_source"]) == {"name"}
    assert set(found["raw_sha256"]) == {"a" * 64}


def test_the_rows_pass_the_checks_of_the_table(found):
    assert validate.split(found, InstanceTypes, {}).good.height == len(SIZES)


def test_the_accelerators_are_those_that_the_sheet_or_the_family_tells(found):
    rows = found.filter(pl.col("accelerator_kind") != "none").explode("accelerators")
    of_device = pl.col("accelerators").struct.field("accelerator_id", "count")
    columns = rows.select("instance_type", "accelerator_kind", of_device).sort("instance_type")
    assert columns.rows() == [
        ("Standard_NC320lds_xl_RTXPRO6000BSE_v6", "gpu", "nvidia-rtx-pro-6000-server", 2.0),
        ("Standard_ND96is_flex_H100_v5", "gpu", None, None),
        ("Standard_NM16ads_MA35D", "media", None, None),
        ("Standard_NV28adms_V710_v5", "gpu", "amd-v710", 1.0),
        ("Standard_PB24s", "fpga", None, None),
    ]


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@given(
    tier=st.sampled_from(["Standard", "Basic"]),
    family=st.text("ABCDEFGHLMNPVX", min_size=1, max_size=3),
    vcpus=st.integers(0, 9999),
    constrained=st.none() | st.integers(1, 999),
    features=st.text(LETTERS, max_size=5),
    middle=st.sampled_from(
        [(), ("A100",), ("H100",), ("xl", "RTXPRO6000BSE"), ("NDR", "GB200"), ("cc",), ("6",)]
    ),
    version=st.none() | st.integers(1, 20),
    promo=st.booleans(),
)
def test_the_parts_of_a_size_name_are_read_back(
    tier, family, vcpus, constrained, features, middle, version, promo
) -> None:
    name = (
        f"{tier}_{family}{vcpus}"
        + (f"-{constrained}" if constrained else "")
        + features
        + "".join(f"_{m}" for m in middle)
    )
    name += (f"_v{version}" if version is not None else "") + ("_Promo" if promo else "")
    size = parse_size(name)
    assert size is not None
    found = (size.tier, size.family, size.vcpus, size.constrained, size.features)
    assert found == (tier, family, vcpus, constrained, features)
    assert (size.middle, size.version, size.promo) == (middle, version, promo)
    assert size.series.startswith(family + features)


@given(st.text(max_size=40))
def test_any_text_is_a_size_or_none(text: str) -> None:
    size = parse_size(text)
    assert size is None or text.startswith(("Standard_", "Basic_"))


def test_endless_numbers_are_no_size() -> None:
    """Python refuses to read 5,000 digits, which would end the whole provider."""
    digits = 5_000 * "9"
    assert parse_size(f"Standard_D{digits}s_v5") is parse_size(f"Standard_E8-{digits}s_v5") is None


@cases("azure/size_names", vendor=optional)
def test_series_and_cpu_vendor(name: str, series: str, vendor: str | None) -> None:
    size = parse_size(name)
    assert size is not None
    assert (size.series, size.cpu_vendor) == (series, vendor)
