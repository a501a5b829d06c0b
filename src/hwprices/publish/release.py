"""Publish a release: write an immutable directory, then move the pointer to it.

Readers see the old release or the new one, never a part of it. All files are written below the
directory of the new version, then its manifest with create-only semantics, and ``latest.json``
last: in a folder under a lock and by atomic rename, on an object store by compare-and-swap. The
files of a killed publisher have no manifest; ``prune`` deletes them.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError, first_line
from hwprices.publish import choose, gate, history, join, locks, status, write
from hwprices.publish.choose import check_names
from hwprices.publish.history.snapshot import Moment
from hwprices.publish.join import appeared_words
from hwprices.publish.notes import make_notes, update_changelog
from hwprices.publish.status import Publication
from hwprices.release.manifest import CheckResult, LatestRelease, ReleaseManifest, Status
from hwprices.release.notes import ReleaseNotes
from hwprices.release.versions import read_manifest
from hwprices.rows import frames
from hwprices.schemas.tables import Held
from hwprices.specs import sheets
from hwprices.stage import Progress
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store


@dataclass(frozen=True)
class Published:
    """The current release, whether it was made now, and the status of each provider.

    ``results`` are those of the gate's checks, ``status`` is the new content of ``status.json``.
    ``new_words``: provider and word, for words that are new in a release made now.
    """

    release: ReleaseManifest
    new: bool
    results: tuple[CheckResult, ...]
    status: Status
    new_words: tuple[tuple[str, str], ...] = ()

    @property
    def version(self) -> str:
        """The version of the current release."""
        return self.release.version

    @property
    def held_back(self) -> dict[str, list[CheckResult]]:
        """The providers that the gate held back, with the checks that stopped them."""
        stopped: dict[str, list[CheckResult]] = {}
        for result in gate.stopped(self.results):
            stopped.setdefault(result.provider, []).append(result)
        return stopped

    @property
    def held(self) -> list[CheckResult]:
        """The checks that hold rows of a provider while the others are published."""
        return [result for result in self.results if result.outcome == "held"]

    @property
    def manifest(self) -> dict[str, Any]:
        """The release's manifest as JSON values."""
        return manifests.to_mapping(self.release)


def publish(
    store: Store,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    accepted: Collection[str] = (),
    progress: Progress = lambda _: None,
) -> Published:
    """Check the staged tables, join them with the spec sheets, and release them if they changed.

    Raises:
        NothingStagedError: nothing is staged, and no release exists.
        HwpricesError: another publisher is at work or was faster, the root cannot be written, the
            gate stopped the first release, or an accepted name is not of the form provider:part.
    """
    check_names(accepted)
    with locks.lock(store), _readable(store):
        version_before, tag = _read_pointer(store)
        previous = read_manifest(store, version_before) if version_before else None
        progress("gate")
        quarter = tuple(choose.last_quarter(store, now()))
        specs = sheets.load_all()
        held = choose.published_table(store, previous, "held")
        past = choose.PublishedBefore(
            previous, quarter, frames.empty(Held) if held is None else held.collect(), now()
        )
        choice = choose.choose(store, past, accepted, specs["region_footprint"])
        sources, results = choice.sources, choice.results
        if not sources:
            status.record_publication(store, Publication(choice, previous, previous, now()))
            raise _nothing_to_publish(store, results)
        progress("join")
        before = choose.carried(store, previous)
        joined = join.build(choose.scan(store, sources), specs, before)
        joined = replace(joined, tables={**joined.tables, "held": choice.held})
        content = write.Content(sources, joined, choose.outdated(store, sources))
        digest = write.content_digest(store, content)
        if previous is not None and previous.content_sha256 == digest:
            statuses = status.record_publication(
                store, Publication(choice, previous, previous, now())
            )
            return Published(previous, False, results, statuses)
        created_at = now()
        version = write.claim_version(store, created_at, after=version_before)
        head = write.Head(version, digest, version_before, created_at)
        progress("history")
        accelerators = content.joined.tables["accelerators"]
        record = history.record(store, previous, sources, accelerators, version)
        progress("write")
        notes = _notes(content, choice, record, Moment(version, version_before))
        manifest = write.write(store, content, record, notes, head)
        progress("point")
        _move_pointer(store, manifest, tag)
        with _published(manifest.version):
            update_changelog(store)
            statuses = status.record_publication(
                store, Publication(choice, previous, manifest, now())
            )
        appeared = appeared_words(joined.tables["new_words"], before.get("new_words"))
        return Published(manifest, True, results, statuses, appeared)


def _notes(
    content: write.Content, choice: choose.Choice, past: history.Record, moment: Moment
) -> ReleaseNotes:
    titles = {source.provider: write.provider_title(source.provider) for source in content.sources}
    new_words = content.joined.tables["new_words"]
    return make_notes(moment, content.sources, choice.results, past, titles, new_words)


@contextmanager
def _readable(store: Store) -> Iterator[None]:
    """Make one line of the errors of polars over missing or damaged tables."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise HwpricesError(
            f"cannot read the tables in {store.root}: {first_line(error)}",
            "Collect again, then publish.",
        ) from error


@contextmanager
def _published(version: str) -> Iterator[None]:
    try:
        yield
    except HwpricesError as error:
        raise HwpricesError(
            f"release {version} is published, but {error.message}", error.remedy
        ) from error


class NothingStagedError(HwpricesError):
    """The tables to publish are missing: nothing has been collected successfully yet."""


def _nothing_to_publish(store: Store, results: Collection[CheckResult]) -> HwpricesError:
    stopped = [f"{r.provider}: {r.check}: {r.detail}" for r in results if r.outcome == "stop"]
    if stopped:
        return HwpricesError(
            f"the gate stopped the first release: {'; '.join(stopped)}",
            "docs/gates.md says what each check means and how to let it through.",
        )
    return NothingStagedError(
        f"nothing is staged below {store.uri(layout.STAGED)}",
        "Collect first: hwprices admin refresh, or the collect flow.",
    )


def _read_pointer(store: Store) -> tuple[str | None, str | None]:
    """Read the current version and the tag of the pointer to it; None before the first release."""
    tagged = store.get_tagged(layout.LATEST_RELEASE)
    if tagged is None:
        return None, None
    file = store.uri(layout.LATEST_RELEASE)
    remedy = "Restore it, or delete it and publish again."
    pointer = manifests.decode(tagged.data, LatestRelease, file=file, remedy=remedy)
    return pointer.version, tagged.tag


def _move_pointer(store: Store, release: ReleaseManifest, tag: str | None) -> None:
    """Point at a release, if the pointer has not been moved since its tag was read."""
    pointer = LatestRelease(
        version=release.version,
        created_at=release.created_at,
        manifest=layout.release_manifest(release.version),
        schema_version=release.schema_version,
    )
    if not store.swap(layout.LATEST_RELEASE, manifests.encode(pointer), tag):
        raise locks.BusyError(
            f"another publisher moved {store.uri(layout.LATEST_RELEASE)} first",
            "Its release is now the current one; run publish again to build on it.",
        )
