"""Local files: temporary directories, and a cache of a release's files.

A cached file is named by its SHA-256, so all releases and processes can share it.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hwprices.errors import HwpricesError

PREFIX = "hwprices-scratch-"
"""Prefix of temporary directories; the process id follows."""

_NAME = re.compile(re.escape(PREFIX) + r"(\d+)-[a-z0-9_]{8}")  # tempfile adds eight characters


def scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a temporary directory that is deleted at the end of its ``with`` block.

    Raises:
        OSError: the folder for temporary files is missing or full.
    """
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def delete_leftovers(now: datetime, min_age: timedelta) -> int:
    """Delete the directories listed by ``leftovers``; return their number."""
    deleted = 0
    for path in leftovers(now, min_age):
        with suppress(OSError):
            shutil.rmtree(path)
            deleted += 1
    return deleted


def leftovers(now: datetime, min_age: timedelta) -> list[Path]:
    """List this user's temporary directories whose processes have ended.

    Directories younger than ``min_age`` are left out: they may be those of a running process in
    another container with the same folder, whose process id means nothing here.
    """
    directories: list[Path] = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        name = _NAME.fullmatch(path.name)
        if name is None or _is_running(int(name[1])):
            continue
        with suppress(OSError):
            state = path.lstat()
            is_own = state.st_uid == os.getuid() if hasattr(os, "getuid") else True
            is_old = now - datetime.fromtimestamp(state.st_mtime, UTC) > min_age
            if is_own and is_old and path.is_dir() and not path.is_symlink():
                directories.append(path)
    return directories


def _is_running(process: int) -> bool:
    if os.name == "nt":  # os.kill would end the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


FOLDER = "HWPRICES_CACHE"
SIZE = "HWPRICES_CACHE_GIB"
DEFAULT_GIB = "1"
_COPY = re.compile("[0-9a-f]{64}")
_FILE = re.compile(rf"({_COPY.pattern})(\.\w+)?")
"""A cached file, or one that is being written. The folder may also hold unrelated files."""


@dataclass(frozen=True)
class Cache:
    """Cached files of at most ``max_bytes`` in total; the least recently used are deleted first."""

    folder: Path
    max_bytes: int

    def read(self, sha256: str) -> bytes | None:
        """Return a cached file; None if there is none. A damaged one is deleted.

        Raises:
            HwpricesError: the folder cannot be used.
        """
        if not _COPY.fullmatch(sha256):  # a manifest may hold any text
            return None
        path = self.folder / sha256
        with self._explained():
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
            if hashlib.sha256(data).hexdigest() != sha256:
                path.unlink(missing_ok=True)
                return None
        with suppress(OSError):  # the cache is read-only, or the file has just been deleted
            os.utime(path)
        return data

    def write(self, data: bytes) -> None:
        """Keep data under its SHA-256, unless it is larger than the cache.

        Raises:
            HwpricesError: the folder cannot be used.
        """
        if len(data) > self.max_bytes:
            return
        path = self.folder / hashlib.sha256(data).hexdigest()
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, unfinished = tempfile.mkstemp(prefix=f"{path.name}.", dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                with suppress(FileNotFoundError):  # another process deleted it to make room
                    Path(unfinished).replace(path)
            except BaseException:
                Path(unfinished).unlink(missing_ok=True)
                raise
            self._shrink()

    def _shrink(self) -> None:
        """Delete the least recently used files, including those of killed processes."""
        files = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another process has finished or deleted it
                if _FILE.fullmatch(path.name):
                    state = path.stat()
                    files.append((state.st_mtime_ns, state.st_size, path))
        excess = sum(size for _, size, _ in files) - self.max_bytes
        for _, size, path in sorted(files):
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HwpricesError(
                f"cannot use {FOLDER} {self.folder}: {error.strerror or error}",
                "Name a folder that you may write to and that has room, or unset it.",
            ) from error


def from_environment() -> Cache | None:
    """Return the cache that HWPRICES_CACHE and HWPRICES_CACHE_GIB describe; None without a folder.

    Raises:
        HwpricesError: the size is not a positive number.
    """
    if not (folder := os.environ.get(FOLDER)):
        return None
    text = os.environ.get(SIZE) or DEFAULT_GIB
    try:
        max_bytes = int(float(text) * 2**30)
    except (ValueError, OverflowError):  # not a number, NaN, infinity
        max_bytes = 0
    if max_bytes <= 0:
        raise HwpricesError(f"{SIZE} is {text!a:.40}", "Set it to a positive number, such as 1.")
    return Cache(Path(folder).expanduser(), max_bytes)
