"""Fetch retail prices: one partition (region × price type × currency), completely or not at all.

Source: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices.
Pages are cut by ``$skip`` out of a list that may change between two requests, so an item can slip
from a page not yet read to one already read, and be missed. A download of all pages is accepted if
it shows no inconsistency; otherwise it is repeated until two downloads in a row have the same
items, at most three times. Nothing is landed before that.
"""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from hwprices.landing.download import Downloaded, FetchError, Http, check_same_host
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context, SkippedError

API_VERSION = "2023-01-01-preview"  # the only version whose answers hold savingsPlan

DOWNLOADS = 3
"""Downloads of one partition before it counts as failed."""

MAX_PAGES = 200  # the largest partitions have about ten pages of 1,000 items

MAX_LIST_BYTES = 64 << 20
"""Largest content of all pages of one partition. The largest have about ten pages of 1 MB. Their
items are held in memory, ten times as large, until the last page has come."""

MAX_LOST_SHARE = 0.10
"""Share of the last run's items that may be gone. A retired series is 1 to 2 % of a region; a tenth
of the items gone is a fault of the answer, even if two downloads agree."""

IDENTITY = ("skuId", "meterId", "type", "reservationTerm", "tierMinimumUnits", "armSkuName")
"""Members of an item that stay from month to month. Its price and dates change."""

PRICES = ("retailPrice", "unitPrice", "savingsPlan")

PROBE_SIZES = ("Standard_D2s_v3", "Standard_D2s_v5")
"""Sizes that nearly every region sells. Their prices name the regions without an account."""

Identity = tuple[Any, ...]


class _InconsistentError(Exception):
    """A download that is certainly wrong, whatever the next one gives."""


@dataclass(frozen=True)
class Download:
    """One download of all pages of a partition.

    ``items`` counts the items by all their members but the prices, as JSON. ``identities`` is what
    is compared with the run before. ``partitions`` are the regions and price types of the items.
    ``uneven`` says that a page before the last is shorter than the first.
    """

    bodies: tuple[Downloaded, ...]
    items: Counter[bytes]
    identities: frozenset[Identity]
    partitions: frozenset[tuple[str, str]]
    uneven: bool


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one partition; ``unit.params`` has price_type and currency.

    Raises:
        FetchError: it cannot be had completely, or it lost too many items since the last run.
        SkippedError: it has no items, and had none before.
    """
    price_type = unit.params["price_type"]
    query = (
        f"serviceName eq 'Virtual Machines' and armRegionName eq '{unit.region}'"
        f" and priceType eq '{price_type}'"
    )
    params = _query(query, unit.params["currency"])
    previous = _previous_identities(context.landing, unit)
    with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
        numbers = count()

        def download() -> Download:
            folder = Path(scratch) / str(next(numbers))
            folder.mkdir()
            result = _download(context.http, context.settings.azure_retail_url, params, folder)
            _check_filter(result, unit)
            return result

        accepted = settle(download, previous, unit.name)
        if not accepted.items and previous:
            raise FetchError(
                f"{unit.name} has no items and had {len(previous)} before",
                "Its last good pages stay in use.",
            )
        if not accepted.items:
            raise SkippedError(f"Azure sells no virtual machines as {price_type} in {unit.region}")
        return [context.landing.land(unit, body, suffix="json") for body in accepted.bodies]


def read_regions(http: Http, url: str) -> list[str]:
    """List the regions that have prices of the probe sizes, sorted.

    Raises:
        FetchError: the prices cannot be had.
    """
    sizes = " or ".join(f"armSkuName eq '{size}'" for size in PROBE_SIZES)
    query = f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and ({sizes})"
    problem = ""
    for _ in range(DOWNLOADS):
        with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
            try:
                bodies = _download(http, url, _query(query, "USD"), Path(scratch)).bodies
            except _InconsistentError as error:
                problem = str(error)
                continue
            items = [item for body in bodies for item in _read_answer(body)["Items"]]
        regions = {str(item.get("armRegionName") or "").strip().lower() for item in items}
        return sorted(regions - {""})
    raise FetchError(
        f"the regions could not be read from {url}, {DOWNLOADS} times, last: {problem}",
        "Try again later.",
    )


def settle(download: Callable[[], Download], previous: frozenset[Identity], name: str) -> Download:
    """Download until a result can be accepted.

    It can if it is consistent, or if the download before it has the same items.
    ``previous`` are the identities of the last run, empty where there is none.

    Raises:
        FetchError: no two of three downloads agree, or too many items are gone.
    """
    last: Download | None = None
    problem = ""
    for _ in range(DOWNLOADS):
        try:
            current = download()
        except _InconsistentError as error:
            last, problem = None, str(error)
            continue
        doubt = _doubt(current, previous)
        if not doubt or (last is not None and current.items == last.items):
            _check_lost(current, previous, name)
            return current
        problem = doubt
        if last is not None:
            problem = f"two downloads differ by {_difference(current, last)} items ({doubt})"
        last = current
    raise FetchError(
        f"{name} could not be read completely in {DOWNLOADS} downloads: {problem}",
        "Its last good pages stay in use; try again later.",
    )


def _doubt(download: Download, previous: frozenset[Identity]) -> str:
    """Say what is inconsistent in a download; empty where nothing is."""
    if repeated := sum(number - 1 for number in download.items.values()):
        return f"{repeated} items came twice"
    if download.uneven:
        return "a page before the last is shorter than the first"
    if lost := len(previous - download.identities):
        return f"{lost} of {len(previous)} items of the last run are gone"
    if not previous and len(download.bodies) > 1:
        return "there is no run before to compare with"
    return ""


def _check_lost(download: Download, previous: frozenset[Identity], name: str) -> None:
    lost = len(previous - download.identities)
    if download.items and lost > MAX_LOST_SHARE * len(previous):
        raise FetchError(
            f"{name} lost {lost} of {len(previous)} items since the last run",
            "Its last good pages stay in use; look at what Azure answers.",
        )


def _difference(first: Download, second: Download) -> int:
    return ((first.items - second.items) + (second.items - first.items)).total()


def _query(expression: str, currency: str) -> dict[str, str]:
    return {"api-version": API_VERSION, "currencyCode": f"'{currency}'", "$filter": expression}


def _download(http: Http, url: str, params: dict[str, str], folder: Path) -> Download:
    """Download all pages into a folder, following NextPageLink.

    The parameters go with the first request only: the links have them.

    Raises:
        FetchError: a page cannot be had, or a link leads to another host.
        _InconsistentError: links form a loop, a page comes twice, or a Count is wrong.
    """
    bodies: list[Downloaded] = []
    pages: list[list[dict[str, Any]]] = []
    links, digests = set[str](), set[str]()
    link: str | None = url
    while link:
        if link in links or len(bodies) == MAX_PAGES:
            raise _InconsistentError(f"the links run in a circle after {len(bodies)} pages")
        links.add(link)
        first = params if not bodies else None
        room = MAX_LIST_BYTES - sum(body.file.content_bytes for body in bodies)
        path = folder / f"{len(bodies)}.body"
        body = http.download(link, path, params=first, max_bytes=room)
        answer = _read_answer(body)
        digest = hashlib.sha256(msgspec.json.encode(answer["Items"])).hexdigest()
        if answer["Items"] and digest in digests:
            raise _InconsistentError("one page came twice")
        digests.add(digest)
        bodies.append(body)
        pages.append(answer["Items"])
        link = answer.get("NextPageLink") or None
        if link is not None:
            check_same_host(url, link)
    return _summary(bodies, pages)


def _summary(bodies: list[Downloaded], pages: list[list[dict[str, Any]]]) -> Download:
    items = [item for page in pages for item in page]
    return Download(
        tuple(bodies),
        Counter(_without_prices(item) for item in items),
        frozenset(_identity(item) for item in items),
        frozenset(
            (str(item.get("armRegionName") or "").lower(), str(item.get("type"))) for item in items
        ),
        uneven=any(len(page) < len(pages[0]) for page in pages[:-1]),
    )


def _read_answer(body: Downloaded) -> dict[str, Any]:
    """Read a page's JSON and check that it is an answer of Retail Prices.

    Raises:
        _InconsistentError: it is not.
    """
    try:
        answer: Any = msgspec.json.decode(body.read())
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _InconsistentError(f"a page is not JSON ({error})") from None
    items = answer.get("Items") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _InconsistentError("a page has no list of Items")
    if answer.get("Count") != len(items):
        raise _InconsistentError(
            f"a page says Count {answer.get('Count')} and holds {len(items)} items"
        )
    return dict(answer)


def _without_prices(item: dict[str, Any]) -> bytes:
    members = {name: value for name, value in item.items() if name not in PRICES}
    return msgspec.json.encode(members, order="sorted")


def _identity(item: dict[str, Any]) -> Identity:
    return tuple(item.get(name) for name in IDENTITY)


def _check_filter(download: Download, unit: Unit) -> None:
    """Check that every item is of the region and price type that were asked for.

    A server that ignores the filter would fill every partition with all items.
    """
    others = download.partitions - {(unit.region, unit.params["price_type"])}
    if others:
        region, price_type = min(others)
        raise _InconsistentError(
            f"an item is of {region} and {price_type}, which was not asked for"
        )


def _previous_identities(landing: Landing, unit: Unit) -> frozenset[Identity]:
    """Read the identities of the partition's items in the newest live run, none without one."""
    return frozenset(
        _identity(item)
        for page in _previous_pages(landing, unit)
        for item in landing.read_json(page)["Items"]
    )


def _previous_pages(landing: Landing, unit: Unit) -> Iterator[Page]:
    run = landing.latest_run(unit.provider)
    if run is not None and run.origin == "live":
        yield from run.of(unit.kind, unit.region)
