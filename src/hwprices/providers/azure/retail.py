"""Fetch retail prices: one partition (region × price type × currency), completely or not at all.

Source: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices.
Pages are cut by ``$skip`` out of a list that may change between two requests, so an item can move
to a page that was already read, and be missed. A download of all pages is accepted if it is
consistent; otherwise it is repeated until two downloads in a row have the same items, at most three
times. Nothing is landed before that.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from hwprices.errors import HwpricesError
from hwprices.landing.download import Downloaded, FetchError, Http, check_same_host, public_url
from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context, SkippedError, azure
from hwprices.providers.azure.items import Item, RetailPage
from hwprices.storage.scratch import scratch_directory

API_VERSION = "2023-01-01-preview"  # the only version with savingsPlan
DOWNLOADS = 3  # Downloads of one partition before it counts as failed
MAX_PAGES = 200  # the largest partitions have about ten pages of 1,000 items

MAX_LIST_BYTES = 64 << 20
"""Limit for all pages of one partition. The largest have about ten pages of 1 MB."""

MAX_LOST_SHARE = 0.10
"""Share of the last run's items that may be missing. A retired series is 1 to 2 % of a region; if
more than a tenth is missing, the response is wrong, even if two downloads agree."""

NO_PRICES = {"retail_price": None, "unit_price": None, "savings_plan": None}
"""Null for the members of an item that are prices."""

PROBE_SIZES = tuple(
    f"Standard_{size}"
    for size in ("D2s_v3", "D2s_v5", "D2s_v6", "D2as_v5", "D2as_v6", "B2s", "B2s_v2", "F2s_v2")
)
"""Common sizes of four generations, whose prices name the regions without an account. A new region
sells at least one of them: austriaeast and chilecentral have only v5."""

Identity = tuple[Any, ...]  # Members of an item that stay the same from month to month

_DECODER = msgspec.json.Decoder(RetailPage)
"""Decodes a page like ``items.decode_items``, so that only readable pages are landed."""


class _InconsistentError(Exception):
    """A download that is wrong, even if the next one agrees."""


@dataclass(frozen=True)
class PageSummary:
    """The facts about the items of one page that are compared, instead of the items.

    ``digest`` covers all members that are read. ``identities`` is compared with the previous run.
    ``partitions`` are the regions and price types. ``link`` leads to the next page.
    """

    digest: bytes
    count: int
    identities: frozenset[Identity]
    partitions: frozenset[tuple[str, str]]
    link: str | None


@dataclass(frozen=True)
class Download:
    """One download of all pages of a partition: bodies and summaries."""

    bodies: tuple[Downloaded, ...]
    pages: tuple[PageSummary, ...]

    @property
    def count(self) -> int:
        """The number of items."""
        return sum(page.count for page in self.pages)

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """The identities of the items."""
        return frozenset[Identity]().union(*(page.identities for page in self.pages))

    @property
    def partitions(self) -> frozenset[tuple[str, str]]:
        """The regions and price types of the items."""
        return frozenset[tuple[str, str]]().union(*(page.partitions for page in self.pages))

    @property
    def is_uneven(self) -> bool:
        """Whether a page before the last is shorter than the first."""
        return any(page.count < self.pages[0].count for page in self.pages[:-1])

    @cached_property
    def items(self) -> Counter[bytes]:
        """The items as JSON without prices, counted.

        This reads the bodies again, and is needed only if identities and digests do not suffice.
        """
        answers = (_DECODER.decode(body.read()) for body in self.bodies)
        return Counter(_without_prices(item) for answer in answers for item in answer.Items)

    @property
    def repeated(self) -> int:
        """How many items repeat an earlier one, apart from the prices."""
        if len(self.identities) == self.count:
            return 0
        return self.count - len(self.items)

    def has_items_of(self, other: "Download") -> bool:
        """Check whether another download has the same items; their prices may differ."""
        digests = [page.digest for page in self.pages]
        return digests == [page.digest for page in other.pages] or self.items == other.items


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one partition; ``unit.params`` has price_type and currency, and may have a size.

    The licenses of machines are one partition without a region.

    Raises:
        FetchError: it is unavailable or incomplete, or lost too many items since the last run.
        SkippedError: it has no items, and had none before.
    """
    price_type = unit.params["price_type"]
    size = unit.params.get("size", "")
    service = azure.LICENSES if azure.is_license(unit.kind) else azure.MACHINES
    region = "" if azure.is_license(unit.kind) else unit.region
    params = query_of(region, price_type, unit.params["currency"], size, service)
    previous = _previous_identities(context.landing, unit)
    with scratch_directory() as scratch:
        numbers = count()

        def download() -> Download:
            folder = Path(scratch) / str(next(numbers))
            folder.mkdir()
            result = _download(context.http, context.settings.azure_retail_url, params, folder)
            _check_filter(result, region, price_type)
            return result

        accepted = download_until_consistent(download, previous, unit.name)
        if not accepted.count and previous:
            raise FetchError(
                f"{unit.name} has no items and had {len(previous)} before",
                "Its last good pages stay in use.",
            )
        if not accepted.count:
            raise SkippedError(f"Azure sells no {service.lower()} as {price_type} in {unit.region}")
        return [context.landing.land(unit, body, suffix="json") for body in accepted.bodies]


def read_regions(http: Http, url: str) -> list[str]:
    """List the regions that have prices of the probe sizes, sorted.

    Raises:
        FetchError: the prices are unavailable.
    """
    sizes = " or ".join(f"armSkuName eq '{size}'" for size in PROBE_SIZES)
    query = f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and ({sizes})"
    problem = ""
    for _ in range(DOWNLOADS):
        with scratch_directory() as scratch:
            try:
                result = _download(http, url, _query(query, "USD"), Path(scratch))
            except _InconsistentError as error:
                problem = str(error)
                continue
        return sorted({region.strip() for region, _ in result.partitions} - {""})
    raise FetchError(
        f"{public_url(url)} returned no readable list of regions, {DOWNLOADS} times: {problem}",
        "Try again later.",
    )


def has_prices(http: Http, url: str, region: str) -> bool:
    """Check whether any virtual machine has a price in a region. Reads the first page only.

    Raises:
        FetchError: the prices are unavailable.
    """
    if not region.isalnum():
        return False
    with scratch_directory() as scratch:
        params = query_of(region, "Consumption", "USD")
        body = http.download(url, Path(scratch) / "body", params=params, max_bytes=MAX_LIST_BYTES)
        try:
            page = _read_page(body.read())
        except _InconsistentError as error:
            raise FetchError(
                f"{public_url(url)} returned no readable prices of {region}: {error}",
                "Try again later.",
            ) from None
    return any(place == region for place, _ in page.partitions)


def download_until_consistent(
    download: Callable[[], Download], previous: frozenset[Identity], name: str
) -> Download:
    """Download until a result is consistent or has the same items as the download before it.

    ``previous`` are the identities of the last run, empty if there is none.

    Raises:
        FetchError: no two consecutive downloads agree, or too many items are missing.
    """
    last: Download | None = None
    problem = ""
    for _ in range(DOWNLOADS):
        try:
            current = download()
        except _InconsistentError as error:
            last, problem = None, str(error)
            continue
        inconsistency = _inconsistency(current, previous)
        if not inconsistency or (last is not None and current.has_items_of(last)):
            _check_lost(current, previous, name)
            return current
        problem = inconsistency
        if last is not None:
            problem = (
                f"two downloads differ by {_difference(current, last)} items ({inconsistency})"
            )
        last = current
    raise FetchError(
        f"{name} could not be read completely in {DOWNLOADS} downloads: {problem}",
        "Its last good pages stay in use; try again later.",
    )


def _inconsistency(download: Download, previous: frozenset[Identity]) -> str:
    """Describe what is inconsistent in a download; empty if nothing is."""
    if repeated := download.repeated:
        return f"{repeated} items came twice"
    if download.is_uneven:
        return "a page before the last is shorter than the first"
    if lost := len(previous - download.identities):
        return f"{lost} of {len(previous)} items of the last run are gone"
    if not previous and len(download.bodies) > 1:
        return "no earlier run to compare with"
    return ""


def _check_lost(download: Download, previous: frozenset[Identity], name: str) -> None:
    lost = len(previous - download.identities)
    if download.count and lost > MAX_LOST_SHARE * len(previous):
        raise FetchError(
            f"{name} lost {lost} of {len(previous)} items since the last run",
            "Its last good pages stay in use; look at what Azure answers.",
        )


def _difference(first: Download, second: Download) -> int:
    return ((first.items - second.items) + (second.items - first.items)).total()


def query_of(
    region: str, price_type: str, currency: str, size: str = "", service: str = azure.MACHINES
) -> dict[str, str]:
    """Return the parameters of the first request of a partition, or of one size in it."""
    expression = (
        f"serviceName eq '{service}' and armRegionName eq '{region}'"
        f" and priceType eq '{price_type}'"
    )
    if size:
        quoted = size.replace("'", "''")  # as in OData
        expression += f" and armSkuName eq '{quoted}'"
    return _query(expression, currency)


def _query(expression: str, currency: str) -> dict[str, str]:
    return {"api-version": API_VERSION, "currencyCode": f"'{currency}'", "$filter": expression}


def _download(http: Http, url: str, params: dict[str, str], folder: Path) -> Download:
    """Download all pages into a folder, following NextPageLink, which includes the parameters."""
    bodies: list[Downloaded] = []
    pages: list[PageSummary] = []
    links, digests = set[str](), set[bytes]()
    link: str | None = url
    while link:
        if link in links or len(bodies) == MAX_PAGES:
            raise _InconsistentError(f"the links run in a circle after {len(bodies)} pages")
        links.add(link)
        first = params if not bodies else None
        room = MAX_LIST_BYTES - sum(body.file.content_bytes for body in bodies)
        path = folder / f"{len(bodies)}.body"
        body = http.download(link, path, params=first, max_bytes=room)
        page = _read_page(body.read())
        if page.count and page.digest in digests:
            raise _InconsistentError("one page came twice")
        digests.add(page.digest)
        bodies.append(body)
        pages.append(page)
        link = page.link
        if link is not None:
            check_same_host(url, link)
    return Download(tuple(bodies), tuple(pages))


def _read_page(content: bytes) -> PageSummary:
    """Read a page's JSON and check that it is an answer of Retail Prices."""
    try:
        content.decode()  # the decoder does not check texts that it skips
        answer = _DECODER.decode(content)
        identities = frozenset(map(_identity, answer.Items))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise _InconsistentError(f"a page is not a list of Items ({error})") from None
    if answer.Count != len(answer.Items):
        raise _InconsistentError(
            f"a page says Count {answer.Count} and holds {len(answer.Items)} items"
        )
    partitions = {(item.arm_region_name, item.type) for item in answer.Items}
    return PageSummary(
        digest=hashlib.sha256(msgspec.json.encode(answer.Items)).digest(),
        count=answer.Count,
        identities=identities,
        partitions=frozenset((str(r or "").lower(), str(kind)) for r, kind in partitions),
        link=answer.NextPageLink or None,
    )


def _without_prices(item: Item) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(item, **NO_PRICES))


def _identity(item: Item) -> Identity:
    """Return the members of an item that stay the same. Its price and dates change."""
    return (
        item.sku_id,
        item.meter_id,
        item.type,
        item.reservation_term,
        item.tier_minimum_units,
        item.arm_sku_name,
    )


def _check_filter(download: Download, region: str, price_type: str) -> None:
    """Check that every item has the requested region and price type.

    A server that ignores the filter would return all items for every partition.
    """
    others = download.partitions - {(region, price_type)}
    if others:
        place, kind = min(others)
        raise _InconsistentError(f"an item is of {place} and {kind}, which was not requested")


def _previous_identities(landing: Landing, unit: Unit) -> frozenset[Identity]:
    """Read the identities of the partition's items in the newest live run; empty without one."""
    run = landing.latest_run(unit.provider)
    pages = run.of(unit.kind, unit.region) if run is not None and run.origin == "live" else []
    return frozenset[Identity]().union(*(_landed_identities(landing, page) for page in pages))


def _landed_identities(landing: Landing, page: Page) -> frozenset[Identity]:
    try:
        return _read_page(landing.read(page)).identities
    except _InconsistentError as error:
        raise HwpricesError(
            f"landed page {landing.store.uri(page.key)} cannot be compared with: {error}",
            "Delete it and fetch again.",
        ) from None
