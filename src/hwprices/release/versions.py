"""Find a dataset, list its releases, and find the release of a time."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from hwprices.errors import HwpricesError, install_command
from hwprices.schemas import SCHEMA_VERSION
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

if TYPE_CHECKING:
    from hwprices.release.manifest import ReleaseManifest


FOLDER = "data"
SAMPLE = "sample"  # Names the release that comes with the program: ``hwprices.open("sample")``

NO_RELEASE = (
    f"Give the root of a dataset ({SAMPLE} comes with the program), or make one: hwprices admin"
    " refresh."
)


def default_root() -> str:
    """Return the folder ``data`` with a release, here or in a parent folder; otherwise ./data."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / FOLDER / "latest.json").is_file():
            return str(folder / FOLDER)
    return FOLDER


def sample_root() -> str:
    """Return the folder of the release that comes with the program."""
    folder = _sample_folder()
    if not (folder / "latest.json").is_file():
        raise HwpricesError("this installation has no sample release", "Reinstall hwprices.")
    return str(folder)


def is_sample(root: str) -> bool:
    """Check whether a root is that of the release that comes with the program."""
    return "://" not in root and Path(root).resolve() == _sample_folder().resolve()


def _sample_folder() -> Path:
    from hwprices.specs import data_directory

    return data_directory() / "demo"


def resolve(root: str) -> str:
    """Replace the name of the built-in release by its folder; other roots are unchanged."""
    return sample_root() if root == SAMPLE and not Path(SAMPLE).exists() else root


def root_option(root: str) -> str:
    """Return the option that makes a command use this dataset: `` --root s3://…``, or ""."""
    if "://" not in root:
        if Path(root).absolute() == Path(default_root()).absolute():
            return ""
        if Path(root).parent.name == FOLDER and Path(root).name == "demo":
            return f" --root {SAMPLE}"
    return f" --root {quote(root)}"


def versions(store: Store) -> list[str]:
    """List the versions of the complete releases, oldest first.

    Directories whose name is not a version are ignored.
    """
    keys = store.keys(layout.RELEASES)
    names = (layout.release_manifest.parse(key, "version") for key in keys)
    return sorted(version for version in names if version and layout.is_version(version))


def read_manifest(store: Store, version: str, *, is_latest: bool = False) -> "ReleaseManifest":
    """Read the manifest of a release. ``is_latest``: ``latest_version`` named it.

    Raises:
        HwpricesError: there is no such release, its manifest is damaged or has an invalid value, or
            its schema is newer than this reader's.
    """
    # imported here to keep ``import hwprices`` fast
    from hwprices.release.manifest import ReleaseManifest, SchemaVersion

    key = layout.release_manifest(version)
    data = store.get(key, manifests.MAX_BYTES) if layout.is_version(version) else None
    if data is None:
        available = versions(store)
        hint = (
            f"There are: {', '.join(available[-5:])}."
            if available
            else f"There are none yet. {NO_RELEASE}"
        )
        if is_latest:
            raise HwpricesError(
                f"{store.uri(key)} is missing, and {layout.LATEST_RELEASE} names this release",
                f"Give --version. {hint}"
                if available
                else "Publish again: hwprices admin refresh.",
            )
        raise HwpricesError(f"no release {version} in {store.root}", hint)
    file = f"the manifest {store.uri(key)}"
    remedy = "Open another release, or publish again."
    schema = manifests.decode(data, SchemaVersion, file=file, remedy=remedy).schema_version
    if int(schema) > int(SCHEMA_VERSION):
        raise HwpricesError(
            f"release {version} has schema version {schema}; this reader knows {SCHEMA_VERSION}",
            f"Install a newer version: {install_command()}.",
        )
    manifest = manifests.decode(data, ReleaseManifest, file=file, remedy=remedy)
    if manifest.version != version:
        fault = f"version: {manifest.version[:80]!a} in the directory of {version}"
        raise HwpricesError(f"{file} is damaged ({fault})", remedy)
    return manifest


def latest_version(store: Store) -> str | None:
    """Return the version of the current release, or None."""
    from hwprices.release.manifest import LatestRelease

    data = store.get(layout.LATEST_RELEASE, manifests.MAX_BYTES)
    if data is None:
        return None
    file = store.uri(layout.LATEST_RELEASE)
    remedy = "Give a version; hwprices show releases lists them."
    return manifests.decode(data, LatestRelease, file=file, remedy=remedy).version


FOLDERS = (layout.RELEASES, layout.RAW, layout.STAGED)
"""Folders of a dataset; its root may also hold unrelated files."""


def has_data(store: Store) -> bool:
    """Check whether there is a release, or any file in FOLDERS."""
    return store.exists(layout.LATEST_RELEASE) or any(
        next(store.keys(folder), None) is not None for folder in FOLDERS
    )


def releases(root: str | Path) -> list[dict[str, Any]]:
    """Describe each complete release, oldest first; empty if none has been published yet.

    An entry has version, created_at, latest (a boolean), rows by table, and providers with their
    origin (live or sample) and status (fresh or kept).

    >>> [entry["latest"] for entry in releases("sample")]
    [True]

    Raises:
        HwpricesError: there is no such root, or no dataset below it.
    """
    store = Store(resolve(str(root)))
    if not has_data(store):
        raise HwpricesError(f"no release or other data in {store.root}", NO_RELEASE)
    latest = latest_version(store)
    entries = []
    for version in versions(store):
        manifest = read_manifest(store, version)
        rows = {name: entry.rows for name, entry in manifest.tables.items()}
        providers = {
            name: f"{entry.origin}, {entry.status}" for name, entry in manifest.providers.items()
        }
        entries.append(
            {
                "version": version,
                "created_at": manifest.created_at,
                "latest": version == latest,
                "rows": rows,
                "providers": providers,
            }
        )
    return entries


When = str | date | datetime
"""A version, a day (2026-10-01) or a time, which is in UTC if it has no time zone."""

_FORMATS = ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S.%fZ")


def version_time(version: str) -> datetime:
    """Read the time in the name of a release.

    >>> version_time("20261001T041700Z")
    datetime.datetime(2026, 10, 1, 4, 17, tzinfo=datetime.timezone.utc)
    """
    return datetime.strptime(version, _FORMATS["." in version]).replace(tzinfo=UTC)


def instant(when: When) -> datetime:
    """Turn a day or time into an instant; a day counts until its end, in UTC.

    >>> instant("2026-10-01").isoformat()
    '2026-10-01T23:59:59.999999+00:00'
    >>> instant("2026-10-01T06:00+02:00").isoformat()
    '2026-10-01T04:00:00+00:00'

    Raises:
        HwpricesError: it is not a version, day or time, or in UTC its year is not from 1 to 9999.
    """
    if isinstance(when, datetime):
        return _in_utc(when)
    if isinstance(when, date):
        return datetime.combine(when, time.max, UTC)
    try:
        if layout.is_version(when):
            return version_time(when)
        return instant(_parsed(when))
    except (ValueError, TypeError):
        raise HwpricesError(
            f"{when!a:.40} is not a day, time or version",
            "Write 2026-10-01, 2026-10-01T06:00 or a version; hwprices show releases lists them.",
        ) from None


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError:
        raise HwpricesError(
            f"the year of {time.isoformat()} in UTC is not from 1 to 9999", "Write another day."
        ) from None


def _parsed(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)


def version_at(versions: Sequence[str], when: When) -> str:
    """Return the release that was current at a time.

    >>> version_at(["20261001T041700Z", "20261002T041700Z"], "2026-10-01")
    '20261001T041700Z'

    Raises:
        HwpricesError: all kept releases are newer.
    """
    at = instant(when)
    older = [version for version in versions if version_time(version) <= at]
    if not older:
        oldest = f"The oldest one kept is {versions[0]}." if versions else "There is none yet."
        raise HwpricesError(
            f"no kept release was current at {at:%Y-%m-%d %H:%M} UTC",
            f"{oldest} hwprices history has older prices too.",
        )
    return older[-1]
