"""Read JSON of a known form straight into columns, outside Python's lock.

For large pages that are nearly always as expected. A page that is not, for whatever reason, is left
to the caller's own decoder, which reads it or says what is wrong with it: nothing is decided here
but what is certain.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import arro3.io
import polars as pl
import pyarrow as pa

from hwprices.landing.strict_json import count_names, has_control_characters

TEXT = pa.string_view()
FLAG = pa.bool_()
NUMBER = pa.float64()
"""A number that is not money and enters no published value. The reader takes one in quotes too, and
some that JSON does not allow: ``01``, ``1.``, ``-.5``."""

AMOUNT = pa.decimal128(20, 10)  # Money (``units.Money``)

NOT_PLAIN = (
    r"[^0-9 ]",  # a sign, a quote, null, a line break
    r"0[0-9]",
    r"[0-9]{9}",  # prices.LARGEST_PRICE or more
    r"[0-9]+[^0-9.]",  # no decimals, or an exponent
    r"[0-9]+\.[^0-9]",
    r"[0-9]+\.[0-9]{11}",  # more decimals than Money has
    r"[0-9]+\.[0-9]+0[^0-9]",  # 0.10, though 1.0 is plain: there is another digit before the zero
    r"[0-9]+\.[0-9]+[^0-9,}]",  # an exponent, or a blank
)
"""Beginnings of amounts that are not plain. A plain one has decimals, as vendors write doubles, and
there is one way to write it. Of others the reader would cut off decimals or take a text or an
impossible exponent for a number."""

UNCERTAIN_ESCAPES = (b"\\u00", b"\\ud", b"\\uD")
"""Beginnings of escapes that are left to the decoder. ASCII may look like a name or be part of one.
Of a pair of halves the reader (arro3-io 0.9.1) makes a wrong character from U+20000 on."""


def object_of(members: Mapping[str, pa.DataType]) -> pa.StructType:
    """Make the type of an object with these members, any of which may be missing."""
    return pa.struct([pa.field(name, dtype) for name, dtype in members.items()])


def list_of(element: pa.DataType) -> pa.ListType:
    """Make the type of a list without nulls."""
    return pa.list_(pa.field("item", element, nullable=False))


def read_objects(
    contents: Sequence[bytes], form: pa.StructType, null_member: str = ""
) -> pa.StructArray | None:
    """Read JSON objects into columns. Several together cost less than one at a time.

    Args:
        contents: the JSON of an object each.
        form: what ``object_of`` makes.
        null_member: a member of the objects that may be null, as the link to a next page is.

    Returns:
        One row of the form for each, or None: one is not such an object or ends early; a member
        is not declared, is null or comes twice in one object; an amount is not plain
        (``NOT_PLAIN``); there is a control character, which a text must not have, or one of
        ``UNCERTAIN_ESCAPES``. A comma too many or too few makes no difference: the reader takes
        commas for blanks, and the members are the same.
    """
    if not all(content.startswith(b"{") for content in contents):
        return None
    content = b" ".join(content.rstrip() for content in contents)
    names = count_names(content)
    # Most pages have no backslash, and one character is found ten times as fast as several.
    has_escape = b"\\" in content and any(escape in content for escape in UNCERTAIN_ESCAPES)
    if names is None or has_escape or has_control_characters(content):
        return None
    try:
        reader = arro3.io.read_json(content, pa.schema(form), batch_size=len(contents))
        # pyarrow reads from it, because it lets go of Python's lock meanwhile.
        table = pa.RecordBatchReader.from_stream(reader).read_all()
    except pa.ArrowException:
        return None
    # An object that begins after another has ended is not part of it, so each content has at least
    # one. As many as there are contents means that each has one.
    if table.num_rows != len(contents):
        return None
    (rows,) = table.to_struct_array().chunks
    if null_member:
        values = rows.field(null_member)
        name = f'"{null_member}":'.encode()
        names -= sum(
            not value.is_valid and body.rfind(name) >= 0
            for value, body in zip(values, contents, strict=True)
        )
    if count_values(rows) != names or _has_amount_that_is_not_plain(content, form):
        return None
    return rows


def count_values(array: pa.Array) -> int:
    """Count the members of objects that have a value, at all depths.

    There are as many as names were read: of members that are not declared, come twice or are null
    the reader keeps no value.
    """
    if pa.types.is_list(array.type):
        return count_values(array.flatten())
    if not pa.types.is_struct(array.type):
        return 0
    members = array.flatten()
    return sum(len(values) - values.null_count + count_values(values) for values in members)


def _has_amount_that_is_not_plain(content: bytes, form: pa.StructType) -> bool:
    """Search the text of what could be read, which is UTF-8 therefore."""
    names = sorted(set(_amounts(form)))
    if not names:
        return False
    sizes = pa.py_buffer(struct.pack("=qq", 0, len(content)))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, sizes, pa.py_buffer(content)])
    text.validate(full=True)
    # Without the quote before the name, which all names share, it is twice as fast.
    pattern = f'(?:{"|".join(map(re.escape, names))})" ?:(?: {{2}}| ?(?:{"|".join(NOT_PLAIN)}))'
    return bool(cast(pl.Series, pl.from_arrow(text)).str.contains(pattern)[0])


def _amounts(form: pa.DataType) -> Iterator[str]:
    for field in form if pa.types.is_struct(form) else ():
        if field.type == AMOUNT:
            yield field.name
        yield from _amounts(field.type.value_type if pa.types.is_list(field.type) else field.type)
