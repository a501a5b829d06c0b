"""The options of a question: declared once, named wherever people look, and checked."""

import re
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Unpack

import click
import numpy as np
import pytest
from tests.helpers.terminal import run
from typer.main import get_command

import hwprices
from hwprices.cli import app, filters
from hwprices.errors import HwpricesError
from hwprices.read.find.options import FIGURES, OPTIONS, Options, PastOptions
from hwprices.read.find.search import Search


@pytest.mark.parametrize(
    ("method", "kind"),
    [("find", Options), ("price", Options), ("compare", Options), ("history", PastOptions)],
)
def test_editors_and_type_checkers_are_told_the_names(method: str, kind: type) -> None:
    assert getattr(hwprices.Dataset, method).__annotations__["options"] == Unpack[kind]


def test_a_figure_is_declared_once_and_has_a_field_in_the_search() -> None:
    """A further one needs these two places."""
    assert FIGURES.keys() <= {field.name for field in fields(Search)}
    assert set(FIGURES) == {
        *("accelerator_count", "accelerator_gib", "vcpus", "memory_gib", "local_disk_gib")
    }
    shown = run("find", "--help").stdout
    for name in (*filters.MACHINE, "provider", "region", "option", "os", "usd_per"):
        assert f"--{name.replace('_', '-')}" in shown
        assert OPTIONS[name][1].help.split()[0] in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": "eight"}, "count eight: this is not a number"),
        ({"count": float("nan")}, "count: this is not a number"),
        ({"count": 10**400}, "count: this is not a number"),
        ({"count": 1j}, "count: this is not a number"),
        ({"count": True}, "count takes no True"),
        ({"vcpus": 10**5000}, "vcpus: this is not a number"),
        ({"memory": "9" * 5000}, "memory has more than 200 letters: 99"),
        ({"term": "9" * 5000}, "term has more than 200 letters"),
        ({"term": 1.5}, "term takes no 1.5. It takes 1y, 3y or a number of months"),
        ({"region": 5}, "region takes no 5. It takes a name, or a list of names."),
        ({"region": ["us-east-1", None]}, "region takes no ['us-east-1', None]"),
        ({"provider": b"aws"}, "provider takes no b'aws'"),
        ({"os": ["linux"]}, "os takes no ['linux']. It takes one text."),
        ({"usd_per": "EUR=1"}, 'usd_per takes no \'EUR=1\'. It takes {"EUR": "1.08"}.'),
        ({"max_price": 10**30}, "max_price 1000000000000000000000000000000: no price is so"),
        ({"max_price": "1e999999999"}, "max_price 1e999999999: no price is so large"),
        ({"max_price": Decimal("sNaN")}, "max_price: this is not a number"),
        ({"in_stock": "yes"}, "in_stock takes no 'yes'. It takes True or False."),
        ({"x" * 5000: 1}, f"unknown option '{'x' * 200}'"),
    ],
)
def test_a_value_of_another_kind_is_an_error_in_one_line(data, options, message) -> None:
    with pytest.raises(HwpricesError) as error:
        data.find("p5.48xlarge", **options)
    assert str(error.value).startswith(message)
    assert len(str(error.value)) < 700


def test_numbers_of_other_libraries_and_iterators_are_values(data: hwprices.Dataset) -> None:
    h100 = data.find(count=8, accelerator="h100", vcpus=64, term=12, option="commitment")
    same = data.find(
        count=np.int64(8),
        accelerator=iter(["h100"]),
        vcpus=np.float64(64),
        term=np.int64(12),
        option=(name for name in ("commitment",)),
        region=None,
    )
    assert h100.height
    assert h100.equals(same)


def test_a_limit_is_as_exact_as_prices_are(data: hwprices.Dataset) -> None:
    dearest = data.find("h100")["usd_per_hour"].max()
    assert data.find("h100", max_price=f"{dearest}{'9' * 60}").height == data.find("h100").height
    below = data.find("h100", max_price=dearest - Decimal("1e-10"))
    assert 0 < below.height < data.find("h100").height


@pytest.mark.parametrize("text", ["h100 " * 41, "h100," * 41, "h" * 1001])
@pytest.mark.parametrize("method", ["find", "history"])
def test_a_question_has_an_end(data: hwprices.Dataset, method: str, text: str) -> None:
    with pytest.raises(HwpricesError, match="has more than 40 words or 1,000 letters"):
        getattr(data, method)(text)


@pytest.mark.parametrize("method", ["find", "history"])
def test_what_is_no_text_is_no_question(data: hwprices.Dataset, method: str) -> None:
    with pytest.raises(HwpricesError, match="the question is not a text: None"):
        getattr(data, method)(None)


def test_a_list_of_machines_is_no_name_of_one(data: hwprices.Dataset) -> None:
    with pytest.raises(HwpricesError, match="several one after the other"):
        data.compare(["g6.xlarge", "g2-standard-4"])  # type: ignore[arg-type]
    for name in ("x" * 201, None):
        with pytest.raises(HwpricesError, match=r"machine type"):
            data.price(name)  # type: ignore[arg-type]


HINTS = {
    "find": ["cli/find.py", "read/find/*.py"],
    "price": ["cli/price.py", "read/find/*.py"],
    "recommend": ["cli/recommend.py", "read/recommend/*.py", "read/recommend/reasons.csv"],
    "compare": ["cli/compare.py", "read/find/compare.py"],
}
"""Command: the modules that write its errors and hints."""

OTHERS = {"read/find/compare.py": "compare", "read/recommend/serve_command.py": "vllm"}
"""Modules with hints of one command, or none, of hwprices."""


@pytest.mark.parametrize("command", HINTS)
def test_hints_name_options_that_the_command_has(command: str) -> None:
    program = get_command(app)
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in HINTS}  # type: ignore[attr-defined]
    options = {
        name: {option for each in found.get_params(context) for option in each.opts}
        for name, found in commands.items()
    }
    source = Path(hwprices.__file__).parent
    modules = [
        module
        for pattern in HINTS[command]
        for module in sorted(source.glob(pattern))
        if OTHERS.get(str(module.relative_to(source)), command) == command
    ]
    wrong = []
    for line in (line for module in modules for line in module.read_text().splitlines()):
        of = re.search(r"hwprices (\w+) ", line)
        known = options.get(of[1] if of else command, ())
        named = re.findall(r"(?<![\w-])--[a-z{][a-z-]*", line)
        wrong += [(line, name) for name in named if name not in known]
    assert modules
    assert wrong == [], wrong
