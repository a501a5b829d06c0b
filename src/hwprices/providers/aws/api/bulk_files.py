"""Download what AWS publishes without an account: indexes, price lists, savings plans, advisor.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

from hwprices.landing.download import Expect, FetchError, check_same_host, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.aws.kinds import PRICE_LIST

OFFER = "AmazonEC2"
SERVICE_INDEX = {"aws": "/offers/v1.0/aws/index.json", "cn": "/offers/v1.0/cn/index.json"}
CHINA_REGIONS = ("cn-north-1", "cn-northwest-1")


@dataclass(frozen=True)
class Files:
    """Where the files of each region are: region code → URL."""

    price_lists: Mapping[str, str]
    savings_plans: Mapping[str, str]


def read_index(context: Context, host: str, partition: str) -> Files:
    """Follow the service index to the region indexes of one partition (``aws`` or ``cn``).

    Raises:
        FetchError: an index cannot be had, or has not the vendor's format.
    """
    offer = _at(_json(context, host + SERVICE_INDEX[partition]), host, "offers", OFFER)
    region_index = _link(host, _at(offer, host, "currentRegionIndexUrl"))
    regions = _at(_json(context, region_index), region_index, "regions")
    price_lists = {
        code: _csv(_link(host, _at(entry, region_index, "currentVersionUrl")))
        for code, entry in regions.items()
    }
    return Files(price_lists, _savings_plans(context, host, offer))


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one bulk file as it was received.

    Raises:
        FetchError: it could not be had complete.
    """
    if "error" in unit.params:
        raise FetchError(unit.params["error"], "Try again later.")
    suffix: Expect = "csv" if unit.kind == PRICE_LIST else "json"
    with TemporaryDirectory(prefix="hwprices-") as scratch:
        body = context.http.download(unit.params["url"], Path(scratch) / "body", expect=suffix)
        return [context.landing.land(unit, body, suffix=suffix)]


def _savings_plans(context: Context, host: str, offer: Any) -> dict[str, str]:
    if not (path := offer.get("currentSavingsPlanIndexUrl")):
        return {}
    index = _link(host, path)
    return {
        _at(entry, index, "regionCode"): _link(host, _at(entry, index, "versionUrl"))
        for entry in _at(_json(context, index), index, "regions")
    }


def _json(context: Context, url: str) -> Any:
    """Download an index. It is small and only names other files, so it is not landed."""
    with TemporaryDirectory(prefix="hwprices-") as scratch:
        path = Path(scratch) / "body"
        body = context.http.download(url, path, expect="json", max_bytes=MAX_READ_BYTES)
        content = body.path.read_bytes()
    if body.encoding == "gzip":
        content = gzip.decompress(content)
    try:
        return json.loads(content)
    except ValueError as error:
        raise FetchError(
            f"{public_url(url)} is not JSON ({error})", "Check the endpoint setting."
        ) from None


def _at(body: Any, url: str, *path: str) -> Any:
    """Return the value at a path of keys. ``url`` is named in the error where a key is missing."""
    for key in path:
        if not isinstance(body, dict) or key not in body:
            raise FetchError(
                f"{public_url(url)} has no {'.'.join(path)}",
                "The vendor's index has changed, or the endpoint setting is wrong.",
            )
        body = body[key]
    return body


def _link(host: str, path: str) -> str:
    url = urljoin(host + "/", path)
    check_same_host(host, url)
    return url


def _csv(url: str) -> str:
    """Name the CSV form of a JSON price list, which can be scanned in constant memory."""
    return url.removesuffix(".json") + ".csv"
