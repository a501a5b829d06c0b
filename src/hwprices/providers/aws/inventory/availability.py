"""Make rows of the availability table: which types each zone offers."""

from typing import Any

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.inventory.regions import region_of
from hwprices.providers.aws.kinds import OFFERINGS
from hwprices.rows import frames
from hwprices.schemas.inventory import Availability


def availability_rows(pages: Pages, region: str) -> pl.DataFrame:
    """Make one region's part of the availability table from DescribeInstanceTypeOfferings."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for page in pages.of(OFFERINGS, region):
        with pages.leave_out(page):
            rows |= _offerings(pages, page)
    # EC2 does not say what an account may not use, so restricted and its reason are null.
    return pl.DataFrame(list(rows.values()), schema=frames.dtypes(Availability))


def _offerings(pages: Pages, page: Page) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the rows of one page: (zone, type) → row."""
    names = ("location", "instanceType")
    return {
        (offering["location"], offering["instanceType"]): {
            "provider": "aws",
            "region": region_of(offering["location"]),
            "zone": offering["location"],
            "instance_type": offering["instanceType"],
            "offered": True,
            "observed_at": page.retrieved_at,
            "raw_sha256": page.sha256,
        }
        for offering in ec2_xml.landed_items(pages, page, "instanceTypeOfferingSet", *names)
    }
