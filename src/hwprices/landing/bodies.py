"""Read what servers send: JSON strictly, its members with their units, responses of SDKs in limits.

A page that is none, such as an empty list or an error in JSON, must not replace the last good one.

The SDKs read a body whole, however long it is and however slowly it comes. Here it is read before
they do, piece by piece; they then find it already read.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from hwprices.errors import FetchError
from hwprices.landing.download import Downloaded, public_url, redact
from hwprices.landing.limits import MAX_LIST_BYTES, MAX_READ_BYTES, SDK_CHUNK, Limits, PageLimits

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


def read_json(body: Downloaded) -> Any:
    """Read the content of a body.

    Raises:
        FetchError: it is not JSON; names the address.
    """
    try:
        return loads(body.read())
    except ValueError as error:
        raise other_format(body, f"is not JSON ({error})") from None


def read_object(body: Downloaded, member: str) -> dict[str, Any]:
    """Read a body that is an object with a list that is not empty.

    Raises:
        FetchError: it is something else, or the list ``member`` is empty or missing.
    """
    content = read_json(body)
    listed = content.get(member) if isinstance(content, dict) else None
    if not isinstance(listed, list) or not listed:
        raise other_format(body, f"has no list of {member}")
    return dict(content)


def read_list(body: Downloaded) -> list[Any]:
    """Read a body that is a list of objects.

    Raises:
        FetchError: it is something else, or has no object.
    """
    content = read_json(body)
    if not isinstance(content, list) or not any(isinstance(item, dict) for item in content):
        raise other_format(body, "is not a list of objects")
    return content


def other_format(body: Downloaded, problem: str) -> FetchError:
    """Make the error of a body that is not what the vendor's format says.

    ``problem`` may quote the body; credentials are taken out.
    """
    return FetchError(
        f"{public_url(body.url)} {redact(problem)}",
        "The vendor's format has changed, or the endpoint setting is wrong.",
    )


def read_body(raw: Any, page: PageLimits, *, decompress: bool) -> bytes:
    """Read the body of a urllib3 response that nobody has read yet.

    Raises:
        FetchError: a limit is passed.
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
    """Make a session of requests read every body within limits, and all together.

    Its bodies are those of one list, whose pages are kept until the last one has come.
    """
    kept = 0

    def receive(response: Any, **_: Any) -> None:
        nonlocal kept
        if response._content is not False:  # it has been read already
            return
        page = limits.page(name, min(MAX_READ_BYTES, MAX_LIST_BYTES - kept))
        response._content = _read_as_requests(response.raw, page)
        response._content_consumed = True
        kept += len(response._content)

    session.hooks["response"].insert(0, receive)


def _read_as_requests(raw: Any, page: PageLimits) -> bytes:
    """Read a body; failures are raised as requests raises them."""
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
        """Send a request; returns the response with its body read.

        Raises:
            FetchError: a limit is passed.
            botocore.exceptions.HTTPClientError: the connection breaks or stalls.
        """
        import urllib3.exceptions as broken
        from botocore import exceptions

        url = request.url
        request.stream_output = True  # else the session reads the body whole
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
"""What code that reads a page raises over content that it does not expect: a missing member, a list
where a number should be, a number that does not fit, JSON that is nested too deep. RuntimeError
covers RecursionError and what polars raises for a Decimal of more than 38 digits."""

LARGEST_FIGURE = 10**18
"""Of anything in a machine, in bytes or bits a second; ``accelerators`` has limits by column."""

DECIMALS = 10  # Decimals of the tables' prices and quantities


class RefusedItemError(ValueError):
    """An item of a page gives no row. It becomes a quarantine row, and the page is read on.

    ``reason`` is the code of the quarantine row, ``message`` its sentence. ``word`` is the vendor's
    word that is not known yet; None where an item of a known kind is broken.
    """

    def __init__(self, reason: str, message: str, word: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.word = word


def member(item: Mapping[str, Any], name: str) -> Any:
    """Return a member.

    Raises:
        RefusedItemError: the object lacks it: the vendor has renamed or removed it.
    """
    if not isinstance(item, Mapping):
        raise RefusedItemError("unreadable_line", f"{item!r:.100} is not an object")
    if name not in item:
        raise RefusedItemError("unknown_column", f"the member {name} is missing", name)
    return item[name]


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text.

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
    """Return a member that is a number from 0 to ``most``, also one written as text.

    Returns:
        the number, rounded to the decimals of the tables; None where the member is null.

    Raises:
        RefusedItemError: it is missing, of another type (``reason``) or larger (``too_large``).
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
    """Return a member that is a number above 0, None where it is missing, null or 0.

    Raises:
        RefusedItemError: it is of another type or size.
    """
    if not item or name not in item:
        return None
    amount = number(item, name)
    return float(amount) if amount else None


def whole(item: Mapping[str, Any], name: str, most: int = LARGEST_FIGURE) -> int | None:
    """Return a member that is a whole number from 0 to ``most``, None where it is null.

    Raises:
        RefusedItemError: it is missing, or of another type or size.
    """
    amount = number(item, name, most)
    if amount is not None and amount != int(amount):
        raise RefusedItemError("unreadable_line", f"{name} is {amount}")
    return None if amount is None else int(amount)


def money(item: Mapping[str, Any], name: str, most: int) -> Decimal | None:
    """Return a member that is a price from 0 to ``most``, None where it is null.

    Raises:
        RefusedItemError: it is missing, negative or not such a number.
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
