"""List what to fetch from OVHcloud, and land it: one catalog."""

from collections.abc import Sequence

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.ovh import kinds
from hwprices.providers.ovh.api.order_catalog import land_catalog


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the one unit. The catalog is not by region."""
    return [Unit("ovh", kinds.CATALOG)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the one page of the unit.

    Raises:
        FetchError: it cannot be had, or is no catalog.
        HwpricesError: there is no such kind.
    """
    if unit.kind != kinds.CATALOG:
        raise HwpricesError(f"ovh has no kind of page {unit.kind!r}", f"There is: {kinds.CATALOG}.")
    return [land_catalog(context, unit)]
