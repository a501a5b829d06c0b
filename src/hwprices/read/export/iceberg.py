"""Register the Parquet files of a release as Iceberg tables, without copying a byte.

The tables' metadata lies in a folder of its own; it points to the release's files where they are.
"""

import shutil
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hwprices.errors import HwpricesError, cannot_write, install_command

if TYPE_CHECKING:
    from hwprices.release.release import Release

NAMESPACE = "hwprices"


def export(dataset: "Release", folder: str | Path, tables: Sequence[str] = ()) -> Path:
    """Make an Iceberg catalog (SQLite) in a folder, with a table for each of the release's.

    Returns the folder.

    Args:
        dataset: a release in a folder on this machine.
        folder: where ``catalog.db`` and the metadata go; it must not exist.
        tables: which ones; all by default. Tables without rows are left out.

    Raises:
        HwpricesError: pyiceberg is not installed, the release is on an object store or has no such
            table, a table is named twice, or the folder exists or cannot be written; what was
            written of it is deleted then.
    """
    if find_spec("pyiceberg") is None or find_spec("pyarrow") is None:
        raise HwpricesError("Iceberg needs pyiceberg", f"{install_command('export')}.")
    if not dataset.store.is_local:
        raise HwpricesError(
            f"{dataset.store.root} is not a folder", "Copy the release to this machine first."
        )
    names = list(tables) or dataset.tables
    for name in names:
        if names.count(name) > 1:
            raise HwpricesError(f"table {name} is named twice", "Name each table once.")
    files = {name: dataset.files(name) for name in names}
    target = Path(folder).absolute()
    if target.exists():
        raise HwpricesError(f"{target} is there already", "Give another name, or delete it.")
    from sqlalchemy.exc import SQLAlchemyError

    try:
        target.mkdir(parents=True)
        _register(dataset, target, files)
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise cannot_write(target, error) from None
        if isinstance(error, SQLAlchemyError):  # of the catalog, where the disk is full
            raise cannot_write(target, getattr(error, "orig", error)) from None
        raise
    return Path(folder)


def _register(dataset: "Release", folder: Path, files: Mapping[str, list[str]]) -> None:
    """Make the catalog and its tables, whose Parquet files these are, in an empty folder."""
    import pyarrow.parquet
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog(NAMESPACE, uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace(NAMESPACE)
    for name, paths in files.items():
        if dataset.manifest["tables"][name]["rows"] == 0:
            continue
        absolute = [str(Path(path).absolute()) for path in paths]
        schema = pyarrow.parquet.read_schema(absolute[0])
        made = catalog.create_table(f"{NAMESPACE}.{name}", schema=schema)
        made.add_files(absolute, snapshot_properties={"hwprices.release": dataset.version})
