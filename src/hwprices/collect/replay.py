"""Replay the bundled sample: its landed pages stand in for what a vendor would have sent."""

from collections.abc import Sequence
from functools import cached_property

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit, UnitResult
from hwprices.providers import check_regions


class Sample:
    """One provider's part of the sample, a landing root. Its manifest is read once, when needed."""

    def __init__(self, root: str, provider: str) -> None:
        self.root = root
        self.provider = provider
        self._landing = Landing(root)

    @cached_property
    def _results(self) -> dict[str, UnitResult]:
        """The results of the sample's run by the unit's name."""
        run = self._landing.latest_run(self.provider)
        if run is None:
            raise HwpricesError(
                f"no sample of {self.provider} in {self.root}",
                "Set HWPRICES_SAMPLE to the project's data/sample, or use --source live.",
            )
        return {result.unit.name: result for result in run.results}

    @property
    def regions(self) -> set[str]:
        """The regions that the sample has units of; none if its units are global."""
        return {result.unit.region for result in self._results.values()} - {"global"}

    def plan(self, regions: Sequence[str] | None) -> list[Unit]:
        """List the units that the sample holds; ``regions`` narrows it.

        Raises:
            HwpricesError: the sample has nothing of this provider, or not such a region.
        """
        units = [result.unit for result in self._results.values()]
        if regions is not None and self.regions:
            check_regions(f"the sample of {self.provider}", regions, self.regions)
        return [unit for unit in units if regions is None or unit.region in (*regions, "global")]

    def replay(self, unit: Unit, landing: Landing) -> UnitResult:
        """Copy a unit's pages into a landing root, checksums verified, and return its result.

        Raises:
            HwpricesError: a page of the sample is missing or altered, or cannot be written.
        """
        result = self._results[unit.name]
        for page in result.pages:
            if not landing.store.renew(page.key):
                with self._landing.file(page) as path:
                    landing.store.put(page.key, path)
        return result
