"""Make rows of the availability table: which types each zone offers."""

import polars as pl

from hwprices.providers import Pages
from hwprices.providers.aws.inventory import ec2_xml
from hwprices.providers.aws.inventory.regions import region_of
from hwprices.providers.aws.kinds import OFFERINGS
from hwprices.rows import frames
from hwprices.schemas.inventory import Availability


def availability_rows(pages: Pages, region: str) -> pl.DataFrame:
    """Make one region's part of the availability table from DescribeInstanceTypeOfferings."""
    rows = {
        (offering["location"], offering["instanceType"]): {
            "provider": "aws",
            "region": region_of(offering["location"]),
            "zone": offering["location"],
            "instance_type": offering["instanceType"],
            "offered": True,
            "observed_at": page.retrieved_at,
            "raw_sha256": page.sha256,
        }
        for page in pages.of(OFFERINGS, region)
        for offering in ec2_xml.read_items(pages.read(page), "instanceTypeOfferingSet")
    }
    # EC2 does not say what an account may not use, so restricted and its reason are null.
    return pl.DataFrame(list(rows.values()), schema=frames.dtypes(Availability))
