"""Read what a release's datapackage.json says of its tables and columns."""

from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar

import polars as pl

from hwprices.storage import layout, manifests

if TYPE_CHECKING:
    from hwprices.release.release import Release

T = TypeVar("T")


class Constraints(TypedDict):
    """What the values of a column keep to."""

    required: NotRequired[bool]


class Field(TypedDict):
    """A column."""

    name: str
    description: str
    unit: NotRequired[str]
    constraints: NotRequired[Constraints]


class Fields(TypedDict):
    """The columns of a table."""

    fields: list[Field]


class Resource(TypedDict):
    """A table."""

    name: str
    description: str
    schema: Fields


class Package(TypedDict):
    """The documentation of all tables."""

    resources: list[Resource]


def read(dataset: "Release", kind: type[T]) -> T | None:
    """Read datapackage.json as ``Package`` or a dictionary; None if there is no file."""
    key = layout.release_datapackage(dataset.version)
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        return None
    return manifests.decode(data, kind, file=dataset.store.uri(key), remedy="Publish again.")


def missing_value(release: "Release") -> str | None:
    """Describe the first required column that is absent or has nulls; None if there is none."""
    package = read(release, Package)
    for resource in package["resources"] if package else ():
        table = resource["name"]
        if table not in release.tables:
            continue
        fields = resource["schema"]["fields"]
        required = [f["name"] for f in fields if f.get("constraints", {}).get("required")]
        rows = release.scan(table)
        for column in sorted(set(required) - set(rows.collect_schema())):
            return f"table {table} has no column {column}"
        for column, nulls in rows.select(pl.col(required).null_count()).collect().to_dict().items():
            if nulls.item():
                return f"{column} is null in {nulls.item():,} rows of table {table}"
    return None
