"""Price sheets as tables: machine or GPU, reasons, regions; and each trap of the vendors' pages."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.providers.price_sheets.test_sheet import GOOD

from hwprices import providers
from hwprices.errors import FetchError, HwpricesError
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages, price_sheets
from hwprices.providers.price_sheets.fetch import SHEET, land
from hwprices.providers.price_sheets.sheet import COLUMNS, parse
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

TODAY = date(2026, 11, 21)
STARTED = datetime(2026, 11, 21, tzinfo=UTC)
Tables = dict[str, pl.DataFrame]


def content(*changes: dict[str, str]) -> bytes:
    rows = [",".join(COLUMNS), *(",".join({**GOOD, **change}.values()) for change in changes)]
    return "\n".join(rows).encode()


def normalise(landing: Landing, name: str, *results: UnitResult) -> tuple[Tables, pl.DataFrame]:
    """Read landed pages into tables and refused rows."""
    run = Run("r", name, "live", STARTED, "0", results)
    parts = list(providers.get(name).normalise(Pages(run, landing)))
    refused = [part.refused for part in parts if part.refused is not None]
    return {part.table: part.frame.lazy().collect() for part in parts}, pl.concat(refused)


@pytest.fixture
def tables(tmp_path: Path) -> Callable[..., Tables]:
    """Land a sheet of CoreWeave with these lines, and read it into tables."""

    def make(*changes: dict[str, str]) -> Tables:
        landing, unit = Landing(tmp_path), Unit("coreweave", SHEET)
        pages = land(landing, unit, parse(content(*changes)), today=TODAY)
        made, _ = normalise(landing, "coreweave", UnitResult(unit, "ok", tuple(pages)))
        return made

    return make


@pytest.fixture(scope="module")
def sample(project: Path) -> Callable[[str], Tables]:
    """Read a provider's sample into tables."""

    def read(name: str) -> Tables:
        landing = Landing(project / "data/sample")
        run = landing.latest_run(name)
        assert run is not None
        return normalise(landing, name, *run.results)[0]

    return read


def price(tables: Tables, machine: str, option: str, region: str = "global") -> dict[str, Any]:
    rows = tables["prices"].filter(instance_type=machine, purchase_option=option, region=region)
    return rows.row(0, named=True)


def count(tables: Tables, machine: str) -> float:
    """Number of GPUs of a machine."""
    return tables["instance_types"].filter(instance_type=machine)["accelerator_count"].item()


def accelerator(tables: Tables, machine: str) -> str | None:
    (device,) = tables["instance_types"].filter(instance_type=machine)["accelerators"].item()
    return device["accelerator_id"]


def test_a_price_for_a_machine_stays_one(tables) -> None:
    made = tables({})
    row = price(made, "NVIDIA HGX H100", "on_demand", "north-america")
    assert (row["hourly"], row["basis"], row["flags"]) == (Decimal("49.24"), "listed", [])
    assert "price_components" not in made


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
    with pytest.raises(FetchError, match="is a day to come"):
        land(Landing(tmp_path), Unit("coreweave", SHEET), sheet, today=TODAY)


def test_a_landed_line_that_is_not_understood_is_in_quarantine(tmp_path) -> None:
    """A sheet that an earlier version landed may hold what this one refuses."""
    landing, unit = Landing(tmp_path), Unit("coreweave", SHEET)
    body = content({}, {"id": "x", "purchase_option": "reserved"})
    page = landing.land_bytes(unit, body, url=GOOD["source_url"], retrieved_at=STARTED)
    made, refused = normalise(landing, "coreweave", UnitResult(unit, "ok", (page,)))
    assert made["prices"].height == 1
    assert refused["reason"].to_list() == ["unknown_price_type"]
    assert "not one of on_demand, spot" in refused["message"].item()


@pytest.mark.parametrize("body", [b"", b"\xff", b"a,b\n1,2\n", b'"' * 200_000, b"\x00" * 99])
def test_a_page_of_another_shape_fails_its_unit(tmp_path, body) -> None:
    landing, unit = Landing(tmp_path), Unit("coreweave", SHEET)
    page = landing.land_bytes(unit, body, url=GOOD["source_url"], retrieved_at=STARTED)
    run = Run("r", "coreweave", "live", STARTED, "0", (UnitResult(unit, "ok", (page,)),))
    pages = Pages(run, landing)
    parts = list(providers.get("coreweave").normalise(pages))
    assert sum(part.frame.lazy().collect().height for part in parts) == 0
    assert [page.key for page in pages.unreadable] == [page.key]


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


@pytest.mark.parametrize("name", price_sheets.names())
def test_no_row_of_a_sheet_fails_a_check(sample, name: str) -> None:
    """So few rows are refused without a stop, so it would go unnoticed."""
    for table, frame in sample(name).items():
        assert validate.split(frame, TABLES[table], {}).refused.is_empty(), table


def test_a_region_has_its_name_on_the_page(sample) -> None:
    names = dict(sample("coreweave")["regions"].select("region", "display_name").iter_rows())
    assert names == {"north-america": "NORTH AMERICA", "europe": "EUROPE"}


def test_coreweave_prices_the_machine(sample) -> None:
    coreweave = sample("coreweave")
    assert price(coreweave, "NVIDIA HGX H100", "on_demand", "europe")["hourly"] == Decimal("49.24")
    assert count(coreweave, "NVIDIA HGX H100") == 8
    assert count(coreweave, "NVIDIA GH200") == 1


def test_coreweaves_footnote_is_not_a_digit(sample) -> None:
    assert count(sample("coreweave"), "NVIDIA GB200 NVL72") == 4


def test_coreweaves_b300_has_a_spot_price_and_no_other(sample) -> None:
    coreweave = sample("coreweave")
    on_demand = price(coreweave, "NVIDIA HGX B300", "on_demand", "europe")
    assert (on_demand["hourly"], on_demand["price_reason"]) == (None, "contact_sales")
    assert price(coreweave, "NVIDIA HGX B300", "spot", "europe")["hourly"] == Decimal("36.70")


@pytest.mark.parametrize("machine", ["NVIDIA L40", "NVIDIA L40S"])
def test_coreweave_has_no_spot_of_some_gpus_in_europe(sample, machine: str) -> None:
    coreweave = sample("coreweave")
    row = price(coreweave, machine, "spot", "europe")
    assert (row["hourly"], row["price_reason"]) == (None, "no_price_on_page")
    assert price(coreweave, machine, "spot", "north-america")["hourly"] is not None


def test_lambdas_price_is_per_gpu_and_smaller_machines_are_dearer(sample) -> None:
    sold = sample("lambda")
    per_gpu = [
        price(sold, f"{gpus}x NVIDIA H100 SXM 80 GB", "on_demand")["hourly"] / gpus
        for gpus in (8, 4, 2, 1)
    ]
    assert per_gpu == [Decimal(text) for text in ("3.99", "4.09", "4.19", "4.29")]


def test_lambdas_form_factor_is_in_the_name_only(sample) -> None:
    sold = sample("lambda")
    assert accelerator(sold, "1x NVIDIA H100 PCIe 80 GB") == "nvidia-h100-pcie-80gb"
    assert accelerator(sold, "1x NVIDIA H100 SXM 80 GB") == "nvidia-h100-sxm5-80gb"
    assert accelerator(sold, "8x NVIDIA A100 SXM 40 GB") == "nvidia-a100-sxm4-40gb"
    assert accelerator(sold, "8x NVIDIA Tesla V100 16 GB") is None  # SXM2 or PCIe: not said


def test_nebius_prints_the_least_of_its_spot_prices(sample) -> None:
    nebius = sample("nebius")
    spot = price(nebius, "NVIDIA HGX B300", "spot")
    assert (spot["hourly"], spot["price_reason"]) == (None, "floor_price")
    assert price(nebius, "NVIDIA HGX B300", "on_demand")["hourly"] == Decimal("9.50")


@pytest.mark.parametrize(
    ("machine", "reason"),
    [("NVIDIA L40S with AMD CPU", "floor_price"), ("NVIDIA GB300 NVL72", "contact_sales")],
)
def test_what_nebius_does_not_price_is_null_with_the_reason(sample, machine, reason) -> None:
    row = price(sample("nebius"), machine, "on_demand")
    assert (row["hourly"], row["price_reason"]) == (None, reason)


def test_crusoes_h100_is_the_machine_and_not_the_managed_product(sample) -> None:
    crusoe = sample("crusoe")
    assert price(crusoe, "NVIDIA H100 80GB HGX", "on_demand")["hourly"] == Decimal("3.90")
    assert Decimal("5.50") not in crusoe["prices"]["hourly"].to_list()


def test_crusoe_states_no_price_of_b200_and_no_spot_price(sample) -> None:
    crusoe = sample("crusoe")
    b200 = price(crusoe, "NVIDIA B200 180GB HGX", "on_demand")
    assert (b200["hourly"], b200["price_reason"]) == (None, "contact_sales")
    assert crusoe["prices"].filter(purchase_option="spot")["hourly"].count() == 0


def test_digitaloceans_b300_is_sold_as_spot_only(sample) -> None:
    sold = sample("digitalocean")["prices"].filter(pl.col("instance_type").str.contains("B300"))
    assert set(sold["purchase_option"]) == {"spot"}
    assert set(sold["hourly"]) == {Decimal("11.19"), Decimal("89.52")}


def test_digitaloceans_8x_is_a_machine_of_eight(sample) -> None:
    sold = sample("digitalocean")
    assert price(sold, "NVIDIA H200 (8x)", "on_demand")["hourly"] == Decimal("35.76")
    assert count(sold, "NVIDIA H200 (8x)") == 8


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
