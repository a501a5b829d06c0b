"""Retail Prices over the network: one partition (region × price type × currency), whole or not at all.

Source: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices. Pages are cut by ``$skip`` out of a
list that changes while it is read, so rows can slip between two pages unseen. A walk over a partition is believed when nothing
speaks against it; else a second walk must find the same items. Nothing is landed before that.
"""

import gzip
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwprices.landing.download import Downloaded, FetchError, Http, check_same_host
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context, SkippedError

API_VERSION = "2023-01-01-preview"  # the only one whose answers hold savingsPlan
PRICE_TYPES = {
    "consumption": "Consumption",
    "devtest": "DevTestConsumption",
    "reservation": "Reservation",
}
"""Last word of a unit's kind → priceType. Spot, low priority and savings plans are inside Consumption."""

WALKS = 3
MOST_PAGES = 200  # the largest partitions have about ten pages of 1,000 items
MOST_LOST = 0.10  # a retired series is 1 to 2 % of a region; a tenth of the items gone is a fault, even seen twice

SAME_PRICE = ("skuId", "meterId", "type", "reservationTerm", "tierMinimumUnits", "armSkuName")
"""What stays of an item from month to month: its price and dates change, its identity does not."""

PRICES = ("retailPrice", "unitPrice", "savingsPlan")

REGION_PROBES = ("Standard_D2s_v3", "Standard_D2s_v5")
"""Sizes that nearly every region sells: their prices name the regions for who has no account."""


class _BrokenWalk(Exception):
    """A walk that cannot be right, whatever a second one says."""


@dataclass(frozen=True)
class Walk:
    """One walk over a partition. ``items`` counts items by all but their prices, ``identities`` is what is compared with an older run."""

    bodies: tuple[Downloaded, ...]
    items: Counter[str]
    identities: frozenset[tuple[Any, ...]]
    uneven: bool


def kind(price_type: str, currency: str) -> str:
    return f"retail-{price_type}-{currency.lower()}"


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one partition; ``unit.params`` has price_type and currency.

    Raises:
        FetchError: it cannot be had whole, or it lost too many items since the last run.
        SkippedError: it has no items, and had none before.
    """
    query = f"serviceName eq 'Virtual Machines' and armRegionName eq '{unit.region}' and priceType eq '{unit.params['price_type']}'"
    params = _query(query, unit.params["currency"])
    known = _identities_before(context, unit)
    with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
        count = iter(range(WALKS))

        def walk() -> Walk:
            folder = Path(scratch) / str(next(count))
            folder.mkdir()
            found = _walk(context.http, context.settings.azure_retail_url, params, folder)
            _check_asked_for(found, unit)
            return found

        found = settled(walk, known, unit.name)
        if not found.items:
            if known:
                raise FetchError(
                    f"{unit.name} has no items and had {len(known)} before",
                    "Its last good pages stay in use.",
                )
            raise SkippedError(
                f"Azure sells no virtual machines as {unit.params['price_type']} in {unit.region}"
            )
        return [context.landing.land(unit, body, suffix="json") for body in found.bodies]


def regions(http: Http, url: str) -> list[str]:
    """Regions that have prices of the probe sizes, sorted. Raises FetchError."""
    sizes = " or ".join(f"armSkuName eq '{size}'" for size in REGION_PROBES)
    params = _query(
        f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and ({sizes})", "USD"
    )
    with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
        try:
            bodies = _walk(http, url, params, Path(scratch)).bodies
        except _BrokenWalk as error:
            raise FetchError(
                f"the regions could not be read from {url}: {error}", "Try again later."
            ) from None
        names = {
            str(item.get("armRegionName") or "").strip().lower()
            for body in bodies
            for item in _document(body)["Items"]
        }
    return sorted(names - {""})


def settled(walk: Callable[[], Walk], known: frozenset[tuple[Any, ...]], name: str) -> Walk:
    """A walk that can be believed: nothing speaks against it, or the walk before found the same items.

    ``known`` are the identities of the last run, empty where there is none.

    Raises:
        FetchError: no two of three walks agree, or too many items are gone.
    """
    last: Walk | None = None
    why = ""
    for _ in range(WALKS):
        try:
            found = walk()
        except _BrokenWalk as error:
            last, why = None, str(error)
            continue
        doubt = _doubt(found, known)
        if not doubt or (last is not None and found.items == last.items):
            _check_lost(found, known, name)
            return found
        why = (
            doubt
            if last is None
            else f"two walks differ by {_difference(found, last)} items ({doubt})"
        )
        last = found
    raise FetchError(
        f"{name} could not be read whole in {WALKS} walks: {why}",
        "Its last good pages stay in use; try again later.",
    )


def _doubt(walk: Walk, known: frozenset[tuple[Any, ...]]) -> str:
    """What speaks against a walk; empty where nothing does."""
    if repeated := sum(n - 1 for n in walk.items.values()):
        return f"{repeated} items came twice"
    if walk.uneven:
        return "a page before the last is shorter than the first"
    if lost := len(known - walk.identities):
        return f"{lost} of {len(known)} items of the last run are gone"
    if not known and len(walk.bodies) > 1:
        return "there is no run before to compare with"
    return ""


def _check_lost(walk: Walk, known: frozenset[tuple[Any, ...]], name: str) -> None:
    lost = len(known - walk.identities)
    if walk.items and lost > MOST_LOST * len(known):
        raise FetchError(
            f"{name} lost {lost} of {len(known)} items since the last run",
            "Its last good pages stay in use; look at what Azure answers.",
        )


def _difference(a: Walk, b: Walk) -> int:
    return ((a.items - b.items) + (b.items - a.items)).total()


def _query(filter_: str, currency: str) -> dict[str, str]:
    return {"api-version": API_VERSION, "currencyCode": f"'{currency}'", "$filter": filter_}


def _walk(http: Http, url: str, params: dict[str, str], folder: Path) -> Walk:
    """Follow NextPageLink to its end. The parameters go with the first page only: the link has its own.

    Raises:
        FetchError: a page cannot be had, or a link leads to another host.
        _BrokenWalk: links run in a circle, a page comes twice, or a page's Count is not what it holds.
    """
    bodies: list[Downloaded] = []
    items: Counter[str] = Counter()
    identities: set[tuple[Any, ...]] = set()
    seen: set[str] = set()
    sizes: list[int] = []
    link: str | None = url
    while link:
        if link in seen or len(bodies) == MOST_PAGES:
            raise _BrokenWalk(f"the links run in a circle after {len(bodies)} pages")
        seen.add(link)
        body = http.download(
            link, folder / f"{len(bodies)}.body", params=params if not bodies else None
        )
        document = _document(body)
        digest = hashlib.sha256(json.dumps(document["Items"]).encode()).hexdigest()
        if document["Items"] and digest in seen:
            raise _BrokenWalk("one page came twice")
        seen.add(digest)
        bodies.append(body)
        sizes.append(len(document["Items"]))
        items.update(_all_but_price(item) for item in document["Items"])
        identities.update(_identity(item) for item in document["Items"])
        link = document.get("NextPageLink") or None
        if link:
            check_same_host(url, link)
    return Walk(
        tuple(bodies), items, frozenset(identities), any(size < sizes[0] for size in sizes[:-1])
    )


def _document(body: Downloaded) -> dict[str, Any]:
    """A page's JSON, checked to be an answer of Retail Prices."""
    raw = body.path.read_bytes()
    try:
        document: Any = json.loads(gzip.decompress(raw) if body.encoding == "gzip" else raw)
    except ValueError as error:
        raise _BrokenWalk(f"a page is not JSON ({error})") from None
    items = document.get("Items") if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _BrokenWalk("a page has no list of Items")
    if document.get("Count") != len(items):
        raise _BrokenWalk(f"a page says Count {document.get('Count')} and holds {len(items)} items")
    return dict(document)


def _all_but_price(item: dict[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in item.items() if name not in PRICES}, sort_keys=True
    )


def _identity(item: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item.get(name) for name in SAME_PRICE)


def _check_asked_for(walk: Walk, unit: Unit) -> None:
    """Every item is of the region and price type asked for: a filter that is not obeyed would fill each partition with all."""
    for text in walk.items:
        item = json.loads(text)
        if (
            str(item.get("armRegionName", "")).lower() != unit.region
            or item.get("type") != unit.params["price_type"]
        ):
            raise _BrokenWalk(
                f"an item is of {item.get('armRegionName')} and {item.get('type')}, which was not asked for"
            )


def _identities_before(context: Context, unit: Unit) -> frozenset[tuple[Any, ...]]:
    """Identities of the partition's items in the newest live run that has it; empty where there is none."""
    return frozenset(
        _identity(item)
        for page in _pages_before(context.landing, unit)
        for item in context.landing.read_json(page)["Items"]
    )


def _pages_before(landing: Landing, unit: Unit) -> Iterator[Page]:
    run = landing.latest_run(unit.provider)
    if run is not None and run.origin == "live":
        yield from run.of(unit.kind, unit.region)
