"""Decode a landed page of a Google API into a typed struct."""

from typing import TypeVar

import msgspec

from hwprices.landing import strict_json
from hwprices.landing.pages import Page
from hwprices.providers import Pages

T = TypeVar("T")


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
