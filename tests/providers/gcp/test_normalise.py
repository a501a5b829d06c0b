"""All tables of the sample."""

from pathlib import Path

import pytest
from tests.helpers.gcp_pages import Tables, normalise_sample

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
