"""Download what AWS publishes without an account: indexes, price lists, savings plans, advisor.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hwprices.landing.bodies import read_json
from hwprices.landing.download import Expect, FetchError, check_link, check_same_host, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, PastList, SkippedError
from hwprices.providers.aws import EC2, PART_LISTS, PRICE_LIST, SAVINGS_PLANS
from hwprices.storage.scratch import scratch_directory

SERVICE_INDEX = {"aws": "/offers/v1.0/aws/index.json", "cn": "/offers/v1.0/cn/index.json"}
CHINA_REGIONS = ("cn-north-1", "cn-northwest-1")


VERSION_NAME = re.compile(r"\d{14}", re.ASCII)
"""The name of a version of a price list: the time at which AWS published it."""

REGION_NAME = re.compile(r"[a-z0-9-]{1,64}")
"""A valid code of a region, a local zone or a Wavelength zone. It becomes the name of a folder."""

Source = Mapping[str, str]
"""``params`` of a unit: the ``url`` of its file, or the ``error`` if the index has none."""


@dataclass(frozen=True)
class Files:
    """The files of an index: kind of unit → region code → params of the unit, price lists first."""

    by_kind: Mapping[str, Mapping[str, Source]]

    @property
    def price_lists(self) -> Mapping[str, Source]:
        """The price lists of EC2."""
        return self.by_kind[PRICE_LIST]


def read_index(context: Context, host: str, partition: str) -> Files:
    """Follow the service index to the region indexes of one partition (``aws`` or ``cn``).

    Raises:
        FetchError: the service index or the index of EC2's price lists is unavailable or has
            another format. If another index or a region's entry is wrong, its units get the error.
    """
    offers = _at(_json(context, host + SERVICE_INDEX[partition]), host, "offers")
    if not isinstance(offers, dict) or EC2 not in offers:
        raise _other_format(host, f"offers.{EC2}")
    offer = offers[EC2]
    price_lists = _price_lists(context, host, offer)
    by_kind = {PRICE_LIST: price_lists}
    for kind, name in PART_LISTS.items():
        if name in offers:
            by_kind[kind] = _part_lists(context, host, offers[name], price_lists)
    by_kind[SAVINGS_PLANS] = _savings_plans(context, host, offer, price_lists)
    return Files(by_kind)


def _part_lists(
    context: Context, host: str, offer: Any, price_lists: Mapping[str, Source]
) -> dict[str, Source]:
    """Read the index of another list. If it is unavailable, each region gets the error."""
    try:
        listed = _price_lists(context, host, offer)
    except FetchError as error:
        return {code: {"error": error.message} for code in price_lists}
    return {code: source for code, source in listed.items() if code in price_lists}


def _price_lists(context: Context, host: str, offer: Any) -> dict[str, Source]:
    """Follow the region index of an offer: region code → params of the unit of its price list."""
    region_index = _link(host, _at(offer, host, "currentRegionIndexUrl"))
    regions = _at(_json(context, region_index), region_index, "regions")
    if not isinstance(regions, dict):
        raise _other_format(region_index, "regions")
    price_lists: dict[str, Source] = {}
    for code, entry in regions.items():
        source = _source(host, region_index, entry, "currentVersionUrl")
        csv = {"url": _csv(source["url"])} if "url" in source else source
        price_lists[_region_name(code)] = csv
    return price_lists


def read_versions(context: Context, host: str) -> list[PastList]:
    """List the monthly versions of the price list that AWS keeps, oldest first.

    Source: offers/v1.0/aws/AmazonEC2/index.json, the ``versionIndexUrl`` of the service index. Each
    version comes with the savings plans published last before it began.

    Raises:
        FetchError: an index is unavailable or has another format.
    """
    offer = _at(_json(context, host + SERVICE_INDEX["aws"]), host, "offers", EC2)
    url = _link(host, _at(offer, host, "versionIndexUrl"))
    entries = _at(_json(context, url), url, "versions")
    if not isinstance(entries, dict):
        raise _other_format(url, "versions")
    plans = _plan_versions(context, host, offer)
    versions = []
    for name, entry in entries.items():
        begin = _time(_at(entry, url, "versionEffectiveBeginDate"), url)
        end = entry.get("versionEffectiveEndDate")
        index = _link(host, _region_index(_at(entry, url, "offerVersionUrl"), url))
        params = {PRICE_LIST: index}
        if published_before := [link for published, link in plans if published <= begin]:
            params[SAVINGS_PLANS] = published_before[-1]
        versions.append(
            PastList(
                kinds=tuple(params),
                version=name,
                begin=begin,
                end=_time(end, url) if end else None,
                published=_published(name, url),
                params=params,
            )
        )
    return sorted(versions, key=lambda version: (version.begin, version.version))


def _plan_versions(context: Context, host: str, offer: Any) -> list[tuple[datetime, str]]:
    """List the versions of savings plans: time of publication and region index.

    Source: the ``savingsPlanVersionIndexUrl`` of the service index,
    https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/service-version-index-file-for-savings-plans.html
    """
    if not offer.get("savingsPlanVersionIndexUrl"):
        return []
    url = _link(host, offer["savingsPlanVersionIndexUrl"])
    entries = _at(_json(context, url), url, "versions")
    if not isinstance(entries, list):
        raise _other_format(url, "versions")
    return sorted(
        (
            _time(_at(entry, url, "publicationDate"), url),
            _link(host, _at(entry, url, "offerVersionUrl")),
        )
        for entry in entries
    )


def past_units(context: Context, host: str, past: PastList, region: str) -> list[Unit]:
    """Return the units of a region in a version: its price list, and its savings plans if any.

    Raises:
        FetchError: a region index is unavailable or has another format.
        SkippedError: the version lacks the region, which opened later.
    """
    url = past.params[PRICE_LIST]
    regions = _at(_json(context, url), url, "regions")
    if not isinstance(regions, dict):
        raise _other_format(url, "regions")
    if region not in regions:
        raise SkippedError(f"AWS had no price list of {region} in version {past.version}")
    source = _source(host, url, regions[region], "currentVersionUrl")
    params = {"url": _csv(source["url"])} if "url" in source else source
    units = [Unit("aws", PRICE_LIST, region, params)]
    if SAVINGS_PLANS in past.params:
        plans = _plan_files(context, host, past.params[SAVINGS_PLANS])
        units += [Unit("aws", SAVINGS_PLANS, region, plans[region])] if region in plans else []
    return units


def _region_index(offer_url: object, url: str) -> str:
    """Return the path of a version's region index, beside its list of all regions."""
    if not isinstance(offer_url, str) or not offer_url.endswith("/index.json"):
        raise _other_format(url, "offerVersionUrl")
    return offer_url.removesuffix("index.json") + "region_index.json"


def _published(version: str, url: str) -> datetime:
    if VERSION_NAME.fullmatch(version):
        with suppress(ValueError):
            return datetime.strptime(version, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    raise _other_format(url, f"versions.{version[:20]}")


def _time(text: object, url: str) -> datetime:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except ValueError:
        raise _other_format(url, "time") from None


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one bulk file as it was received.

    Raises:
        FetchError: it is unavailable or incomplete, or the index lacks it.
    """
    if "error" in unit.params:
        raise FetchError(unit.params["error"], "Try again later.")
    suffix: Expect = "csv" if unit.kind in (PRICE_LIST, *PART_LISTS) else "json"
    with scratch_directory() as scratch:
        body = context.http.download(unit.params["url"], Path(scratch) / "body", expect=suffix)
        return [context.landing.land(unit, body, suffix=suffix)]


def _savings_plans(
    context: Context, host: str, offer: Any, price_lists: Iterable[str]
) -> dict[str, Source]:
    """Read the index of savings plans. If it is unavailable, each region gets the error."""
    if not offer.get("currentSavingsPlanIndexUrl"):
        return {}
    try:
        return _plan_files(context, host, _link(host, offer["currentSavingsPlanIndexUrl"]))
    except FetchError as error:
        return {code: {"error": error.message} for code in price_lists}


def _plan_files(context: Context, host: str, index: str) -> dict[str, Source]:
    """Read a region index of savings plans: region code → its file."""
    entries = _at(_json(context, index), index, "regions")
    if not isinstance(entries, list):
        raise _other_format(index, "regions")
    files: dict[str, Source] = {}
    for entry in entries:
        code = _region_name(_at(entry, index, "regionCode"))
        source = _source(host, index, entry, "versionUrl")
        if files.setdefault(code, source) != source:
            files[code] = {"error": f"{public_url(index)} lists {code} twice"}
    return files


def _source(host: str, index: str, entry: Any, member: str) -> Source:
    """Return the file of a region's entry in an index, or the error if the entry is wrong."""
    try:
        return {"url": _link(host, _at(entry, index, member))}
    except FetchError as error:
        return {"error": error.message}


def _region_name(code: object) -> str:
    """Return a region's code, or a safe folder name for an invalid one."""
    text = str(code)
    is_name = REGION_NAME.fullmatch(text) is not None
    return text if is_name else f"invalid-{zlib.crc32(repr(text).encode()):08x}"


def _json(context: Context, url: str) -> Any:
    """Download an index. It only names other files, so it is not landed."""
    with scratch_directory() as scratch:
        path = Path(scratch) / "body"
        return read_json(context.http.download(url, path, expect="json", max_bytes=MAX_READ_BYTES))


def _at(body: Any, url: str, *path: str) -> Any:
    """Return the value at a path of keys. The error for a missing key names ``url``."""
    for key in path:
        if not isinstance(body, dict) or key not in body:
            raise _other_format(url, ".".join(path))
        body = body[key]
    return body


def _other_format(url: str, member: str) -> FetchError:
    return FetchError(
        f"{public_url(url)} has no {member}, or it has another format",
        "The vendor's index has changed, or the endpoint setting is wrong.",
    )


def _link(host: str, path: object) -> str:
    url = urljoin(host + "/", check_link(host, path))
    check_same_host(host, url)
    return url


def _csv(url: str) -> str:
    """Return the CSV form of a JSON price list, which can be scanned in constant memory."""
    return url.removesuffix(".json") + ".csv"
