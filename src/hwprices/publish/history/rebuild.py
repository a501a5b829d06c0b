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
    """List the history files of a release that do not come out byte for byte as they are there.

    Of a file that an older program packed in another way the rows are compared.
    """
    published = {
        file.key: file.sha256
        for name in (record.HISTORY, record.CHANGES)
        if name in rebuilt.release.tables
        for file in rebuilt.release.tables[name].files
    }
    with scratch_directory() as folder:
        scratch, directory = Store(folder), layout.release_directory(rebuilt.release.version)
        made = {file.key: file.sha256 for file in rebuilt.record.write(scratch, directory)}
        if not published:
            return []
        keys = sorted({*published, *made})
        differing = [key for key in keys if published.get(key) != made.get(key)]
        both = published.keys() & made.keys()
        paths = {key: f"{directory}/{key}" for key in differing}
        return [
            key
            for key, path in paths.items()
            if key not in both or not _same_rows(store.get(path), scratch.get(path))
        ]


def _same_rows(published: bytes | None, made: bytes | None) -> bool:
    if published is None or made is None:
        return False
    one, other = (pl.read_parquet(data, hive_partitioning=False) for data in (published, made))
    return one.equals(other)
