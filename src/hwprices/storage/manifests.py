"""Write manifests as JSON and read them back as dataclasses, every field checked.

msgspec does the checking, not pydantic: the reader of a dataset reads manifests too and depends on
neither pydantic nor its import time.
"""

import json
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from hwprices.errors import HwpricesError

T = TypeVar("T")

Origin = Literal["sample", "live"]
"""Where figures come from: the bundled sample, or the vendors themselves."""


def encode(manifest: object) -> bytes:
    """A manifest (a dataclass, or JSON values) as indented JSON.

    Times are written as ``isoformat`` does, with +00:00, where msgspec alone would write Z.
    """
    values = msgspec.to_builtins(manifest, builtin_types=(datetime,))
    text = json.dumps(values, indent=1, ensure_ascii=False, default=datetime.isoformat)
    return text.encode() + b"\n"


def to_mapping(manifest: object) -> dict[str, Any]:
    """A manifest as ``json.loads`` reads it: dictionaries, lists and strings."""
    values: dict[str, Any] = json.loads(encode(manifest))
    return values


def decode(data: bytes, manifest: type[T], *, file: str, remedy: str) -> T:
    """Read a manifest from JSON. Fields that the dataclass does not have are ignored.

    Args:
        data: the JSON.
        manifest: the dataclass to read it into.
        file: what to call the file in an error.
        remedy: what to do about a damaged file.

    Raises:
        HwpricesError: it is no JSON, or a field is missing or of another type; names both.
    """
    try:
        return msgspec.json.decode(data, type=manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HwpricesError(f"{file} is damaged ({error})", remedy) from None
