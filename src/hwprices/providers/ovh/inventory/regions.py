"""Make rows of regions: the kinds of zones that have prices of their own.

Inside a kind of zone all regions have the same prices, and the hourly plans do not list them. So
the kinds stand for the regions: ``standard`` for regions with one zone, ``3az`` for regions with
three, ``lz-eu`` and the like for local zones.
"""

from collections.abc import Sequence

import polars as pl

from hwprices.providers.ovh.plans import STANDARD, Plan
from hwprices.rows import frames
from hwprices.schemas.inventory import Regions

DISPLAY_NAMES = {STANDARD: "Regions with one zone", "3az": "Regions with three zones"}

LOCAL_ZONES = "lz"


def region_rows(plans: Sequence[Plan]) -> pl.DataFrame:
    """Return one row for each kind of zone that a plan has, sorted."""
    first = {plan.region: plan for plan in reversed(plans)}
    rows = [
        {
            "provider": "ovh",
            "region": region,
            "display_name": DISPLAY_NAMES.get(region),
            "kind": "local_zone" if region.split("-")[0] == LOCAL_ZONES else "region",
            "observed_at": plan.page.retrieved_at,
            "raw_sha256": plan.page.sha256,
        }
        for region, plan in sorted(first.items())
    ]
    frame = pl.DataFrame(rows, schema_overrides=frames.dtypes(Regions))
    return frames.conform(frame.lazy(), Regions).collect() if rows else frames.empty(Regions)
