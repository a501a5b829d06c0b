"""Take over the rows of regions whose pages, program and sheets are the same as in the last run."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from hwprices import providers, stage
from hwprices.landing.pages import Landing
from hwprices.providers.aws import normalise
from hwprices.stage import inputs
from hwprices.storage.store import Store

CHINA, GOVERNMENT = "cn-north-1", "us-gov-west-1"

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def landing(project, tmp_path_factory):
    """The sample's price lists of AWS, and the manifest of their run."""
    folder = tmp_path_factory.mktemp("landing")
    source = project / "data" / "sample"
    for file in [*source.glob("aws/prices/*/*.gz"), *source.glob("aws/runs/*.json")]:
        target = folder / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    return Landing(folder)


@pytest.fixture(scope="module")
def run(landing):
    """A run of two regions."""
    run = landing.latest_run("aws")
    chosen = [r for r in run.results if r.unit.kind == "prices" and r.unit.region != "us-east-1"]
    assert [result.unit.region for result in chosen] == [CHINA, GOVERNMENT]
    return replace(run, run_id="r1", results=tuple(chosen))


@pytest.fixture(scope="module")
def first(run, landing, tmp_path_factory):
    """A root in which that run was staged."""
    root = tmp_path_factory.mktemp("first")
    staged(run, landing, root)
    return root


@pytest.fixture
def root(first, tmp_path):
    """A copy of that root."""
    shutil.copytree(first, tmp_path / "root")
    return tmp_path / "root"


@pytest.fixture
def read(monkeypatch):
    """The regions whose price lists were read."""
    regions = []
    original = normalise.read_price_list

    def read_price_list(pages, page, region, own_files):
        regions.append(region)
        return original(pages, page, region, own_files)

    monkeypatch.setattr(normalise, "read_price_list", read_price_list)
    return regions


def staged(run, landing, root):
    return stage.stage(providers.get("aws"), run, landing, Store(root), keep=3)


def next_day(run, landing, changed=""):
    """The same pages, fetched a day later; the list of one region has lost its last line."""
    results = []
    for result in run.results:
        [page] = result.pages
        if result.unit.region == changed:
            content = landing.read(page).rstrip(b"\n").rpartition(b"\n")[0] + b"\n"
            page = landing.land_bytes(
                result.unit, content, url=page.url, retrieved_at=page.retrieved_at, suffix="csv"
            )
        page = replace(page, retrieved_at=page.retrieved_at + DAY)
        results.append(replace(result, pages=(page,)))
    return replace(run, run_id="r2", results=tuple(results))


def files(root, run_id="r2"):
    """The bytes of everything that was staged of a run but its manifest."""
    folder = root / "staged" / "aws" / run_id
    names = (path.relative_to(folder) for path in folder.rglob("*.parquet"))
    return {str(name): (folder / name).read_bytes() for name in names}


def reused(staging):
    return {part.region: part.reused_from for part in staging.parts}


def test_unchanged_regions_are_not_read_again_and_the_files_are_the_same(
    run, landing, root, read, tmp_path
) -> None:
    later = next_day(run, landing, changed=CHINA)
    second = staged(later, landing, root)
    assert read == [CHINA]
    assert reused(second) == {CHINA: "", GOVERNMENT: "r1"}
    anew = staged(later, landing, tmp_path / "anew")
    assert read == [CHINA, CHINA, GOVERNMENT]
    assert files(root) == files(tmp_path / "anew")
    assert replace(second, parts=()) == replace(anew, parts=())


def test_pages_of_the_same_time_are_taken_over_byte_for_byte(run, landing, root, read):
    """As those of a narrowed run, which does not fetch all regions."""
    second = staged(replace(run, run_id="r2"), landing, root)
    third = staged(replace(run, run_id="r3"), landing, root)
    assert read == []
    assert files(root, "r1") == files(root) == files(root, "r3")
    assert reused(second) == reused(third) == {CHINA: "r1", GOVERNMENT: "r1"}


@pytest.mark.parametrize("part", ["_sheets", "_program"])
def test_another_sheet_or_program_reads_everything_again(
    run, landing, root, read, monkeypatch, part
) -> None:
    monkeypatch.setattr(inputs, part, lambda provider: [])
    staged(next_day(run, landing), landing, root)
    assert read == [CHINA, GOVERNMENT]


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"")])
@pytest.mark.parametrize(
    "name", [f"prices/aws/{CHINA}", f"parts/prices/{CHINA}/refused", f"parts/prices/{CHINA}/places"]
)
def test_a_file_that_is_gone_or_altered_is_made_again(run, landing, root, read, damage, name):
    before = files(root, "r1")
    damage(root / "staged" / "aws" / "r1" / f"{name}.parquet")
    staged(replace(run, run_id="r2"), landing, root)
    assert read == [CHINA]
    assert files(root) == before


def test_a_region_more_reads_every_list_again(run, landing, first, root, read):
    """Lines about a region that has a list of its own are left to that list."""
    one = replace(run, run_id="r2", results=run.results[:1])
    staged(one, landing, root)
    assert read == [CHINA]


def test_an_unreadable_page_is_tried_again(run, landing, root, read, monkeypatch):
    """Its region has no prices for now; what is left of it is not taken over."""
    broken = next_day(run, landing, changed=CHINA)
    content = b"no header\n"
    [page] = broken.results[0].pages
    page = landing.land_bytes(
        broken.results[0].unit, content, url=page.url, retrieved_at=page.retrieved_at, suffix="csv"
    )
    results = (replace(broken.results[0], pages=(page,)), *broken.results[1:])
    second = staged(replace(broken, results=results), landing, root)
    assert reused(second) == {GOVERNMENT: "r1"}
    assert [trouble.unit for trouble in second.troubles] == [f"aws/prices/{CHINA}"]
