"""Google Cloud: parts from the billing catalog, machine types from Compute Engine, prices composed from both."""

from collections.abc import Iterator, Sequence

from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, Pages, Part
from hwprices.settings import Settings


class Gcp:
    """See hwprices.providers.Provider. What it needs is imported when it is used."""

    name = "gcp"

    def concurrency(self, settings: Settings) -> int:
        """The catalog allows 300 requests a minute, https://cloud.google.com/billing/quotas; a run makes about twenty."""
        return 2

    def plan(self, context: Context, regions: Sequence[str] | None) -> list[Unit]:
        """Units to fetch: the catalog as a whole; machine types live where a project is set, else the bundled table."""
        from hwprices.providers.gcp.fetch import plan

        return plan(context, regions)

    def fetch(self, context: Context, unit: Unit) -> list[Page]:
        """Land one unit's pages. Raises FetchError, SkippedError."""
        from hwprices.providers.gcp.fetch import fetch

        return fetch(context, unit)

    def normalise(self, pages: Pages) -> Iterator[Part]:
        """Rows of all tables from landed pages alone."""
        from hwprices.providers.gcp.normalise import normalise

        return normalise(pages)


PROVIDER = Gcp()
