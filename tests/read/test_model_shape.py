"""Shapes of language models: published ones by name, estimates by size."""

import re

import pytest
from tests.helpers.cases import cases

from hwprices.errors import HwpricesError
from hwprices.read.recommend import media
from hwprices.read.recommend.model_shape import EMBEDDING, model_shape, published_models
from hwprices.read.recommend.question import Question
from hwprices.specs import sheets


@pytest.mark.parametrize(
    ("size", "layers", "hidden"), [(8.03e9, 32, 4096), (70.55e9, 80, 8192), (405.85e9, 126, 16384)]
)
def test_an_estimated_shape_is_near_the_published_one(size, layers, hidden) -> None:
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


@cases("read/repositories")
def test_a_name_of_a_repository_is_understood(name: str, expected: str, stored: str) -> None:
    assert (model_shape(name).name, Question(name).stored or "") == (expected, stored)


def test_every_repository_of_the_sheet_is_understood() -> None:
    rows = sheets.load("models").select("repository", "name").drop_nulls()
    assert [model_shape(repository).name for repository, _ in rows.iter_rows()] == rows[
        "name"
    ].to_list()


@pytest.mark.parametrize("value", ["70", "5M", "1e15", "0", 3.0, "9.99e6"])
def test_the_limits_of_a_number_of_parameters_are_said(value: float | str) -> None:
    with pytest.raises(HwpricesError, match=r"not from 1e\+07 to 1e\+14\. Give it as 70e9 or 70B"):
        model_shape(value)


@cases("read/unknown_models")
def test_an_unknown_name_gets_the_names_that_are_like_it(name: str, suggested: str) -> None:
    with pytest.raises(HwpricesError, match=rf"(7B, or|Write) one of {suggested}"):
        model_shape(name)


def test_media_that_are_suggested_are_answered() -> None:
    names = ";".join(sheets.load("media_models")["names"]).split(";")
    assert all(media.benchmark(Question(name)) for name in names)
    assert set(sheets.load("media_models")["benchmark"]) <= set(sheets.load("benchmarks")["model"])


def test_embeddings_are_known_and_no_sheet_has_their_speed() -> None:
    """Speeds are modeled, and a measured generation of Mistral 7B does not count for E5."""
    known = published_models().filter(kind="embedding")["model_id"].to_list()
    assert len(known) == 5
    assert all(model_shape(name).embeds for name in known)
    assert not model_shape("mistral-7b").embeds
    with pytest.raises(HwpricesError, match=r"or one of (e5|bge|nomic|qwen3-emb)"):
        model_shape("all-MiniLM-L6-v2")
    measured = {"benchmarks", "serving_speeds", "measured_speeds", "cpu_speeds"}
    rows = [row for sheet in sorted(measured) for row in sheets.load(sheet).iter_rows(named=True)]
    texts = {str(text).lower() for row in rows for key, text in row.items() if "model" in key}
    assert len(texts) > 20
    assert not [text for text in texts if re.search(EMBEDDING, text)]


@pytest.mark.parametrize("value", ["banana", "", "-7B", "7.0.1B", "nan", "."])
def test_any_other_value_is_refused_in_one_line(value: float | str) -> None:
    with pytest.raises(
        HwpricesError, match="neither a model that is known nor a number of parameters"
    ):
        model_shape(value)
