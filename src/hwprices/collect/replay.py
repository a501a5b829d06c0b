"""Replay the bundled sample in place of a vendor, and check regions against what it knows."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit, UnitResult
from hwprices.providers import check_regions, regions_alike
from hwprices.settings import Settings
from hwprices.specs import sheets


class Sample:
    """One provider's part of the sample, a landing root. Its manifest is read once, when needed."""

    def __init__(self, root: str, provider: str) -> None:
        self.root = root
        self.provider = provider
        self._landing = Landing(root)

    @cached_property
    def _results(self) -> dict[str, UnitResult]:
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


FOOTPRINT = "region_footprint.csv"
"""The sheet of all regions that were known when it was made; vendors open several a year."""


def check_requested(
    settings: Settings, providers: Sequence[str], regions: Iterable[str]
) -> list[str]:
    """Refuse a region that no provider of the sample has; return a warning for others not known.

    The vendors of a live run have the last word: the region may be newer than this program. A
    region that only some of the providers have is reported by the others.

    Raises:
        HwpricesError: the sample has no such region; the line names those that are spelled alike.
    """
    # A provider with one price everywhere has no regions, and ignores those that are requested.
    sampled = {region for name in providers for region in _sampled(settings.sample, name)}
    owner = providers[0] if len(providers) == 1 else ""
    if settings.source == "sample":
        if sampled:
            check_regions(f"the sample of {owner}" if owner else "the sample", regions, sampled)
        return []
    sheet = sheets.read_csv(FOOTPRINT, None)
    listed = zip(sheet["provider"], sheet["region"], strict=True)
    known = sampled | {region for provider, region in listed if provider in providers} - {"global"}
    return [
        _warning(region, known, owner)
        for region in regions
        if known and region.strip().lower() not in known  # Azure takes them in any case
    ]


def _sampled(root: str, provider: str) -> set[str]:
    with suppress(HwpricesError):  # no sample of it: the run says so
        return Sample(root, provider).regions
    return set()


def _warning(region: str, known: Iterable[str], owner: str) -> str:
    place = f"a region of {owner}" if owner else "a region of any provider asked"
    hint = regions_alike([region], known)
    return (
        f"{region} is not known as {place}; the vendor is asked, as it may be new. {hint}".rstrip()
    )
