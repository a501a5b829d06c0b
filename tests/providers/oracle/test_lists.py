"""Oracle's lists in tests/cases/oracle/lists.yaml, and the tables that come out.

Figures are Oracle's, of 2026-07 and 2026-08, unless said otherwise.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from tests.helpers.cases import cases, named_cases, number
from tests.helpers.expected import assert_case, assert_has_rows
from tests.helpers.oracle_pages import (
    E4_OCPU,
    E4_SHAPE,
    H100_SHAPE,
    memory,
    ocpus,
    product,
    read,
    shape,
)

MAKERS = {"gpu": product, "ocpu": ocpus, "memory": memory}
SHAPES = {"E4": E4_SHAPE, "H100": H100_SHAPE}


def shape_of(listed: Any) -> dict[str, Any]:
    """Make a shape of a case: a known one, its members, or a name, its parts and what differs."""
    if isinstance(listed, str):
        return SHAPES[listed]
    if isinstance(listed, dict):
        return listed
    name, parts, *members = listed
    return shape(name, *parts, **(members[0] if members else {}))


@named_cases("oracle/lists", "products", "shapes", "some", "refused", "counts")
def test_lists_give_these_rows(case: Mapping[str, Any]) -> None:
    products = [MAKERS[maker](**dict(*members)) for maker, *members in case["products"]]
    tables = read(products, [shape_of(listed) for listed in case.get("shapes", ["H100"])])
    assert_case(tables, case)
    for table, rows in case.get("some", {}).items():
        assert_has_rows(tables[table], rows)


@cases("oracle/shapes", vcpus=number, cores=number)
def test_an_ocpu_is_two_vcpus_or_one(name, processor, vcpus, cores, arch) -> None:
    """Of an Arm machine that no sheet lists it is not known."""
    listed = shape(name, (E4_OCPU, 10, "ocpu"), processorType={"value": processor})
    machine = read([ocpus()], [listed]).machine(name)
    assert (machine["vcpus"], machine["physical_cores"], machine["arch"]) == (vcpus, cores, arch)


@pytest.mark.parametrize("name", ["allowPreemptible", "bundleMemoryQty", "processorType", "hidden"])
def test_a_shape_without_an_optional_member_keeps_its_price(name) -> None:
    without = {key: value for key, value in E4_SHAPE.items() if key != name}
    tables = read([ocpus(), memory()], [without])
    assert tables.words == [("unknown_column", name)]
    assert tables.hourly("BM.Standard.E4.128") == Decimal("6.272")
