"""Mutated product lists and shapes give rows that pass the checks, or an error of our own."""

from collections.abc import Callable

import pytest
from tests.helpers.oracle_pages import E4_SHAPE, H100_SHAPE, body, memory, ocpus, product
from tests.providers.fuzz.pages import PageKind
from tests.providers.fuzz.test_parsers import SHORT, fuzz

PRODUCTS = body([product(), ocpus(), memory()])
SHAPES = body([H100_SHAPE, E4_SHAPE])


def products() -> PageKind:
    companion = ("shapes", "global", "json", SHAPES)
    return PageKind("oracle", "products", "global", "json", PRODUCTS, (companion,))


def shapes() -> PageKind:
    companion = ("products", "global", "json", PRODUCTS)
    return PageKind("oracle", "shapes", "global", "json", SHAPES, (companion,))


@pytest.mark.parametrize("make", [products, shapes])
def test_a_mutated_page_gives_rows_or_an_error_of_our_own(make: Callable[[], PageKind]) -> None:
    fuzz(make, SHORT)
