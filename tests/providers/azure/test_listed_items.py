"""Items of Azure in tests/cases/azure/items.yaml, and the rows that come out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.azure_pages import Landed, frame, item, sku
from tests.helpers.cases import named_cases
from tests.helpers.expected import assert_has_rows, assert_rows

from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

USUAL = "retail_consumption_usd eastus"


def landed(folder: Path, case: Mapping[str, Any], *, is_turned: bool) -> Landed:
    """Land the pages of a case."""
    pages, made = Landed(folder), {}
    for price, *members in case["items"][:: -1 if is_turned else 1]:
        changes, *where = members or [{}]
        made.setdefault(dict(*where).get("of", USUAL), []).append(item(price, **changes))
    if "sizes" in case:
        pages.skus(*(sku(name, **dict(*members)) for name, *members in case["sizes"]))
    for place, items in made.items():
        kind, region = place.split()
        pages.retail(items, kind, region)
    return pages


@named_cases("azure/items", "items", "sizes", "any_order", "some", "refused", "counts")
def test_items_give_these_rows(tmp_path: Path, case: Mapping[str, Any]) -> None:
    for is_turned in (False, True) if case.get("any_order") else (False,):
        part = landed(tmp_path / str(is_turned), case, is_turned=is_turned).parts()["prices"]
        prices = frame(part)
        if "prices" in case:
            assert_rows(prices, case["prices"])
        assert_has_rows(prices, case.get("some", []))
        rows = part.refused.select("reason", "word").rows() if part.refused is not None else []
        expected = sorted(map(tuple, case.get("refused", [])), key=str)
        assert sorted(rows, key=str) == expected
        assert dict(part.counts) == case.get("counts", {})
        assert validate.split(prices, TABLES["prices"], {}).refused.is_empty()


def test_of_two_spellings_of_a_size_the_first_in_the_alphabet_counts(tmp_path: Path) -> None:
    """200 sizes: polars keeps any of the two where it is not told which."""
    numbers = range(2, 202)
    sizes = [sku(f"Standard_D{n}{s}_v3") for n in numbers for s in "sS"]
    items = [item(0.1, armSkuName=f"standard_d{n}s_v3", meterId=str(n)) for n in numbers]
    prices = Landed(tmp_path).retail(items).skus(*sizes).prices()
    assert set(prices["instance_type"]) == {f"Standard_D{n}S_v3" for n in numbers}
