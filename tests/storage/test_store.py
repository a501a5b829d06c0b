"""A store in a folder: what is written comes back, and a swap replaces only what it has seen.

The same on an object store is in tests/publish/test_object_store.py.
"""

import os
import pickle

import boto3
import polars as pl
import pytest
from tests.helpers.stub_server import Reply

from hwprices.errors import HwpricesError
from hwprices.storage.store import Folder, Store, scan_options


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "root")


@pytest.mark.parametrize(
    ("root", "kind"),
    [("data", Folder), ("file:///data", Folder), ("s3://bucket/data", Store), ("gs://b", Store)],
)
def test_the_root_decides_the_kind_of_store(root, kind):
    store = Store(root)
    assert type(store) is kind
    assert store.is_local is (kind is Folder)
    assert type(pickle.loads(pickle.dumps(store))) is kind  # Prefect sends stores to other machines


@pytest.mark.skipif(os.name == "nt", reason="names of files there are Unicode")
def test_a_root_whose_name_is_not_in_utf_8_is_an_error(tmp_path):
    """polars and Prefect would end in errors of their own, of many lines."""
    with pytest.raises(HwpricesError, match=r"name '.*\\udcff' is not in UTF-8. Choose another"):
        Store(os.fsdecode(bytes(tmp_path) + b"/\xff"))


def test_uris_are_what_other_programs_open(tmp_path):
    assert Store(tmp_path).uri("a/b.parquet") == str(tmp_path / "a/b.parquet")
    assert Store(f"file://{tmp_path}").local("a") == tmp_path / "a"
    assert Store("s3://bucket/data/").uri("a/b.parquet") == "s3://bucket/data/a/b.parquet"
    assert Store("s3://bucket/data").local("a") is None


def test_bytes_and_files_come_back(store, tmp_path):
    (tmp_path / "source").write_bytes(b"from a file")
    assert store.put("a/b", b"bytes")
    assert store.put("a/c", tmp_path / "source")
    assert (store.get("a/b"), store.get("a/c")) == (b"bytes", b"from a file")
    assert store.exists("a/b")
    assert not store.exists("a")
    assert list(store.keys("a")) == ["a/b", "a/c"]
    assert list(store.keys("")) == ["a/b", "a/c"]


def test_what_is_in_the_place_of_a_file_is_named(store):
    store.put("a/b", b"bytes")
    found = [store.obstacle(key) for key in ("a", "a/b", "a/c", "a/b/c")]
    assert found == ["a directory", None, None, None]
    assert Store("s3://bucket/data").obstacle("a") is None


def test_a_checksum_is_computed_without_reading_the_file_whole(store, monkeypatch):
    """The digest of "abc" is the example of FIPS 180-2, appendix B.1."""
    store.put("a/b", b"abc")
    monkeypatch.setattr(Store, "get", None)
    assert store.sha256("a/b").startswith("ba7816bf8f01cfea414140de5dae2223")
    assert store.sha256("a/none") is None
    assert store.sha256("a/b/none") is None
    with pytest.raises(HwpricesError, match="cannot read"):
        store.sha256("a")


def test_a_root_that_does_not_exist_is_empty(store):
    assert store.get("a") is None
    assert store.get_tagged("a") is None
    assert list(store.keys("a")) == []


def test_create_leaves_an_existing_key_alone(store):
    assert store.put("a", b"first", create=True)
    assert not store.put("a", b"second", create=True)
    assert store.get("a") == b"first"


def test_copy_between_stores(store, tmp_path):
    other = Store(tmp_path / "other")
    other.put("a", b"bytes")
    store.copy(other, "a", "copies/a")
    assert store.get("copies/a") == b"bytes"


def test_swap_creates_only_what_is_not_there(store):
    store.put("other", b"")
    assert store.swap("latest.json", b"first", None)
    assert not store.swap("latest.json", b"second", None)
    assert store.get("latest.json") == b"first"


def test_swap_replaces_only_what_has_not_changed(store):
    store.put("latest.json", b"a")
    tag = store.get_tagged("latest.json").tag
    store.put("latest.json", b"b")
    assert not store.swap("latest.json", b"c", tag)
    assert store.get("latest.json") == b"b"
    assert store.swap("latest.json", b"c", store.get_tagged("latest.json").tag)
    assert store.get("latest.json") == b"c"
    assert list(store.keys("")) == ["latest.json"]  # no temporary file is left


@pytest.mark.parametrize("leftover", ["a file", "a link"])
def test_swap_writes_through_no_link(tmp_path, leftover):
    """Whoever else may write in the root had another file of ours overwritten, and ``latest.json``
    became a link to it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.write_bytes(b"precious")
    beside = root / f".latest.json.{os.getpid()}"
    if leftover == "a link":
        beside.symlink_to(outside)
    else:
        beside.write_bytes(b"half of a")
    assert Store(root).swap("latest.json", b"first", None)
    assert outside.read_bytes() == b"precious"
    assert (root / "latest.json").read_bytes() == b"first"
    assert [path.name for path in root.iterdir()] == ["latest.json"]
    assert not (root / "latest.json").is_symlink()


def test_a_store_in_memory_is_an_object_store():
    store = Store("memory://")
    assert not store.is_local
    assert store.put("a/b", b"first", create=True)
    assert not store.put("a/b", b"second", create=True)
    tag = store.get_tagged("a/b").tag
    assert store.swap("a/b", b"second", tag)
    assert not store.swap("a/b", b"third", tag)
    assert (store.get("a/b"), list(store.keys("a"))) == (b"second", ["a/b"])
    store.delete_below("a")
    assert (store.get("a/b"), store.exists("a/b"), store.sha256("a/b")) == (None, False, None)


def test_deleted_keys_are_gone(store):
    store.put("a", b"")
    store.delete("a")
    assert not store.exists("a")


def test_a_root_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HwpricesError, match="cannot write") as raised:
        Store(tmp_path / "file" / "root").check_writable()
    assert "\n" not in str(raised.value)


def test_check_writable_leaves_nothing_behind(store):
    store.check_writable()
    assert list(store.keys("")) == []


def test_polars_gets_the_credentials_of_object_stores_only(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert scan_options("data") == {}
    assert scan_options("s3://bucket")["storage_options"]["aws_region"] == "us-east-1"


@pytest.fixture
def account(stub, monkeypatch):
    """An AWS account in the environment, and an S3 server that has nothing."""
    server = stub().on("/*", Reply(b"", status=404))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAACCOUNT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-account")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-the-account")
    return server


def test_a_stores_own_key_is_used_for_it_and_for_nothing_else(account, monkeypatch):
    """As in deploy/compose.yaml: boto3 finds the account, and never the store's key."""
    monkeypatch.setenv("HWPRICES_STORE_KEY_ID", "hwprices")
    monkeypatch.setenv("HWPRICES_STORE_SECRET_KEY", "secret-of-the-store")
    root = "s3://hwprices/dataset"
    assert Store(root).get("latest.json") is None
    with pytest.raises(FileNotFoundError):
        pl.scan_parquet(f"{root}/prices.parquet", **scan_options(root)).collect()
    asked = {request.path: request.headers for request in account.requests}
    assert len(asked) == 2
    for headers in asked.values():
        assert "Credential=hwprices/" in headers["authorization"]
        assert "x-amz-security-token" not in headers
    assert boto3.Session().get_credentials().access_key == "AKIAACCOUNT"


def test_without_a_key_of_its_own_a_store_is_asked_with_the_account(account):
    assert Store("s3://hwprices/dataset").get("latest.json") is None
    [request] = account.requests
    assert "Credential=AKIAACCOUNT/" in request.headers["authorization"]


def test_half_a_key_is_an_error(monkeypatch):
    monkeypatch.setenv("HWPRICES_STORE_KEY_ID", "hwprices")
    for ask in (lambda: Store("s3://hwprices").get("x"), lambda: scan_options("s3://hwprices")):
        with pytest.raises(HwpricesError, match="only one of HWPRICES_STORE_KEY_ID and"):
            ask()
