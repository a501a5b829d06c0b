"""Read where sizes are offered."""

import json

from tests.helpers.azure_pages import Landed, frame, recording, restriction, sku


def test_zones_and_restrictions(tmp_path) -> None:
    """Zones in any order, restrictions of both kinds, a zone that only a restriction names."""
    closed, zonal = restriction("Location", "eastus"), restriction("Zone", "eastus", ["1"])
    landed = Landed(tmp_path).skus(
        sku(
            "Standard_D2s_v3",
            location="EastUS",
            zones=["2", "3", "1"],
            restrictions=[restriction("Zone", "EastUS", ["3", "4"])],
        ),
        sku("Standard_D4s_v3", zones=["1"], restrictions=[closed, zonal]),
        sku("Standard_D8s_v3"),
        sku("Standard_D16s_v3", restrictions=[restriction("Zone", "eastus", ["2"])]),
    )
    columns = ("instance_type", "region", "zone", "restriction_reason")
    rows = frame(landed.parts()["availability"]).select(*columns, "restricted")
    no = "NotAvailableForSubscription"
    assert sorted(rows.select(columns).rows(), key=str) == [
        ("Standard_D16s_v3", "eastus", "2", no),
        ("Standard_D2s_v3", "eastus", "1", None),
        ("Standard_D2s_v3", "eastus", "2", None),
        ("Standard_D2s_v3", "eastus", "3", no),
        ("Standard_D2s_v3", "eastus", "4", no),
        ("Standard_D4s_v3", "eastus", "1", no),
        ("Standard_D8s_v3", "eastus", None, None),
    ]
    assert rows["restricted"].equals(rows["restriction_reason"].is_not_null().rename("restricted"))


def test_zones_of_a_recorded_answer(tmp_path) -> None:
    body = recording("skus_eastus_2023.json.gz")
    machines = [s for s in json.loads(body)["value"] if s["resourceType"] == "virtualMachines"]
    parts = Landed(tmp_path).add("skus", "eastus", body).parts()
    types, places = frame(parts["instance_types"]), frame(parts["availability"])
    assert set(types["instance_type"]) == {machine["name"] for machine in machines}
    assert set(places.filter(instance_type="Standard_D2_v2")["zone"]) == {"1", "2", "3"}
