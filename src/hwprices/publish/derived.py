"""Write the files of a release that are made of its tables for other programs.

They come last and add nothing: whoever has the tables can make them again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hwprices.release import database
from hwprices.release.manifest import DerivedFile, TableEntry
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store, sha256_of


def write_database(
    store: Store, version: str, tables: Mapping[str, TableEntry], package: Mapping[str, Any]
) -> DerivedFile:
    """Write ``hwprices.duckdb``, with all tables and their documentation.

    Args:
        store: the root; the files of the tables are there already.
        version: the release.
        tables: its tables with their files.
        package: its datapackage.json.

    Raises:
        HwpricesError: the root cannot be written.
    """
    with scratch_directory() as folder:
        files = {
            name: [_local(store, version, file.key, Path(folder)) for file in entry.files]
            for name, entry in tables.items()
        }
        target = Path(folder) / layout.DATABASE
        database.build(target, files, package, version)
        # It may be larger than memory: it is neither read whole nor hashed whole.
        store.put(layout.release_database(version), target)
        return DerivedFile(layout.DATABASE, target.stat().st_size, sha256_of(target))


def _local(store: Store, version: str, key: str, folder: Path) -> str:
    """Give the path of a table file on this machine, copied there from an object store."""
    full = layout.release_file(version, key)
    if store.is_local:
        return str(Path(store.uri(full)).absolute())
    copy = folder / key
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(store.get(full) or b"")
    return str(copy)
