"""EC2's XML bodies as dicts and lists, with the API's element names.

The namespace and the wrapper differ by operation; what is inside does not. Lists are elements whose children are all ``item``
(``member`` in two old shapes).
"""

import xml.etree.ElementTree as ET
from typing import Any

from hwprices.errors import HwpricesError

LIST_TAGS = {"item", "member"}


def items(body: bytes, name: str) -> list[dict[str, Any]]:
    """The entries of the list element ``name`` directly below the response's root; none where it is absent or empty.

    Raises:
        HwpricesError: the body is not XML.
    """
    try:
        root = ET.fromstring(body)  # noqa: S314
    except ET.ParseError as error:
        raise HwpricesError(
            f"a landed EC2 answer is not XML ({error})", "Fetch it again."
        ) from None
    found = next((child for child in root if _tag(child) == name), None)
    if found is None:
        return []
    return [entry for child in found if isinstance(entry := _value(child), dict)]


def entries(value: Any) -> list[dict[str, Any]]:
    """A list inside an entry; an absent or empty one is an empty list."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """A list of texts inside an entry."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def group(value: Any) -> dict[str, Any]:
    """A structure inside an entry; an absent or empty one is an empty dict."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """A number written as text, or None."""
    return float(value) if isinstance(value, str) and value else None


def truth(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def _value(element: ET.Element) -> Any:
    children = list(element)
    if not children:
        return (element.text or "").strip()
    tags = {_tag(child) for child in children}
    if tags <= LIST_TAGS:
        return [_value(child) for child in children]
    return {_tag(child): _value(child) for child in children}


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
