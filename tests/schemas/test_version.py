"""The published columns are pinned for each schema version."""

import pytest
from tools import published_columns

from hwprices.errors import HwpricesError
from hwprices.schemas.version import SCHEMA_VERSION

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
    assert "raise SCHEMA_VERSION in schemas/version.py" in str(error.value.remedy)


def test_an_added_column_does_not_break_readers():
    added = {"prices": {**PINS["prices"], "region": "String"}}
    assert published_columns.broken(PINS, added) == []
