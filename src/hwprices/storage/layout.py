"""Spell and parse every key: the only module that knows where a file lies below the root.

    raw/<provider>/<kind>/<region>/<sha256>.<suffix>.zst    landed pages; .gz where gzip came
    raw/<provider>/runs/<run_id>.json                       the manifest of a collection run
    staged/<provider>/latest.json                           the staged tables in force
    staged/<provider>/<run_id>/manifest.json                and a table file beside it for each part
                              /parts/<table>/<region>/…     what a later run needs to reuse a part
    releases/<version>/manifest.json, datapackage.json      and the table files of the release
                         croissant.json, hwprices.duckdb    the same for other programs
                        notes.md, notes.json                what is new in it
    releases/CHANGELOG.md                                   the same of all releases, newest first
    latest.json                                             the release in force
    gate-history.json                                       what the gate saw in past releases
    status.json                                             how each provider fares
    .leases/<provider>.json                                 which run collects it now

A table file is ``offers.parquet`` or ``prices/aws/us-east-1.parquet``, below a staging directory
and below a release alike. The landing root (``raw/``, or the bundled sample) is a root of its own:
keys of pages and runs are relative to it.
"""

import re
from datetime import datetime
from typing import Literal

Packing = Literal["gzip", "zstd"]

SUFFIXES: dict[Packing, str] = {"gzip": ".gz", "zstd": ".zst"}
"""How the names of landed pages end, by how they are packed."""

RAW = "raw"
STAGED = "staged"
RELEASES = "releases"

LATEST_RELEASE = "latest.json"
PUBLISH_LOCK = ".publish.lock"
GATE_HISTORY = "gate-history.json"
STATUS = "status.json"
STATUS_LOCK = ".status.lock"

_MANIFEST = "manifest.json"
_DATAPACKAGE = "datapackage.json"
_CROISSANT = "croissant.json"
DATABASE = "hwprices.duckdb"
NOTES = ("notes.md", "notes.json")
CHANGELOG = f"{RELEASES}/CHANGELOG.md"
_LATEST = "latest.json"
_WHOLE_PROVIDER = "all"  # the file of a table that has one for the whole provider

_VERSION = re.compile(r"(\d{8}T\d{6})(\.\d{1,6})?Z", re.ASCII)
_TABLE = re.compile(r"[a-z][a-z0-9_]{0,62}")  # as long as PostgreSQL's names may be
_FILE_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")


def lease(name: str) -> str:
    """Return the key that says which run holds a name."""
    return f".leases/{name}.json"


def landing_root(root: str) -> str:
    """Return the landing root below a root: ``data`` → ``data/raw``."""
    return f"{root.rstrip('/')}/{RAW}"


def page(provider: str, kind: str, region: str, sha256: str, suffix: str, packing: Packing) -> str:
    """Return the key of a landed page, below the landing root."""
    return f"{provider}/{kind}/{region}/{sha256}.{suffix}{SUFFIXES[packing]}"


def is_page(key: str) -> bool:
    """Tell whether a key is that of a landed page."""
    return key.endswith(tuple(SUFFIXES.values()))


def page_format(key: str) -> str:
    """Parse the format in the key of a landed page: ``json``, ``csv``, ``xml``."""
    return key.rpartition(".")[0].rpartition(".")[2]


def page_sha256(key: str) -> str:
    """Parse the SHA-256 in the key of a landed page."""
    return key.rpartition("/")[2].partition(".")[0]


def raw(provider: str) -> str:
    """Return the prefix of a provider's landed pages and runs, below the root."""
    return f"{RAW}/{provider}"


def runs(provider: str) -> str:
    """Return the prefix of a provider's run manifests, below the landing root."""
    return f"{provider}/runs"


def run_manifest(provider: str, run_id: str) -> str:
    """Return the key of a run's manifest, below the landing root."""
    return f"{runs(provider)}/{run_id}.json"


def run_id(key: str) -> str | None:
    """Parse the run of a key below ``runs``; None if it is no run manifest."""
    name = key.rpartition("/")[2]
    return name.removesuffix(".json") if name.endswith(".json") else None


def staged(provider: str) -> str:
    """Return the prefix of everything that is staged of a provider."""
    return f"{STAGED}/{provider}"


def staged_directory(provider: str, run_id: str) -> str:
    """Return the directory of the tables staged from one run."""
    return f"{staged(provider)}/{run_id}"


def staged_manifest(provider: str, run_id: str) -> str:
    """Return the key of the manifest of the tables staged from one run."""
    return f"{staged_directory(provider, run_id)}/{_MANIFEST}"


def staged_part(table: str, region: str, name: str) -> str:
    """Return the key of what is kept of a part for later runs, below a staging directory."""
    return f"parts/{table}/{region}/{name}.parquet"


def staged_latest(provider: str) -> str:
    """Return the key of the manifest of the staged tables in force."""
    return f"{staged(provider)}/{_LATEST}"


def staged_provider(key: str) -> str | None:
    """Parse the provider whose staged tables in force this key names; None for any other key."""
    parts = key.split("/")
    is_latest = len(parts) == 3 and parts[0] == STAGED and parts[2] == _LATEST
    return parts[1] if is_latest else None


def staged_run(key: str) -> str | None:
    """Parse the run whose staging directory this key lies in; None for any other key."""
    parts = key.split("/")
    return parts[2] if len(parts) > 3 and parts[0] == STAGED else None


def release_directory(version: str) -> str:
    """Return the directory of a release."""
    return f"{RELEASES}/{version}"


def release_manifest(version: str) -> str:
    """Return the key of a release's manifest."""
    return f"{release_directory(version)}/{_MANIFEST}"


def release_datapackage(version: str) -> str:
    """Return the key of a release's Frictionless descriptor."""
    return f"{release_directory(version)}/{_DATAPACKAGE}"


def release_croissant(version: str) -> str:
    """Return the key of a release's Croissant description."""
    return f"{release_directory(version)}/{_CROISSANT}"


def release_database(version: str) -> str:
    """Return the key of the DuckDB file of a release."""
    return f"{release_directory(version)}/{DATABASE}"


def release_file(version: str, file: str) -> str:
    """Return the key of one of a release's table files."""
    return f"{release_directory(version)}/{file}"


def release_report(version: str, page: str = "") -> str:
    """Return the key of a page of a release's report; without a page the prefix of all."""
    return f"{release_directory(version)}/report/{page}"


def release_version(key: str) -> str | None:
    """Parse the release that a key belongs to; None for a key outside ``releases/``."""
    parts = key.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == RELEASES else None


def is_release_manifest(key: str) -> bool:
    """Tell whether a key is the manifest of a release."""
    version = release_version(key)
    return version is not None and key == release_manifest(version)


def is_version(text: str) -> bool:
    """Tell whether a text is the name of a release: the time it was made at, 20260801T041700Z."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.strptime(f"{match[1]}Z", "%Y%m%dT%H%M%S%z")
    except ValueError:  # there is no such day or time
        return False
    return True


def is_table_name(text: str) -> bool:
    """Tell whether a text may name a table: a small letter, then small letters, digits and _."""
    return _TABLE.fullmatch(text) is not None


def is_file_of(table: str, key: str) -> bool:
    """Tell whether a key may be that of a table's file.

    It begins with the table's name and ends in .parquet. Its parts start with a letter or digit, so
    that none is ``..`` or empty, and hold letters, digits, blanks and . _ - only: nothing that a
    file system, SQL, a file pattern or a terminal reads in another way.
    """
    first, *rest = key.removesuffix(".parquet").split("/")
    return (
        key.endswith(".parquet")
        and first == table
        and all(_FILE_PART.fullmatch(part) is not None for part in rest)
    )


def table_file(table: str, provider: str | None = None, region: str | None = None) -> str:
    """Return the key of a table's file below a staging directory or a release.

    ``offers.parquet``, ``prices/aws/us-east-1.parquet`` or, for a table that is not split by
    region, ``zones/aws/all.parquet``.
    """
    if provider is None:
        return f"{table}.parquet"
    return f"{table}/{provider}/{region or _WHOLE_PROVIDER}.parquet"


def empty_table_file(table: str) -> str:
    """Return the key of the one file of a table without rows: ``quarantine/empty.parquet``.

    In the folder in which its rows would be, so that a program that reads the folder finds it.
    """
    return f"{table}/empty.parquet"
