"""Releases made again from their landed pages: equal, or what differs and why."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers import ledger_provider as ledger
from tests.helpers.nightly import only_at_night
from tests.helpers.terminal import run

from hwprices.publish.reproduce import PageFault, Reproduction, TableDifference, reproduce
from hwprices.release.versions import latest_version
from hwprices.storage.store import Store

pytestmark = pytest.mark.timeout(900)

A = {"type": "a-2", "vcpus": 2, "cents": 100, "currency": "USD"}
B = {"type": "b-4", "vcpus": 4, "cents": 400, "currency": "USD"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of two releases of one provider: a-2 moves on the second day."""
    with ledger.installed(tmp_path_factory.mktemp("ledger")) as cloud:
        for day, cents in ((1, 100), (2, 110)):
            cloud.collect(day, {"us-1": [A | {"cents": cents}], "eu-1": [B]})
            cloud.publish(day)
    return cloud.root


@pytest.fixture
def cloud(made: Path, tmp_path: Path) -> Iterator[ledger.Ledger]:
    """A copy of them."""
    with ledger.installed(tmp_path) as cloud:
        shutil.copytree(made, cloud.root)
        yield cloud


def made_again(cloud: ledger.Ledger, day: int = 2) -> Reproduction:
    return reproduce(cloud.store, ledger.version(day))


def page_of(cloud: ledger.Ledger, region: str) -> Path:
    return next((cloud.root / "raw" / ledger.NAME / "prices" / region).iterdir())


@pytest.mark.parametrize("day", [1, 2])
def test_the_same_pages_and_program_give_the_same_release(cloud: ledger.Ledger, day: int) -> None:
    made = made_again(cloud, day)
    assert (made.exit_status, made.differences, made.pages, made.problems) == (0, (), (), ())
    assert (made.program, dict(made.readings)) == (made.installed, {})


@pytest.mark.parametrize(("fault", "status"), [("altered", 1), ("missing", 2)])
def test_a_page_at_fault_is_named_and_not_taken_for_a_difference(cloud, fault, status) -> None:
    page = page_of(cloud, "eu-1")
    page.write_bytes(page.read_bytes() + b" ") if fault == "altered" else page.unlink()

    made = made_again(cloud)

    key = page.relative_to(cloud.root).as_posix()
    assert (made.exit_status, made.pages) == (status, (PageFault(ledger.NAME, key, fault),))
    assert made.differences == ()


def test_rows_that_another_program_reads_are_named(cloud: ledger.Ledger) -> None:
    cloud.program("/ CENTS", "/ CENTS * 2")

    made = made_again(cloud)

    assert (made.exit_status, dict(made.readings)) == (1, {ledger.NAME: ("code",)})
    prices = next(one for one in made.differences if one.file.startswith("prices/"))
    assert (prices.gone, prices.new, prices.changed) == (0, 0, 1)
    assert set(prices.columns) == {"hourly", "effective_hourly"}
    assert any("a-2" in one or "b-4" in one for one in prices.examples)
    assert "offers.parquet" in {one.file for one in made.differences}


def test_a_table_that_was_altered_with_its_digest_differs(cloud: ledger.Ledger) -> None:
    manifest = cloud.root / "releases" / ledger.version(2) / "manifest.json"
    text = manifest.read_text()
    entry = json.loads(text)["tables"]["offers"]["files"][0]
    manifest.write_text(text.replace(entry["content_sha256"], "0" * 64))

    made = made_again(cloud)

    assert made.differences == (TableDifference("offers.parquet", 0, 0, 0, (), ()),)


def test_a_run_with_other_pages_is_no_basis(cloud: ledger.Ledger) -> None:
    runs = sorted((cloud.root / "raw" / ledger.NAME / "runs").iterdir())
    other = json.loads(runs[0].read_text()) | {"run_id": runs[1].stem}
    runs[1].write_text(json.dumps(other))

    made = made_again(cloud)

    assert made.exit_status == 2
    assert made.problems[0].endswith("has other pages of prices/us-1")


def test_a_release_whose_predecessor_is_gone_is_not_compared_in_full(cloud: ledger.Ledger) -> None:
    shutil.rmtree(cloud.root / "releases" / ledger.version(1))
    made = made_again(cloud)
    assert (made.exit_status, made.differences) == (2, ())
    assert len(made.problems) == 2  # new_words and the history


def test_the_command_prints_the_result_and_ends_with_its_status(cloud: ledger.Ledger) -> None:
    at = ["--root", str(cloud.root)]

    equal = run("reproduce", *at)
    assert (equal.exit_code, equal.stdout.splitlines()[-1].split(", ")[1]) == (0, "equal")

    page = page_of(cloud, "eu-1")
    page.write_bytes(b"")
    altered = run("reproduce", ledger.version(2), *at, "--json")
    values = json.loads(altered.stdout)
    assert (altered.exit_code, values["exit_status"], len(values["pages"])) == (1, 1, 1)


@only_at_night("makes the release of the sample once more")
@pytest.mark.slow
def test_the_release_of_the_sample_comes_out_equal(sample_root: Path) -> None:
    version = latest_version(Store(sample_root))
    made = reproduce(Store(sample_root), str(version))
    assert (made.exit_status, made.differences, made.problems) == (0, (), ())
    assert made.compared > 90
