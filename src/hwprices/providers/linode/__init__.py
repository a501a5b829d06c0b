"""Akamai Cloud (Linode): virtual machines at one price in most regions, from public lists.

A page is an object with a list ``data``, its number ``page`` and how many there are, ``pages``:
https://techdocs.akamai.com/linode-api/reference/pagination
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.landing.bodies import other_format, read_object
from hwprices.landing.download import Downloaded
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint

ABOUT = About(
    title="Akamai (Linode)",
    without_account="all plans with their prices, regions, and where limited plans are available",
    with_credentials="nothing more",
    missing="the monthly cap of a price, backups, block storage, Kubernetes, distributed sites;"
    " not yet run live",
    price_kinds=("types",),
)


class Settings(settings.Settings):
    """The common settings and those of Akamai (Linode)."""

    linode_url: Endpoint = Field(default="https://api.linode.com/v4", description="Linode API.")


TYPES: Final = "types"  # Kind of unit: the plans, each with its price
REGIONS: Final = "regions"  # Kind of unit: the regions

AVAILABILITY: Final = "availability"
"""Kind of unit: pairs of a region and a limited plan, and whether it is available there."""

PATHS = {TYPES: "linode/types", REGIONS: "regions", AVAILABILITY: "regions/availability"}

PAGE_SIZE = "500"
"""The API's limit: https://techdocs.akamai.com/linode-api/reference/pagination"""


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
