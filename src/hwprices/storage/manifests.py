"""Write manifests as JSON, and read them back as dataclasses with every field checked.

msgspec checks them instead of pydantic, because readers of a dataset do not install pydantic. It is
imported on first use, to keep ``import hwprices`` fast.
"""

import json
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from hwprices.errors import HwpricesError

T = TypeVar("T")

MAX_BYTES = 64 * 1024 * 1024
"""A larger manifest is refused unread. At some 400 bytes per file, as in the sample's release, this
is enough for a release of 150,000 files."""

Origin = Literal["sample", "live"]
"""Where figures come from: the bundled sample or the vendors."""


def encode(manifest: Any) -> bytes:
    """Write a manifest (a dataclass, or JSON values) as indented JSON."""
    import msgspec

    # json writes +00:00 where msgspec writes Z; msgspec indents faster than json
    text = json.dumps(_values(manifest), ensure_ascii=False, default=datetime.isoformat)
    return msgspec.json.format(text.encode(), indent=1) + b"\n"


def _values(manifest: Any) -> Any:
    is_instance = is_dataclass(manifest) and not isinstance(manifest, type)
    return asdict(manifest) if is_instance else manifest


def to_mapping(manifest: Any) -> dict[str, Any]:
    """Turn a manifest into JSON values: dictionaries, lists and strings."""
    text = json.dumps(_values(manifest), default=datetime.isoformat)
    values: dict[str, Any] = json.loads(text)
    return values


def decode(data: bytes, manifest: type[T], *, file: str, remedy: str) -> T:
    """Read a manifest from JSON. Fields that the dataclass does not have are ignored.

    Raises:
        HwpricesError: it is not JSON, too large or too deeply nested, or a field is missing or has
            the wrong type; names the file and the field.
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
