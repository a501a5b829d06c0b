"""Move ``latest.json``, the pointer to the release in force: one publisher at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from hwprices.errors import HwpricesError
from hwprices.release.manifest import LatestRelease, ReleaseManifest
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

LOCK_SECONDS = 10
"""A publisher that has to wait longer says so instead of queueing."""


class BusyError(HwpricesError):
    """Another publisher is at work, or was faster: the same publication may succeed later."""


@contextmanager
def lock(store: Store) -> Iterator[None]:
    """Let one publisher work at a time in a folder.

    An object store needs no lock: ``move`` compares and swaps there.

    Raises:
        BusyError: another publisher holds the lock.
        HwpricesError: the folder cannot be written.
    """
    with lock_file(store, layout.PUBLISH_LOCK):
        yield


@contextmanager
def lock_file(store: Store, key: str) -> Iterator[None]:
    """Hold the lock file of this key in a folder; do nothing on an object store.

    Raises:
        BusyError: another publisher holds the lock.
        HwpricesError: the folder cannot be written.
    """
    path = store.local(key)
    if path is None:
        yield
        return
    held = _acquire(path, store.root)
    try:
        yield
    finally:
        held.release()


def _acquire(path: Path, root: str) -> filelock.BaseFileLock:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file_lock = filelock.FileLock(path, timeout=LOCK_SECONDS)
        file_lock.acquire()
    except filelock.Timeout:
        raise BusyError(
            f"another publisher is at work in {root}", "Wait for it to end and try again."
        ) from None
    except OSError as error:
        raise HwpricesError(
            f"cannot write in {root}: {error.strerror or error}",
            "Check that the folder exists and may be written.",
        ) from None
    return file_lock


@dataclass(frozen=True)
class Current:
    """The release in force and the tag of the pointer to it; both None before the first release."""

    version: str | None = None
    tag: str | None = None


def current(store: Store) -> Current:
    """Read the pointer.

    Raises:
        HwpricesError: it is damaged.
    """
    tagged = store.get_tagged(layout.LATEST_RELEASE)
    if tagged is None:
        return Current()
    file = store.uri(layout.LATEST_RELEASE)
    remedy = "Restore it, or delete it and publish again."
    pointer = manifests.decode(tagged.data, LatestRelease, file=file, remedy=remedy)
    return Current(pointer.version, tagged.tag)


def move(store: Store, release: ReleaseManifest, tag: str | None) -> None:
    """Point at a release, if nobody has moved the pointer since its tag was read.

    Raises:
        BusyError: somebody has.
        HwpricesError: it cannot be written.
    """
    pointer = LatestRelease(
        version=release.version,
        created_at=release.created_at,
        manifest=layout.release_manifest(release.version),
        schema_version=release.schema_version,
    )
    if not store.swap(layout.LATEST_RELEASE, manifests.encode(pointer), tag):
        raise BusyError(
            f"another publisher moved {store.uri(layout.LATEST_RELEASE)} first",
            "Its release stands; run publish again to go on from it.",
        )
