"""Replay the bundled sample: its landed pages stand in for what a vendor would have sent."""

from collections.abc import Sequence

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult


def plan(sample: str, provider: str, regions: Sequence[str] | None) -> list[Unit]:
    """List the units that the sample holds; ``regions`` narrows it.

    Raises:
        HwpricesError: the sample has nothing of this provider.
    """
    results = sample_run(sample, provider).results
    return [
        result.unit
        for result in results
        if regions is None or result.unit.region in (*regions, "global")
    ]


def replay(sample: str, unit: Unit, landing: Landing) -> UnitResult:
    """Copy a unit's pages from the sample into the landing root, checksums verified.

    Raises:
        HwpricesError: a page of the sample is missing or altered, or cannot be written.
    """
    source = Landing(sample)
    results = sample_run(sample, unit.provider).results
    result = next(r for r in results if r.unit.name == unit.name)
    for page in result.pages:
        if not landing.store.exists(page.key):
            with source.file(page) as path:
                landing.store.put(page.key, path)
    return result


def sample_run(sample: str, provider: str) -> Run:
    """Read the manifest of the sample's run of one provider.

    Raises:
        HwpricesError: there is none.
    """
    run = Landing(sample).latest_run(provider)
    if run is None:
        raise HwpricesError(
            f"no sample of {provider} in {sample}",
            "Set HWPRICES_SAMPLE to the project's data/sample, or use --source live.",
        )
    return run
