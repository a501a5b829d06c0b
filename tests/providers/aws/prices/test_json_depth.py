"""Depth of JSON that is read in pieces, whatever the pieces are."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.providers.aws.prices.json_depth import MAX_DEPTH, DepthLimited

TEXTS = st.text('[]{}",\\x', max_size=8)
VALUES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


def read_all(body: bytes, size: int) -> None:
    file = DepthLimited(io.BytesIO(body))
    while file.read(size):
        pass


@given(VALUES, st.integers(1, 40))
def test_brackets_in_strings_do_not_count(value: object, size: int) -> None:
    levels = MAX_DEPTH - 40
    body = b"[" * levels + json.dumps(value).encode() + b"]" * levels
    read_all(body, size)
    balanced = b"[" + body + b"," + body + b"]"
    read_all(balanced, size)  # the depth is back where it was


@pytest.mark.parametrize("size", [1, 7, 65_536])
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'["]]]",', b'[{"\\"]":1},', b"[[],"])
def test_one_level_too_many_is_refused(opening: bytes, size: int) -> None:
    read_all(opening * (MAX_DEPTH - 1), size)
    with pytest.raises(ValueError, match="nested more than 1000 levels"):
        read_all(opening * (MAX_DEPTH + 1), size)
