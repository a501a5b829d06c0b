"""Files of this machine: directories for a moment, and copies of a release's files.

A copy is named by its SHA-256, so that all releases and processes share it and none is ever
changed.
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
"""How the names of these directories begin; the number of the process follows."""

_NAME = re.compile(re.escape(PREFIX) + r"(\d+)-[a-z0-9_]{8}")  # The eight characters are tempfile's


def scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a directory in the system's folder for temporary files; leaving it deletes it.

    Raises:
        OSError: the folder for temporary files is missing or full.
    """
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def delete_left(at: datetime, age: timedelta) -> int:
    """Delete this user's directories of processes that have ended; return their number.

    See ``left`` for ``at`` and ``age``.
    """
    deleted = 0
    for path in left(at, age):
        with suppress(OSError):
            shutil.rmtree(path)
            deleted += 1
    return deleted


def left(at: datetime, age: timedelta) -> list[Path]:
    """List this user's directories of processes that have ended.

    ``at`` is now. A directory younger than ``age`` is left out: in a folder that containers share,
    the number of another container's process says nothing.
    """
    directories: list[Path] = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        name = _NAME.fullmatch(path.name)
        if name is None or _is_running(int(name[1])):
            continue
        with suppress(OSError):
            state = path.lstat()
            is_own = state.st_uid == os.getuid() if hasattr(os, "getuid") else True
            is_old = at - datetime.fromtimestamp(state.st_mtime, UTC) > age
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
"""A copy, or one that is being written. The folder may hold files of others."""


@dataclass(frozen=True)
class Cache:
    """Copies of files, of at most ``max_bytes`` together: those not used for longest go first."""

    folder: Path
    max_bytes: int

    def read(self, sha256: str) -> bytes | None:
        """Return a copy; None if there is none. A damaged one is deleted.

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
        with suppress(OSError):  # a cache that this user may only read, or a copy just deleted
            os.utime(path)
        return data

    def write(self, data: bytes) -> None:
        """Keep a copy under its SHA-256, unless it is larger than the cache.

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
                with suppress(FileNotFoundError):  # a process that made room has deleted it
                    Path(unfinished).replace(path)
            except BaseException:
                Path(unfinished).unlink(missing_ok=True)
                raise
            self._shrink()

    def _shrink(self) -> None:
        """Delete what was not used for longest, also what killed processes left."""
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
    except (ValueError, OverflowError):  # no number, NaN, infinity
        max_bytes = 0
    if max_bytes <= 0:
        raise HwpricesError(f"{SIZE} is {text!a:.40}", "Set it to a positive number, such as 1.")
    return Cache(Path(folder).expanduser(), max_bytes)
