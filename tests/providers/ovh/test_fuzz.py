"""Mutated catalogs give rows that pass the checks, or an error of our own."""

from tests.helpers.ovh_pages import B3_8, body, plan
from tests.providers.fuzz.pages import PageKind
from tests.providers.fuzz.test_parsers import SHORT, fuzz

CATALOG = body(plan(), plan("b3-8.consumption.3AZ", 9000000, technical=B3_8))


def catalog() -> PageKind:
    return PageKind("ovh", "catalog", "global", "json", CATALOG)


def test_a_mutated_page_gives_rows_or_an_error_of_our_own() -> None:
    fuzz(catalog, SHORT)
