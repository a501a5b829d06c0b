"""List Scaleway's zones, and land the products of one."""

from collections.abc import Sequence

from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.scaleway import kinds
from hwprices.providers.scaleway.api.products import land_products


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List a unit for each zone of the settings, or for each zone requested."""
    zones = context.settings.scaleway_zones if regions is None else regions
    return [Unit("scaleway", kinds.SERVERS, zone) for zone in sorted(set(zones))]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the pages of a zone.

    Raises:
        FetchError: one cannot be had, or is another thing.
    """
    return land_products(context, unit)
