"""Write answers of Azure's APIs for tests, land them, and serve them on loopback."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

import polars as pl
from tools.fullsize.environment import AZURE_RETAIL as RETAIL
from tools.fullsize.environment import AZURE_SUBSCRIPTION as SUBSCRIPTION

from hwprices.landing.download import Http
from hwprices.landing.pages import Landing
from hwprices.providers import Context, Pages, Part, get
from hwprices.providers.azure import Settings
from tests.helpers import cases, vendor_tables
from tests.helpers.stub_server import Reply, Request, StubServer
from tests.helpers.vendor_tables import sample_pages

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SKUS = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/skus"
LOCATIONS = f"/subscriptions/{SUBSCRIPTION}/locations"
RECORDS = cases.entries("azure/records")
PROJECT = Path(__file__).resolve().parents[2]
SAMPLE = PROJECT / "data" / "sample"
RECORDINGS = Path(__file__).resolve().parents[1] / "recordings" / "azure"


def recording(name: str) -> bytes:
    """Read a recorded answer of tests/recordings/azure."""
    return gzip.decompress((RECORDINGS / name).read_bytes())


def item(price: float | str, **more: Any) -> dict[str, Any]:
    """Make a retail item, by default Linux on demand of D2s_v3 in eastus.

    ``more`` replaces members; None leaves a member out.
    """
    base = RECORDS["item"] | {"retailPrice": price, "unitPrice": price}
    return {name: value for name, value in (base | more).items() if value is not None}


def license_item(product: str, meter: str, hourly: float | str, **more: Any) -> dict[str, Any]:
    """Make an item as Retail Prices lists a license."""
    own = {
        "productName": product,
        "meterName": meter,
        "skuName": meter.removesuffix(" License").removesuffix(" Support"),
        "skuId": f"{product}/{meter}",
        "meterId": meter,
    }
    return item(hourly, **RECORDS["license"] | own | more)


def answer(items: Sequence[dict[str, Any]], link: str | None = None, **more: Any) -> dict[str, Any]:
    """Write a page of Retail Prices with these items; ``link`` leads to the next page."""
    items = list(items)
    return RECORDS["answer"] | {"Items": items, "NextPageLink": link, "Count": len(items)} | more


def sku(
    name: str, family: str = "standardDSv3Family", location: str = "eastus", **more: Any
) -> dict[str, Any]:
    """Make a resource SKU.

    ``more`` are capabilities (None leaves one out), or zones and restrictions as lists.
    """
    zones, restrictions = more.pop("zones", []), more.pop("restrictions", [])
    capabilities = RECORDS["capabilities"] | more
    details = [{"Name": zones, "capabilities": RECORDS["zone_capabilities"]}]
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "tier": "Standard",
        "size": name.removeprefix("Standard_"),
        "family": family,
        "locations": [location],
        "locationInfo": [{"location": location, "zones": zones, "zoneDetails": details}],
        "capabilities": [{"name": n, "value": v} for n, v in capabilities.items() if v is not None],
        "restrictions": restrictions,
    }


def location(name: str, kind: str = "Physical", geography: str = "United States") -> dict[str, Any]:
    """Make a location of the subscription."""
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/locations/{name}",
        "name": name,
        "displayName": name.title(),
        "metadata": {
            "regionType": kind,
            "geography": geography,
            "latitude": "37.3",
            "longitude": "-79.8",
        },
        "availabilityZoneMappings": [{"logicalZone": "1", "physicalZone": f"{name}-az2"}],
    }


def restriction(kind: str, location: str, zones: list[str] | None = None) -> dict[str, Any]:
    """Make a restriction of a SKU: ``kind`` is Location or Zone."""
    info = {"locations": [location]} | ({"zones": zones} if zones else {})
    return {
        "type": kind,
        "values": [location],
        "restrictionInfo": info,
        "reasonCode": "NotAvailableForSubscription",
    }


class Landed(vendor_tables.Landed):
    """A landing directory to which answers are added; ``parts()`` normalises it."""

    def __init__(self, folder: Path) -> None:
        super().__init__("azure", folder, NOW)

    def retail(
        self,
        items: Sequence[dict[str, Any]],
        kind: str = "retail_consumption_usd",
        region: str = "eastus",
        **more: Any,
    ) -> Self:
        return self.add(kind, region, json.dumps(answer(items)).encode(), **more)

    def skus(self, *skus: dict[str, Any], region: str = "eastus", **more: Any) -> Self:
        return self.add("skus", region, json.dumps({"value": skus}).encode(), **more)

    def parts(self) -> dict[str, Part]:
        return tables(self.pages())

    def prices(self) -> pl.DataFrame:
        return frame(self.parts()["prices"])


def tables(pages: Pages) -> dict[str, Part]:
    """Normalise a run: table → all its rows, refused rows and counts."""
    parts: dict[str, list[Part]] = {}
    for part in get("azure").normalise(pages):
        parts.setdefault(part.table, []).append(part)
    return {table: _together(of_table) for table, of_table in parts.items()}


def _together(parts: list[Part]) -> Part:
    """Put the parts of a table together, those of prices by region."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.counts)
    refused_rows = [part.refused for part in parts if part.refused is not None]
    return Part(
        parts[0].table,
        pl.concat([frame(part) for part in parts]),
        refused=pl.concat(refused_rows) if refused_rows else None,
        counts=counts,
    )


def frame(part: Part) -> pl.DataFrame:
    """Collect the rows of a part."""
    return part.frame.collect() if isinstance(part.frame, pl.LazyFrame) else part.frame


def refused(part: Part) -> list[str]:
    """List the reasons of a part's refused rows, sorted."""
    return sorted(part.refused["reason"].to_list()) if part.refused is not None else []


def one_row(rows: pl.DataFrame, **values: Any) -> dict[str, Any]:
    """Find the one row that has these values."""
    matching = rows.filter(**values)
    assert matching.height == 1, matching
    return matching.row(0, named=True)


@cache
def sample_parts() -> dict[str, Part]:
    """Normalise the bundled sample into its tables."""
    return tables(sample_pages("azure", PROJECT))


@cache
def sample_prices() -> pl.DataFrame:
    """Price rows of the bundled sample."""
    return frame(sample_parts()["prices"])


def item_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Make one row for each item that becomes a price, without derived rows and savings plans."""
    is_listed = pl.col("basis") == "listed"
    return table.filter(is_listed & (pl.col("purchase_option") != "savings_plan"))


def instance_types(folder: Path, *skus: dict[str, Any]) -> pl.DataFrame:
    """Make rows of instance_types of some SKUs."""
    return frame(Landed(folder).skus(*skus).parts()["instance_types"])


def one_size(
    folder: Path, name: str, family: str = "standardDSv3Family", **capabilities: str | None
) -> dict[str, Any]:
    """Make the row of instance_types of one size."""
    return instance_types(folder, sku(name, family, **capabilities)).row(0, named=True)


class RetailServer:
    """Retail Prices on loopback.

    Serves ``items`` filtered by region and type, in pages cut by $skip, with links as Azure writes
    them. ``before_page(skip, number)`` runs before each page of download ``number`` and may answer
    instead. ``downloads`` counts the downloads.
    """

    def __init__(self, server: StubServer, items: list[dict[str, Any]], page: int = 3) -> None:
        self.server, self.items, self.page = server, items, page
        self.before_page: Any = lambda skip, number: None
        self.downloads = 0
        server.on(RETAIL, self.reply)

    @property
    def url(self) -> str:
        return self.server.url + RETAIL

    def reply(self, request: Request) -> Reply:
        skip = int(request.query.get("$skip", "0"))
        self.downloads += skip == 0
        instead = self.before_page(skip, self.downloads)
        if instead is not None:
            return instead
        matching = [i for i in self.items if self.fits(i, request.query["$filter"])]
        return Reply.json(
            answer(
                matching[skip : skip + self.page],
                self.link(request, skip + self.page) if skip + self.page < len(matching) else None,
            )
        )

    @staticmethod
    def fits(i: dict[str, Any], query: str) -> bool:
        wanted = {
            "priceType": i["type"],
            "armRegionName": i["armRegionName"].lower(),
            "armSkuName": i.get("armSkuName"),
        }
        return all(
            f"{name} eq '{value}'" in query
            for name, value in wanted.items()
            if f"{name} eq " in query
        )

    def link(self, request: Request, skip: int) -> str:
        from urllib.parse import urlencode

        return f"{self.url}?{urlencode({**request.query, '$skip': str(skip)})}"


@contextmanager
def context(folder: Path, server: StubServer, **settings: Any) -> Iterator[Context]:
    """Make what fetching needs, with a server on loopback as vendor; pauses take no time."""
    values = {
        "root": str(folder),
        "azure_retail_url": server.url + RETAIL,
        "azure_arm_url": server.url,
        "azure_subscription_id": None,
        "attempts": 3,
    } | settings
    azure_settings = Settings(**values)
    http = Http(azure_settings, sleep=lambda _: None, now=lambda: NOW)
    try:
        yield Context(azure_settings, Landing(f"{folder}/raw"), http, lambda: NOW)
    finally:
        http.close()
