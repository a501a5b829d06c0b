"""All tables of the sample, and where rows say that they were read."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from tests.helpers.gcp_pages import RETRIEVED_AT, Tables, normalise_sample

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages
from hwprices.providers.gcp import kinds
from hwprices.providers.gcp.inventory.instance_types import read_machines
from hwprices.providers.gcp.sheets import Sheets
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate


@pytest.fixture(scope="module")
def sample(project: Path) -> Tables:
    return normalise_sample(project)


def test_every_table_of_the_sample_passes_validation(sample: Tables) -> None:
    for name in (
        "regions",
        "zones",
        "instance_types",
        "availability",
        "prices",
        "price_components",
        "component_prices",
    ):
        frame = sample.table(name)
        assert frame.height, name
        assert validate.split(frame, TABLES[name], {}).refused.is_empty(), name
    assert sample.refused == []


def test_the_same_pages_give_the_same_rows_in_the_same_order(project: Path, sample: Tables) -> None:
    again = normalise_sample(project)
    for name in ("instance_types", "prices", "price_components", "component_prices"):
        assert validate.sort_by_key(again.table(name), TABLES[name]).equals(
            validate.sort_by_key(sample.table(name), TABLES[name])
        )


def test_pages_of_equal_content_keep_their_own_time_and_address(tmp_path: Path) -> None:
    config = {"type": "V5LITE_POD", "topology": "4x4"}
    body = {"acceleratorTypes": [{"type": "v5litepod-16", "acceleratorConfigs": [config]}]}
    landing, unit = Landing(tmp_path), Unit("gcp", kinds.TPU_TYPES)
    pages = tuple(
        landing.land_bytes(
            unit,
            json.dumps(body).encode(),
            url=f"https://tpu.test/{zone}",
            params={"location": zone},
            retrieved_at=RETRIEVED_AT + timedelta(seconds=number),
        )
        for number, zone in enumerate(("us-west4-a", "us-west4-b"))
    )
    run = Run("r", "gcp", "live", RETRIEVED_AT, "1", (UnitResult(unit, "ok", pages),))
    offers = read_machines(Pages(run, landing), Sheets.load()).offers
    assert offers["source_url"].to_list() == [page.url for page in pages]
    assert offers["observed_at"].to_list() == [page.retrieved_at for page in pages]
