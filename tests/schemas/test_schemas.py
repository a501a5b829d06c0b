"""The declared tables: described, consistent, documented; their version and their vocabularies."""

import re
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.cases import cases
from tests.helpers.releases import prices
from tools import data_dictionary, published_columns

from hwprices.errors import HwpricesError
from hwprices.formulas import TOKEN_MODELS
from hwprices.publish.write import datapackage
from hwprices.release.manifest import ReleaseManifest, TableEntry, TableFile
from hwprices.schemas import SCHEMA_VERSION, rules, vocabulary
from hwprices.schemas.tables import TABLES, Prices
from hwprices.schemas.vocabulary import VOCABULARIES
from hwprices.specs.sheets import load
from hwprices.stage import validate

SEVERAL_MEANINGS = {"kind", "unit", "notes", "source_url", "component", "provider"}
"""Columns whose dtype may differ between tables, because they describe different things."""


@pytest.mark.parametrize("name", TABLES)
def test_money_is_never_a_float(name):
    words = ("usd_per_hour", "hourly", "upfront", "_usd", "unit_price", "price")
    for column, dtype in TABLES[name].dtypes.items():
        if column.endswith(words) and not column.startswith("price_"):
            assert dtype == pl.Decimal(20, 10), f"{name}.{column} is {dtype}"


def test_a_column_name_has_one_dtype_in_all_tables():
    first: dict[str, tuple[str, pl.DataType]] = {}
    for name, model in TABLES.items():
        for column, dtype in model.dtypes.items():
            other, expected = first.setdefault(column, (name, dtype))
            assert column in SEVERAL_MEANINGS or dtype == expected, (
                f"{column} is {dtype} in {name} and {expected} in {other}"
            )


def test_the_data_dictionary_has_every_column():
    text = data_dictionary.render()
    for name, model in TABLES.items():
        section = text.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        missing = [column for column in model.dtypes if f"`{column}`" not in section]
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
    described = TABLES["offers"].columns[f"usd_per_million_tokens_{name}"].description
    lengths = "lengths not known"
    for workload in load("benchmark_workloads").filter(benchmark=benchmark).iter_rows(named=True):
        lengths = (
            f"{workload['input_tokens']:,.10g} tokens in, {workload['output_tokens']:,.10g} out"
        )
    assert lengths in described


PINS = {"prices": {"hourly": "Decimal(precision=20, scale=10)", "flags": "List(String)"}}


def test_the_published_columns_are_those_of_the_schema_version():
    """A removed or changed column needs a new version; an added one only a new pin."""
    columns = published_columns.current()
    published_columns.require_compatible(SCHEMA_VERSION, published_columns.pinned(), columns)
    assert published_columns.pinned() == columns, (
        "columns were added: run `python -m tools.published_columns` and commit the file"
    )


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({}, "prices.hourly is gone; prices.flags is gone"),
        ({"prices": {"flags": "List(String)"}}, "prices.hourly is gone"),
        (
            {"prices": {"hourly": "Float64", "flags": "List(String)"}},
            "prices.hourly was Decimal(precision=20, scale=10) and is Float64",
        ),
        (
            {"prices": dict(reversed(PINS["prices"].items()))},
            "prices has its columns in another order",
        ),
    ],
)
def test_a_change_that_breaks_readers_needs_a_new_version(columns, problem):
    with pytest.raises(HwpricesError) as error:
        published_columns.require_compatible("1", PINS, columns)
    assert problem in str(error.value)
    assert "raise SCHEMA_VERSION in schemas/__init__.py" in str(error.value.remedy)


def test_an_added_column_does_not_break_readers():
    added = {"prices": {**PINS["prices"], "region": "String"}}
    assert published_columns.broken(PINS, added) == []


SENTENCES = [
    (name, value, sentence)
    for name, values in VOCABULARIES.items()
    for value, sentence in [*values.items(), *values.patterns.items()]
]


@pytest.mark.parametrize(("name", "value", "sentence"), SENTENCES)
def test_every_value_has_one_sentence(name, value, sentence):
    assert re.fullmatch(r"[A-Z0-9].+\.", sentence), f"{name}.{value}"
    assert len(sentence) <= 100


@pytest.mark.parametrize("flags", [["cheap"], ["placeholder", "cheap"], ["placeholder", None]])
def test_an_undeclared_flag_is_refused(flags):
    outcome = validate.split(prices({"flags": flags}), Prices, {})
    assert outcome.good.is_empty()
    assert outcome.refused["reason"].to_list() == ["check:flags_are_declared"]


@pytest.mark.parametrize("flags", [[], ["placeholder"], ["not_offered_here", "block_of_24_hours"]])
def test_declared_flags_and_their_patterns_pass(flags):
    outcome = validate.split(prices({"flags": flags}), Prices, {})
    assert outcome.refused.is_empty()
    assert outcome.good["flags"].to_list() == [flags]


def test_a_missing_list_of_flags_is_refused_by_its_own_check():
    outcome = validate.split(prices({"flags": None}), Prices, {})
    assert outcome.refused["reason"].to_list() == ["check:flags:not_nullable"]


@cases("schemas/price_reasons", refused=str.split)
def test_reasons_without_a_price_are_declared(reason, refused):
    row = {"hourly": None, "effective_hourly": None, "price_reason": reason}
    assert validate.split(prices(row), Prices, {}).refused["reason"].to_list() == refused


def test_an_undeclared_purchase_option_is_refused():
    rows = prices({"purchase_option": "auction"}, {"hourly": Decimal(1)})
    outcome = validate.split(rows, Prices, {})
    assert outcome.refused["reason"].to_list() == ["check:purchase_option:isin"]
    assert outcome.good.height == 1


def test_elements_of_a_null_list_are_declared():
    frame = pl.DataFrame({"flags": [None, [], [None]]}, schema={"flags": pl.List(pl.String)})
    declared = frame.select(rules.elements_declared("flags", vocabulary.FLAGS)).to_series()
    assert declared.to_list() == [True, True, False]


@pytest.mark.parametrize(
    "value", [*vocabulary.FLAGS, *vocabulary.ON_DEMAND_REASONS, *vocabulary.QUARANTINE_REASONS]
)
def test_every_declared_code_is_produced_somewhere(value, project):
    """A code that no line of the program writes any more is removed from the vocabulary."""
    folder = project / "src" / "hwprices"
    sources = [f for f in folder.rglob("*.py") if "schemas" not in f.relative_to(folder).parts]
    assert any(f'"{value}' in file.read_text(encoding="utf-8") for file in sources)
