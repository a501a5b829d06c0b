"""Arguments of another type than is declared are one line, and none of Python's or polars' own."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hwprices
from hwprices import Dataset, HwpricesError, Limits, Ownership, Serving
from hwprices.read.argument_types import check

MODEL = "llama-3.1-8b"

OTHER_TYPES: list[Any] = ["x", b"x", [], {}, 5.5, -1, True, None, math.nan, 1j, ...]

WRONG: Mapping[str, Callable[[Dataset], object]] = {
    "price takes no 5. It takes a text.": lambda data: data.explain(5),
    "region takes no 5. It takes a text.": lambda data: data.explain("g6.xlarge", region=5),
    "provider takes no 5. It takes a text or a list of texts.": lambda data: data.explain(
        "g6.xlarge", provider=5
    ),
    "name takes no 5. It takes a text.": lambda data: data.device(5),
    'usd_per takes no 5. It takes a mapping such as {"EUR": "1.08"}.': lambda data: data.device(
        "l4", usd_per=5
    ),
    "sql takes no None. It takes a text.": lambda data: data.query(None),
    "5 is no day, time or version.": lambda data: data.at(5),
    "[] is no day, time or version.": lambda data: data.diff([]),
    "target takes no 5. It takes a text or a path.": lambda data: data.export(5),
    "tables takes no ['cpus', 5]. It takes a text or a list of texts.": lambda data: data.export(
        "cpus.csv", ["cpus", 5]
    ),
    "sort takes no 5. It takes a text.": lambda data: data.find("h100", sort=5),
    "descending takes no 'x'. It takes True or False.": lambda data: data.find(
        "h100", descending="x"
    ),
    "overlays takes no 5.": lambda data: data.find("h100", overlays=5),
    "providers takes no 5. It takes a text.": lambda data: data.column_coverage(5),
    "ownership takes no 5. It takes hwprices.Ownership.": lambda data: data.tco(5),
    "limits takes no 5. It takes hwprices.Limits.": lambda data: data.recommend(MODEL, limits=5),
    "budget takes no 'x'. It takes a number.": lambda data: data.recommend(MODEL, budget="x"),
    "context takes no 5.5. It takes a whole number.": lambda data: data.recommend(
        MODEL, context=5.5
    ),
    "root takes no []. It takes a text or a path.": lambda _: hwprices.open([]),
    "version takes no 5. It takes a text.": lambda data: hwprices.open(data.store.root, version=5),
}


@pytest.fixture(scope="module")
def data(market: Path) -> Dataset:
    return hwprices.open(market)


@pytest.mark.parametrize("message", WRONG)
def test_an_argument_of_another_type_is_named(data: Dataset, message: str) -> None:
    """Each ended with an AttributeError, a TypeError or several lines of polars."""
    with pytest.raises(HwpricesError) as caught:
        WRONG[message](data)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", OTHER_TYPES, ids=repr)
@pytest.mark.parametrize("kind", [Serving, Limits, Ownership])
def test_assumptions_take_no_value_of_another_type(
    data: Dataset, kind: type[Any], value: Any
) -> None:
    """Each value of each field is taken, or refused with our own error."""
    option = kind.__name__.lower()
    for field in fields(kind):
        with suppress(HwpricesError):
            data.recommend(MODEL, **{option: kind(**{field.name: value})})


def test_numbers_of_other_libraries_are_numbers(data: Dataset) -> None:
    """numpy's numbers come out of frames, and 8192.0 out of a computation."""
    plain = data.recommend(MODEL, context=8192, limits=Limits(budget=5))
    asked = data.recommend(MODEL, context=8192.0, limits=Limits(budget=np.float32(5)))
    assert asked.equals(plain)
    assert data.recommend(MODEL, context=np.int64(8192), limits=Limits(budget=5)).equals(plain)


def test_true_is_no_number() -> None:
    with pytest.raises(HwpricesError, match="budget takes no True"):
        Limits(budget=True)


def test_what_cannot_be_checked_is_left_alone() -> None:
    """The annotation is in quotes, or the type is not one that a reader gives."""
    check("overlays", 5, "str | Overlays")
    check("dataset", 5, hwprices.Dataset)
