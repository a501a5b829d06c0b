"""Look up the places that a recommendation is limited to, and say which are not covered.

Names of clouds, regions and countries are understood as ``find`` understands them.
"""

import polars as pl

from hwprices.read.find import absence, request
from hwprices.read.find.search import Search, pairs
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.read.recommend.question import Limits
from hwprices.release.release import Release, Tables


def search(dataset: Tables, limits: Limits) -> Search | None:
    """Look up the requested accelerator, provider, region and country; None where none is.

    Raises:
        HwpricesError: the release has no such accelerator or place; the line names near ones.
    """
    names = ("accelerator", "provider", "region", "country")
    asked = {name: getattr(limits, name) for name in names}
    if not any(value is not None for value in asked.values()):
        return None
    # the tables alone do not have the providers' display names
    words = ReleaseWords.of(dataset) if isinstance(dataset, Release) else ReleaseWords(dataset)
    return request.request(words, **asked)


def offers(dataset: Tables, limits: Limits) -> pl.LazyFrame:
    """Return the offers in the requested places; raises as ``search``."""
    table = dataset.scan("offers")
    asked = search(dataset, limits)
    if asked is None:
        return table
    if asked.providers:
        table = table.filter(pl.col("provider").is_in(sorted(asked.providers)))
    if asked.regions is not None:
        table = table.filter(pairs("region", asked.regions))
    return table


def why_nothing_to_rent(dataset: Tables, limits: Limits) -> str | None:
    """Explain why there is no machine to rent in the requested places.

    None where no place is requested, and where a machine is sold there.
    """
    asked = search(dataset, limits)
    if asked is None:
        return None
    types = dataset.scan("instance_types").select("provider", "instance_type", "accelerators")
    if limits.machines == "accelerators":
        types = types.filter(pl.col("accelerators").list.len() > 0)
    if asked.providers:
        types = types.filter(pl.col("provider").is_in(sorted(asked.providers)))
    machines = types.drop("accelerators").collect()
    if machines.is_empty():
        names = ", ".join(sorted(asked.providers)) or "this release"
        return f"No machine type of {names} has an accelerator."
    covered = absence.coverage(dataset)
    regions = asked.regions
    if regions is None:
        regions = frozenset((name, region) for name in covered for region in covered[name].priced)
    providers = set(machines["provider"])
    places = {(provider, region) for provider, region in regions if provider in providers}
    if not places:
        return "No provider with such machines has a region there."
    return absence.why_not_sold(dataset, machines, places, covered)
