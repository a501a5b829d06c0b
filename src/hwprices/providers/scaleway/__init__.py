"""Scaleway: virtual machines in Paris, Amsterdam, Warsaw and Milan, priced in euros.

A page is an object ``servers`` with one member per machine type. The last page has fewer members
than requested. A server that ignores the page number would repeat the same types forever.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.errors import FetchError
from hwprices.landing.bodies import other_format, read_json
from hwprices.landing.download import Downloaded, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint, Names
from hwprices.storage.scratch import scratch_directory

ABOUT = About(
    title="Scaleway",
    without_account="all machines, their prices and their stock, zone by zone",
    with_credentials="nothing more",
    price_kinds=("servers",),
    missing="prices by the month, local disks and IP addresses, Elastic Metal, Kubernetes;"
    " no live run is on record",
)

ZONES = (
    *("fr-par-1", "fr-par-2", "fr-par-3", "it-mil-1", "nl-ams-1", "nl-ams-2", "nl-ams-3"),
    *("pl-waw-1", "pl-waw-2", "pl-waw-3"),
)
"""The zones of Instances; no API lists them without an account.
https://www.scaleway.com/en/developers/api/instances/"""


class Settings(settings.Settings):
    """The common settings and those of Scaleway."""

    scaleway_url: Endpoint = Field(
        default="https://api.scaleway.com/instance/v1", description="Scaleway's Instances API."
    )
    scaleway_zones: Names = Field(
        default=ZONES, description="Zones whose products are collected, with commas between them."
    )


SERVERS: Final = "servers"  # Kind of unit: the machine types of a zone, each with its price
STOCK: Final = "stock"  # Kind of unit: the machine types of a zone, each with a word for its stock
PATHS = {SERVERS: "products/servers", STOCK: "products/servers/availability"}
PER_PAGE = 100  # The API's limit: https://www.scaleway.com/en/developers/api/instances/
MOST_PAGES = 50  # Far more than Scaleway has: 136 types are two pages


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List two units for each zone requested, by default the zones of the settings."""
    zones = context.settings.scaleway_zones if regions is None else regions
    return [Unit("scaleway", kind, zone) for kind in PATHS for zone in sorted(set(zones))]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land every page of a zone's products, or of their stock.

    Raises:
        FetchError: a page is unavailable or is not a product list, the list has no machine type, or
            the pages do not end.
    """
    url = f"{context.settings.scaleway_url}/zones/{unit.region}/{PATHS[unit.kind]}"
    pages: list[Page] = []
    seen: set[str] = set()
    with scratch_directory() as folder:
        for number in range(1, MOST_PAGES + 1):
            params = {"per_page": str(PER_PAGE), "page": str(number)}
            path = Path(folder) / f"page{number}"
            body = context.http.download(url, path, params=params, max_bytes=MAX_READ_BYTES)
            names = _names(body)
            if not names and pages:
                return pages
            _check_progress(body, names, seen)
            seen |= names
            pages.append(context.landing.land(unit, body, suffix="json"))
            if len(names) < PER_PAGE:
                return pages
    raise FetchError(
        f"{public_url(url)} has no end after {MOST_PAGES} pages",
        "The endpoint setting is wrong, or Scaleway's pages have changed.",
    )


def _names(body: Downloaded) -> set[str]:
    content = read_json(body)
    servers = content.get("servers") if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise _other_format(body, "has no object servers")
    return set(servers)


def _check_progress(body: Downloaded, names: set[str], seen: set[str]) -> None:
    if not names:
        raise _other_format(body, "lists no machine type")
    if names & seen:
        raise _other_format(body, f"repeats {sorted(names & seen)[0]} of an earlier page")


def _other_format(body: Downloaded, problem: str) -> FetchError:
    return other_format(body, f"{problem} (page {body.params.get('page', '?')})")
