"""Shapes of language models: published ones by name, estimates by size."""

import pytest

from hwprices.errors import HwpricesError
from hwprices.read.recommend.model_shape import model_shape


@pytest.mark.parametrize(
    ("size", "layers", "hidden"), [(8.03e9, 32, 4096), (70.55e9, 80, 8192), (405.85e9, 126, 16384)]
)
def test_an_estimated_shape_is_near_the_published_one(
    size: float, layers: int, hidden: int
) -> None:
    estimate = model_shape(size)
    assert estimate.basis == "estimate"
    assert estimate.hidden == pytest.approx(hidden, rel=0.1)
    assert estimate.layers == pytest.approx(layers, rel=0.2)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [("7B", 7e9), ("70b", 70e9), (7e9, 7e9), ("1.5T", 1.5e12), ("350M", 350e6)],
)
def test_a_number_of_parameters_is_understood(text: float | str, parameters: float) -> None:
    assert model_shape(text).parameters == pytest.approx(parameters)


@pytest.mark.parametrize("name", ["Llama 3.1 70B", "llama-3.1-70b", "LLAMA_3.1_70B"])
def test_a_name_is_understood(name: str) -> None:
    assert model_shape(name).layers == 80


@pytest.mark.parametrize("value", ["banana", "", "-7B", "0", 3.0, "7.0.1B", "nan"])
def test_any_other_value_is_refused_in_one_line(value: float | str) -> None:
    with pytest.raises(
        HwpricesError, match="neither a model that is known nor a number of parameters"
    ):
        model_shape(value)
