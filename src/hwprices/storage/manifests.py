"""Write manifests as JSON and read them back as dataclasses, every field checked.

msgspec does the checking, not pydantic: the reader of a dataset reads manifests too and depends on
neither pydantic nor its import time. msgspec is imported when the first manifest is read, so that
``import hwprices`` takes no longer.
"""

import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from hwprices.errors import HwpricesError

T = TypeVar("T")

MAX_BYTES = 64 * 1024 * 1024
"""A larger manifest is refused before it is read. The sample's release has 24 kB, some 400 bytes
for each of its files, so that this is enough for a release of 150,000 files."""

Origin = Literal["sample", "live"]
"""Where figures come from: the bundled sample, or the vendors themselves."""


def encode(manifest: Any) -> bytes:
    """Write a manifest (a dataclass, or JSON values) as indented JSON."""
    import msgspec

    # json writes +00:00, where msgspec writes Z; msgspec indents, for which json has slow Python
    text = json.dumps(_values(manifest), ensure_ascii=False, default=datetime.isoformat)
    return msgspec.json.format(text.encode(), indent=1) + b"\n"


def _values(manifest: Any) -> Any:
    is_instance = is_dataclass(manifest) and not isinstance(manifest, type)
    return asdict(manifest) if is_instance else manifest


def to_mapping(manifest: Any) -> dict[str, Any]:
    """Turn a manifest into what ``json.loads`` gives: dictionaries, lists and strings."""
    # no indent: with one, json writes with its Python code, which is slower than that in C
    text = json.dumps(_values(manifest), default=datetime.isoformat)
    values: dict[str, Any] = json.loads(text)
    return values


def decode(data: bytes, manifest: type[T], *, file: str, remedy: str) -> T:
    """Read a manifest from JSON. Fields that the dataclass does not have are ignored.

    Raises:
        HwpricesError: it is no JSON, too large or too deeply nested, or a field is missing or of
            another type; names the file and the field.
    """
    import msgspec

    if len(data) > MAX_BYTES:
        raise HwpricesError(
            f"{file} is damaged ({len(data):,} bytes, at most {MAX_BYTES:,} are read)", remedy
        )
    try:
        return msgspec.json.decode(data, type=manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HwpricesError(f"{file} is damaged ({error})", remedy) from None
    except RecursionError:
        raise HwpricesError(f"{file} is damaged (nested too deeply)", remedy) from None
