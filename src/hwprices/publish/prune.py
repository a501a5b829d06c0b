"""Delete what nobody needs: old releases, and what runs that failed or were killed left behind.

Safe beside a run and beside a reader: what may still be written or read is left for a later time.
"""

import itertools
import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hwprices.landing.pages import Landing
from hwprices.publish import pointer
from hwprices.read.releases import latest_version, versions
from hwprices.stage import stage
from hwprices.storage import layout
from hwprices.storage.store import LEFTOVER_AGE, Store

READERS = timedelta(hours=1)
"""A release stays so long after the next one came: somebody may just be reading it."""

SCRATCH = "hwprices-*"
"""Directories of downloads in the system's folder for temporary files."""

_TEMPORARY = re.compile(r"(.*#\d+|\.(latest|status)\.json\.\d+|\.writable\.\d+)")
"""Names of files that are being written: obstore's, those of ``Store.swap`` and of its check."""


@dataclass(frozen=True)
class Pruned:
    """What was deleted: versions of releases (whole or not), and how many files besides."""

    releases: tuple[str, ...] = ()
    leftovers: int = 0


def prune(store: Store, keep: int, *, keep_runs: int = 3, now: datetime | None = None) -> Pruned:
    """Delete all but the newest releases, and what killed and failed runs left.

    The release in force always stays, and one that was until an hour ago. Leftovers are releases
    and staged tables without a manifest, landed pages that no run names, and files that were being
    written. They are deleted when they are a day old, unfinished releases in a folder at once: its
    lock shows that nobody is at work on them.

    Args:
        store: the root.
        keep: how many of the newest releases stay.
        keep_runs: how many of the newest staged runs of each provider stay.
        now: the time, for tests.

    Raises:
        HwpricesError: another publisher is at work, or the root cannot be written.
    """
    at = now or datetime.now(UTC)
    with pointer.lock(store):
        releases = _prune_releases(store, keep, at)
    leftovers = [
        *_temporary_files(store, at),
        *_unfinished_staging(store, at),
        *_pages_of_no_run(store, at),
    ]
    for key in leftovers:
        store.delete(key)
    for provider in _providers(store, layout.STAGED):
        stage.prune(store, provider, keep_runs)
    return Pruned(releases, len(leftovers) + _prune_scratch(at))


def _prune_releases(store: Store, keep: int, at: datetime) -> tuple[str, ...]:
    """Delete old and unfinished releases, each one's manifest first: then it is no release."""
    complete = versions(store)
    kept = {*complete[-keep:], latest_version(store)}
    young = (at - READERS).strftime("%Y%m%dT%H%M%SZ")
    kept |= {old for old, new in itertools.pairwise(complete) if new > young}
    keys: dict[str, list[str]] = {}
    for key in store.keys(layout.RELEASES):
        version = layout.release_version(key)
        if version is not None and version not in kept:
            keys.setdefault(version, []).append(key)
    deleted = []
    for version, own in sorted(keys.items()):
        if version not in complete and not store.is_local and not store.are_old(own, at):
            continue
        store.delete(layout.release_manifest(version))
        store.delete_below(layout.release_directory(version))
        deleted.append(version)
    return tuple(deleted)


def _temporary_files(store: Store, at: datetime) -> list[str]:
    """List files that were being written when their process ended; an object store shows none."""
    if not store.is_local:
        return []
    names = ((key, key.rpartition("/")[2]) for key in store.keys(""))
    keys = [key for key, name in names if _TEMPORARY.fullmatch(name)]
    return [key for key in keys if store.are_old([key], at)]


def _unfinished_staging(store: Store, at: datetime) -> list[str]:
    """List the staged files of runs that have no manifest."""
    unfinished: list[str] = []
    for provider in _providers(store, layout.STAGED):
        runs: dict[str, list[str]] = {}
        for key in store.keys(layout.staged(provider)):
            run = layout.staged_run(key)
            if run is not None:
                runs.setdefault(run, []).append(key)
        for run, keys in runs.items():
            is_whole = layout.staged_manifest(provider, run) in keys
            if not is_whole and store.are_old(keys, at):
                unfinished += keys
    return unfinished


def _pages_of_no_run(store: Store, at: datetime) -> list[str]:
    """List landed pages that no run's manifest names: their run ended before it was recorded."""
    landing = Landing(layout.landing_root(store.root))
    orphans: list[str] = []
    for provider in _providers(store, layout.RAW):
        names = _keys_of_runs(landing, provider)
        pages = [key for key in store.keys(layout.raw(provider)) if layout.is_page(key)]
        unnamed = [key for key in pages if key.removeprefix(f"{layout.RAW}/") not in names]
        orphans += [key for key in unnamed if store.are_old([key], at)]
    return orphans


def _keys_of_runs(landing: Landing, provider: str) -> set[str]:
    """List the keys of all pages that a provider's runs name."""
    runs = (landing.run(provider, run_id) for run_id in landing.runs(provider))
    return {page.key for run in runs for result in run.results for page in result.pages}


def _providers(store: Store, prefix: str) -> list[str]:
    """List the providers that have files below ``staged`` or ``raw``."""
    return sorted({key.split("/")[1] for key in store.keys(prefix) if key.count("/") > 1})


def _prune_scratch(at: datetime) -> int:
    """Delete this user's directories of downloads that a killed run left; return their number."""
    deleted = 0
    for path in Path(tempfile.gettempdir()).glob(SCRATCH):
        with suppress(OSError):
            state = path.lstat()
            is_own = state.st_uid == os.getuid() if hasattr(os, "getuid") else True
            age = at - datetime.fromtimestamp(state.st_mtime, UTC)
            if is_own and path.is_dir() and not path.is_symlink() and age > LEFTOVER_AGE:
                shutil.rmtree(path)
                deleted += 1
    return deleted
