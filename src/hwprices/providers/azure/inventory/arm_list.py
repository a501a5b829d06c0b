"""Read one landed page of an Azure Resource Manager list: ``{"value": [...]}``."""

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.rows.origin import origin

Schema = dict[str, pl.DataType | type[pl.DataType]]


def read_list(pages: Pages, page: Page, members: Schema, elements: str) -> pl.DataFrame:
    """Read the elements of a page as a frame of their ``members``, with the origin columns.

    ``elements`` is what an error calls them ("resource SKUs").

    Raises:
        HwpricesError: the page is altered, or is not such a list.
    """
    schema = {"value": pl.List(pl.Struct(members))}
    try:
        values: pl.Series | None = pl.read_json(pages.read(page), schema=schema)["value"][0]
    except (pl.exceptions.PolarsError, IndexError) as error:
        raise _not_a_list(page, elements, f" ({str(error)[:120]})") from None
    if values is None:
        raise _not_a_list(page, elements)
    return values.struct.unnest().with_columns(origin(page))


def _not_a_list(page: Page, elements: str, detail: str = "") -> HwpricesError:
    return HwpricesError(
        f"page {page.key} is no list of {elements}{detail}", "Delete it and fetch again."
    )
