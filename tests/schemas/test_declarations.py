"""The sheets that declare tables and columns are complete and consistent."""

from collections import Counter

import polars as pl
import pytest

from hwprices import schemas
from hwprices.schemas import columns, tables, validation, vocabulary
from hwprices.schemas.columns import SHARED
from hwprices.schemas.validation import fits, schema_of
from hwprices.schemas.vocabulary import read_sheet

COLUMNS = read_sheet("columns.csv")
DECLARED = [row["table"] for row in read_sheet("tables.csv")]
ALL = [
    *(tables.TABLES | tables.CHECK_SHEETS | tables.RULE_SHEETS).values(),
    *(*tables.SHEETS.values(), tables.AcceleratorNames),
]


def test_no_table_or_column_is_declared_twice():
    names = [(row["table"], row["column"]) for row in COLUMNS]
    assert len(set(names)) == len(names)
    assert len(set(DECLARED)) == len(DECLARED)


def test_the_columns_are_those_of_declared_tables():
    assert {row["table"] for row in COLUMNS} <= {SHARED, *DECLARED}
    assert {table.name for table in ALL} == {*DECLARED} - {"sold_accelerators"}


def test_shared_columns_are_shared():
    used = Counter(row["column"] for row in COLUMNS if not row["type"])
    shared = {row["column"] for row in COLUMNS if row["table"] == SHARED}
    assert {name for name in shared if used[name] < 2} == set()


def test_a_row_that_refers_to_a_shared_column_has_no_other_cell():
    for row in COLUMNS:
        cells = [text for name, text in row.items() if name not in ("table", "column")]
        assert row["type"] or not any(cells), row


@pytest.mark.parametrize("table", ALL, ids=lambda table: table.name)
def test_each_table_has_a_key_and_a_schema(table):
    assert table.key
    assert set(table.key) <= set(table.columns)
    assert list(table.schema.columns) == list(table.columns)
    assert all(column.description for column in table.columns.values())


HEAD = "table,column,type,nullable,unit,checks,vocabulary,focus,description\n"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("t,c,text,,,,,,A text.", "column c of t: .*'text'"),
        ("t,c,string,no,,,,,A text.", "column c of t: .*'no'"),
        ("t,c,string,,,,colors,,A text.", "column c of t: .*'colors'"),
        ("t,c,int32,,,gt zero,,,A number.", "column c of t: "),
        ("t,c,int32,,,gt,,,A number.", "column c of t: .*'gt'"),
        ("t,c,int32,,,gt 0 5,,,A number.", "column c of t: .*'gt 0 5'"),
        ("t,c,int32,,,in_range 5,,,A number.", "column c of t: .*'in_range 5'"),
        ("t,c,string,,,max_lenght 5,,,A text.", "column c of t: .*'max_lenght'"),
        ("t,c,string,,,str_matches ^a b$,,,A text.", "column c of t: .*a b"),
        ("t,c,string,,,isin a b,tenancies,,A text.", "column c of t: .*vocabulary"),
        ("t,c,list of string,,,,tenancies,,Texts.", "column c of t: .*vocabulary"),
        ("t,c,string,,,str_matches MY_PATTERN,,,A text.", "column c of t: .*'MY_PATTERN'"),
        ("t,c,,,,,,,", "column c of t: .*'shared'"),
    ],
)
def test_a_mistake_in_a_row_is_named(row, problem, tmp_path, monkeypatch):
    (tmp_path / "columns.csv").write_text(HEAD + row)
    monkeypatch.setattr(vocabulary, "__file__", str(tmp_path / "vocabulary.py"))
    with pytest.raises(ValueError, match=problem):
        columns.read_columns()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("t,,sheet,nothing,c,,A table.,", "table t: 'nothing'"),
        ("t,,sheet,,NO_KEY,,A table.,", "table t: .*'NO_KEY'"),
        ("t,,sheet,,c,no_check,A table.,", "table t: .*'no_check'"),
    ],
)
def test_a_mistake_in_a_table_is_named(row, problem, tmp_path, monkeypatch):
    (tmp_path / "columns.csv").write_text(HEAD)
    head = "table,name,kinds,extends,key,row_checks,contents,details\n"
    (tmp_path / "tables.csv").write_text(head + row)
    monkeypatch.setattr(vocabulary, "__file__", str(tmp_path / "vocabulary.py"))
    with pytest.raises(ValueError, match=problem):
        tables.read_tables()


def test_pandera_has_each_check():
    assert validation.CHECKS.keys() == columns.ARGUMENTS.keys()


def test_a_literal_length_is_a_number(tmp_path, monkeypatch):
    (tmp_path / "columns.csv").write_text(f"{HEAD}t,c,string,,,max_length 3,,,A text.")
    monkeypatch.setattr(vocabulary, "__file__", str(tmp_path / "vocabulary.py"))
    schema = schema_of("t", columns.read_columns()["t"], [])
    assert [fits(pl.DataFrame({"c": [text]}), schema) for text in ("abc", "abcd")] == [True, False]


def test_words_in_capitals_are_constants():
    assert columns.words_of("PLACE_KEY day") == [*schemas.PLACE_KEY, "day"]
    assert columns.words_of("MAX_NAME_LENGTH") == [schemas.MAX_NAME_LENGTH]
    assert columns.words_of(r"^B\d+$ tables") == [r"^B\d+$", "tables"]
