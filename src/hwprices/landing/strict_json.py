"""Parse JSON strictly: whatever a server sends gives a value or one ValueError."""

import json
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import msgspec

from hwprices.landing.secrets import redact

if TYPE_CHECKING:
    import polars as pl

MAX_DIGITS = 100
"""Longest number. Prices have up to 20 digits, a double written out exactly has up to 25."""

MAX_EXPONENT = 308
"""Largest power of ten, that of a double. Beyond it a number takes memory by its exponent."""

ESCAPES = (b'\\"', b"\\u003a", b"\\u003A", b"\\u0020")
"""A quote, a colon and a blank inside a text. They may look like the end of a name, or may do so
once they are written without the escape."""


def loads(content: bytes) -> Any:
    """Parse JSON. Numbers with a fraction or an exponent become Decimal.

    Raises:
        ValueError: it is not JSON or not UTF-8, a name comes twice in an object (which of the two
            holds is anybody's guess), a number is NaN, infinite or has more than MAX_DIGITS
            characters or an exponent beyond MAX_EXPONENT, or it is nested too deeply to be read.
    """
    try:
        return json.loads(
            content.decode("utf-8-sig"),
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def refuse_repeated_names(content: bytes, decoded: object = None) -> bool:
    """Refuse JSON with a name twice in one object.

    msgspec keeps the last of two such members. If ``decoded`` has as many names as ``content``,
    none was dropped, and Python's strict decoder is not needed. Counting takes 1 ms for a megabyte,
    that decoder 14 ms: 120 s more for the savings plans of a full refresh.

    Args:
        content: the JSON.
        decoded: what msgspec made of it. Its structs leave out members that are absent
            (``omit_defaults``) and may declare what nobody reads, so that it is counted.

    Returns:
        Whether it is known that ``decoded`` has every name of ``content``.

    Raises:
        ValueError: a name comes twice in one object.
        RecursionError: it is nested too deep.
    """
    if decoded is not None:
        names = count_names(content)
        if names is not None and names == count_names(msgspec.json.encode(decoded)):
            return True
    json.loads(
        content.decode("utf-8-sig"),
        parse_float=_nothing,
        parse_int=_nothing,
        parse_constant=_nothing,
        object_pairs_hook=_object,
    )
    return False


def count_names(content: bytes) -> int | None:
    """Count the names of all objects; None where counting quotes before colons would not do.

    That is where one of ESCAPES is inside, or where more than one blank precedes a colon. One blank
    is common: AWS writes ``"sku" : "8GU23DFTKP2N43SD"``.

    A text that begins with a colon counts as a name, too. That does no harm where a page is
    compared with what was decoded of it, since the text is in both.
    """
    if b"\\" in content and any(escape in content for escape in ESCAPES):
        return None
    if len(content) < 3:  # too short for a name, and for the slices below
        return 0
    codes = _codes(content)
    is_colon = codes == ord(":")
    before = codes.slice(0, len(codes) - 1).filter(is_colon.slice(1))
    names = int((before == ord('"')).sum())
    if not (before <= ord(" ")).any():
        return names
    two_before = codes.slice(0, len(codes) - 2).filter(is_colon.slice(2))
    is_blank = before.tail(len(two_before)) <= ord(" ")
    if (is_blank & (two_before <= ord(" "))).any():
        return None
    return names + int((is_blank & (two_before == ord('"'))).sum())


def _codes(content: bytes) -> "pl.Series":
    """Make a column of the bytes, without copying them."""
    # Imported here, because fetching needs neither.
    import polars as pl
    import pyarrow as pa

    return pl.Series(pa.Array.from_buffers(pa.uint8(), len(content), [None, pa.py_buffer(content)]))


def _nothing(_: str) -> None:
    return None


def _integer(text: str) -> int:
    return int(_short(text))


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(_short(text))
    except InvalidOperation:
        raise ValueError(f"{text} is out of range") from None
    if abs(number.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"{text} is out of range")
    return number


def _short(text: str) -> str:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number has {len(text)} characters: {text[:20]}…")
    return text


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {redact(twice)[:40]!r} comes twice in one object")
    return result
