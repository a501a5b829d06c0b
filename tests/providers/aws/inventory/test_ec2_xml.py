"""Read EC2's XML answers."""

import pytest
from tests.helpers.cases import cases

from hwprices.providers.aws import responses
from hwprices.providers.aws.responses import read_items

ANSWER = (
    '<r xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><zoneSet>'
    "<item><name> a </name><empty/><tags><item>1</item></tags></item></zoneSet></r>"
)
ENTITY = '<!DOCTYPE r [<!ENTITY a "m5.large">]>'


@cases("aws/xml_starts")
def test_every_way_to_begin_gives_the_same_entries(start: str) -> None:
    entries = read_items((start + ANSWER).encode(), "zoneSet")
    assert entries == [{"name": "a", "empty": "", "tags": ["1"]}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("start", ["", '<?xml version="1.0" encoding="UTF-8"?>'])
def test_an_entity_is_refused_in_every_encoding(start: str, encoding: str) -> None:
    body = (start + ENTITY + ANSWER.replace(" a ", "&a;")).encode(encoding)
    with pytest.raises(ValueError, match="an EC2 response is not XML"):
        read_items(body, "zoneSet")


@pytest.mark.parametrize("value", [[""], {"a": "b"}, "", None])
def test_a_structure_is_no_text(value: object) -> None:
    """``<hypervisor><item/></hypervisor>`` stopped AWS with a TypeError."""
    assert responses.text(value) is None
    assert responses.text("nitro") == "nitro"
