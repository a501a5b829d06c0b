"""Read where sizes are offered."""

import json
from pathlib import Path

from tests.helpers.azure_pages import Landed, frame, recording, restriction, sku


def test_zones_and_restrictions(tmp_path: Path) -> None:
    """Zones in any order, restrictions of both kinds, a zone that only a restriction names."""
    landed = Landed(tmp_path).skus(
        sku(
            "Standard_D2s_v3",
            location="EastUS",
            zones=["2", "3", "1"],
            restrictions=[restriction("Zone", "EastUS", ["3", "4"])],
        ),
        sku(
            "Standard_D4s_v3",
            location="eastus",
            zones=["1"],
            restrictions=[restriction("Location", "eastus"), restriction("Zone", "eastus", ["1"])],
        ),
        sku("Standard_D8s_v3", location="eastus"),
        sku(
            "Standard_D16s_v3",
            location="eastus",
            restrictions=[restriction("Zone", "eastus", ["2"])],
        ),
    )
    rows = (
        frame(landed.parts()["availability"])
        .select("instance_type", "region", "zone", "restricted", "restriction_reason")
        .rows()
    )
    no = "NotAvailableForSubscription"
    assert sorted(rows, key=str) == sorted(
        [
            ("Standard_D2s_v3", "eastus", "1", False, None),
            ("Standard_D2s_v3", "eastus", "2", False, None),
            ("Standard_D2s_v3", "eastus", "3", True, no),
            ("Standard_D2s_v3", "eastus", "4", True, no),
            ("Standard_D4s_v3", "eastus", "1", True, no),
            ("Standard_D8s_v3", "eastus", None, False, None),
            ("Standard_D16s_v3", "eastus", "2", True, no),
        ],
        key=str,
    )


def test_zones_of_a_recorded_answer(tmp_path: Path) -> None:
    body = recording("skus_eastus_2023.json.gz")
    names = {
        value["name"]
        for value in json.loads(body)["value"]
        if value["resourceType"] == "virtualMachines"
    }
    parts = Landed(tmp_path).add("skus", "eastus", body).parts()
    assert set(frame(parts["instance_types"])["instance_type"]) == names
    assert set(frame(parts["availability"]).filter(instance_type="Standard_D2_v2")["zone"]) == {
        "1",
        "2",
        "3",
    }
