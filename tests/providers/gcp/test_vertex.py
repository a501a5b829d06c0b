"""Machines that Vertex AI runs for prediction: what its SKUs say, and prices composed of them."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.cases import cases
from tests.helpers.gcp_pages import Tables, n2_skus, n2_zones, normalise_pages, sku

from hwprices.providers import gcp
from hwprices.providers.gcp.classify import classify_vertex
from hwprices.providers.gcp.grammar import Descriptions, PricedComponent

PREDICTION = "Vertex AI: Online/Batch Prediction"


def read(root: Path, page: bytes | None) -> Tables:
    """Normalise N2 of Compute Engine, with a page of Vertex AI or without."""
    types = {"items": {f"zones/{z}": {"machineTypes": m} for z, m in n2_zones().items()}}
    bodies = {
        gcp.SKUS: [json.dumps({"skus": n2_skus()}).encode()],
        gcp.VERTEX_SKUS: [page] if page else [],
        gcp.MACHINE_TYPES: [json.dumps(types).encode()],
    }
    return normalise_pages(root, bodies)


@cases("gcp/vertex_skus")
def test_what_a_sku_sells(description: str, usage: str, meaning: str) -> None:
    said = classify_vertex(
        description, family="ApplicationServices", usage=usage, descriptions=Descriptions()
    )
    if isinstance(said, PricedComponent):
        assert (f"{said.series} {said.component}", said.purchase_option) == (meaning, "serverless")
    else:
        assert type(said).__name__ == meaning


def test_prices_are_those_of_a_bill(sample: Tables) -> None:
    """One A3 with one H100 was 12.625919 an hour in 2025-08, with no local SSD and no fee."""
    row = sample.prices("a3-highgpu-1g")[("serverless", 0)]
    assert (row["hourly"], row["price_reason"]) == (Decimal("12.625919"), None)
    parts = sample.components(row["price_id"])
    found = {name: part["sku_id"] for name, part in parts.items()}
    assert found == {"gpu": "AE9C-DB60-DF46", "core": "A002-4323-D900", "ram": "2424-9F04-82A8"}
    eight = sample.prices("a3-highgpu-8g")
    assert eight[("serverless", 0)]["hourly"] == 8 * row["hourly"]
    assert round(eight[("on_demand", 0)]["hourly"], 4) == Decimal("88.4900")
    assert (
        not sample.table("prices")
        .filter(purchase_option="serverless", instance_type="a3-highgpu-1g-nolssd")
        .height
    )


@pytest.mark.parametrize(
    ("page", "reasons"),
    [
        (None, []),
        (b"<html>", []),
        (
            json.dumps({"skus": [sku(f"{PREDICTION} n2-standard-2 X", "1")]}).encode(),
            ["unknown_grammar"],
        ),
    ],
    ids=["absent", "unreadable", "unknown"],
)
def test_other_prices_do_not_depend_on_it(tmp_path, page, reasons) -> None:
    tables = read(tmp_path, page)
    row = tables.prices("n2-standard-2")[("on_demand", 0)]
    assert (row["hourly"], row["price_reason"]) == (Decimal("0.097118"), None)
    assert [row["reason"] for row in tables.refused] == reasons
    assert "serverless" not in tables.table("prices")["purchase_option"]
