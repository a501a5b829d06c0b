"""Publishing: an immutable version directory, then the pointer. Readers see the old release or the new one, whole.

Everything is written below ``releases/<version>/``, the manifest with create-only semantics, and ``latest.json`` last: under a
lock and by atomic rename in a folder, by compare-and-swap on an object store. What a killed publisher leaves has no manifest;
``prune`` removes it.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import filelock
import polars as pl

from hwprices.errors import HwpricesError
from hwprices.publish import gate, join
from hwprices.publish.datapackage import datapackage
from hwprices.read.dataset import Dataset, read_manifest, versions
from hwprices.rows import parquet
from hwprices.rows.parquet import TableFile
from hwprices.schemas.tables import TABLES
from hwprices.schemas.version import SCHEMA_VERSION
from hwprices.specs import sheets
from hwprices.stage import stage
from hwprices.stage.stage import Progress, Staged
from hwprices.storage.store import Store, storage_options

COMPLETED = ("regions",)
"""Vendor tables in which the join fills what the vendor does not say."""

LOCK_SECONDS = 10  # a publisher that waits longer says so instead of queueing


@dataclass(frozen=True)
class Source:
    """Where one provider's tables of the coming release are taken from."""

    provider: str
    status: str  # fresh, or kept: the last release's partition stays
    origin: str
    run_id: str
    directory: str
    files: tuple[TableFile, ...]
    results: tuple[gate.Result, ...]
    report: Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """What publishing came to. ``version`` is the release in force; ``new`` whether it was made now."""

    version: str
    new: bool
    manifest: Mapping[str, Any]
    results: tuple[gate.Result, ...]


def publish(
    store: Store,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    accepted: Collection[str] = (),
    progress: Progress = lambda _: None,
) -> Published:
    """Gate what is staged, join it with the spec sheets, and make it the latest release, if it says anything new.

    Raises:
        HwpricesError: nothing is staged, another publisher is at work or was faster, or the root cannot be written.
    """
    with _lock(store):
        pointer = store.get_tagged("latest.json")
        previous = read_manifest(store, json.loads(pointer.data)["version"]) if pointer else None
        progress("gate")
        chosen = [
            source
            for name in _known(store, previous)
            if (source := _choose(store, name, previous, accepted))
        ]
        if not chosen:
            raise HwpricesError(
                f"nothing is staged below {store.uri('staged')}",
                "Collect first: python flows/refresh.py, or hwprices' collect flow.",
            )
        results = tuple(result for source in chosen for result in source.results)
        progress("join")
        joined = join.build(_scans(store, chosen), sheets.load_all())
        digest = _digest(chosen, joined.tables)
        if previous is not None and previous["content_sha256"] == digest:
            return Published(previous["version"], False, previous, results)
        version = now().strftime("%Y%m%dT%H%M%SZ")
        progress("write")
        manifest = _write(store, version, chosen, joined, digest, previous, now())
        progress("point")
        _point(store, version, manifest, pointer.tag if pointer else None)
        return Published(version, True, manifest, results)


def prune(store: Store, keep: int) -> list[str]:
    """Delete all but the newest ``keep`` releases and whatever a killed publisher left; returns the versions deleted."""
    with _lock(store):
        pointer = store.get("latest.json")
        current = json.loads(pointer)["version"] if pointer else ""
        whole = versions(store)
        kept = {*whole[-keep:], current}
        gone = sorted({Path(key).parts[1] for key in store.keys("releases")} - kept)
        for version in gone:
            # the manifest first: a release without one does not exist, however far the deletion comes
            for key in sorted(
                store.keys(f"releases/{version}"), key=lambda k: not k.endswith("/manifest.json")
            ):
                store.delete(key)
        return gone


def _known(store: Store, previous: Mapping[str, Any] | None) -> list[str]:
    staged = {Path(key).parts[1] for key in store.keys("staged") if key.endswith("latest.json")}
    return sorted(staged | set(previous["providers"] if previous else ()))


def _choose(
    store: Store, provider: str, previous: Mapping[str, Any] | None, accepted: Collection[str]
) -> Source | None:
    """The staged tables if the gate lets them through, else the last release's."""
    staged = stage.latest(store, provider)
    old = _published(store, provider, previous)
    if staged is None:
        return old
    new_candidate = _candidate(store, provider, staged.origin, staged.directory, staged.files)
    old_candidate = (
        _candidate(store, provider, old.origin, old.directory, old.files) if old else None
    )
    results = gate.check(new_candidate, old_candidate, accepted)
    if old is not None and gate.stopped(results):
        return Source(
            provider,
            "kept",
            old.origin,
            old.run_id,
            old.directory,
            old.files,
            tuple(results),
            old.report,
        )
    return Source(
        provider,
        "fresh",
        staged.origin,
        staged.run_id,
        staged.directory,
        staged.files,
        tuple(results),
        _report(staged),
    )


def _published(store: Store, provider: str, previous: Mapping[str, Any] | None) -> Source | None:
    if previous is None or provider not in previous["providers"]:
        return None
    entry = previous["providers"][provider]
    fields = TableFile.__dataclass_fields__
    files = tuple(
        TableFile(**{k: v for k, v in file.items() if k in fields})
        for table in previous["tables"].values()
        for file in table["files"]
        if f"/provider={provider}/" in f"/{file['key']}"
    )
    return Source(
        provider,
        "kept",
        entry["origin"],
        entry["run_id"],
        f"releases/{previous['version']}",
        files,
        (),
        entry["report"],
    )


def _report(staged: Staged) -> dict[str, Any]:
    return {
        "units": dict(staged.units),
        "troubles": list(staged.troubles),
        "quarantined": dict(staged.quarantined),
        "accounted": dict(staged.accounted),
    }


def _candidate(
    store: Store, provider: str, origin: str, directory: str, files: tuple[TableFile, ...]
) -> gate.Candidate:
    found = {
        table: _scan(store, [(directory, f) for f in files if f.table == table])
        for table in {f.table for f in files}
    }
    return gate.Candidate(provider, origin, found)


def _scan(store: Store, files: list[tuple[str, TableFile]]) -> pl.LazyFrame:
    uris = [store.uri(f"{directory}/{file.key}") for directory, file in files]
    return pl.scan_parquet(
        uris, hive_partitioning=False, storage_options=storage_options(store.root)
    )


def _scans(store: Store, chosen: list[Source]) -> dict[str, pl.LazyFrame]:
    """Every vendor table over all providers; a table that nobody has is empty."""
    by_table: dict[str, list[tuple[str, TableFile]]] = {}
    for source in chosen:
        for file in source.files:
            by_table.setdefault(file.table, []).append((source.directory, file))
    return {table: _scan(store, files) for table, files in by_table.items()}


def _digest(chosen: list[Source], derived: Mapping[str, pl.DataFrame]) -> str:
    """What the release says: equal digests mean that there is nothing new to publish."""
    vendor = {
        file.key: file.content_sha256
        for source in chosen
        for file in source.files
        if file.table not in derived
    }
    ours = {key: parquet.content_digest(frame) for key, _, frame in _derived(derived)}
    return hashlib.sha256(json.dumps({**vendor, **ours}, sort_keys=True).encode()).hexdigest()


def _derived(made: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Key, table and rows of each file that the join made. Vendor tables that it only completed (regions) stay a file a provider:
    the next release may have to keep one provider's."""
    for name, frame in made.items():
        if name in COMPLETED:
            for (provider,), rows in sorted(
                frame.partition_by("provider", as_dict=True, maintain_order=True).items()
            ):
                yield parquet.file_key(name, str(provider)), name, rows
        else:
            yield parquet.file_key(name), name, frame


def _write(
    store: Store,
    version: str,
    chosen: list[Source],
    joined: join.Joined,
    digest: str,
    previous: Mapping[str, Any] | None,
    created_at: datetime,
) -> dict[str, Any]:
    directory = f"releases/{version}"
    if store.exists(f"{directory}/manifest.json"):
        raise HwpricesError(
            f"release {version} is there already",
            "Another publisher was faster: nothing was changed.",
        )
    files: list[TableFile] = []
    for source in chosen:
        for file in source.files:
            if file.table not in joined.tables:
                store.copy(store, f"{source.directory}/{file.key}", f"{directory}/{file.key}")
                files.append(file)
    files += [
        parquet.write(store, directory, key, name, frame)
        for key, name, frame in _derived(joined.tables)
    ]
    manifest = _manifest(version, chosen, files, joined, digest, previous, created_at)
    store.put(f"{directory}/datapackage.json", _json(datapackage(manifest)))
    if not store.put(f"{directory}/manifest.json", _json(manifest), create=True):
        raise HwpricesError(
            f"release {version} is there already",
            "Another publisher was faster: nothing was changed.",
        )
    return manifest


def _manifest(
    version: str,
    chosen: list[Source],
    files: list[TableFile],
    joined: join.Joined,
    digest: str,
    previous: Mapping[str, Any] | None,
    created_at: datetime,
) -> dict[str, Any]:
    by_table = {name: [f for f in files if f.table == name] for name in TABLES}
    return {
        "schema_version": SCHEMA_VERSION,
        "version": version,
        "created_at": created_at.isoformat(),
        "code_version": installed_version("hwprices"),
        "previous": previous["version"] if previous else None,
        "content_sha256": digest,
        "tables": {
            name: {
                "rows": sum(f.rows for f in found),
                "bytes": sum(f.bytes for f in found),
                "files": [asdict(f) for f in sorted(found, key=lambda f: f.key)],
            }
            for name, found in by_table.items()
            if found
        },
        "providers": {s.provider: _provider_entry(s, previous) for s in chosen},
        "unmatched_accelerators": list(joined.unmatched),
    }


def _provider_entry(source: Source, previous: Mapping[str, Any] | None) -> dict[str, Any]:
    seen = (
        [f.observed_from for f in source.files if f.observed_from],
        [f.observed_to for f in source.files if f.observed_to],
    )
    kept = source.status == "kept" and previous is not None
    return {
        "status": source.status,
        "kept_from": (
            previous["providers"][source.provider].get("kept_from") or previous["version"]
        )
        if kept and previous
        else None,
        "origin": source.origin,
        "run_id": source.run_id,
        "observed_from": min(seen[0], default=None),
        "observed_to": max(seen[1], default=None),
        "rows": {
            table: sum(f.rows for f in source.files if f.table == table)
            for table in sorted({f.table for f in source.files})
        },
        "report": dict(source.report),
        "gate": [asdict(r) for r in source.results],
    }


def _point(store: Store, version: str, manifest: Mapping[str, Any], tag: str | None) -> None:
    """Move latest.json, if nobody has moved it since we looked."""
    pointer = {
        "version": version,
        "created_at": manifest["created_at"],
        "manifest": f"releases/{version}/manifest.json",
        "schema_version": SCHEMA_VERSION,
    }
    if not store.swap("latest.json", _json(pointer), tag):
        raise HwpricesError(
            f"another publisher moved {store.uri('latest.json')} first",
            "Its release stands; run publish again to go on from it.",
        )


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


@contextmanager
def _lock(store: Store) -> Iterator[None]:
    """One publisher at a time in a folder. Object stores have compare-and-swap instead."""
    path = store.local(".publish.lock")
    if path is None:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path, timeout=LOCK_SECONDS)
        lock.acquire()
    except filelock.Timeout:
        raise HwpricesError(
            f"another publisher is at work in {store.root}", "Wait for it to end and try again."
        ) from None
    except OSError as error:
        raise HwpricesError(
            f"cannot write in {store.root}: {error.strerror or error}",
            "Check that the folder exists and may be written.",
        ) from None
    try:
        yield
    finally:
        lock.release()


def verify(store: Store, version: str = "latest") -> list[str]:
    """Every fault of a release against its manifest: files missing, altered or foreign. Empty when it is whole."""
    return Dataset(store, version).verify()
