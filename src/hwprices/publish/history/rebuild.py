"""Make the history once more from the releases that are kept."""

from dataclasses import dataclass

import polars as pl

from hwprices.publish.history import record
from hwprices.publish.history.record import Record
from hwprices.release.manifest import ReleaseManifest
from hwprices.release.versions import read_manifest, versions
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store


@dataclass(frozen=True)
class Rebuilt:
    """A release and its history as it comes out now."""

    release: ReleaseManifest
    record: Record


def rebuild(store: Store) -> list[Rebuilt]:
    """Make the history of each kept release, oldest first.

    It begins with the oldest release that is kept. If there were releases before it that are
    deleted now, what it says about them is taken from its own history, and it is not listed.

    Raises:
        HwpricesError: a release is damaged.
    """
    rebuilt: list[Rebuilt] = []
    past: dict[str, pl.LazyFrame] = {}
    previous: ReleaseManifest | None = None
    for version in versions(store):
        release = read_manifest(store, version)
        follows = release.previous == (previous.version if previous else None)
        if not follows:
            past = record.history_of(store, release)
        else:
            made = record.from_release(store, previous, release, past)
            rebuilt.append(Rebuilt(release, made))
            past = made.intervals
        previous = release
    return rebuilt


def differences(store: Store, rebuilt: Rebuilt) -> list[str]:
    """List the history files of a release that do not come out byte for byte as they are there."""
    published = {
        file.key: file.sha256
        for name in (record.HISTORY, record.CHANGES)
        for file in rebuilt.release.tables[name].files
    }
    with scratch_directory() as folder:
        directory = layout.release_directory(rebuilt.release.version)
        made = {file.key: file.sha256 for file in rebuilt.record.write(Store(folder), directory)}
    keys = sorted({*published, *made})
    return [key for key in keys if published.get(key) != made.get(key)]
