"""Bundled pages: the answers of a provider, or one error that says what is wrong."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hwprices.errors import HwpricesError
from hwprices.landing import pages

ENTRY = {
    "kind": "machine_types",
    "file": "machine_types.json.gz",
    "url": "https://compute.test/machineTypes",
    "retrieved_at": "2026-08-17T00:00:00+00:00",
    "params": {"source": "bundled"},
}
BODY = gzip.compress(b'{"items": {}}', mtime=0)
"""Without ``mtime`` it has the second of now, and each worker of the tests has another one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bundled pages with one answer."""
    monkeypatch.setattr(pages, "data_directory", lambda: tmp_path)
    folder = pages.directory("gcp")
    folder.mkdir(parents=True)
    (folder / "pages.json").write_text(json.dumps({"pages": [ENTRY]}))
    (folder / "machine_types.json.gz").write_bytes(BODY)
    return folder


def test_an_answer_has_its_address_and_its_day(folder: Path) -> None:
    assert pages.read_pages("gcp", "skus") == pages.read_pages("azure", "machine_types") == []
    (page,) = pages.read_pages("gcp", "machine_types")
    assert (page.content, page.url) == (b'{"items": {}}', ENTRY["url"])
    assert page.params == ENTRY["params"]
    assert page.retrieved_at == datetime(2026, 8, 17, tzinfo=UTC)


INDEX, PAGE = "pages.json", "machine_types.json.gz"
DAMAGED = {
    "no_json": (INDEX, b"{"),
    "no_object": (INDEX, b"[]"),
    "no_file": (INDEX, b'{"pages": [{"kind": "machine_types"}]}'),
    "missing": (PAGE, None),
    "no_gzip": (PAGE, b"no gzip"),
    "cut": (PAGE, BODY[:-9]),
    "damaged": (PAGE, BODY[:12] + b"\xff" * 4 + BODY[16:]),
}


@pytest.mark.parametrize(("name", "content"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_pages_are_one_error(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(HwpricesError, match="are damaged"):
        pages.read_pages("gcp", "machine_types")
