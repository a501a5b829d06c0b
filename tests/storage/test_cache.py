"""The local cache of release files: bounded, shared by processes, and never trusted unread."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.helpers.cases import cases

from hwprices.errors import HwpricesError
from hwprices.storage import scratch
from hwprices.storage.scratch import Cache

AT_ONCE = """
import hashlib, sys
from pathlib import Path
from hwprices.storage.scratch import Cache

cache = Cache(Path(sys.argv[1]), 300_000)
for turn in range(300):
    data = bytes([turn % 40]) * 20_000
    found = cache.read(hashlib.sha256(data).hexdigest())
    assert found in (None, data)
    if found is None:
        cache.write(data)
"""


def name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_least_recently_used_copies_go_first_and_files_of_others_stay(tmp_path: Path) -> None:
    few = Cache(tmp_path / "new" / "folder", 300)
    copies = [bytes([number]) * 100 for number in range(4)]
    for age, data in enumerate(copies[:3]):
        few.write(data)
        os.utime(few.folder / name(data), (1000 + age, 1000 + age))
    (few.folder / "letter.txt").write_bytes(b"x" * 1000)
    left = few.folder / f"{name(b'killed')}.a1b2c3d4"  # by a process while it was writing
    left.write_bytes(b"half")
    os.utime(left, (999, 999))
    assert few.read(name(copies[0])) == copies[0]  # used now
    few.write(copies[3])
    few.write(b"x" * 301)  # larger than the cache
    kept = {name(copies[0]), name(copies[2]), name(copies[3]), "letter.txt"}
    assert {path.name for path in few.folder.iterdir()} == kept


@pytest.mark.parametrize("damaged", [b"", b"dat", b"date", b"data and more"])
def test_a_damaged_copy_is_deleted_and_written_again(tmp_path: Path, damaged: bytes) -> None:
    copies = Cache(tmp_path, 1000)
    copies.write(b"data")
    (tmp_path / name(b"data")).write_bytes(damaged)
    assert copies.read(name(b"data")) is None
    assert not any(tmp_path.iterdir())
    copies.write(b"data")
    assert copies.read(name(b"data")) == b"data"


def test_a_name_that_is_not_a_digest_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_bytes(b"mine")
    copies = Cache(tmp_path / "cache", 1000)
    assert [copies.read(text) for text in ("", "../letter.txt", "A" * 64)] == [None] * 3
    assert (tmp_path / "letter.txt").read_bytes() == b"mine"


def test_processes_share_a_cache(tmp_path: Path) -> None:
    command = (sys.executable, "-c", AT_ONCE, str(tmp_path))
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    files = list(tmp_path.iterdir())
    assert sum(path.stat().st_size for path in files) <= 300_000
    assert all(name(path.read_bytes()) == path.name for path in files)


@cases("storage/no_cache", variables=yaml.safe_load, gib=yaml.safe_load)
def test_there_is_none_unless_a_variable_names_a_folder(monkeypatch, tmp_path, variables, gib):
    for variable in ("HWPRICES_CACHE", "HWPRICES_CACHE_GIB"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in {"HOME": str(tmp_path), **variables}.items():
        monkeypatch.setenv(variable, value)
    expected = gib and Cache(tmp_path / "copies", int(gib * 2**30))
    assert scratch.from_environment() == expected


@pytest.mark.parametrize("size", ["0", "-1", "nan", "inf", "1 GB"])
def test_a_size_that_is_not_a_positive_number_is_refused(monkeypatch, tmp_path, size) -> None:
    monkeypatch.setenv("HWPRICES_CACHE", str(tmp_path))
    monkeypatch.setenv("HWPRICES_CACHE_GIB", size)
    with pytest.raises(HwpricesError, match="HWPRICES_CACHE_GIB"):
        scratch.from_environment()


def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    copies = Cache(tmp_path / "file", 1000)
    copies.folder.write_bytes(b"")
    with pytest.raises(HwpricesError, match="HWPRICES_CACHE"):
        copies.write(b"data")
    with pytest.raises(HwpricesError, match="HWPRICES_CACHE"):
        copies.read(name(b"data"))
