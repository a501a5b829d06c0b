"""The declared tables: described, consistent, documented."""

from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.releases import prices
from tools import data_dictionary

from hwprices.formulas import TOKEN_MODELS
from hwprices.publish.descriptions import datapackage
from hwprices.release.manifest import ReleaseManifest, TableEntry, TableFile
from hwprices.rows import frames
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES
from hwprices.specs.sheets import load
from hwprices.stage import validate

SEVERAL_MEANINGS = {"kind", "unit", "notes", "source_url", "component", "provider"}
"""Columns whose dtype may differ between tables, because they describe different things."""


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_description_and_a_plain_dtype(name):
    for column, declared in TABLES[name].to_schema().columns.items():
        assert declared.description, column
        assert not isinstance(declared.dtype.type, pl.Enum | pl.Categorical), (
            f"{column}: published files hold strings"
        )


@pytest.mark.parametrize("name", TABLES)
def test_money_is_never_a_float(name):
    words = ("usd_per_hour", "hourly", "upfront", "_usd", "unit_price", "price")
    for column, dtype in frames.dtypes(TABLES[name]).items():
        if column.endswith(words) and not column.startswith("price_"):
            assert dtype == pl.Decimal(20, 10), f"{name}.{column} is {dtype}"


@pytest.mark.parametrize("name", TABLES)
def test_keys_are_columns(name):
    assert set(key(TABLES[name])) <= set(frames.dtypes(TABLES[name]))


def test_a_column_name_has_one_dtype_in_all_tables():
    first: dict[str, tuple[str, pl.DataType]] = {}
    for name, model in TABLES.items():
        for column, dtype in frames.dtypes(model).items():
            other, expected = first.setdefault(column, (name, dtype))
            assert column in SEVERAL_MEANINGS or dtype == expected, (
                f"{column} is {dtype} in {name} and {expected} in {other}"
            )


def test_the_data_dictionary_has_every_column():
    text = data_dictionary.render()
    for name, model in TABLES.items():
        section = text.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        missing = [column for column in frames.dtypes(model) if f"`{column}`" not in section]
        assert missing == [], name


def test_a_frame_with_a_negative_price_is_refused():
    """pandera does not look into lazy frames by default: this would pass unnoticed."""
    outcome = validate.split(prices({"hourly": Decimal(-1)}), TABLES["prices"], {})
    assert outcome.good.is_empty()


def test_datapackage_knows_every_dtype():
    files = {name: TableFile(name, f"{name}.parquet", 0, 0, "", "") for name in TABLES}
    manifest = ReleaseManifest(
        schema_version="1",
        version="1",
        created_at="2026-08-01T04:17:00+00:00",
        content_sha256="",
        tables={name: TableEntry(0, 0, (file,)) for name, file in files.items()},
        providers={},
    )
    resources = datapackage(manifest)["resources"]
    assert [resource["name"] for resource in resources] == list(TABLES)


@pytest.mark.parametrize(("name", "benchmark"), TOKEN_MODELS.items())
def test_a_price_of_tokens_says_the_lengths_it_is_for(name, benchmark):
    """A token of Llama 3.1 405B has 14 tokens of prompt, one of Llama 2 70B has one."""
    described = TABLES["offers"].to_schema().columns[f"usd_per_million_tokens_{name}"].description
    lengths = "lengths not known"
    for workload in load("benchmark_workloads").filter(benchmark=benchmark).iter_rows(named=True):
        lengths = (
            f"{workload['input_tokens']:,.10g} tokens in, {workload['output_tokens']:,.10g} out"
        )
    assert lengths in described
