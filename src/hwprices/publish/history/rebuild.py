"""Make the history once more from the releases that are kept."""

from dataclasses import dataclass

import polars as pl

from hwprices.publish.history import record
from hwprices.publish.history.record import Record
from hwprices.read.releases import read_manifest, versions
from hwprices.storage.release_manifest import ReleaseManifest
from hwprices.storage.store import Store


@dataclass(frozen=True)
class Rebuilt:
    """A release and its history as it comes out now."""

    release: ReleaseManifest
    record: Record


def rebuild(store: Store, last: str | None = None) -> list[Rebuilt]:
    """Make the history of each kept release, oldest first, up to ``last``.

    It begins with the oldest release that is kept. If there were releases before it that are
    deleted now, what it says about them is taken from its own history, and it is not listed.

    Raises:
        HwpricesError: a release is damaged.
    """
    rebuilt: list[Rebuilt] = []
    past: dict[str, pl.LazyFrame] = {}
    previous: ReleaseManifest | None = None
    for version in versions(store):
        if last is not None and version > last:
            break
        release = read_manifest(store, version)
        follows = release.previous == (previous.version if previous else None)
        if not follows and record.HISTORY in release.tables:
            past = record.history_of(store, release)
        else:
            made = record.from_release(store, previous, release, past)
            rebuilt.append(Rebuilt(release, made))
            past = made.intervals
        previous = release
    return rebuilt


def differences(store: Store, rebuilt: Rebuilt) -> list[str]:
    """List the history files of a release that do not come out byte for byte as they are there."""
    import tempfile

    published = {
        file.key: file.sha256
        for name in (record.HISTORY, record.CHANGES)
        if name in rebuilt.release.tables
        for file in rebuilt.release.tables[name].files
    }
    with tempfile.TemporaryDirectory(prefix="hwprices-") as folder:
        made = {file.key: file.sha256 for file in rebuilt.record.write(Store(folder), "release")}
    if not published:
        return []
    keys = sorted({*published, *made})
    return [key for key in keys if published.get(key) != made.get(key)]
