"""What AWS gives without an account: indexes, price lists, savings plans, the spot advisor.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

from hwprices.landing.download import Expect, FetchError, check_same_host, public_url
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.aws.kinds import PRICE_LIST, SAVINGS_PLANS

OFFER = "AmazonEC2"
SERVICE_INDEX = {"aws": "/offers/v1.0/aws/index.json", "cn": "/offers/v1.0/cn/index.json"}
CHINA_REGIONS = ("cn-north-1", "cn-northwest-1")


@dataclass(frozen=True)
class Files:
    """Where the files of each region are: region → URL."""

    price_lists: Mapping[str, str]
    savings_plans: Mapping[str, str]


def files(context: Context, host: str, partition: str) -> Files:
    """Follow the service index to the region indexes of one partition (``aws``, ``cn``).

    Raises:
        FetchError: an index cannot be had, or is not what it should be.
    """
    offer = _at(_json(context, host + SERVICE_INDEX[partition]), host, "offers", OFFER)
    region_index = _link(host, _at(offer, host, "currentRegionIndexUrl"))
    listed = _at(_json(context, region_index), region_index, "regions")
    lists = {
        code: _csv(_link(host, _at(entry, region_index, "currentVersionUrl")))
        for code, entry in listed.items()
    }
    plans: dict[str, str] = {}
    if plan_url := offer.get("currentSavingsPlanIndexUrl"):
        plan_index = _link(host, plan_url)
        for entry in _at(_json(context, plan_index), plan_index, "regions"):
            plans[_at(entry, plan_index, "regionCode")] = _link(
                host, _at(entry, plan_index, "versionUrl")
            )
    return Files(lists, plans)


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one bulk file as it comes.

    Raises:
        FetchError: it could not be had whole.
    """
    if "error" in unit.params:
        raise FetchError(unit.params["error"], "Try again later.")
    kinds: dict[str, tuple[Expect, str]] = {
        PRICE_LIST: ("csv", "csv"),
        SAVINGS_PLANS: ("json", "json"),
    }
    expect, suffix = kinds.get(unit.kind, ("json", "json"))
    with TemporaryDirectory(prefix="hwprices-") as scratch:
        body = context.http.download(unit.params["url"], Path(scratch) / "body", expect=expect)
        return [context.landing.land(unit, body, suffix=suffix)]


def _json(context: Context, url: str) -> Any:
    with TemporaryDirectory(prefix="hwprices-") as scratch:
        body = context.http.download(url, Path(scratch) / "body", expect="json")
        # An index is small and only tells where to go: it is followed, not kept.
        page = body.path.read_bytes()
    if body.encoding == "gzip":
        import gzip

        page = gzip.decompress(page)
    try:
        return json.loads(page)
    except ValueError as error:
        raise FetchError(
            f"{public_url(url)} is not JSON ({error})", "Check the endpoint setting."
        ) from None


def _at(body: Any, url: str, *path: str) -> Any:
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
    """Each JSON price list has a CSV twin, which can be scanned in constant memory."""
    return url.removesuffix(".json") + ".csv"
