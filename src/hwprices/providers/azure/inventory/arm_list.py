"""Read one page of an Azure Resource Manager list: ``{"value": [...]}``."""

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.rows.origin import origin

Schema = dict[str, pl.DataType | type[pl.DataType]]


def read_list(pages: Pages, page: Page, members: Schema, elements: str) -> pl.DataFrame:
    """Read the elements of a page as a frame of their ``members``, with the origin columns.

    ``elements`` is what an error calls them ("resource SKUs").

    Raises:
        UnreadablePageError: the page is not such a list.
        HwpricesError: it is altered.
    """
    with pages.parsing(page):
        return read_elements(pages.read(page), members, elements).with_columns(origin(page))


def read_elements(body: bytes, members: Schema, elements: str) -> pl.DataFrame:
    """Read the elements of a page's body as a frame of their ``members``.

    Raises:
        ValueError: the body is not such a list.
    """
    schema = {"value": pl.List(pl.Struct(members))}
    try:
        values: pl.Series | None = pl.read_json(body, schema=schema)["value"][0]
    except (pl.exceptions.PolarsError, IndexError) as error:
        raise ValueError(f"it is not a list of {elements} ({str(error)[:120]})") from None
    if values is None:
        raise ValueError(f"it is not a list of {elements}")
    return values.struct.unnest()
