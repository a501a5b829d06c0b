"""Read EC2's XML responses as dicts and lists, with the API's element names.

Namespace and wrapper differ by operation; what is inside does not. A list is an element whose
children are all ``item`` (``member`` in two old operations).
"""

import math
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from hwprices.landing.pages import Page
from hwprices.providers import Pages

LIST_TAGS = {"item", "member"}


def landed_items(pages: Pages, page: Page, name: str, *required: str) -> list[dict[str, Any]]:
    """Read the entries of one landed page, see ``read_items``.

    Raises:
        UnreadablePageError: the page is not XML, or an entry lacks a ``required`` text.
    """
    with pages.parsing(page):
        entries_of_page = read_items(pages.read(page), name)
        for member in required:
            if not all(isinstance(e.get(member), str) and e[member] for e in entries_of_page):
                raise ValueError(f"an entry of {name} has no {member}")
        return entries_of_page


def read_items(body: bytes, name: str) -> list[dict[str, Any]]:
    """Read the entries of the list element ``name`` directly below the response's root.

    Returns no entries where the list is absent or empty.

    Raises:
        ValueError: the body is not XML, or declares entities, which EC2 never does.
        RecursionError: its elements are nested too deep.
    """
    try:
        root = ElementTree.fromstring(body)
    except (ParseError, DefusedXmlException) as error:
        raise ValueError(f"an EC2 answer is not XML ({error})") from None
    listed = next((child for child in root if _local_name(child.tag) == name), None)
    return [] if listed is None else entries([_value(child) for child in listed])


def entries(value: Any) -> list[dict[str, Any]]:
    """Return the structures of a list inside an entry; none where it is absent or empty."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """Return the texts of a list inside an entry; none where it is absent or empty."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def group(value: Any) -> dict[str, Any]:
    """Return a structure inside an entry; an empty dict where it is absent or empty."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """Read a finite number written as text; None without text.

    Raises:
        ValueError: the text is no such number.
    """
    if not isinstance(value, str) or not value:
        return None
    figure = float(value)
    if not math.isfinite(figure):
        raise ValueError(f"{value[:40]!r} is not a finite number")
    return figure


def text(value: Any) -> str | None:
    """Return a text; None where it is empty, absent or a structure."""
    return value if isinstance(value, str) and value else None


def boolean(value: Any) -> bool | None:
    """Read ``true`` or ``false``; None for anything else."""
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def _value(element: Element) -> Any:
    if not len(element):
        return (element.text or "").strip()
    tags = [_local_name(child.tag) for child in element]
    if LIST_TAGS.issuperset(tags):
        return [_value(child) for child in element]
    return {tag: _value(child) for tag, child in zip(tags, element, strict=True)}


@lru_cache(maxsize=1024)
def _local_name(tag: str) -> str:
    """Return a tag without its namespace. A page has few tags, each thousands of times."""
    return tag.rpartition("}")[2]
