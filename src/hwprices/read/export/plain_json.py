"""Write values as JSON that every program reads (RFC 8259)."""

import json
import math
from typing import Any


def to_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Write a value as JSON.

    Numbers that are not finite become null, because JSON has none. Bytes become hexadecimal text;
    decimals, times and whatever else JSON does not have become text too.
    """
    options: Any = {"indent": indent, "ensure_ascii": ascii_only, "allow_nan": False}
    try:
        return json.dumps(value, default=plain, **options)
    except (TypeError, ValueError):  # a number that is not finite, or a key that is not a text
        return json.dumps(plain(value), **options)


def plain(value: Any) -> Any:
    """Turn a value into what JSON has: None, booleans, numbers, texts, lists, dictionaries."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray() | memoryview():
            return value.hex()
        case dict():
            return {_key(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return str(value)


def _key(key: Any) -> str:
    simple = plain(key)
    return simple if isinstance(simple, str) else json.dumps(simple)
