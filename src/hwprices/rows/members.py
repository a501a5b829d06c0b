"""Read members of a vendor's JSON objects, and refuse objects that are not understood."""

from collections.abc import Mapping
from typing import Any


class RefusedItemError(Exception):
    """An item of a page gives no row. It becomes a quarantine row, and the page is read on.

    ``reason`` is the code of the quarantine row, ``message`` its sentence.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def text(item: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text.

    Raises:
        KeyError: there is none.
        ValueError: it is empty or something else.
    """
    value = item[name]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r:.100}")
    return value
