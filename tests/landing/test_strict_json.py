"""JSON with a name twice in one object is refused, whether names are counted or read one by one."""

import json
from typing import Any

import msgspec
import pytest

from hwprices.landing import strict_json


class Price(msgspec.Struct, omit_defaults=True):
    """An object with an inner one, and a member that may be anything."""

    name: str | None = None
    amount: Any = msgspec.UNSET
    inner: "Price | None" = None


@pytest.mark.parametrize(
    "content",
    [
        b'{"name":"a","name":"b"}',
        b'{"name":"a", "inner":{"amount":1,"amount":2}}',
        b'{"name":"a","unread":1,"unread":2}',
        b'{"name" :"a","name":"b"}',
        b'{"name"\n:"a","name":"b"}',
        # As many quotes before colons as decoded members: an escaped quote may stand for a name.
        rb'{"name":"\":","inner":{"name":"b"},"inner":{"amount":1}}',
        rb'{"name":"\u0022:","inner":{"name":"b"},"inner":{"amount":1}}',
        # The same once decoded: a colon, a blank and a colon that begin a text.
        rb'{"name":"\u003ax","inner":{"name":"b"},"inner":{"amount":1}}',
        rb'{"name":"\u0020:x","inner":{"name":"b"},"inner":{"amount":1}}',
        rb'{"name":"\u003A","amount":1,"amount":2}',
        b'{"name" : ":x","amount" : 1,"amount" : 2}',
        b'{"name" : "a","inner" : {"amount" : " : "},"inner" : {"amount" : 1}}',
        b'{"amount":{"x":1,"x":2}}',
    ],
)
def test_a_name_twice_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="comes twice in one object"):
        strict_json.refuse_repeated_names(content, msgspec.json.decode(content, type=Price))


@pytest.mark.parametrize(
    "content",
    [
        b'{"name":"a","amount":null,"inner":{"name":"x: \'\\u0026 :"}}',
        b'{"name":"a","unread":{"unread":[1]}}',
        b'{"name": "\\"quoted\\": yes"}',
        json.dumps({"name": "é", "inner": {"amount": [{"a": 1.5}]}}, indent=2).encode(),
        b'{"name" : ":x", "amount" : " : y", "inner" : {"name" : "x : y  : z"}}',
        rb'{"name":"\u003ax","amount":"\u0020:x"}',
    ],
)
def test_a_page_without_a_repeated_name_passes(content: bytes) -> None:
    price = msgspec.json.decode(content, type=Price)
    strict_json.refuse_repeated_names(content, price)
    assert price.name


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b'{"a":1,"b" : {"c" : "d : e"}}', 3),
        (b'{"a"\n:1}', 1),
        (b'{"a"  : 1}', None),
        (rb'{"a":"\" : "}', None),
        (b"{}", 0),
        (b"", 0),
    ],
)
def test_names_are_counted_with_and_without_a_blank_before_the_colon(content, names):
    assert strict_json.count_names(content) == names
