"""Build and parse all keys: the only module that knows where files are below the root.

A table file is ``offers.parquet`` or ``prices/aws/us-east-1.parquet``, both below a staging
directory and below a release. Keys of pages and runs are relative to the landing root (``raw/``, or
the bundled sample).
"""

import re
from datetime import datetime
from typing import Final, Literal

Packing = Literal["gzip", "zstd"]

SUFFIXES: dict[Packing, str] = {"gzip": ".gz", "zstd": ".zst"}
"""Suffix of landed pages by compression."""


class Key:
    """The template of a key. Call it with a text for each field to build the key."""

    def __init__(self, template: str) -> None:
        self._template = re.sub(r"{\w+}", "{}", template)
        fields = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", re.sub(r"\.", r"\.", template))
        self._pattern = re.compile(fields.replace("<file>[^/]+", "<file>.+"), re.DOTALL)

    def __call__(self, *fields: str) -> str:
        """Build the key."""
        return self._template.format(*fields)

    def parse(self, key: str, field: str) -> str | None:
        """Return a field of a key; None if it does not match. Only ``file`` has slashes."""
        match = self._pattern.fullmatch(key)
        return match[field] if match else None


RAW, STAGED, RELEASES, BACKFILLED = "raw", "staged", "releases", "backfilled"

# At the root
LATEST_RELEASE = "latest.json"  # the current release
STATUS = "status.json"  # the status of each provider
PUBLISH_LOCK, STATUS_LOCK = ".publish.lock", ".status.lock"
CHANGELOG = "releases/CHANGELOG.md"  # the notes of all releases, newest first
lease = Key(".leases/{provider}.json")  # the run that is collecting the provider
raw = Key("raw/{provider}")

# Below the landing root
runs = Key("{provider}/runs")
run_manifest = Key("{provider}/runs/{run_id}.json")
_page = Key("{provider}/{kind}/{region}/{sha256}.{suffix}")

# Staged tables; ``latest.json`` describes the current ones
staged = Key("staged/{provider}")
staged_latest = Key("staged/{provider}/latest.json")
staged_directory = Key("staged/{provider}/{run_id}")
staged_manifest = Key("staged/{provider}/{run_id}/manifest.json")
staged_file = Key("staged/{provider}/{run_id}/{file}")

# The vendors' past price lists: another landing root, and the rows read from its pages
backfilled_rows = Key("backfilled/{provider}/rows/{region}/{version}.parquet")
backfilled_intervals = Key("backfilled/{provider}/intervals/{region}.parquet")

# Releases
SMALL: Final = "small.tar"  # the file NAMES and copies of small tables
NAMES: Final = "names.parquet"
NotesFile = Literal["notes.md", "notes.json"]
NOTES: tuple[NotesFile, NotesFile] = ("notes.md", "notes.json")
release_directory = Key("releases/{version}")
release_manifest = Key("releases/{version}/manifest.json")
release_datapackage = Key("releases/{version}/datapackage.json")
release_croissant = Key("releases/{version}/croissant.json")
release_parts = Key("releases/{version}/parts.json")
release_report = Key("releases/{version}/report/{page}")
release_file = Key("releases/{version}/{file}")

# Below a staging directory
staged_part = Key("parts/{table}/{region}/{name}.parquet")  # to reuse a part in a later run
_table_file = Key("{table}/{provider}/{region}.parquet")
arranged_file = Key("{table}/{number}.parquet")  # of a release: rows by machine type
_ALL_REGIONS = "all"  # in the place of the region, if the table is not split by region
_VERSION = re.compile(r"(\d{8}T\d{6})(\.\d{1,6})?Z", re.ASCII)
_FILE_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]*")


def region_of(key: str) -> str | None:
    """Parse the region of a table's file; None if it holds all regions."""
    region = _table_file.parse(key, "region")
    return None if region == _ALL_REGIONS else region


def landing_root(root: str) -> str:
    """Return the landing root below a root: ``data`` → ``data/raw``."""
    return f"{root.rstrip('/')}/{RAW}"


def backfilled_root(root: str) -> str:
    """Return the landing root of past lists: ``data`` → ``data/backfilled``."""
    return f"{root.rstrip('/')}/{BACKFILLED}"


def page(provider: str, kind: str, region: str, sha256: str, suffix: str, packing: Packing) -> str:
    """Return the key of a landed page, below the landing root."""
    return _page(provider, kind, region, sha256, f"{suffix}{SUFFIXES[packing]}")


def is_page(key: str) -> bool:
    """Check whether a key is that of a landed page."""
    return key.endswith(tuple(SUFFIXES.values()))


def page_format(key: str) -> str:
    """Parse the format in the key of a landed page: ``json``, ``csv``, ``xml``."""
    return key.rpartition(".")[0].rpartition(".")[2]


def page_sha256(key: str) -> str:
    """Parse the SHA-256 in the key of a landed page."""
    return key.rpartition("/")[2].partition(".")[0]


def is_version(text: str) -> bool:
    """Check whether a text names a release: its time, such as 20260801T041700Z."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.strptime(f"{match[1]}Z", "%Y%m%dT%H%M%S%z")
    except ValueError:  # there is no such day or time
        return False
    return True


def is_file_of(table: str, key: str) -> bool:
    """Check whether a key is a valid key of a table's file.

    It must begin with the table's name and end in .parquet. Its parts must start with a letter or
    digit, so that none is ``..`` or empty, and may only contain letters, digits, blanks and . _ -,
    which have no special meaning to file systems, SQL, file patterns and terminals.
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
    return _table_file(table, provider, region or _ALL_REGIONS)
