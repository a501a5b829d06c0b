"""Component ids are written and read back without loss."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.cases import cases

from hwprices.providers.gcp.machine_type import SPELLINGS, ComponentId


@cases("gcp/component_ids")
def test_text_and_component_belong_together(text: str, kind: str, name: str, variant: str) -> None:
    component = ComponentId(kind, name, variant)
    assert str(component) == text
    assert ComponentId.parse(text) == component


@settings(deadline=None)
@given(st.data())
def test_every_component_reads_back(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(SPELLINGS)))
    spelling = SPELLINGS[kind]
    names = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[0-9]{1,3})?", fullmatch=True)
    name = data.draw(names) if spelling.before_name else ""
    variant = data.draw(st.sampled_from(["", *spelling.variants]))
    component = ComponentId(kind, name, variant)
    assert ComponentId.parse(str(component)) == component


@pytest.mark.parametrize(
    "text", ["", "disk", "gpu", "gpu:", "core_big", "corecustom", "instance:x"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a component id"):
        ComponentId.parse(text)


def test_lines_of_one_price_have_different_names() -> None:
    assert ComponentId("premium", "core").line == "premium"
    assert ComponentId("premium", "ram").line == "premium_2"
    assert ComponentId("gpu", "nvidia-l4").line == "gpu"
