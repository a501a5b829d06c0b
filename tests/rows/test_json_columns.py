"""Read JSON of a known form straight into columns."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.landing import strict_json
from hwprices.rows.json_columns import AMOUNT, FLAG, NUMBER, TEXT, list_of, object_of, read_objects

PART = object_of({"term": TEXT, "price": AMOUNT})
FORM = object_of(
    {
        "name": TEXT,
        "price": AMOUNT,
        "factor": NUMBER,
        "sold": FLAG,
        "parts": list_of(PART),
        "next": TEXT,
    }
)


def read(*contents: str) -> list[dict[str, Any]] | None:
    rows = read_objects([content.encode() for content in contents], FORM, null_member="next")
    return None if rows is None else [_without_nulls(row) for row in rows.to_pylist()]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(v) for name, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def test_members_of_every_kind_are_read() -> None:
    content = (
        '{"name":"D2s v3 \u20ac","price":0.0131,"factor":1.5,"sold":true,'
        '"parts":[{"term":"1 Year","price":20363.0},{}],"next":null}'
    )
    assert read(content) == [
        {
            "name": "D2s v3 €",
            "price": Decimal("0.0131"),
            "factor": 1.5,
            "sold": True,
            "parts": [{"term": "1 Year", "price": Decimal("20363")}, {}],
        }
    ]


def test_several_objects_give_a_row_each() -> None:
    assert read('{"name":"a"}\n', '{"name":"b"}', "{}") == [{"name": "a"}, {"name": "b"}, {}]


@pytest.mark.parametrize("text", ["0.0", "1.0", "0.0000000001", "99999999.0123456789", "100.5"])
@pytest.mark.parametrize("blank", ["", " "])
def test_a_plain_amount_is_exact(text: str, blank: str) -> None:
    assert read(f'{{"price":{blank}{text}}}') == [{"price": Decimal(text)}]


@pytest.mark.parametrize(
    "text",
    [
        *("1", "-1.5", "01.5", "1.50", "00.0", "1e2", "1.5E-05", "1.5e+3", "1e400"),
        *("1e99999999999999999999", "1.5e99999999999999999999"),  # the reader makes 0.1 of it
        *("0.12345678901", "0.00000000005", "123456789.5", "1.5 ", "  1.5"),
        *('"1.5"', '"much"', "null", "true", "[1.5]", '{"a":1.5}', "1..5", "1.", ".5", "NaN"),
    ],
)
def test_an_amount_that_is_not_plain_is_left_to_the_decoder(text: str) -> None:
    assert read(f'{{"price":{text},"name":"a"}}') is None
    assert read(f'{{"parts":[{{"price":{text}}}]}}') is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        '"x"',
        "{",
        '{"name":"a"',
        '{"name":"a"}}',
        '{"name":"a"}x',
        '{"name":"a"}{"name":"b"}',
        '{"name":5}',
        '{"name":"a","name":"b"}',
        '{"name":null,"name":"b"}',
        '{"name":null}',
        '{"sold":"yes"}',
        '{"parts":[null]}',
        '{"parts":{}}',
        '{"parts":[{"term":"a","term":"b"}]}',
        '{"unknown":"a"}',
        '{"parts":[{"unknown":{"deep":1}}]}',
        '{"name":"a\\nb"}'.replace("\\n", "\n"),
        '{"name":"\\u0000"}',
        '{"name":"\\ud83d"}',
        '{"name":"\\ud840\\udc00"}',
        '{"name":"\\uD840\\uDC00"}',
        '{"name":"\\x"}',
        '{"name":"\\u20"}',
        '{"n\\u0061me":"a"}',
        '{"name":"say \\"price\\": 1"}',
        '\ufeff{"name":"a"}',
    ],
)
def test_another_form_is_left_to_the_decoder(content: str) -> None:
    assert read(content) is None


def test_an_object_is_never_taken_for_that_of_another_content() -> None:
    assert read('{"name":"a"}{"name":"b"}', "") is None
    assert read('{"name":"a"} {"name":', '"b"}') is None


def test_text_that_is_not_utf8_is_left_to_the_decoder() -> None:
    assert read_objects([b'{"name":"\xff"}'], FORM) is None


TEXTS = st.text(st.characters(codec="utf-8", min_codepoint=1), max_size=8) | st.sampled_from(
    ['"', "\\", ":", ",", 'price":1.5', "next"]
)
AMOUNTS = (
    st.decimals(0, 10**9, places=4)
    | st.floats(-10, 10**9, allow_nan=False)
    | st.integers(-3, 3)
    | st.sampled_from(["1.5", None])
)
PARTS = st.fixed_dictionaries({}, optional={"term": TEXTS | st.none(), "price": AMOUNTS})
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS | st.none() | st.integers(),
        "price": AMOUNTS,
        "sold": st.booleans() | st.none(),
        "parts": st.lists(PARTS | st.none(), max_size=3),
        "next": TEXTS | st.none(),
        "other": TEXTS,
    },
)


@given(st.lists(st.tuples(OBJECTS, st.booleans(), st.booleans()), min_size=1, max_size=3))
def test_what_is_read_is_what_a_strict_parser_reads(objects: list[tuple[Any, bool, bool]]) -> None:
    contents = [
        json.dumps(
            value,
            default=float,
            ensure_ascii=is_ascii,
            separators=(",", ":") if is_compact else None,
        )
        for value, is_ascii, is_compact in objects
    ]
    rows = read(*contents)
    if rows is not None:
        expected = [strict_json.loads(content.encode()) for content in contents]
        assert rows == [_without_nulls(value) for value in expected]


@given(st.lists(st.sampled_from(["name", "price", "parts", "next"]), min_size=1, max_size=5))
def test_a_name_twice_is_never_read(names: list[str]) -> None:
    values = {"name": '"a"', "price": "1.5", "parts": "[]", "next": "null"}
    content = "{" + ",".join(f'"{name}":{values[name]}' for name in names) + "}"
    assert (read(content) is None) == (len(set(names)) < len(names))
