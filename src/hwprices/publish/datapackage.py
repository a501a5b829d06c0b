"""datapackage.json of a release, from the schemas: Frictionless Data Package, https://datapackage.org/standard/data-package/."""

from collections.abc import Mapping
from typing import Any

import polars as pl

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


def datapackage(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The package descriptor of a release with its manifest's files."""
    return {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "hwprices",
        "title": "What AI and cloud hardware costs",
        "version": manifest["version"],
        "created": manifest["created_at"],
        "resources": [_resource(name, entry) for name, entry in manifest["tables"].items()],
    }


def _resource(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    model = TABLES[name]
    schema = model.to_schema()
    paths = [file["key"] for file in entry["files"]]
    return {
        "name": name,
        "description": " ".join(str(schema.description or "").split()),
        "path": paths[0] if len(paths) == 1 else paths,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "rows": entry["rows"],
        "bytes": entry["bytes"],
        "schema": {
            "fields": [_field(n, c) for n, c in schema.columns.items()],
            "primaryKey": key(model),
        },
    }


def _field(name: str, column: Any) -> dict[str, Any]:
    notes = {k: v for k, v in (column.metadata or {}).items() if v}
    base = {
        "name": name,
        "type": _TYPES[column.dtype.type.base_type()],
        "description": column.description,
        **notes,
    }
    return base if column.nullable else {**base, "constraints": {"required": True}}
