"""Datasets that somebody crafted to do harm: each is refused in one line, and nothing is written.

Every test has a real folder (one has moto's S3) with a good release in it, changed in one place.
Files beside the root are what a dataset must not read.
"""

import io
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases, rows
from tests.helpers.manifests import provider_entry, release_manifest
from tests.helpers.object_store import s3
from tests.helpers.terminal import run

import hwprices
from hwprices.errors import HwpricesError, escaped
from hwprices.publish.status import record_failure
from hwprices.read import status as read_status
from hwprices.release.manifest import LatestRelease, TableEntry, TableFile
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

VERSION = "20260801T041700Z"
KEY = "prices/aws/us-east-1.parquet"
MANIFEST = layout.release_manifest(VERSION)
RELEASE_FILE = layout.release_file(VERSION, KEY)
SECRET = "a line of a file that is none of the dataset's"
Change = Callable[[dict[str, Any]], object]


def write_release(store: Store) -> None:
    """Write a release with one table of three rows, and point at it."""
    buffer = io.BytesIO()
    pl.DataFrame({"instance_type": ["m5.large", "m5.xlarge", "m5.2xlarge"]}).write_parquet(buffer)
    data = buffer.getvalue()
    at = datetime(2026, 8, 1, 4, 17, tzinfo=UTC).isoformat()
    seen = {"observed_from": at, "observed_to": at, "rows": {"prices": 3}}
    file = TableFile("prices", KEY, 3, len(data), "0" * 64, "1" * 64)
    tables = {"prices": TableEntry(3, len(data), (file,))}
    release = release_manifest({"aws": provider_entry(**seen)}, tables=tables)
    store.put(RELEASE_FILE, data)
    store.put(MANIFEST, manifests.encode(release))
    store.put(layout.LATEST_RELEASE, manifests.encode(LatestRelease(VERSION, at, MANIFEST, "1")))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset, with files beside it that it must not read. The working directory is above it."""
    monkeypatch.chdir(tmp_path)
    write_release(Store(tmp_path / "data"))
    (tmp_path / "secret.txt").write_text(SECRET)
    shutil.copy(tmp_path / "data" / RELEASE_FILE, tmp_path / "outside.parquet")
    return tmp_path / "data"


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edit_manifest(root: Path, change: Change) -> None:
    """Change the manifest of the release."""
    manifest = json.loads((root / MANIFEST).read_text())
    change(manifest)
    (root / MANIFEST).write_text(json.dumps(manifest))


def file_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The only file of the release, as its manifest describes it."""
    file: dict[str, Any] = manifest["tables"]["prices"]["files"][0]
    return file


def assert_refused(root: Path, words: str, commands: str = "query show verify releases") -> None:
    """Every command ends with one line that has these words, and no file is new or changed."""
    before = contents(root.parent)
    for command in commands.split():
        arguments = ["select 1"] if command == "query" else []
        result = run(command, *arguments, root=root)
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert words in result.stderr, command
        assert len(result.stderr.strip().splitlines()) == 1
        assert SECRET not in result.stderr
    assert contents(root.parent) == before


@cases("read/hostile_tables", table=yaml.safe_load)
def test_a_table_with_another_name_than_tables_have(root: Path, table: str) -> None:
    """The first wrote a file when somebody queried the dataset."""
    edit_manifest(root, lambda m: m.update(tables={table: m["tables"]["prices"]}))
    assert_refused(root, f"{root / MANIFEST} is damaged (Expected `str` matching regex")


def test_a_manifest_without_its_providers(root: Path) -> None:
    edit_manifest(root, lambda m: m.pop("providers"))
    assert_refused(root, f"{root / MANIFEST} is damaged (Object missing required field `providers`")


@cases("read/hostile_keys", key=yaml.safe_load)
def test_a_key_that_is_no_file_of_the_table(root: Path, key: str) -> None:
    edit_manifest(root, lambda m: file_of(m).update(key=key))
    assert_refused(root, f"(key: {key!a} is not a file of the table - at `$.tables[...].files[0]`)")


@cases("read/hostile_values", value=yaml.safe_load)
def test_a_value_that_a_field_may_not_have(root, path, value, words) -> None:
    """``path``: names and numbers from the top of the manifest to the field."""

    def change(manifest: Any) -> None:
        *above, last = (int(part) if part.isdigit() else part for part in path.split("."))
        for part in above:
            manifest = manifest[part]
        manifest[last] = value

    edit_manifest(root, change)
    assert_refused(root, words)


def test_a_file_that_is_listed_twice(root: Path) -> None:
    edit_manifest(root, lambda m: m["tables"]["prices"]["files"].append(file_of(m)))
    assert_refused(root, "is listed twice")


def test_a_table_that_this_version_does_not_know_is_read(root: Path) -> None:
    """A newer version may add tables. The name select shows that names are quoted."""
    shutil.copytree(root / "releases" / VERSION / "prices", root / "releases" / VERSION / "select")

    def add(manifest: dict[str, Any]) -> None:
        file = {**file_of(manifest), "table": "select", "key": KEY.replace("prices", "select")}
        manifest["tables"]["select"] = {"rows": 3, "bytes": 1, "files": [file]}

    edit_manifest(root, add)
    sql = 'select count(*) from "select"'
    assert hwprices.open(root).duckdb.sql(sql).fetchall() == [(3,)]


def test_a_link_out_of_the_root_is_not_followed(root: Path) -> None:
    (root / RELEASE_FILE).unlink()
    (root / RELEASE_FILE).symlink_to(root.parent / "outside.parquet")
    words = f"{root / RELEASE_FILE} is a link out of {root}"
    assert_refused(root, words, "query")
    assert words in run("verify", root=root).stderr


def test_a_root_that_is_a_link_or_relative_is_read(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    for place in ("link", "data", root.parent / "link"):
        assert hwprices.open(place).duckdb.sql("select count(*) from prices").fetchall() == [(3,)]


NESTED = 200_000


@pytest.mark.parametrize("key", [MANIFEST, layout.LATEST_RELEASE])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"x":' + b"[" * NESTED + b"]" * NESTED + b"}", " (nested too deeply)"),
        (b'{"tables":' + b'{"a":' * NESTED, ""),
        (b"[" * NESTED, ""),
        (b'{"version": "\xff"}', ""),
        (b"", ""),
        (b"null", ""),
    ],
    ids=["nested list", "nested object", "open list", "no utf-8", "empty", "null"],
)
def test_json_that_is_no_manifest(root: Path, key: str, data: bytes, words: str) -> None:
    (root / key).write_bytes(data)
    assert_refused(root, f"{root / key} is damaged{words}", "query releases")


@pytest.mark.parametrize("key", [MANIFEST, layout.LATEST_RELEASE])
def test_a_giant_manifest_is_not_read(root: Path, key: str) -> None:
    """The file is sparse: it takes no space on the disk, but more memory than there is."""
    with (root / key).open("r+b") as file:
        file.truncate(200_000_000_000)
    result = run("query", "select 1", root=root)
    assert result.exit_code == 2
    assert f"{root / key} has 200,000,000,000 bytes, at most 67,108,864 are read" in result.stderr


@pytest.mark.parametrize("key", [MANIFEST, layout.LATEST_RELEASE, layout.STATUS])
@pytest.mark.parametrize("kind", ["a pipe", "a link to a device"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(root: Path, key: str, kind: str) -> None:
    file = root / key
    file.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(HwpricesError, match=r"is a pipe or device, not a file\. Delete it"):
        read_status.read(str(root)) if key == layout.STATUS else hwprices.open(root)


@cases("read/hostile_status", entry=yaml.safe_load)
def test_a_status_with_a_value_that_it_may_not_have(root, entry, words) -> None:
    providers = {"aws": {"outcome": "failed", **entry}}
    status = root / layout.STATUS
    status.write_text(json.dumps({"updated_at": "2026-01-01", "providers": providers}))
    assert_refused(root, words, "status")
    at = datetime(2026, 1, 2, tzinfo=UTC)
    record_failure(Store(root), "aws", "no answer", started_at=at)  # a damaged file is written anew
    assert run("status", root=root).exit_code == 1


def test_a_giant_status_is_not_read(root: Path) -> None:
    with (root / layout.STATUS).open("w") as file:
        file.truncate(200_000_000_000)
    words = "has 200,000,000,000 bytes, at most 67,108,864 are read"
    assert words in run("status", root=root).stderr


@cases("read/hostile_pointers", pointer=yaml.safe_load)
def test_a_pointer_that_leads_elsewhere(root: Path, pointer: dict[str, Any], words: str) -> None:
    (root / layout.LATEST_RELEASE).write_text(json.dumps(pointer))
    assert_refused(root, f"latest.json is damaged {words}", "query releases")


def test_a_version_that_leads_elsewhere_is_no_release(root: Path) -> None:
    for version in ("../../elsewhere", "/etc", VERSION + "\n", f"{VERSION}/.."):
        with pytest.raises(HwpricesError, match=f"There are: {VERSION}"):
            hwprices.open(root, version)


def test_a_directory_with_another_name_is_no_release(root: Path) -> None:
    (root / "releases/\x1b[31m").mkdir()
    (root / "releases/\x1b[31m/manifest.json").write_text("{}")
    entries = json.loads(run("releases", "--json", root=root).stdout)
    assert [entry["version"] for entry in entries] == [VERSION]


def test_keys_lead_nowhere_but_below_the_root(root: Path) -> None:
    """The key of a landed page has the provider of a price in it, a text of the dataset."""
    for key in ("../secret.txt", "raw/../../secret.txt", str(root.parent / "secret.txt")):
        for use in (Store(root).get, Store(root).uri, Store("s3://bucket/data").get):
            with pytest.raises(HwpricesError, match="leads out of"):
                use(key)


REPLACED = f"'data/{RELEASE_FILE}'"

FORBIDDEN = [
    row["query"].replace("REPLACED", REPLACED).replace("VERSION", VERSION)
    for row in rows("read/forbidden_queries")
]


def test_a_query_reads_and_writes_no_other_file(root: Path) -> None:
    before = contents(root.parent)
    for query in FORBIDDEN:
        result = run("query", query, root=root)
        assert (result.exit_code, result.stdout) == (2, ""), query
        assert "the query may not read or write files (" in result.stderr, query
        assert "Run it with --unsafe" in result.stderr
        assert SECRET not in result.stderr
        assert contents(root.parent) == before, query


@cases("read/reading_queries")
def test_a_query_that_only_reads_the_tables_runs(root: Path, query: str) -> None:
    result = run("query", query, root=root)
    assert result.exit_code == 0, result.stderr


def test_a_query_of_the_python_api_is_checked(root: Path) -> None:
    before = contents(root.parent)
    data = hwprices.open(root)
    for query in FORBIDDEN:
        with pytest.raises(HwpricesError, match="the query may not read or write files"):
            data.query(query)
    assert data.query("select count(*) from prices").item() == 3
    assert contents(root.parent) == before


def test_a_connection_reads_no_other_file(root: Path) -> None:
    connection = hwprices.open(root).duckdb
    for query in ("from read_text('secret.txt')", "install httpfs", "reset allowed_paths"):
        with pytest.raises(duckdb.Error):
            connection.sql(query)
    with pytest.raises(duckdb.Error):
        connection.sql("from prices").to_csv("written.csv")


def test_unsafe_lets_a_query_write(root: Path) -> None:
    result = run("query", "copy (from prices) to 'written.csv'", "--unsafe", root=root)
    assert result.exit_code == 0, result.stderr
    assert len((root.parent / "written.csv").read_text().splitlines()) == 4


def test_a_damaged_file_is_named_with_what_to_do(root: Path) -> None:
    (root / RELEASE_FILE).write_bytes(b"no parquet")
    result = run("query", "select 1", root=root)
    assert result.exit_code == 2
    assert "error: cannot read table prices: " in result.stderr
    assert "hwprices admin verify names the files" in result.stderr


HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egpj.exe\u2066 [red]cheap[/red] :smile:"
STEERING = set("\x1b\x07\x9b\u202e\u2066")


def test_control_and_bidi_characters_are_escaped() -> None:
    assert escaped(HOSTILE) == (
        r"\x1b]0;title\x07\x1b[2J\x9b31m\u202egpj.exe\u2066 [red]cheap[/red] :smile:"
    )
    assert escaped("Zürich – 10 €/h\nnext line") == "Zürich – 10 €/h\nnext line"


def test_a_query_shows_hostile_texts_escaped_and_json_has_them_whole(root: Path) -> None:
    pl.DataFrame({"instance_type": [HOSTILE]}).write_parquet(root / RELEASE_FILE)
    text = run("query", "select * from prices", root=root).stdout
    assert "[red]cheap[/red] :smile:" in text
    assert not STEERING & set(text)
    printed = run("query", "select * from prices", "--json", root=root).stdout
    assert json.loads(printed) == [{"instance_type": HOSTILE}]


def test_tables_show_hostile_texts_escaped(root: Path) -> None:
    edit_manifest(root, lambda m: m["providers"].update({HOSTILE: m["providers"]["aws"]}))
    text = run("releases", root=root).stdout
    assert "[red]cheap[/red] :smile:" in text
    assert not STEERING & set(text)


@pytest.mark.slow
def test_an_object_store_has_the_same_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch, "hostile"):
        store = Store("s3://hostile/data")
        write_release(store)
        data = hwprices.open(store.root)
        assert data.query("select count(*) from prices").item() == 3
        with pytest.raises(HwpricesError, match="may not read or write files"):
            data.query("copy (select 1) to 'written.csv'")
        manifest = json.loads(store.get(MANIFEST) or b"")
        file_of(manifest)["key"] = "../../../other/x.parquet"
        store.put(MANIFEST, json.dumps(manifest).encode())
        with pytest.raises(HwpricesError, match=r"s3://.*\(key: "):
            hwprices.open(store.root)
