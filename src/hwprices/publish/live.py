"""Ask a vendor for one price again: only for the pages that hold it, read with this program."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl

from hwprices import providers
from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, Provider
from hwprices.release.manifest import DIGEST_CHARACTERS, ProviderEntry, ReleaseManifest
from hwprices.release.wording import counted
from hwprices.settings import Settings
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store

Announce = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class SoughtPrice:
    """A price to ask for.

    ``units`` are those that are known to have it, as kind/region; where there are none, they are
    found by ``pages``, the SHA-256 of the landed pages that it was read from.
    """

    price_id: str
    provider: str
    region: str
    instance_type: str
    units: tuple[str, ...]
    pages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LivePrice:
    """What a vendor says of a price now.

    ``amount``: prices.effective_hourly; None where the vendor no longer lists it. ``re_read``: what
    this program reads from the pages of the release; None where they are gone or have no such
    price. ``fetched`` and ``bytes``: how many pages were fetched, as they came over the network.
    """

    amount: Decimal | None
    re_read: Decimal | None
    at: datetime
    fetched: int
    bytes: int


def ask(
    store: Store,
    release: ReleaseManifest,
    sought: SoughtPrice,
    settings: Settings,
    announce: Announce = lambda _: None,
) -> LivePrice:
    """Fetch the units that a price is read from, and read it.

    What else reading needs (machine types of a composed price) is taken from the landed pages of
    the release, and from the vendor only where they are gone.

    Args:
        store: the dataset. Nothing is written there.
        release: the release that has the price.
        sought: the price.
        settings: the common settings; ``source`` and ``root`` are not used.
        announce: gets a line before each download, and one about its size afterwards.

    Raises:
        HwpricesError: the price is one of a sheet that a person read, or a page is unavailable or
            cannot be read.
    """
    provider = providers.get(sought.provider)
    if provider.about.is_price_sheet:
        raise HwpricesError(
            f"a person read the prices of {sought.provider} from a web page",
            "Open the page: hwprices explain names it.",
        )
    entry = release.providers[sought.provider]
    old_landing = Landing(layout.landing_root(store.root))
    old = _old_results(old_landing, entry, sought)
    needed = _needed_units(entry, sought)
    sizes = {_key(one.unit): sum(page.bytes for page in one.pages) for one in old}
    with scratch_directory() as folder:
        own = settings.model_copy(update={"root": folder, "source": "live"})
        with Collector(sought.provider, own) as collector:
            landing = collector.landing
            kept = [
                _copied(old_landing, landing, one) for one in old if _key(one.unit) not in needed
            ]
            planned = collector.plan(_regions_of(needed))
            wanted = [unit for unit in planned if _key(unit) in needed]
            if not wanted:
                raise HwpricesError(
                    f"{sought.provider} no longer lists {', '.join(sorted(needed))}",
                    "Collect again: hwprices admin refresh.",
                )
            present = {*needed, *(_key(one.unit) for one in kept)}
            here = [unit for unit in planned if unit.region in (sought.region, "global")]
            others = [unit for unit in here if _key(unit) not in present]
            fetched: list[UnitResult] = []
            amount = None
            for units in (wanted, others):
                if amount is None and units:
                    fetched += _fetch(collector, units, sought, announce, sizes)
                    amount = _read(provider, landing, [*fetched, *kept], sought)
        pages = [page for result in fetched for page in result.pages]
        return LivePrice(
            amount=amount,
            re_read=_read(provider, old_landing, old, sought) if old else None,
            at=datetime.now(UTC),
            fetched=len(pages),
            bytes=sum(page.bytes for page in pages),
        )


def _key(unit: Unit) -> str:
    return f"{unit.kind}/{unit.region}"


def _needed_units(entry: ProviderEntry, sought: SoughtPrice) -> set[str]:
    """List the units whose pages hold the price."""
    if sought.units:
        return set(sought.units)
    digests = {page[:DIGEST_CHARACTERS] for page in sought.pages}
    units = {unit.unit for unit in entry.inputs.units if digests.intersection(unit.pages)}
    if not units:
        raise HwpricesError(
            f"no unit of {sought.provider} in the release has the page of {sought.price_id}",
            "Recheck against a later release instead.",
        )
    return units


def _regions_of(units: Iterable[str]) -> list[str] | None:
    """Return the regions to plan; None where the units are global."""
    regions = {unit.partition("/")[2] for unit in units}
    return None if "global" in regions else sorted(regions)


def _old_results(landing: Landing, entry: ProviderEntry, sought: SoughtPrice) -> list[UnitResult]:
    """Return the results of the release's run for the price's region; none where they are gone."""
    try:
        run = landing.run(sought.provider, entry.run_id)
    except HwpricesError:
        return []
    here = [one for one in run.results if one.unit.region in (sought.region, "global")]
    return [one for one in here if all(landing.store.exists(page.key) for page in one.pages)]


def _copied(old: Landing, new: Landing, result: UnitResult) -> UnitResult:
    """Copy a unit's pages into another landing root, checksums verified."""
    for page in result.pages:
        with old.file(page) as path:
            new.store.put(page.key, path)
    return result


def _fetch(
    collector: Collector,
    units: Sequence[Unit],
    sought: SoughtPrice,
    announce: Announce,
    sizes: Mapping[str, int],
) -> list[UnitResult]:
    """Fetch units, narrowed to the machine where the vendor can filter.

    ``sizes`` are the bytes of each in the release, by kind/region.
    """
    results = []
    for unit in units:
        least = collector.provider.narrowed(unit, sought.instance_type)
        what = unit.name
        if least == unit:
            size = sizes.get(_key(unit))
            what = f"the whole of {unit.name}" + (f", last time {size:,} bytes" if size else "")
        announce(f"fetching {what}")
        result = collector.fetch(least)
        if result.status == "failed":
            raise HwpricesError(result.reason)
        size = sum(page.bytes for page in result.pages)
        announce(f"{unit.name}: {counted(len(result.pages), 'page')}, {size:,} bytes")
        results.append(result)
    return results


def _read(
    provider: Provider, landing: Landing, results: Sequence[UnitResult], sought: SoughtPrice
) -> Decimal | None:
    """Read the price from pages; None where it is not on them."""
    run = Run("live", provider.name, "live", datetime.now(UTC), "", tuple(results))
    pages = Pages(run, landing)
    amount = None
    for part in provider.normalise(pages):
        if part.table != "prices" or part.region not in (None, sought.region):
            continue
        rows = part.frame.lazy().filter(pl.col("price_id") == sought.price_id)
        for found in rows.select("effective_hourly").collect().to_series():
            amount = found
    if amount is None and pages.unreadable:
        raise HwpricesError(pages.unreadable[0].reason)
    return amount
