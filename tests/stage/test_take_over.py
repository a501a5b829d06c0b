"""Take over all tables of a provider whose pages and reading are those of the current tables."""

import gzip
import shutil
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.helpers.nightly import only_at_night

from hwprices import providers, stage
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.providers import Provider
from hwprices.stage import inputs
from hwprices.storage.store import Store

LARGE = {"aws", "azure", "gcp"}
SHEETS = {name for name in providers.names() if providers.get(name).about.is_price_sheet}
NAMES = [name for name in providers.names() if name not in SHEETS or name == "coreweave"]
"""Providers whose pages are read. CoreWeave represents all price sheets: one program reads them."""

AT_NIGHT = only_at_night("stages the sample of a large cloud twice more")
HOUR, YEAR = timedelta(hours=1), timedelta(days=365)


@pytest.fixture
def sample(project):
    """The bundled sample, a landing root."""
    return Landing(project / "data" / "sample")


@pytest.fixture
def read(monkeypatch):
    """The runs whose pages were read."""
    runs = []
    original = Provider.normalise

    def normalise(provider, pages):
        runs.append(pages.run.run_id)
        return original(provider, pages)

    monkeypatch.setattr(Provider, "normalise", normalise)
    return runs


def staged(run, landing, root):
    return stage.stage(providers.get(run.provider), run, landing, Store(root), keep=5)


def later(run, run_id, after=timedelta()):
    """The same pages, fetched so much later."""
    results = [
        replace(
            one, pages=tuple(replace(p, retrieved_at=p.retrieved_at + after) for p in one.pages)
        )
        for one in run.results
    ]
    return replace(run, run_id=run_id, results=tuple(results))


def files(root, provider, run_id):
    """The bytes of everything that was staged of a run but its manifest."""
    folder = root / "staged" / provider / run_id
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.parquet")}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[AT_NIGHT] if one in LARGE else []) for one in NAMES]
)
def test_what_is_taken_over_is_what_would_be_read_again(name, sample, read, tmp_path) -> None:
    first = replace(sample.latest_run(name), run_id="r0")
    staged(first, sample, tmp_path / "root")
    for number, after in enumerate((timedelta(), HOUR, YEAR), 1):
        run = later(first, f"r{number}", after)
        read.clear()
        second = staged(run, sample, tmp_path / "root")
        assert after or read == []
        anew = staged(run, sample, tmp_path / f"anew-{number}")
        assert replace(second, parts=()) == replace(anew, parts=())
        made = files(tmp_path / "root", name, run.run_id)
        assert made == files(tmp_path / f"anew-{number}", name, run.run_id)


@pytest.fixture
def run(sample):
    """The run of a small provider."""
    return replace(sample.latest_run("linode"), run_id="r1")


@pytest.fixture
def landing(sample, tmp_path):
    """A copy of its pages."""
    folder = tmp_path / "raw"
    shutil.copytree(f"{sample.store.root}/linode", folder / "linode")
    return Landing(folder)


@pytest.fixture
def root(run, landing, read, tmp_path):
    """A root in which it was staged."""
    staged(run, landing, tmp_path)
    read.clear()
    return tmp_path


def test_a_page_fetched_an_hour_later_is_not_read(run, landing, root, read) -> None:
    staged(later(run, "r2", HOUR), landing, root)
    assert read == []


def test_a_page_that_changed_is_read(run, landing, root, read) -> None:
    result = next(one for one in run.results if one.pages)
    page = result.pages[0]
    content = landing.read(page) + b"\n"
    changed = landing.land_bytes(
        result.unit, content, url=page.url, retrieved_at=page.retrieved_at, suffix="json"
    )
    results = [
        replace(one, pages=(changed, *one.pages[1:])) if one is result else one
        for one in run.results
    ]
    staged(replace(run, run_id="r2", results=tuple(results)), landing, root)
    assert read == ["r2"]


@pytest.mark.parametrize("part", ["_sheets", "_program"])
def test_another_sheet_or_program_reads_the_pages_again(
    run, landing, root, read, monkeypatch, part
) -> None:
    monkeypatch.setattr(inputs, part, lambda provider: [])
    staged(replace(run, run_id="r2"), landing, root)
    assert read == ["r2"]


def test_another_correction_reads_the_pages_again(run, landing, root, read, monkeypatch) -> None:
    monkeypatch.setattr(inputs.corrections, "load", lambda provider: ["another"])
    assert inputs.inputs_of(run) != stage.latest(Store(root), "linode").inputs


def test_a_unit_that_kept_older_pages_reads_them_again(run, landing, root, read) -> None:
    carried = replace(run.results[0], status="carried", carried_from="r1", reason="HTTP 500")
    second = staged(replace(run, run_id="r2", results=(carried, *run.results[1:])), landing, root)
    assert (read, second.oldest_run, second.troubles[0].reason) == (["r2"], "r1", "HTTP 500")


def test_a_mistake_of_the_program_is_warned_of_in_each_run(run, landing, root, read) -> None:
    last = stage.latest(Store(root), "linode")
    stage.make_current(Store(root), replace(last, quarantined={"program_mistake": 1}))
    staged(replace(run, run_id="r2"), landing, root)
    assert read == ["r2"]


def test_a_run_that_is_staged_twice_never_deletes_what_was_staged(run, landing, root, read) -> None:
    """A copy that fails deletes its folder, which here would be that of the current tables."""
    before = files(root, "linode", "r1")
    next((root / "staged" / "linode" / "r1" / "prices").rglob("*.parquet")).write_bytes(b"")
    (root / "staged" / "linode" / "r1" / "kept").write_text("not ours to delete")
    staged(replace(run, run_id="r1"), landing, root)
    assert read == ["r1"]
    assert (root / "staged" / "linode" / "r1" / "kept").exists()
    assert files(root, "linode", "r1").items() >= before.items()


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"")])
@pytest.mark.parametrize("table", ["prices", "regions"])
def test_a_file_that_is_gone_or_altered_is_made_again(
    run, landing, root, read, damage, table
) -> None:
    before = files(root, "linode", "r1")
    damage(next((root / "staged" / "linode" / "r1" / table).rglob("*.parquet")))
    staged(replace(run, run_id="r2"), landing, root)
    assert read == ["r2"]
    assert files(root, "linode", "r2") == before


def test_a_page_that_was_altered_is_not_passed_over(run, landing, root) -> None:
    page = next(page for result in run.results for page in result.pages)
    landing.store.put(page.key, gzip.compress(b"{}"))
    with pytest.raises(HwpricesError, match="altered"):
        staged(replace(run, run_id="r2"), landing, root)
    assert stage.latest(Store(root), "linode").run_id == "r1"


def test_the_quantiles_of_a_market_are_of_each_day(sample, read, tmp_path) -> None:
    first = replace(sample.latest_run("vast"), run_id="r1")
    staged(first, sample, tmp_path)
    staged(later(first, "r2", timedelta(days=1)), sample, tmp_path)
    assert read == ["r1", "r2"]
