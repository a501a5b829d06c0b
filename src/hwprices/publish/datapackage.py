"""Describe a release as a Frictionless Data Package: datapackage.json, made from the schemas.

The format: https://datapackage.org/standard/data-package/
"""

from typing import Any

import polars as pl

from hwprices.release.manifest import ReleaseManifest, TableEntry
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES

_TYPES: dict[type[pl.DataType], str] = {
    pl.String: "string",
    pl.Float64: "number",
    pl.Decimal: "number",
    pl.Int32: "integer",
    pl.Int64: "integer",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.Datetime: "datetime",
    pl.List: "array",
    pl.Struct: "object",
}


LICENSE = {
    "name": "CC-BY-4.0",
    "path": "https://creativecommons.org/licenses/by/4.0/",
    "title": "Creative Commons Attribution 4.0; docs/data-license.md says what it covers",
}


def datapackage(manifest: ReleaseManifest) -> dict[str, Any]:
    """Make the package descriptor of a release."""
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "hwprices",
        "title": "What AI and cloud hardware costs",
        "version": manifest.version,
        "created": manifest.created_at,
        "licenses": [LICENSE],
        "contributors": [{"title": "The hwprices authors", "roles": ["author"]}],
        "resources": [_resource(name, entry) for name, entry in manifest.tables.items()],
    }


def _resource(name: str, entry: TableEntry) -> dict[str, Any]:
    model = TABLES[name]
    schema = model.to_schema()
    paths = [file.key for file in entry.files]
    return {
        "name": name,
        "description": " ".join(str(schema.description or "").split()),
        "path": paths[0] if len(paths) == 1 else paths,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "rows": entry.rows,
        "bytes": entry.bytes,
        "schema": {
            "fields": [_field(column, about) for column, about in schema.columns.items()],
            "primaryKey": key(model),
        },
    }


def _field(name: str, column: Any) -> dict[str, Any]:
    """Describe a column: name, type, description, and its unit and FOCUS counterpart, if any."""
    notes = {key: note for key, note in (column.metadata or {}).items() if note}
    field = {
        "name": name,
        "type": _TYPES[column.dtype.type.base_type()],
        "description": column.description,
        **notes,
    }
    return field if column.nullable else {**field, "constraints": {"required": True}}
