"""Describe a release for other programs, from the schemas and the manifest.

datapackage.json is a Frictionless Data Package: https://datapackage.org/standard/data-package/.
croissant.json says the same in the format of machine-learning datasets:
https://docs.mlcommons.org/croissant/docs/croissant-spec.html (version 1.0).
"""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from hwprices.release.manifest import ReleaseManifest, TableEntry, TableFile
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES

_PACKAGE_TYPES: dict[type[pl.DataType], str] = {
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
        "resources": [_package_resource(name, entry) for name, entry in manifest.tables.items()],
    }


def _package_resource(name: str, entry: TableEntry) -> dict[str, Any]:
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
            "fields": [_package_field(column, about) for column, about in schema.columns.items()],
            "primaryKey": key(model),
        },
    }


def _package_field(name: str, column: Any) -> dict[str, Any]:
    notes = {key: note for key, note in (column.metadata or {}).items() if note}
    field = {
        "name": name,
        "type": _PACKAGE_TYPES[column.dtype.type.base_type()],
        "description": column.description,
        **notes,
    }
    return field if column.nullable else {**field, "constraints": {"required": True}}


CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the specification prescribes for version 1.0."""

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
PARQUET = "application/x-parquet"

DATA_TYPES = {
    "string": "sc:Text",
    "number": "sc:Float",
    "integer": "sc:Integer",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "array": "sc:Text",
    "object": "sc:Text",
}
"""Type of a Data Package field: that of Croissant. Croissant has no decimals and no structures."""


def croissant(
    package: Mapping[str, Any], tables: Mapping[str, TableEntry], version: str
) -> dict[str, Any]:
    """Make the description of a release."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": package["name"],
        "description": f"{package['title']}. Release {version}.",
        "version": semantic_version(version),
        "datePublished": package["created"],
        "license": [entry["path"] for entry in package["licenses"]],
        "url": "https://pypi.org/project/hwprices/",
        "creator": {"@type": "Organization", "name": "The hwprices authors"},
        "citeAs": f"hwprices, release {version}",
        "isLiveDataset": True,
        "distribution": [
            item for name, entry in tables.items() for item in _distribution(name, entry)
        ],
        "recordSet": [
            _record_set(resource, tables[resource["name"]])
            for resource in package["resources"]
            if resource["name"] in tables
        ],
    }


def semantic_version(version: str) -> str:
    """Write a release's name, a time, as the three numbers that Croissant recommends."""
    date, _, time = version.rstrip("Z").partition("T")
    return f"{int(date[:4])}.{int(date[4:])}.{int(time.partition('.')[0] or 0)}"


def _distribution(table: str, entry: TableEntry) -> Iterable[dict[str, Any]]:
    """List the files of a table, and the set of them where there are several."""
    for file in entry.files:
        yield {
            "@type": "cr:FileObject",
            "@id": file.key,
            "name": file.key,
            "contentUrl": file.key,
            "contentSize": f"{file.bytes} B",
            "encodingFormat": PARQUET,
            "sha256": file.sha256,
        }
    if len(entry.files) > 1:
        yield {
            "@type": "cr:FileSet",
            "@id": _set_id(table),
            "name": _set_id(table),
            "containedIn": [{"@id": file.key} for file in entry.files],
            "encodingFormat": PARQUET,
            "includes": "*.parquet",
        }


def _set_id(table: str) -> str:
    return f"{table}-files"


def _record_set(resource: Mapping[str, Any], entry: TableEntry) -> dict[str, Any]:
    table = resource["name"]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": resource["description"],
        "key": [{"@id": f"{table}/{column}"} for column in resource["schema"]["primaryKey"]],
        "field": [_field(table, field, entry.files) for field in resource["schema"]["fields"]],
    }


def _field(table: str, field: Mapping[str, Any], files: tuple[TableFile, ...]) -> dict[str, Any]:
    name = f"{table}/{field['name']}"
    several = len(files) > 1
    source = (
        {"fileSet": {"@id": _set_id(table)}} if several else {"fileObject": {"@id": files[0].key}}
    )
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": name,
        "description": field["description"],
        "dataType": DATA_TYPES[field["type"]],
        **({"repeated": True} if field["type"] == "array" else {}),
        "source": {**source, "extract": {"column": field["name"]}},
    }
