"""Keep ``releases/CHANGELOG.md``: what is new in every release, newest first.

It outlives the releases that are deleted. A publisher that was killed before it wrote its entry is
made good by the next one, from the notes of the release.
"""

import re

from hwprices.errors import HwpricesError
from hwprices.publish.notes import markdown
from hwprices.release.notes import ReleaseNotes
from hwprices.release.versions import versions
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

HEAD = """# Changelog of the data

What changed from release to release, newest first. Each release has more in its notes.md, and every
single change in its table changes.
"""

MAX_ENTRIES = 1000
"""Older entries are left out; hourly releases fill a month and a half."""

_ENTRY = re.compile(r"^## (\S+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def update(store: Store) -> None:
    """Add the releases that the changelog lacks.

    Raises:
        HwpricesError: it cannot be written.
    """
    data = store.get(layout.CHANGELOG)
    text = data.decode("utf-8", "replace") if data else ""
    entries = {match[1]: match[0].rstrip("\n") + "\n" for match in _ENTRY.finditer(text)}
    missing = [version for version in versions(store) if version not in entries]
    for version in missing:
        if (notes := read(store, version)) is not None:
            entries[version] = markdown.changelog_entry(notes)
    if missing:
        newest = sorted(entries, reverse=True)[:MAX_ENTRIES]
        body = "\n".join([HEAD, *(entries[version] for version in newest)])
        store.put(layout.CHANGELOG, body.encode())


def read(store: Store, version: str) -> ReleaseNotes | None:
    """Read the notes of a release; None if it has none, or none that can be read."""
    data = store.get(layout.release_file(version, layout.NOTES[1]), manifests.MAX_BYTES)
    if data is None:
        return None
    try:
        return manifests.decode(data, ReleaseNotes, file=f"the notes of {version}", remedy="")
    except HwpricesError:
        return None
