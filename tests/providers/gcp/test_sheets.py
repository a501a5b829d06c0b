"""Look up Google's rules, and normalise with other rules than those of the checkout."""

import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers.cases import cases, number
from tests.helpers.gcp_pages import n2_skus, n2_zones, normalise_skus

from hwprices.errors import HwpricesError
from hwprices.providers.gcp.sheets import Sheets
from hwprices.specs import sheet_directory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of data/specs to change."""
    return Path(shutil.copytree(sheet_directory(), tmp_path / "specs"))


def append(folder: Path, sheet: str, row: str) -> None:
    file = folder / f"{sheet}.csv"
    file.write_text(file.read_text() + row + "\n")


def test_two_patterns_for_one_type_are_an_error(folder: Path) -> None:
    row = "n2-standard-.*,n2x,x86_64,Intel,,2,https://example.com,2026-11-21"
    append(folder, "gcp_series", row)
    with pytest.raises(HwpricesError, match=r"gcp_series.csv: 2 patterns fit n2-standard-2"):
        Sheets.load(folder).series_of("n2-standard-2")


def test_a_cell_that_does_not_fit_is_named(folder: Path) -> None:
    append(folder, "gcp_tpu", "ct9,,v9,many,google-tpu-v9,https://example.com,2026-11-21")
    with pytest.raises(HwpricesError, match=r"gcp_tpu.csv line 12, column chips_per_unit: 'many'"):
        Sheets.load(folder)


def test_an_unlisted_type_has_its_first_word_as_series() -> None:
    series = Sheets.load().series_of("n9-standard-2")
    assert (series.name, series.arch, series.threads_per_core) == ("n9", None, None)


@cases("gcp/network", included=number, at_extra_charge=number)
def test_the_network_in_the_price_and_that_of_tier_1(name, included, at_extra_charge) -> None:
    network = Sheets.load().network_of(name)
    assert (network.gbps_max, network.gbps_max_at_extra_charge) == (included, at_extra_charge)


def test_normalise_uses_the_sheets_it_is_given(folder: Path, tmp_path: Path) -> None:
    """n2-standard-2 billed as half a vCPU costs less, without a change in the checkout."""
    append(folder, "gcp_billed_vcpus", "n2-standard-2,0.5,https://example.com,2026-11-21")
    tables = normalise_skus(tmp_path / "landing", n2_skus(), n2_zones(), sheets=Sheets.load(folder))
    assert tables.instance_type("n2-standard-2")["vcpus_billed"] == 0.5
    price = tables.prices("n2-standard-2")[("on_demand", 0)]
    assert tables.components(price["price_id"])["core"]["quantity"] == Decimal("0.5")
