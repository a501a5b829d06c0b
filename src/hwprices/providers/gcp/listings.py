"""Decode a landed page of a Google API into a typed struct."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
import polars as pl

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.rows import quarantine
from hwprices.rows.origin import origin

T = TypeVar("T")


@dataclass(frozen=True)
class BrokenRow:
    """A row of a list that has not the shape of its struct: the JSON, and what is wrong with it."""

    row: Any
    message: str

    @property
    def new_member(self) -> str | None:
        """The name of a member that is not known, None where something else is wrong."""
        match = re.search(r"unknown field `(.+?)`", self.message)
        return match and match[1]

    def text(self, member: str) -> str | None:
        """Return a member that is text."""
        value = self.row.get(member) if isinstance(self.row, dict) else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A page without its broken rows, these, and the names of members that the struct lacks."""

    page: T
    broken: list[BrokenRow]
    new_members: list[str]


def decode(pages: Pages, page: Page, model: type[T], *, what: str, setting: str) -> T:
    """Decode a landed page.

    Numbers in quotes are read as numbers, because Google sends 64-bit integers so. Members that
    ``model`` does not declare are ignored.

    Args:
        pages: the landed pages of the run.
        page: the one to decode.
        model: the struct of the page.
        what: what the page should be, for the error ("a list of SKUs").
        setting: the variable with the endpoint, for the error.

    Raises:
        UnreadablePageError: the page does not have the shape of ``model``, or has a name twice in
            one object; names page and field.
    """
    with pages.parsing(page):
        content = pages.read(page)
        decoded = _decode(content, model, what, setting)
        strict_json.refuse_repeated_names(content)
        return decoded


def decode_rows(
    pages: Pages,
    page: Page,
    model: type[T],
    *,
    what: str,
    setting: str,
    rows: Callable[[Any], Iterable[list[Any]]],
    row_type: type,
) -> Listing[T]:
    """Decode a landed page, and leave out rows that do not have the shape of their struct.

    Args:
        pages: the landed pages of the run.
        page: the one to decode.
        model: the struct of the page. It declares every member that Google documents and leaves out
            what is absent, which makes it quick to tell that no name comes twice
            (``strict_json.refuse_repeated_names``).
        what: what the page should be, for the error.
        setting: the variable with the endpoint, for the error.
        rows: finds the lists of rows in the JSON.
        row_type: the struct of a row.

    Raises:
        UnreadablePageError: as ``decode``; or most rows are broken, so that the format has changed.
    """
    with pages.parsing(page):
        content = pages.read(page)
        broken: list[BrokenRow] = []
        try:
            decoded = _decode(content, model, what, setting)
        except ValueError as error:
            try:
                document = msgspec.json.decode(content)
                lists = list(rows(document))
                broken = [fault for listed in lists for fault in _take_out_broken(listed, row_type)]
                decoded = msgspec.convert(document, model, strict=False)
            except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
                raise error from None
            if len(broken) > sum(len(listed) for listed in lists):
                raise
        has_all = strict_json.refuse_repeated_names(content, decoded)
        return Listing(decoded, broken, [] if has_all or broken else _new_members(content, decoded))


def refused_members(names: list[str], page: Page, table: str) -> pl.DataFrame:
    """Make a quarantine row of each member that is new: it may say what a price leaves out."""
    frame = pl.LazyFrame({"provider": ["gcp"] * len(names), "member": names})
    return quarantine.refused(
        frame.with_columns(*origin(page)),
        table=table,
        reason="unknown_column",
        message=quarantine.message("the member {} is not known, and is ignored", "member"),
        word=pl.col("member"),
    ).collect()


def _decode(content: bytes, model: type[T], what: str, setting: str) -> T:
    try:
        return msgspec.json.decode(content, type=model, strict=False)
    except msgspec.DecodeError as error:
        raise ValueError(f"it is not {what} ({error}); check {setting}") from None


def _new_members(content: bytes, decoded: object) -> list[str]:
    """Return the names that decoding has dropped, but those declared: they are left out at 0."""
    dropped = _count_names(content) - _count_names(msgspec.json.encode(decoded))
    structs = msgspec.json.schema(type(decoded))["$defs"].values()
    declared = {name for struct in structs for name in struct["properties"]}
    return sorted(dropped.keys() - declared)


def _count_names(content: bytes) -> Counter[str]:
    names: Counter[str] = Counter()
    json.loads(content, object_pairs_hook=lambda members: names.update(n for n, _ in members))
    return names


def _take_out_broken(rows: list[Any], row_type: type) -> list[BrokenRow]:
    """Remove the rows that are not of the type from a list, and return them."""
    kept: list[Any] = []
    broken: list[BrokenRow] = []
    for row in rows:
        try:
            msgspec.convert(row, row_type, strict=False)
        except msgspec.ValidationError as error:
            broken.append(BrokenRow(row, str(error)))
        else:
            kept.append(row)
    rows[:] = kept
    return broken
