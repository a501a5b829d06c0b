"""Decode a landed page of a Google API into a typed struct."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages, UnreadablePageError

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


def decode(
    pages: Pages, page: Page, model: type[T], *, what: str, setting: str, declares_all: bool = False
) -> T:
    """Decode a landed page.

    Numbers in quotes are read as numbers, because Google sends 64-bit integers so. Members that
    ``model`` does not declare are ignored.

    Args:
        pages: the landed pages of the run.
        page: the one to decode.
        model: the struct of the page.
        what: what the page should be, for the error ("a list of SKUs").
        setting: the variable with the endpoint, for the error.
        declares_all: whether ``model`` declares every member that Google documents and leaves out
            what is absent, which makes it quick to tell that no name comes twice
            (``strict_json.refuse_repeated_names``).

    Raises:
        UnreadablePageError: the page does not have the shape of ``model``, or has a name twice in
            one object; names page and field.
    """
    with pages.parsing(page):
        content = pages.read(page)
        try:
            decoded = msgspec.json.decode(content, type=model, strict=False)
        except msgspec.DecodeError as error:
            raise ValueError(f"it is not {what} ({error}); check {setting}") from None
        strict_json.refuse_repeated_names(content, decoded if declares_all else None)
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
) -> tuple[T, list[BrokenRow]]:
    """Decode a landed page, and leave out rows that do not have the shape of their struct.

    Args:
        pages: the landed pages of the run.
        page: the one to decode.
        model: the struct of the page; it declares every member that Google documents.
        what: what the page should be, for the error.
        setting: the variable with the endpoint, for the error.
        rows: finds the lists of rows in the JSON.
        row_type: the struct of a row.

    Returns:
        The page without the broken rows, and these.

    Raises:
        UnreadablePageError: as ``decode``; or most rows are broken, so that the format has changed.
    """
    try:
        return decode(pages, page, model, what=what, setting=setting, declares_all=True), []
    except UnreadablePageError as unreadable:
        content = pages.read(page)
        with pages.parsing(page):
            strict_json.refuse_repeated_names(content)
        try:
            document = msgspec.json.decode(content)
            lists = list(rows(document))
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
            raise unreadable from None
        broken = [fault for listed in lists for fault in _take_out_broken(listed, row_type)]
        if len(broken) > sum(len(listed) for listed in lists):
            raise
        try:
            return msgspec.convert(document, model, strict=False), broken
        except msgspec.ValidationError:
            raise unreadable from None


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
