"""Examples in docstrings: every exported function and method of Dataset has one that runs."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import hwprices

FUNCTIONS = [name for name in hwprices.__all__ if not inspect.isclass(getattr(hwprices, name))]
"""Exported functions; the methods of Dataset are tested one by one."""

SOURCE = Path(hwprices.__file__).parent

METHODS = [name for name in vars(hwprices.Dataset) if not name.startswith("_")]


MODULES = [
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if ">>>" in file.read_text(encoding="utf-8") and file.name != "dataset.py"
]
"""Modules with examples, besides the methods of Dataset."""


def run(function: object, name: str) -> doctest.TestResults:
    """Run the examples of one docstring, with the names of its module."""
    source = getattr(function, "func", getattr(function, "fget", function))
    module = importlib.import_module(source.__module__)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    # a name that the module imports only for types is imported by Python's users as well
    for example in finder.find(
        source, name, module=module, globs=vars(module) | {"__name__": name}
    ):
        runner.run(example)
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_function_is_true(name: str) -> None:
    result = run(getattr(hwprices, name), name)
    assert result.attempted, f"{name} has no example"
    assert result.failed == 0


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_a_method_is_true(name: str) -> None:
    result = run(inspect.getattr_static(hwprices.Dataset, name), name)
    assert result.attempted, f"{name} has no example"
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted
    assert result.failed == 0
