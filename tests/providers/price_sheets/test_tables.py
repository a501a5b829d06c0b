"""Price sheets as tables: machine or GPU, reasons, regions; and each trap of the vendors' pages."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import cases, optional
from tests.helpers.vendor_tables import Tables, read_sample
from tests.providers.price_sheets.test_sheet import GOOD

from hwprices import providers
from hwprices.errors import FetchError, HwpricesError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, price_sheets
from hwprices.providers.price_sheets.fetch import COLUMNS, SHEET, land, parse

TODAY = date(2026, 11, 21)
STARTED = datetime(2026, 11, 21, tzinfo=UTC)


def content(*changes: dict[str, str]) -> bytes:
    rows = [",".join(COLUMNS), *(",".join({**GOOD, **change}.values()) for change in changes)]
    return "\n".join(rows).encode()


def run_of(landing: Landing, result: UnitResult) -> Pages:
    return Pages(Run("r", "coreweave", "live", STARTED, "0", (result,)), landing)


@pytest.fixture
def tables(tmp_path: Path) -> Callable[..., Tables]:
    """Land a sheet of CoreWeave with these lines, and read it into tables."""

    def make(*changes: dict[str, str]) -> Tables:
        landing, unit = Landing(tmp_path), Unit("coreweave", SHEET)
        pages = land(landing, unit, parse(content(*changes)), today=TODAY)
        return Tables("coreweave", run_of(landing, UnitResult(unit, "ok", tuple(pages))))

    return make


@pytest.fixture(scope="module")
def sample(project: Path) -> Callable[[str], Tables]:
    """Read a provider's sample into tables."""
    return lambda name: read_sample(name, project)


def price(tables: Tables, machine: str, option: str, region: str = "global") -> dict[str, Any]:
    rows = tables["prices"].filter(instance_type=machine, purchase_option=option, region=region)
    return rows.row(0, named=True)


def count(tables: Tables, machine: str) -> float:
    """Number of GPUs of a machine."""
    return tables["instance_types"].filter(instance_type=machine)["accelerator_count"].item()


def test_a_price_for_a_machine_stays_one(tables) -> None:
    made = tables({})
    row = price(made, "NVIDIA HGX H100", "on_demand", "north-america")
    assert (row["hourly"], row["basis"], row["flags"]) == (Decimal("49.24"), "listed", [])
    assert "price_components" not in made.rows


def test_a_price_for_a_gpu_is_multiplied_and_both_factors_are_kept(tables) -> None:
    made = tables({"unit": "gpu", "price": "$3.99"})
    row = price(made, "NVIDIA HGX H100", "on_demand", "north-america")
    assert (row["hourly"], row["basis"]) == (Decimal("31.92"), "composed")
    (part,) = made["price_components"].to_dicts()
    assert (part["component"], part["quantity"], part["unit_price"]) == ("gpu", 8, Decimal("3.99"))


def test_a_rate_without_a_machine_is_one_gpu_and_flagged(tables) -> None:
    made = tables({"unit": "gpu", "gpus": ""})
    row = price(made, "NVIDIA HGX H100", "on_demand", "north-america")
    assert (row["hourly"], row["flags"]) == (Decimal("49.24"), ["per_gpu_rate"])
    assert count(made, "NVIDIA HGX H100") == 1


def test_a_row_names_the_page_and_the_day_it_was_read(tables) -> None:
    made = tables({}, {"id": "spot", "purchase_option": "spot", "seen_on": "2026-09-01"})
    seen = made["prices"].sort("observed_at")
    assert seen["observed_at"].dt.date().to_list() == [date(2026, 8, 22), date(2026, 9, 1)]
    assert set(seen["source_url"]) == {"https://www.coreweave.com/pricing"}
    assert seen["raw_sha256"].n_unique() == 2


def test_a_sheet_with_a_refused_line_is_not_landed(tmp_path) -> None:
    sheet = parse(content({}, {"id": "x", "purchase_option": "spot", "license": ""}))
    with pytest.raises(FetchError, match=r"coreweave: line 3: license is empty"):
        land(Landing(tmp_path), Unit("coreweave", SHEET), sheet, today=TODAY)
    assert not any(tmp_path.iterdir())


def test_a_day_to_come_is_refused(tmp_path) -> None:
    sheet = parse(content({"seen_on": "2026-11-22"}))
    with pytest.raises(FetchError, match="is in the future"):
        land(Landing(tmp_path), Unit("coreweave", SHEET), sheet, today=TODAY)


def test_a_landed_line_that_is_not_understood_is_in_quarantine(tmp_path) -> None:
    """A sheet that an earlier version landed may hold what this one refuses."""
    landing, unit = Landing(tmp_path), Unit("coreweave", SHEET)
    body = content({}, {"id": "x", "purchase_option": "reserved"})
    page = landing.land_bytes(unit, body, url=GOOD["source_url"], retrieved_at=STARTED)
    made = Tables("coreweave", run_of(landing, UnitResult(unit, "ok", (page,))))
    assert made["prices"].height == 1
    assert made.refused["reason"].to_list() == ["unknown_price_type"]
    assert "not one of on_demand, spot" in made.refused["message"].item()


@pytest.mark.parametrize("name", price_sheets.names())
def test_the_sample_holds_the_sheet_as_it_is(name: str, project: Path, tmp_path: Path) -> None:
    """Else run ``python -m tools.sample.price_sheets``."""
    landing = Landing(tmp_path)
    sheet = parse(price_sheets.sheet_file(name).read_bytes())
    landed = land(landing, Unit(name, SHEET), sheet, today=TODAY)
    run = Landing(project / "data/sample").latest_run(name)
    assert run is not None
    sample = Landing(project / "data/sample")
    pages = [(page.url, sample.read(page)) for page in run.of(SHEET)]
    assert [(page.url, landing.read(page)) for page in landed] == pages


def test_a_region_has_its_name_on_the_page(sample) -> None:
    names = dict(sample("coreweave")["regions"].select("region", "display_name").iter_rows())
    assert names == {"north-america": "NORTH AMERICA", "europe": "EUROPE"}


@cases("price_sheets/prices", hourly=optional, reason=optional)
def test_a_price_is_the_pages_or_null_with_the_reason(
    sample, provider, machine, option, region, hourly, reason
) -> None:
    row = price(sample(provider), machine, option, region)
    assert row["hourly"] == (hourly and Decimal(hourly))
    assert row["price_reason"] == reason


@cases("price_sheets/machines", gpus=int, accelerator=optional)
def test_a_machine_has_the_gpus_of_its_name(sample, provider, machine, gpus, accelerator) -> None:
    tables = sample(provider)
    assert count(tables, machine) == gpus
    (device,) = tables["instance_types"].filter(instance_type=machine)["accelerators"].item()
    assert device["accelerator_id"] == accelerator


def test_crusoe_has_no_price_of_the_managed_product_and_none_of_spot(sample) -> None:
    prices = sample("crusoe")["prices"]
    assert Decimal("5.50") not in prices["hourly"].to_list()
    assert prices.filter(purchase_option="spot")["hourly"].count() == 0


def test_digitaloceans_b300_is_sold_as_spot_only(sample) -> None:
    sold = sample("digitalocean")["prices"].filter(pl.col("instance_type").str.contains("B300"))
    assert set(sold["purchase_option"]) == {"spot"}
    assert set(sold["hourly"]) == {Decimal("11.19"), Decimal("89.52")}


def test_togethers_commitments_and_dedicated_inference_are_left_out(sample) -> None:
    together = sample("together")["prices"]
    assert set(together["purchase_option"]) == {"on_demand"}
    assert together.filter(instance_type="NVIDIA HGX H100")["hourly"].to_list() == [Decimal("3.99")]


def test_a_provider_without_a_sheet_is_an_error() -> None:
    with pytest.raises(HwpricesError, match="no provider 'nocloud'"):
        providers.get("nocloud")


def test_no_sheet_has_the_name_of_a_folder() -> None:
    folders = {Path(path).name for path in Path(providers.__path__[0]).iterdir()}
    assert not folders & set(price_sheets.names())
