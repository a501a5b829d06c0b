"""Delete old releases, pages and staged tables, and the files of killed runs.

Runs and readers may be active meanwhile: files that may still be written or read are kept.
"""

import itertools
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hwprices import stage
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.publish import choose, locks
from hwprices.release.versions import FOLDERS, has_data, latest_version, read_manifest, versions
from hwprices.storage import layout, scratch
from hwprices.storage.store import LEFTOVER_AGE, Store

RELEASES = 30  # Newest releases kept by default: a month of daily ones


@dataclass(frozen=True)
class Policy:
    """What pruning keeps.

    Attributes:
        releases: how many of the newest releases are kept.
        is_thinned: of older releases, the first of each day of the last month and the first of each
            month are kept. Otherwise none is.
        runs: how many of the newest collections of each provider are kept, staged and landed. The
            collections of kept releases are kept too, so that each price leads to its page.
    """

    releases: int = RELEASES
    is_thinned: bool = True
    runs: int = 3


READERS = timedelta(hours=1)
"""How long a release is kept after the next one was published, for readers that have it open."""

_IN_FOLDERS = re.compile(r".*#\d+")
_AT_THE_TOP = re.compile(r"(?:\.?(?:latest|status)\.json|\.writable)[.#]\d+")
"""Names of unfinished files: those of obstore, ``Store.swap`` and ``Store.check_writable``."""


@dataclass(frozen=True)
class Pruned:
    """What was deleted, or would be.

    ``releases``: versions, complete or not. ``runs``: collections whose pages are no longer needed,
    as ``<provider>/<run>``. ``leftovers``: number of other files that no manifest names.
    ``scratch``: number of temporary directories of killed processes. ``kept``: the versions kept.
    """

    releases: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    leftovers: int = 0
    scratch: int = 0
    kept: tuple[str, ...] = ()


def prune(store: Store, policy: Policy, *, now: datetime | None = None) -> Pruned:
    """Delete old releases and collections, and the files of killed and failed runs.

    The current release is always kept, and the previous one for an hour. Releases of the last month
    with an accepted check are kept too, because the gate does not compare with releases before
    them. If old releases are thinned out, the oldest one of the last month is kept: the gate
    measures slow drift against it.

    Leftovers are releases and staged tables without a manifest, landed pages that no run names, and
    unfinished files. They are deleted when they are a day old. Unfinished releases in a folder are
    deleted immediately: holding the lock shows that nobody is writing them.

    Raises:
        HwpricesError: the root holds no data, another publisher is at work, a manifest is damaged,
            or the root cannot be written.
    """
    at = now or datetime.now(UTC)
    _check_has_data(store)
    with locks.lock(store):
        releases = _old_releases(store, policy, at)
        for version in releases:  # the manifest first: without it, it is not a release
            store.delete(layout.release_manifest(version))
            store.delete_below(layout.release_directory(version))
        runs = _old_runs(store, policy)
        for provider, run in runs:
            store.delete(f"{layout.RAW}/{layout.run_manifest(provider, run)}")
    deleted = sum(_delete_old(store, key, at) for key in _leftovers(store, at))
    for provider in _providers(store, layout.STAGED):
        stage.prune(store, provider, policy.runs)
    return Pruned(
        tuple(releases),
        tuple(map("/".join, runs)),
        deleted,
        scratch.delete_leftovers(at, LEFTOVER_AGE),
        tuple(versions(store)),
    )


def plan(store: Store, policy: Policy, *, now: datetime | None = None) -> Pruned:
    """Return what ``prune`` would delete without deleting it. The root need not be writable."""
    at = now or datetime.now(UTC)
    _check_has_data(store)
    releases = _old_releases(store, policy, at)
    runs = _old_runs(store, policy, releases)
    leftovers = [key for key in _leftovers(store, at, runs) if store.are_old([key], at)]
    return Pruned(
        tuple(releases),
        tuple(map("/".join, runs)),
        len(leftovers),
        len(scratch.leftovers(at, LEFTOVER_AGE)),
        tuple(version for version in versions(store) if version not in releases),
    )


def _check_has_data(store: Store) -> None:
    if not has_data(store):
        raise HwpricesError(
            f"{store.root} holds no release, page or staged table", "Give the root of a dataset."
        )


def _leftovers(store: Store, at: datetime, gone: Collection[tuple[str, str]] = ()) -> set[str]:
    return {
        *_temporary_files(store, at),
        *_unfinished_staging(store, at),
        *_pages_of_no_run(store, gone),
    }


def _delete_old(store: Store, key: str, at: datetime) -> bool:
    if not store.are_old([key], at):
        return False
    store.delete(key)
    return True


def _old_releases(store: Store, policy: Policy, at: datetime) -> list[str]:
    complete = versions(store)
    kept = {*complete[-policy.releases :], latest_version(store)}
    young = (at - READERS).strftime("%Y%m%dT%H%M%SZ")
    kept |= {old for old, new in itertools.pairwise(complete) if new > young}
    if policy.is_thinned:
        kept |= _first_of_each(complete, _MONTH)
        kept |= _first_of_each(_of_last_month(complete, at), _DAY)
    kept |= _compared_with(store, set(complete) - kept, at)
    keys: dict[str, list[str]] = {}
    for key in store.keys(layout.RELEASES):
        version = layout.release_file.parse(key, "version")
        if version is not None and version not in kept:
            keys.setdefault(version, []).append(key)
    return [
        version
        for version, files in sorted(keys.items())
        if version in complete or store.is_local or store.are_old(files, at)
    ]


_MONTH, _DAY = len("202608"), len("20260801")
"""Length of the prefix of a version that states its month or its day."""


def _first_of_each(complete: Iterable[str], characters: int) -> set[str]:
    first: dict[str, str] = {}
    for version in sorted(complete):
        first.setdefault(version[:characters], version)
    return set(first.values())


def _of_last_month(complete: Iterable[str], at: datetime) -> list[str]:
    since = (at - choose.MONTH).strftime("%Y%m%dT%H%M%SZ")
    return [version for version in complete if version >= since]


def _compared_with(store: Store, old: set[str], at: datetime) -> set[str]:
    """Return the releases of the last month with an accepted check.

    The gate does not compare with releases before them; without them it would.
    """
    recent = [read_manifest(store, version) for version in _of_last_month(old, at)]
    return {
        release.version
        for release in recent
        if any(r.outcome == "accepted" for entry in release.providers.values() for r in entry.gate)
    }


def _old_runs(store: Store, policy: Policy, gone: Collection[str] = ()) -> list[tuple[str, str]]:
    """List the collections whose manifests are deleted, as provider and run.

    The newest of each origin are kept, because the next run carries failed units over from one of
    them. Collections of releases are kept too, except for the versions ``gone``.
    """
    landing = Landing(layout.landing_root(store.root))
    kept = (read_manifest(store, version) for version in versions(store) if version not in gone)
    needed = {(name, entry.run_id) for r in kept for name, entry in r.providers.items()}
    for name in _providers(store, layout.STAGED):
        needed |= {(name, run) for run in stage.keys_by_run(store, name)}
    old = []
    for provider in _providers(store, layout.RAW):
        newest: dict[str, int] = {}
        for name in reversed(landing.runs(provider)):
            origin = landing.run(provider, name).origin
            newest[origin] = newest.get(origin, 0) + 1
            if newest[origin] > policy.runs and (provider, name) not in needed:
                old.append((provider, name))
    return old


def _temporary_files(store: Store, at: datetime) -> list[str]:
    root = store.local("")
    if root is None:
        return []
    _, _, at_the_top = next(os.walk(root), ("", [], []))
    keys = [name for name in sorted(at_the_top) if _AT_THE_TOP.fullmatch(name)]
    for folder in FOLDERS:
        keys += [key for key in store.keys(folder) if _IN_FOLDERS.fullmatch(key)]
    return [key for key in keys if store.are_old([key], at)]


def _unfinished_staging(store: Store, at: datetime) -> list[str]:
    unfinished: list[str] = []
    for provider in _providers(store, layout.STAGED):
        for run, keys in stage.keys_by_run(store, provider).items():
            is_complete = layout.staged_manifest(provider, run) in keys
            if not is_complete and store.are_old(keys, at):
                unfinished += keys
    return unfinished


def _pages_of_no_run(store: Store, gone: Collection[tuple[str, str]]) -> list[str]:
    """List the landed pages that no run's manifest names, without the runs ``gone``."""
    landing = Landing(layout.landing_root(store.root))
    orphans: list[str] = []
    for provider in _providers(store, layout.RAW):
        kept = (name for name in landing.runs(provider) if (provider, name) not in gone)
        runs = (landing.run(provider, name) for name in kept)
        used = {page.key for run in runs for result in run.results for page in result.pages}
        pages = [key for key in store.keys(layout.raw(provider)) if layout.is_page(key)]
        orphans += [key for key in pages if key.removeprefix(f"{layout.RAW}/") not in used]
    return orphans


def _providers(store: Store, prefix: str) -> list[str]:
    return sorted({key.split("/")[1] for key in store.keys(prefix) if key.count("/") > 1})
