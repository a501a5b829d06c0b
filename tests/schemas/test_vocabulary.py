"""Columns of codes hold declared values only."""

import re
from decimal import Decimal

import polars as pl
import pytest
from tests.helpers.cases import cases
from tests.helpers.releases import prices
from tools.data_dictionary import VOCABULARIES

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.price import Prices
from hwprices.stage import validate

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
    declared = frame.select(columns.elements_declared("flags", vocabulary.FLAGS)).to_series()
    assert declared.to_list() == [True, True, False]


@pytest.mark.parametrize(
    "value", [*vocabulary.FLAGS, *vocabulary.ON_DEMAND_REASONS, *vocabulary.QUARANTINE_REASONS]
)
def test_every_declared_code_is_produced_somewhere(value, project):
    """A code that no line of the program writes any more is removed from the vocabulary."""
    folder = project / "src" / "hwprices"
    sources = [f for f in folder.rglob("*.py") if "schemas" not in f.relative_to(folder).parts]
    assert any(f'"{value}' in file.read_text(encoding="utf-8") for file in sources)
