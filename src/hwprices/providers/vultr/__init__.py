"""Vultr: virtual machines, cloud GPUs and bare metal, on demand and preemptible.

A page is an object with a list and ``meta.links.next``, the cursor of the next page, which is empty
on the last one: https://www.vultr.com/api/#section/Introduction/Meta-and-pagination
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
    title="Vultr",
    without_account="plans of virtual machines and bare metal with their prices, and regions",
    with_credentials="nothing more",
    missing="the monthly cap of a price, plans that no region has, block storage, Kubernetes,"
    " databases; not yet run live",
    price_kinds=("plans", "plans_metal"),
)


class Settings(settings.Settings):
    """The common settings and those of Vultr."""

    vultr_url: Endpoint = Field(default="https://api.vultr.com/v2", description="Vultr API.")


PLANS: Final = "plans"
"""Kind of unit: plans of virtual machines, with and without GPUs. The name of each kind is also the
name of the list in its pages."""

METAL: Final = "plans_metal"  # Kind of unit: plans of bare metal
REGIONS: Final = "regions"  # Kind of unit: the regions
PATHS = {PLANS: "plans", METAL: "plans-metal", REGIONS: "regions"}

FIRST_PAGE = {"per_page": "500"}
"""The API's limit: https://docs.vultr.com/reference/vultr-cli/plans/list"""


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the three units. No list is by region."""
    return [Unit("vultr", kind) for kind in PATHS]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land every page of a list.

    Raises:
        FetchError: a page is unavailable, lacks its list or has no items, or repeats another page.
    """

    def following(body: Downloaded) -> Mapping[str, str] | None:
        meta = read_object(body, unit.kind).get("meta")
        links = meta.get("links") if isinstance(meta, dict) else None
        cursor = links.get("next") if isinstance(links, dict) else None
        if not isinstance(cursor, str) or (cursor and cursor == body.params.get("cursor")):
            raise other_format(body, f"has {str(cursor)[:50]!r} for its next page")
        return {**FIRST_PAGE, "cursor": cursor} if cursor else None

    url = f"{context.settings.vultr_url}/{PATHS[unit.kind]}"
    return context.land_json_pages(unit, url, following, FIRST_PAGE)
