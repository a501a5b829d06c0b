"""Azure: Retail Prices (no account needed), resource SKUs and locations (with an account, else the bundled table).

What is landed: ``retail-<price type>-<currency>`` per region, ``skus`` per region and ``locations``. What comes out: regions,
zones, instance_types, availability and prices.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwprices.landing.pages import Page, Unit
    from hwprices.providers import Context, Pages, Part
    from hwprices.settings import Settings

UNITS_AT_ONCE = 16
"""Partitions fetched at once. Collectors report 32 without throttling; half of it leaves room, and a 429 is waited out."""


class Azure:
    """The provider; every method imports what it needs when it is called."""

    name = "azure"

    def concurrency(self, settings: "Settings") -> int:
        """How many units are fetched at once."""
        return UNITS_AT_ONCE

    def plan(self, context: "Context", regions: Sequence[str] | None) -> "list[Unit]":
        """Units: region × price type × currency, sizes, locations. Raises FetchError."""
        from hwprices.providers.azure.fetch import plan

        return plan(context, regions)

    def fetch(self, context: "Context", unit: "Unit") -> "list[Page]":
        """Land one unit's pages. Raises FetchError, or SkippedError where there is nothing to have."""
        from hwprices.providers.azure.fetch import fetch

        return fetch(context, unit)

    def normalise(self, pages: "Pages") -> "Iterator[Part]":
        """Landed pages into regions, zones, instance_types, availability and prices."""
        from hwprices.providers.azure.normalise import normalise

        return normalise(pages)


PROVIDER = Azure()
