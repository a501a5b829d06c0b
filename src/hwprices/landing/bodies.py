"""Read response bodies: strict JSON, checked members of JSON objects, SDK responses within limits.

A body that is not a page, such as an empty list or an error in JSON, must not replace the last good
page.

The vendors' SDKs read a body of any length at any speed. Here each body is read piece by piece
within limits, before the SDK sees it.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import polars as pl

from hwprices.errors import FetchError
from hwprices.landing.download import Downloaded, public_url, redact
from hwprices.landing.limits import MAX_LIST_BYTES, MAX_READ_BYTES, SDK_CHUNK, Limits, PageLimits

MAX_DIGITS = 100
"""Longest number. Prices have up to 20 digits, a double written out exactly has up to 25."""

MAX_EXPONENT = 308
"""Largest power of ten, that of a double. The memory of a larger number grows with its exponent."""

ESCAPES = (b'\\"', b"\\u003a", b"\\u003A", b"\\u0020")
"""An escaped quote, colon or blank in a text, which could be mistaken for the end of a name."""


def loads(content: bytes) -> Any:
    """Parse JSON. Numbers with a fraction or an exponent become Decimal.

    Raises:
        ValueError: it is not JSON or not UTF-8, is nested too deeply, repeats a name in an object,
            or has a number that is NaN, infinite, longer than MAX_DIGITS or beyond MAX_EXPONENT.
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
    """Refuse JSON that repeats a name in one object.

    msgspec keeps the last of two such members. If ``decoded`` has as many names as ``content``,
    none was dropped, and Python's strict decoder is not needed. Counting takes 1 ms per megabyte,
    that decoder 14 ms: 120 s more for the savings plans of a full refresh.

    Args:
        content: the JSON.
        decoded: the result of msgspec. For its names to be counted, structs must omit absent
            members (``omit_defaults``) and declare all members, used or not.

    Returns:
        Whether ``decoded`` is known to have every name of ``content``.

    Raises:
        ValueError: a name is repeated in one object.
        RecursionError: it is nested too deeply.
    """
    if decoded is not None:
        names = count_names(content)
        if names is not None and names == count_names(msgspec.json.encode(decoded)):
            return True
    json.loads(
        content.decode("utf-8-sig"),
        parse_float=_ignore,
        parse_int=_ignore,
        parse_constant=_ignore,
        object_pairs_hook=_object,
    )
    return False


def count_names(content: bytes) -> int | None:
    """Count the names of all objects by the quotes before colons.

    None if that is unreliable: with one of ESCAPES, or more than one blank before a colon. One
    blank is common: AWS writes ``"sku" : "8GU23DFTKP2N43SD"``.

    A text that begins with a colon also counts as a name. In a comparison with the decoded page
    this does not matter, because the text is in both.
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


def _codes(content: bytes) -> pl.Series:
    """Make a column of the bytes, without copying them."""
    import pyarrow as pa  # which fetching does not need

    return pl.Series(pa.Array.from_buffers(pa.uint8(), len(content), [None, pa.py_buffer(content)]))


def _ignore(_: str) -> None:
    return None


def _integer(text: str) -> int:
    return int(_checked_length(text))


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(_checked_length(text))
    except InvalidOperation:
        raise ValueError(f"{text} is out of range") from None
    if abs(number.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"{text} is out of range")
    return number


def _checked_length(text: str) -> str:
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


def read_json(body: Downloaded) -> Any:
    """Read a JSON body; see ``loads``.

    Raises:
        FetchError: it is not JSON; names the URL.
    """
    try:
        return loads(body.read())
    except ValueError as error:
        raise other_format(body, f"is not JSON ({error})") from None


def read_object(body: Downloaded, member: str) -> dict[str, Any]:
    """Read a JSON body that is an object in which ``member`` is a list that is not empty.

    Raises:
        FetchError: it is something else, or the list is empty or missing.
    """
    content = read_json(body)
    listed = content.get(member) if isinstance(content, dict) else None
    if not isinstance(listed, list) or not listed:
        raise other_format(body, f"has no list of {member}")
    return dict(content)


def read_list(body: Downloaded) -> list[Any]:
    """Read a JSON body that is a list with at least one object.

    Raises:
        FetchError: it is something else.
    """
    content = read_json(body)
    if not isinstance(content, list) or not any(isinstance(item, dict) for item in content):
        raise other_format(body, "is not a list of objects")
    return content


def other_format(body: Downloaded, problem: str) -> FetchError:
    """Make the error for a body that is not in the vendor's format.

    ``problem`` may quote the body; credentials are removed.
    """
    return FetchError(
        f"{public_url(body.url)} {redact(problem)}",
        "The vendor's format has changed, or the endpoint setting is wrong.",
    )


def read_body(raw: Any, page: PageLimits, *, decompress: bool) -> bytes:
    """Read the body of a urllib3 response that has not been read yet.

    Raises:
        FetchError: a limit is exceeded.
        urllib3.exceptions.HTTPError: the connection breaks or stalls, or the body is damaged.
    """
    body = bytearray()
    try:
        while piece := raw.read1(SDK_CHUNK, decode_content=decompress):
            body += piece
            page.check(len(body), len(body))
    except FetchError:
        raw.close()
        raise
    finally:
        page.unit.add_bytes(len(body))
    return bytes(body)


def bound_requests(session: Any, limits: Limits, name: str) -> None:
    """Make a session of requests read each body, and all of them together, within limits.

    Its bodies are the pages of one list, which are kept until the last one has arrived.
    """
    kept = 0

    def receive(response: Any, **_: Any) -> None:
        nonlocal kept
        if response._content is not False:  # already read
            return
        page = limits.page(name, min(MAX_READ_BYTES, MAX_LIST_BYTES - kept))
        response._content = _read_as_requests(response.raw, page)
        response._content_consumed = True
        kept += len(response._content)

    session.hooks["response"].insert(0, receive)


def _read_as_requests(raw: Any, page: PageLimits) -> bytes:
    """Read a body; translate urllib3's errors into those of requests."""
    import requests
    import urllib3.exceptions as broken

    try:
        return read_body(raw, page, decompress=True)
    except broken.ReadTimeoutError as error:
        raise requests.ReadTimeout(error) from None
    except broken.DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from None
    except broken.HTTPError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from None


class BoundedBotoSession:
    """botocore's HTTP session, whose bodies are read within limits."""

    def __init__(self, session: Any, limits: Limits, name: str) -> None:
        self._session, self._limits, self._name = session, limits, name

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(self, request: Any) -> Any:
        """Send a request and read the body of the response.

        Raises:
            FetchError: a limit is exceeded.
            botocore.exceptions.HTTPClientError: the connection breaks or stalls.
        """
        import urllib3.exceptions as broken
        from botocore import exceptions

        url = request.url
        request.stream_output = True  # otherwise the session reads the body itself
        response = self._session.send(request)
        page = self._limits.page(self._name, MAX_READ_BYTES)
        try:
            response._content = read_body(response.raw, page, decompress=False)
        except broken.ReadTimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=url, error=error) from None
        except broken.HTTPError as error:
            raise exceptions.ConnectionClosedError(
                endpoint_url=url, request=request, error=error
            ) from None
        return response


PARSER_FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    pl.exceptions.PolarsError,
)
"""Errors of code that reads unexpected content: a missing member, a list instead of a number, a
number that does not fit, JSON that is nested too deeply. RuntimeError covers RecursionError and the
error of polars for a Decimal of more than 38 digits."""

LARGEST_FIGURE = 10**18
"""Largest figure of a machine, in bytes or bits per second. ``rows.vendor_rows`` has limits by
column."""

DECIMALS = 10  # Decimals of the tables' prices and quantities


class RefusedItemError(ValueError):
    """An item of a page cannot become a row. It is quarantined, and the rest of the page is read.

    ``reason`` is the code of the quarantine row, ``message`` its sentence. ``word`` is a new word
    of the vendor; None if an item of a known kind is broken.
    """

    def __init__(self, reason: str, message: str, word: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.word = word


def member(item: Mapping[str, Any], name: str) -> Any:
    """Return a member of an object.

    Raises:
        RefusedItemError: the object lacks it: the vendor has renamed or removed it.
    """
    if not isinstance(item, Mapping):
        raise RefusedItemError("unreadable_line", f"{item!r:.100} is not an object")
    if name not in item:
        raise RefusedItemError("unknown_column", f"the member {name} is missing", name)
    return item[name]


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text and not empty.

    Raises:
        RefusedItemError: it is missing, empty or of another type.
    """
    value = member(item, name)
    if not isinstance(value, str) or not value.strip():
        raise RefusedItemError("unreadable_line", f"{name} is {value!r:.100}")
    return value


def number(
    item: Mapping[str, Any],
    name: str,
    most: int = LARGEST_FIGURE,
    reason: str = "unreadable_line",
    too_large: str = "impossible_figure",
) -> Decimal | None:
    """Return a member that is a number from 0 to ``most``, or a text with such a number.

    Returns:
        the number, rounded to the decimals of the tables; None if the member is null.

    Raises:
        RefusedItemError: it is missing, of another type (code ``reason``) or too large (code
            ``too_large``).
    """
    value = member(item, name)
    if value is None:
        return None
    try:
        amount = Decimal(value) if type(value) in (int, str, Decimal) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        raise RefusedItemError(reason, f"{name} is {value!r:.100}")
    if amount > most:
        raise RefusedItemError(too_large, f"{name} is {value!r:.100}")
    return amount if amount == amount.to_integral_value() else round(amount, DECIMALS)


def figure(item: Mapping[str, Any] | None, name: str) -> float | None:
    """Return a member that is a number above 0; None if it is missing, null or 0.

    Raises:
        RefusedItemError: it is of another type or size.
    """
    if not item or name not in item:
        return None
    amount = number(item, name)
    return float(amount) if amount else None


def whole(item: Mapping[str, Any], name: str, most: int = LARGEST_FIGURE) -> int | None:
    """Return a member that is a whole number from 0 to ``most``; None if it is null.

    Raises:
        RefusedItemError: it is missing, or of another type or size.
    """
    amount = number(item, name, most)
    if amount is not None and amount != int(amount):
        raise RefusedItemError("unreadable_line", f"{name} is {amount}")
    return None if amount is None else int(amount)


def money(item: Mapping[str, Any], name: str, most: int) -> Decimal | None:
    """Return a member that is a price from 0 to ``most``; None if it is null.

    Raises:
        RefusedItemError: it is missing, negative, too large or not a number.
    """
    value = member(item, name)
    if type(value) in (int, Decimal) and value < 0:
        raise RefusedItemError("price_not_positive", f"{name} is {value}")
    return number(item, name, most, "price_not_a_number", "price_not_a_number")


def items(content: Mapping[str, Any], name: str) -> list[Any]:
    """Return a member that is a list.

    Raises:
        RefusedItemError: it is missing or of another type.
    """
    value = member(content, name)
    if not isinstance(value, list):
        raise RefusedItemError("unreadable_line", f"{name} is not a list")
    return value
