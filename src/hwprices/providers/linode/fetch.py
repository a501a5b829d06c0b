"""Land Linode's three lists: plans, regions, and where limited plans are available.

A page is an object with a list ``data``, its number ``page`` and how many there are, ``pages``:
https://techdocs.akamai.com/linode-api/reference/pagination
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hwprices.landing.download import Downloaded
from hwprices.landing.json_bodies import other_format, read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context

TYPES: Final = "types"  # Kind of unit: the plans, each with its price
REGIONS: Final = "regions"  # Kind of unit: the regions

AVAILABILITY: Final = "availability"
"""Kind of unit: pairs of a region and a limited plan, and whether it is available there."""

PATHS = {TYPES: "linode/types", REGIONS: "regions", AVAILABILITY: "regions/availability"}

PAGE_SIZE = "500"
"""The most that the API gives: https://techdocs.akamai.com/linode-api/reference/pagination"""


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the three units. No list is by region."""
    return [Unit("linode", kind) for kind in PATHS]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land every page of a list.

    Raises:
        FetchError: a page is unavailable or is not the requested one, or has no items.
    """
    url = f"{context.settings.linode_url}/{PATHS[unit.kind]}"
    return context.land_json_pages(unit, url, _following, _params(1))


def _following(body: Downloaded) -> Mapping[str, str] | None:
    content = read_object(body, "data")
    number, last = content.get("page"), content.get("pages")
    if type(number) is not int or type(last) is not int or str(number) != body.params.get("page"):
        raise other_format(body, f"is page {str(number)[:20]} of {str(last)[:20]}")
    return _params(number + 1) if number < last else None


def _params(number: int) -> dict[str, str]:
    return {"page": str(number), "page_size": PAGE_SIZE}
