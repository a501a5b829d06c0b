"""Make rows of the regions and zones tables.

Regions come from three sources: the price lists name them, DescribeRegions gives their opt-in
status, and a region whose endpoint did not answer is marked unreachable.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from hwprices.landing.pages import NO_ANSWER, Page
from hwprices.providers import Pages
from hwprices.providers.aws import INSTANCE_TYPES, REGIONS, ZONES, responses
from hwprices.providers.aws.responses import PriceListFacts
from hwprices.schemas.tables import Regions, Zones


@dataclass(frozen=True)
class Partition:
    """Regions with separate accounts and price lists: their kind and currency."""

    kind: str
    currency: str


PARTITIONS = {
    "cn-": Partition("china", "CNY"),
    "eusc-": Partition("sovereign", "EUR"),
    "us-gov-": Partition("gov", "USD"),
}
"""Prefix of a region's code → its partition. Other regions are in the commercial partition.
https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html,
https://docs.aws.eu/esc/latest/userguide/what-is-aws-european-sovereign-cloud.html"""

COMMERCIAL = re.compile(r"(af|ap|ca|eu|il|me|mx|sa|us)-[a-z]+-\d+(-.+)?")
"""Regions of the commercial partition and their zones, as in botocore's partitions.json."""

LOCATION_TYPES = {"AWS Local Zone": "local_zone", "AWS Wavelength Zone": "wavelength"}

ZONE_KINDS = {
    "availability-zone": "zone",
    "local-zone": "local_zone",
    "wavelength-zone": "wavelength",
}

OPT_IN = {"opt-in-not-required": "available", "opted-in": "opt_in", "not-opted-in": "opt_in"}
"""optInStatus → status. Whether this account has enabled the region is of no interest to others."""

PARENT = re.compile(r"([a-z]{2,4}(?:-[a-z]+)+-\d+)-.+")
"""The code of a local or Wavelength zone begins with its parent region: us-west-2-lax-1."""

WAVELENGTH = re.compile(r"(.+-wl\d+-[a-z]+)-wlz-?(\d+)")
FIRST_WAVELENGTH = {
    "us-east-1-wl1-bos-wlz-1": "us-east-1-wl1",
    "us-west-2-wl1-sfo-wlz-1": "us-west-2-wl1",
}
"""Zone → code in the price lists. Those of the first two Wavelength zones have no city. Zones:
https://docs.aws.amazon.com/wavelength/latest/developerguide/available-wavelength-zones.html; codes
in price lists: "regions" in the region_index.json of EC2, with the same location."""


@dataclass(frozen=True)
class Statement:
    """What one page states about one region; None if unstated."""

    region: str
    page: Page
    display_name: str | None = None
    kind: str | None = None
    status: str | None = None


def region_of(zone: str) -> str:
    """Return a zone's region: ``us-west-2-lax-1a`` → ``us-west-2-lax-1``.

    A zone's code is its region's and a letter. A Wavelength zone has another code in the price
    lists: ``us-east-1-wl1-atl-wlz-1`` → ``us-east-1-wl1-atl1``.
    """
    if zone in FIRST_WAVELENGTH:
        return FIRST_WAVELENGTH[zone]
    if wavelength := WAVELENGTH.fullmatch(zone):
        return "".join(wavelength.groups())
    return zone[:-1] if re.search(r"\d[a-z]$", zone) else zone


def partition_of(region: str) -> Partition | None:
    """Return the partition of a region; None for commercial and unknown regions."""
    return next((p for prefix, p in PARTITIONS.items() if region.startswith(prefix)), None)


def currency_of(region: str) -> str | None:
    """Return the currency of a region whose price list is unavailable; None if unknown."""
    if partition := partition_of(region):
        return partition.currency
    return "USD" if COMMERCIAL.fullmatch(region) else None


def region_rows(pages: Pages, price_lists: Sequence[PriceListFacts]) -> pl.DataFrame:
    """Make the regions table; geography and grid are null, and later filled in from the sheets.

    If sources disagree, the first one is used: price lists before DescribeRegions, and in a price
    list the name on most lines.
    """
    rows: dict[str, dict[str, Any]] = {}
    for statement in [*_listed(price_lists), *_described(pages)]:
        row = rows.setdefault(statement.region, _new_row(statement))
        for column in ("display_name", "kind", "status"):
            row[column] = getattr(statement, column) if row[column] is None else row[column]
    for region in _unreachable(pages) & set(rows):
        rows[region]["status"] = "unreachable"
    completed = [_completed(rows[region]) for region in sorted(rows)]
    return pl.DataFrame(completed, schema=Regions.dtypes)


def zone_rows(pages: Pages) -> pl.DataFrame:
    """Make the zones table from DescribeAvailabilityZones."""
    rows: dict[str, dict[str, Any]] = {}
    for page in pages.of(ZONES):
        with pages.leave_out(page):
            listed = responses.landed_items(pages, page, "availabilityZoneInfo", "zoneName")
            rows |= {zone["zoneName"]: _zone_row(zone, page) for zone in listed}
    return pl.DataFrame(list(rows.values()), schema=Zones.dtypes)


def _zone_row(zone: dict[str, Any], page: Page) -> dict[str, Any]:
    zone_id = zone.get("zoneId")
    return {
        "provider": "aws",
        "region": region_of(zone["zoneName"]),
        "zone": zone["zoneName"],
        "zone_id": zone_id if isinstance(zone_id, str) and zone_id else None,
        "kind": ZONE_KINDS.get(zone.get("zoneType", "availability-zone"), "zone"),
        "observed_at": page.retrieved_at,
        "raw_sha256": page.sha256,
    }


def _listed(price_lists: Sequence[PriceListFacts]) -> Iterator[Statement]:
    for facts in price_lists:
        places = facts.places.sort("lines", descending=True, maintain_order=True)
        for place in places.iter_rows(named=True):
            kind = LOCATION_TYPES.get(place["location_type"])
            yield Statement(place["region"], facts.page, place["location"], kind)


def _described(pages: Pages) -> list[Statement]:
    statements: list[Statement] = []
    for page in pages.of(REGIONS):
        with pages.leave_out(page):
            statements += [
                Statement(
                    region["regionName"], page, status=OPT_IN.get(region.get("optInStatus", ""))
                )
                for region in responses.landed_items(pages, page, "regionInfo", "regionName")
            ]
    return statements


def _unreachable(pages: Pages) -> set[str]:
    return {
        result.unit.region
        for result in pages.run.results
        if result.unit.kind == INSTANCE_TYPES and result.cause == NO_ANSWER
    }


def _new_row(statement: Statement) -> dict[str, Any]:
    return {
        "provider": "aws",
        "region": statement.region,
        "display_name": None,
        "kind": None,
        "status": None,
        "observed_at": statement.page.retrieved_at,
        "raw_sha256": statement.page.sha256,
    }


def _completed(row: dict[str, Any]) -> dict[str, Any]:
    """Add the parent region, and the kind by the region's code if no source states it."""
    code = row["region"]
    partition = partition_of(code)
    kind = row["kind"] or (partition.kind if partition else "region")
    parent = PARENT.fullmatch(code) if kind in ("local_zone", "wavelength") else None
    return {**row, "kind": kind, "parent_region": parent[1] if parent else None}
