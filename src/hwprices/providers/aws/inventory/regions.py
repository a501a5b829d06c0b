"""Regions, zones and where each type is offered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.prices.spot import region_of
from hwprices.rows import frames
from hwprices.schemas.catalog import Availability, Regions, Zones

PARTITIONS = {"cn-": "china", "us-gov-": "gov"}
"""Regions outside the commercial partition, by how their codes begin.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"""

LOCATION_TYPES = {"AWS Local Zone": "local_zone", "AWS Wavelength Zone": "wavelength"}

ZONE_KINDS = {
    "availability-zone": "zone",
    "local-zone": "local_zone",
    "wavelength-zone": "wavelength",
}

OPT_IN = {"opt-in-not-required": "available", "opted-in": "available", "not-opted-in": "opt_in"}

PARENT = r"^([a-z]{2}(?:-[a-z]+)+-\d+)-.+$"
"""A local or Wavelength zone's code begins with its region's: us-west-2-lax-1."""


@dataclass
class Places:
    """Regions as they are met: by the price list's Location, by DescribeRegions, by units that were skipped."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add_listed(self, places: pl.DataFrame, observed_at: datetime, raw_sha256: str) -> None:
        """``price_list.PriceList.places``; the name that most lines have is the region's."""
        for row in places.sort("lines", descending=True, maintain_order=True).iter_rows(named=True):
            self._meet(row["region"], observed_at, raw_sha256)
            kind = LOCATION_TYPES.get(row["location_type"])
            self._learn(row["region"], display_name=row["location"], kind=kind)

    def add_regions(self, pages: Pages, page: Page) -> None:
        """DescribeRegions (XML)."""
        for said in ec2_xml.items(pages.read(page), "regionInfo"):
            self._meet(said["regionName"], page.retrieved_at, page.sha256)
            self._learn(said["regionName"], status=OPT_IN.get(said.get("optInStatus", "")))

    def add_unreachable(self, region: str) -> None:
        """A region that is known and did not answer."""
        if region in self.rows:
            self.rows[region]["status"] = "unreachable"

    def frame(self) -> pl.DataFrame:
        """The regions table; geography and grid are null here, the sheets fill them."""
        rows = [
            {"provider": "aws", "region": region, **row}
            for region, row in sorted(self.rows.items())
        ]
        columns = [
            "provider",
            "region",
            "display_name",
            "kind",
            "status",
            "observed_at",
            "raw_sha256",
        ]
        frame = pl.DataFrame(rows, schema={n: frames.dtypes(Regions)[n] for n in columns}).lazy()
        by_code = pl.lit("region")
        for start, kind in PARTITIONS.items():
            by_code = (
                pl.when(pl.col("region").str.starts_with(start))
                .then(pl.lit(kind))
                .otherwise(by_code)
            )
        named = frame.with_columns(kind=pl.col("kind").fill_null(by_code))
        parent = pl.when(pl.col("kind").is_in(["local_zone", "wavelength"])).then(
            pl.col("region").str.extract(PARENT)
        )
        return frames.conform(named.with_columns(parent_region=parent), Regions).collect()

    def _meet(self, region: str, observed_at: datetime, raw_sha256: str) -> None:
        self.rows.setdefault(
            region,
            {
                "display_name": None,
                "kind": None,
                "status": None,
                "observed_at": observed_at,
                "raw_sha256": raw_sha256,
            },
        )

    def _learn(self, region: str, **said: Any) -> None:
        row = self.rows[region]
        row.update(
            {name: value for name, value in said.items() if value is not None and row[name] is None}
        )


def zones(pages: Pages, landed: Sequence[Page]) -> pl.DataFrame:
    """DescribeAvailabilityZones (XML) → the zones table."""
    rows = {
        said["zoneName"]: {
            "provider": "aws",
            "region": region_of(said["zoneName"]),
            "zone": said["zoneName"],
            "zone_id": said.get("zoneId") or None,
            "kind": ZONE_KINDS.get(said.get("zoneType", "availability-zone"), "zone"),
            "observed_at": page.retrieved_at,
            "raw_sha256": page.sha256,
        }
        for page in landed
        for said in ec2_xml.items(pages.read(page), "availabilityZoneInfo")
    }
    return pl.DataFrame(list(rows.values()), schema=frames.dtypes(Zones))


def availability(pages: Pages, landed: Sequence[Page]) -> pl.DataFrame:
    """DescribeInstanceTypeOfferings by zone (XML) → the availability table."""
    rows = {
        (said["location"], said["instanceType"]): {
            "provider": "aws",
            "region": region_of(said["location"]),
            "zone": said["location"],
            "instance_type": said["instanceType"],
            "offered": True,
            "observed_at": page.retrieved_at,
            "raw_sha256": page.sha256,
        }
        for page in landed
        for said in ec2_xml.items(pages.read(page), "instanceTypeOfferingSet")
    }
    built = pl.DataFrame(
        list(rows.values()),
        schema={
            n: t
            for n, t in frames.dtypes(Availability).items()
            if n not in ("restricted", "restriction_reason")
        },
    )
    return frames.conform(built.lazy(), Availability).collect()
