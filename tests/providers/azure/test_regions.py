"""Read regions and zones from locations."""

from pathlib import Path

import polars as pl
from tests.helpers.azure_pages import Landed, frame, recording, sku
from tests.helpers.cases import cases

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


def test_recorded_locations(tmp_path: Path) -> None:
    body = recording("locations.json.gz")
    parts = (
        Landed(tmp_path)
        .add("locations", "global", body)
        .skus(sku("Standard_D2s_v3", location="austriaeast"), region="austriaeast")
        .parts()
    )
    regions = frame(parts["regions"])
    found = (regions.height, dict(parts["regions"].counts))
    assert found == (55, {"out_of_scope:logical_or_test_location": 43})
    west = regions.filter(region="westeurope").row(0, named=True)
    assert (west["display_name"], west["country"]) == ("West Europe", "NL")
    assert (west["continent"], west["latitude"]) == ("europe", 52.3667)
    assert regions.filter(pl.col("country").is_null())["region"].to_list() == ["austriaeast"]
    assert regions.filter(region="brazilus")["latitude"].to_list() == [None]
    zones = frame(parts["zones"]).filter(region="eastus").select("zone", "zone_id").rows()
    assert zones == [("1", "eastus-az2"), ("2", "eastus-az3"), ("3", "eastus-az1")]
    for table in ("regions", "zones"):
        assert validate.split(frame(parts[table]), TABLES[table], {}).refused.is_empty()


@cases("azure/region_kinds")
def test_kind_of_a_region(tmp_path: Path, region: str, kind: str) -> None:
    parts = Landed(tmp_path).skus(sku("Standard_D2s_v3", location=region), region=region).parts()
    assert frame(parts["regions"]).select("region", "kind").rows() == [(region, kind)]
