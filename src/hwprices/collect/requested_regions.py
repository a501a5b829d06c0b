"""Check the regions that a run is narrowed to before it starts, without the network."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from hwprices.collect.replay import Sample
from hwprices.errors import HwpricesError
from hwprices.providers import check_regions, regions_alike
from hwprices.settings import Settings
from hwprices.specs import sheets

FOOTPRINT = "region_footprint.csv"
"""The sheet of all regions that were known when it was made; vendors open several a year."""


def check(settings: Settings, providers: Sequence[str], regions: Iterable[str]) -> list[str]:
    """Refuse a region that no provider of the sample has; return a warning for others not known.

    The vendors of a live run have the last word: the region may be newer than this program. A
    region that some of the providers have is none of the others' and is theirs to report.

    Raises:
        HwpricesError: the sample has no such region; the line names those that are spelt alike.
    """
    # A provider with one price everywhere has no regions, and ignores those that are asked for.
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
