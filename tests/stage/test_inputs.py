"""What a release says its tables were made of is everything that they depend on."""

import shutil
from datetime import UTC, datetime

import grimp
import pytest
from tests.helpers.nightly import only_at_night

from hwprices import providers, specs, stage
from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult
from hwprices.specs import sheets
from hwprices.stage import inputs
from hwprices.storage.store import Store

NOT_READING = {
    *("hwprices.landing.download", "hwprices.landing.limits"),
    "hwprices.release",
    *("hwprices.settings", "hwprices.storage"),
}
"""What the readers import and what touches no row: it fetches, configures and stores."""

LARGE = {"aws", "azure", "gcp"}
AT_NIGHT = only_at_night("stages the sample of a large cloud once more")

AT = datetime(2026, 10, 1, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def imports():
    return grimp.build_graph("hwprices", cache_dir=None)


def is_below(module, packages):
    return any(module == one or module.startswith(f"{one}.") for one in packages)


@pytest.mark.parametrize("name", providers.names())
def test_every_module_that_reads_pages_is_in_the_digest(name, imports):
    package = providers.get(name).package
    readers = {f"hwprices.{one.removesuffix('.py').replace('/', '.')}" for one in inputs.READERS}
    readers = {one.removesuffix(".__init__") for one in readers}
    module = f"{package}.normalise"
    used = imports.find_upstream_modules(module if module in imports.modules else package)
    used |= imports.find_upstream_modules("hwprices.stage")
    used -= {"hwprices.providers"}  # its __init__.py, which is among the readers
    assert {one for one in used if not is_below(one, {package, *readers, *NOT_READING})} == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[AT_NIGHT] if name in LARGE else [])
        for name in providers.names()
        if name in LARGE | {"oracle", "lambda"}
    ],
)
def test_every_sheet_that_is_read_is_in_the_digest(name, project, tmp_path, monkeypatch):
    """With no other sheet there, the sample is read all the same."""
    folder = specs.sheet_directory()
    for file in inputs._sheets(name):
        target = tmp_path / "specs" / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    monkeypatch.setattr(sheets, "sheet_directory", lambda: tmp_path / "specs")
    landing = Landing(project / "data" / "sample")
    run = landing.latest_run(name)
    staged = stage.stage(providers.get(name), run, landing, Store(tmp_path / "data"), keep=1)
    assert staged.rows("prices")
    assert [trouble for trouble in staged.troubles if trouble.status == "failed"] == []


def run_of(sha256, *, region="us-1", retrieved_at=AT, params=None):
    page = Page(f"k/{sha256}", sha256, 1, 1, "https://x.example/", {}, 200, "", retrieved_at)
    unit = Unit("lambda", "prices", region, params or {})
    return Run("r1", "lambda", "live", AT, "1", (UnitResult(unit, "ok", (page,)),))


def test_the_digest_of_pages_is_of_what_was_asked_for_and_not_of_when():
    digest = inputs.inputs_of(run_of("a" * 64)).pages
    later = AT.replace(hour=9)
    assert inputs.inputs_of(run_of("a" * 64, retrieved_at=later)).pages == digest
    assert inputs.inputs_of(run_of("b" * 64)).pages != digest
    assert inputs.inputs_of(run_of("a" * 64, params={"regions": "us-1"})).pages != digest


def test_units_name_their_pages_and_the_regions_they_were_asked_for():
    [unit] = inputs.inputs_of(run_of("a" * 64, params={"regions": "us-1,eu-1"})).units
    assert (unit.unit, unit.pages, unit.regions) == ("prices/us-1", ("a" * 16,), ("us-1", "eu-1"))
    assert unit.collected


def test_each_part_of_the_reading_has_its_own_digest(monkeypatch):
    before = inputs.reading("aws")
    monkeypatch.setattr(inputs, "_library_versions", lambda: ["polars 99"])
    after = inputs.reading("aws")
    assert (after.sheets, after.corrections) == (before.sheets, before.corrections)
    assert after.code != before.code
    assert after.digest != before.digest


SOURCE = b'''"""Read rates."""

HOURS = 730
"""Hours of a month."""


def monthly(rate):  # of an hour
    """Multiply."""
    return rate * HOURS
'''


def test_rewording_a_module_leaves_its_digest():
    reworded = SOURCE.replace(b"Multiply", b"Compute the price").replace(b"# of an hour", b"# USD")
    reworded = reworded.replace(b"Hours of a month", b"https://aws.amazon.com/ec2/pricing/")
    assert inputs.code_of(reworded.replace(b"Read rates", b"Rates")) == inputs.code_of(SOURCE)


@pytest.mark.parametrize("other", [b"rate * HOURS * 1", b"rate / HOURS", b"'rate'"])
def test_other_code_changes_its_digest(other):
    assert inputs.code_of(SOURCE.replace(b"rate * HOURS", other)) != inputs.code_of(SOURCE)


def test_the_digest_of_a_set_is_the_same_in_every_process():
    assert b"\"'a'\", \"'b'\", \"'c'\"" in inputs.code_of(b"known = name in {'c', 'a', 'b'}")


def test_rewording_the_notes_of_a_sheet_leaves_its_digest():
    sheet = (specs.sheet_directory() / "gcp_sentences.csv").read_bytes()
    reworded = sheet.replace(b"that are not part of a place", b"beside a place")
    changed = sheet.replace(b"Sole Tenancy|Overcommit", b"Overcommit")
    assert sheet not in (reworded, changed)
    assert inputs.without_notes(reworded) == inputs.without_notes(sheet)
    assert inputs.without_notes(changed) != inputs.without_notes(sheet)


@pytest.mark.parametrize(
    ("sheet", "reworded", "changed"),
    [
        ("vocabulary", (b"Windows Server.", b"Windows."), (b"s,windows,", b"s,win,")),
        ("columns", (b"Cloud provider.", b"The cloud."), (b"TERMS_IN_MONTHS", b"0 12 36")),
        ("columns", (b"ProviderName", b"ServiceProvider"), (b"hourly,decimal", b"hourly,float64")),
        ("tables", (b"Availability zones.", b"Zones."), (b"region zone,", b"region,")),
    ],
)
def test_what_the_sheets_of_schemas_declare_is_an_input(sheet, reworded, changed):
    content = (inputs.PACKAGE / inputs.DECLARATIONS / f"{sheet}.csv").read_bytes()
    assert content not in (content.replace(*reworded), content.replace(*changed))
    assert inputs.declared_in(content.replace(*reworded)) == inputs.declared_in(content)
    assert inputs.declared_in(content.replace(*changed)) != inputs.declared_in(content)
