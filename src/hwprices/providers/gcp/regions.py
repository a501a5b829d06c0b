"""Read regions and zones; make rows of the tables regions, zones and availability.

The pages hold ``regions.list`` and ``zones.list``:
https://cloud.google.com/compute/docs/reference/rest/v1/zones/list. Without a project, the zones are
those in which machine types are listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, gcp
from hwprices.providers.gcp.listings import decode
from hwprices.providers.gcp.machine_type import Machines
from hwprices.providers.gcp.sheets import Sheets
from hwprices.rows import frames
from hwprices.schemas.tables import Availability, Regions, Table, Zones

_SETTING = "HWPRICES_GCP_COMPUTE_URL"
STATUSES = {"UP": "available", "DOWN": "unreachable"}


class _Item(msgspec.Struct):
    """One region or zone; ``region`` is a link to the zone's region."""

    name: str
    status: str | None = None
    region: str = ""


class _List(msgspec.Struct):
    items: list[_Item] = []


@dataclass(frozen=True)
class Place:
    """A region, or a zone of a region.

    ``status`` is the API's word (UP, DOWN), None if no list was fetched.
    """

    region: str
    observed_at: datetime
    raw_sha256: str
    zone: str | None = None
    status: str | None = None


def requested_regions(pages: Pages) -> list[str] | None:
    """Return the regions that the run collects, or None for all."""
    lists = [result.unit.params.get("regions", "") for result in pages.run.results]
    return sorted({name for text in lists for name in text.split(",") if name}) or None


def read_zones(pages: Pages, machines: Machines) -> list[Place]:
    """Read the zones that the API lists, or else the zones of machine types."""
    listed = [
        Place(
            region=item.region.rpartition("/")[2],
            zone=item.name,
            status=item.status,
            observed_at=page.retrieved_at,
            raw_sha256=page.sha256,
        )
        for page, item in _items(pages, gcp.ZONES, "a list of zones")
    ]
    offers = machines.offers.unique("zone", keep="first", maintain_order=True)
    columns = ("zone", "region", "observed_at", "raw_sha256")
    return listed or [Place(**row) for row in offers.select(columns).iter_rows(named=True)]


def read_regions(pages: Pages, zones: Sequence[Place]) -> list[Place]:
    """Read the regions that the API lists, or else the regions of the zones; unique and sorted."""
    listed = [
        Place(
            region=item.name,
            status=item.status,
            observed_at=page.retrieved_at,
            raw_sha256=page.sha256,
        )
        for page, item in _items(pages, gcp.REGIONS, "a list of regions")
    ]
    by_name = {place.region: place for place in reversed(listed or zones)}  # the first one counts
    return [by_name[name] for name in sorted(by_name)]


def _items(pages: Pages, kind: str, what: str) -> list[tuple[Page, _Item]]:
    """Read the items of every readable page of a kind."""
    items: list[tuple[Page, _Item]] = []
    for page in pages.of(kind):
        with pages.leave_out(page):
            listing = decode(pages, page, _List, what=what, setting=_SETTING)
            items += [(page, item) for item in listing.items]
    return items


def region_rows(
    regions: Sequence[Place], requested: list[str] | None, sheets: Sheets
) -> pl.DataFrame:
    """Return rows of regions; names and coordinates come from data/specs/gcp_regions.csv.

    ``requested`` limits them; None means all.
    """
    rows = [_region_row(r, sheets) for r in regions if requested is None or r.region in requested]
    return _frame(rows, Regions)


def _region_row(place: Place, sheets: Sheets) -> dict[str, Any]:
    facts = sheets.regions.get(place.region, {})
    names = ("display_name", "country", "continent", "latitude", "longitude")
    return {
        "provider": "gcp",
        "region": place.region,
        "kind": "region",
        "status": STATUSES.get(place.status or ""),
        **{name: facts.get(name) for name in names},
        "observed_at": place.observed_at,
        "raw_sha256": place.raw_sha256,
    }


def zone_rows(zones: Sequence[Place], regions: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the zones in ``regions``, the table of regions, sorted."""
    listed = set(regions["region"])
    rows = [
        {
            "provider": "gcp",
            "region": place.region,
            "zone": place.zone,
            "kind": "zone",
            "observed_at": place.observed_at,
            "raw_sha256": place.raw_sha256,
        }
        for place in sorted(zones, key=lambda place: str(place.zone))
        if place.region in listed
    ]
    return _frame(rows, Zones)


def availability_rows(machines: Machines, regions: list[str] | None) -> pl.DataFrame:
    """Return rows of availability, in the order of the pages.

    ``regions`` limits them; None means all.
    """
    offers = machines.offers
    if regions is not None:
        offers = offers.filter(pl.col("region").is_in(regions))
    rows = offers.lazy().drop("source_url")
    rows = rows.with_columns(provider=pl.lit("gcp"), offered=pl.lit(True))
    return frames.conform(rows, Availability).collect()


def _frame(rows: list[dict[str, Any]], model: Table) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema_overrides=model.dtypes)
    return frames.conform(frame.lazy(), model).collect()
