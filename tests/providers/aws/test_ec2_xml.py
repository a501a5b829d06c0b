"""Values of EC2's XML that are not what the API documents."""

import pytest

from hwprices.providers.aws.inventory import ec2_xml


@pytest.mark.parametrize("value", [[""], {"a": "b"}, "", None])
def test_a_structure_is_no_text(value: object) -> None:
    """``<hypervisor><item/></hypervisor>`` stopped AWS with a TypeError."""
    assert ec2_xml.text(value) is None
    assert ec2_xml.text("nitro") == "nitro"
