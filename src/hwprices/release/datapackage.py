"""Read what a release's datapackage.json says of its tables and columns."""

from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar

from hwprices.storage import layout, manifests

if TYPE_CHECKING:
    from hwprices.release.release import Release

T = TypeVar("T")


class Field(TypedDict):
    """A column."""

    name: str
    description: str
    unit: NotRequired[str]


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
    """Read datapackage.json as this type: ``Package``, or a dictionary. None if there is no file.

    Raises:
        HwpricesError: it is damaged.
    """
    key = layout.release_datapackage(dataset.version)
    data = dataset.store.get(key, manifests.MAX_BYTES)
    if data is None:
        return None
    return manifests.decode(data, kind, file=dataset.store.uri(key), remedy="Publish again.")
