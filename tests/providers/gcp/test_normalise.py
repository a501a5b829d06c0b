"""All tables of the sample, and where rows say that they were read."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
from tests.helpers.gcp_pages import RETRIEVED_AT, Tables

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, gcp
from hwprices.providers.gcp.instance_types import read_machines
from hwprices.providers.gcp.regions import read_zones
from hwprices.providers.gcp.sheets import Sheets


def test_no_line_of_the_sample_is_refused(sample: Tables) -> None:
    assert sample.refused == []


def test_slices_without_topology_and_of_unknown_generations_are_refused(tmp_path: Path) -> None:
    known = [{"type": "V5LITE_POD", "topology": "4x4"}]
    listed = [
        {"type": "v5litepod-16", "acceleratorConfigs": known},
        {"type": "v5litepod-32"},
        {"type": "v5litepod-64", "acceleratorConfigs": [{"topology": "8 by 8"}]},
        {"type": "v9x-8", "acceleratorConfigs": known},
        {"type": "v9x-16"},
        {"type": "v9x"},
    ]
    zones = ("us-west4-a", "us-west4-b")
    pages = {zone: json.dumps({"acceleratorTypes": listed}).encode() for zone in zones}
    machines = read_machines(tpu_pages(tmp_path, pages), Sheets.load())
    assert [machine.name for machine in machines.types] == ["v5litepod-16"]
    refused = machines.refused.select("reason", "word", "message").rows()
    unknown = [
        ("unknown_series", "v9x", f"the TPU slice {name} is of an unknown generation")
        for name in ("v9x", "v9x-16", "v9x-8")
    ]
    no_topology = [
        ("no_topology", None, f"the TPU slice {name} has no topology")
        for name in ("v5litepod-32", "v5litepod-64")
    ]
    assert sorted(refused, key=str) == sorted([*no_topology, *unknown], key=str)


def tpu_pages(folder: Path, bodies: dict[str, bytes]) -> Pages:
    """Land a page for each zone, a second apart."""
    landing, unit = Landing(folder), Unit("gcp", gcp.TPU_TYPES)
    pages = tuple(
        landing.land_bytes(
            unit,
            body,
            url=f"https://tpu.test/{zone}",
            params={"location": zone},
            retrieved_at=RETRIEVED_AT + timedelta(seconds=number),
        )
        for number, (zone, body) in enumerate(bodies.items())
    )
    run = Run("r", "gcp", "live", RETRIEVED_AT, "1", (UnitResult(unit, "ok", pages),))
    return Pages(run, landing)


def test_without_a_list_of_zones_each_is_as_its_first_page_says(tmp_path: Path) -> None:
    """Two pages of each of 500 zones: polars keeps any of them where it is not told which."""
    made = {
        "zone": [f"us-west{number % 500}-a" for number in range(1000)],
        "observed_at": [RETRIEVED_AT + timedelta(seconds=number) for number in range(1000)],
    }
    offers = pl.DataFrame(made).with_columns(
        region=pl.col("zone").str.head(-2), raw_sha256=pl.col("zone")
    )
    pages = tpu_pages(tmp_path, {})
    empty = read_machines(pages, Sheets.load())
    zones = read_zones(pages, replace(empty, offers=offers))
    assert [place.zone for place in zones] == made["zone"][:500]
    assert [place.observed_at for place in zones] == made["observed_at"][:500]


def test_pages_of_equal_content_keep_their_own_time_and_address(tmp_path: Path) -> None:
    config = {"type": "V5LITE_POD", "topology": "4x4"}
    body = {"acceleratorTypes": [{"type": "v5litepod-16", "acceleratorConfigs": [config]}]}
    zones = ("us-west4-a", "us-west4-b")
    run_pages = tpu_pages(tmp_path, {zone: json.dumps(body).encode() for zone in zones})
    pages = run_pages.of(gcp.TPU_TYPES)
    offers = read_machines(run_pages, Sheets.load()).offers
    assert offers["source_url"].to_list() == [page.url for page in pages]
    assert offers["observed_at"].to_list() == [page.retrieved_at for page in pages]
