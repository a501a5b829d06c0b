"""Keys: every one that is spelled is parsed back, and no other key is taken for it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases

from hwprices.storage import layout

NAMES = st.from_regex(r"[a-z0-9_-]{1,20}", fullmatch=True).filter(lambda name: name != "all")


def test_keys_are_where_readers_look():
    """These paths are public: a change breaks every reader and every dataset on disk."""
    assert layout.landing_root("data/") == "data/raw"
    assert layout.page("aws", "prices", "us-east-1", "ab12", "csv", "gzip") == (
        "aws/prices/us-east-1/ab12.csv.gz"
    )
    assert layout.run_manifest("aws", "r1") == "aws/runs/r1.json"
    assert layout.staged_manifest("aws", "r1") == "staged/aws/r1/manifest.json"
    assert layout.staged_latest("aws") == "staged/aws/latest.json"
    assert layout.release_manifest("v1") == "releases/v1/manifest.json"
    assert layout.release_datapackage("v1") == "releases/v1/datapackage.json"
    assert layout.release_file("v1", "offers.parquet") == "releases/v1/offers.parquet"
    assert layout.LATEST_RELEASE == "latest.json"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("offers",), "offers.parquet"),
        (("prices", "aws", "us-east-1"), "prices/aws/us-east-1.parquet"),
        (("zones", "aws"), "zones/aws/all.parquet"),
    ],
)
def test_table_files(arguments, key):
    assert layout.table_file(*arguments) == key


@cases("storage/release_names", is_one=yaml.safe_load)
def test_the_name_of_a_release_is_a_time(name, is_one):
    assert layout.is_version(name) is is_one


@given(provider=NAMES, run=NAMES, file=NAMES)
def test_staged_keys_are_parsed_back(provider, run, file):
    manifest, latest = layout.staged_manifest(provider, run), layout.staged_latest(provider)
    table = f"{layout.staged_directory(provider, run)}/{file}.parquet"
    assert layout.staged_file.parse(manifest, "run_id") == run
    assert layout.staged_file.parse(table, "run_id") == run
    assert layout.staged_file.parse(latest, "run_id") is None
    assert layout.staged_latest.parse(latest, "provider") == provider
    assert layout.staged_latest.parse(manifest, "provider") is None


@given(version=NAMES, table=NAMES)
def test_release_keys_are_parsed_back(version, table):
    manifest = layout.release_manifest(version)
    file = layout.release_file(version, layout.table_file(table, "aws"))
    nested = f"releases/{version}/nested/manifest.json"
    for key in (manifest, file, nested):
        assert layout.release_file.parse(key, "version") == version
    assert layout.release_manifest.parse(manifest, "version") == version
    assert layout.release_manifest.parse(file, "version") is None
    assert layout.release_manifest.parse(nested, "version") is None
    assert layout.release_file.parse(layout.LATEST_RELEASE, "version") is None


def test_run_and_page_keys_are_parsed_back():
    run = "20260801T041700.000000Z"
    assert layout.run_manifest.parse(layout.run_manifest("aws", run), "run_id") == run
    assert layout.run_manifest.parse("aws/runs/.DS_Store", "run_id") is None
    page = layout.page("aws", "prices", "us-east-1", "ab12", "csv", "zstd")
    assert page == "aws/prices/us-east-1/ab12.csv.zst"
    assert (layout.page_sha256(page), layout.page_format(page)) == ("ab12", "csv")
    assert layout.is_page(page)


@given(table=st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True), provider=NAMES, region=NAMES)
def test_every_key_that_is_spelled_is_one_that_readers_accept(table, provider, region):
    for key in (
        layout.table_file(table),
        layout.table_file(table, f"a{provider}"),
        layout.table_file(table, f"a{provider}", f"a{region}"),
        layout.arranged_file(table, "000"),
    ):
        assert layout.is_file_of(table, key)
        assert not layout.is_file_of(f"{table}x", key)
