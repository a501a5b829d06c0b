"""Refuse an argument of another type than its annotation says, in one line and before any work.

Python and polars would end in an error of their own, far from the argument that is wrong.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

from hwprices.errors import HwpricesError

P = ParamSpec("P")
R = TypeVar("R")

TAKES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
    Mapping: 'a mapping such as {"EUR": "1.08"}',
    Sequence: "a list of texts",
    Iterable: "a list of texts",
}
"""What an error says of a type. None is not named: it is what is left out."""


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function check the types of its arguments: it raises HwpricesError for another one.

    Not checked are annotations in quotes, and types that are neither in TAKES nor data classes.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, given in signature.bind(*args, **kwargs).arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:  # options, which option_values checks
                continue
            for value in given if parameter.kind is parameter.VAR_POSITIONAL else [given]:
                check(name, value, parameter.annotation)
        return function(*args, **kwargs)

    return checked


def check_fields(instance: Any) -> None:
    """Check the fields of a data class, as ``check_arguments`` does arguments.

    Raises:
        HwpricesError: a field has a value of another type.
    """
    for field in fields(instance):
        check(field.name, getattr(instance, field.name), field.type)


def check(name: str, value: object, annotation: Any) -> None:
    """Check one value. 5.0 is a whole number, too; True is none.

    Raises:
        HwpricesError: the value is of none of the types of its annotation.
    """
    union = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    types = [get_origin(kind) or kind for kind in union]
    if not all(kind in TAKES or kind is NoneType or is_dataclass(kind) for kind in types):
        return
    if not any(_is_of(value, kind) for kind in types):
        words = [
            TAKES.get(kind) or f"hwprices.{kind.__name__}" for kind in types if kind is not NoneType
        ]
        raise HwpricesError(f"{name} takes no {value!r:.40}", f"It takes {' or '.join(words)}.")


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value is of one type."""
    if kind in (int, float):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and (kind is float or value % 1 == 0)
    if kind in (Sequence, Iterable):
        is_list = isinstance(value, kind) and not isinstance(value, str | bytes | Mapping)
        texts = value if isinstance(value, Sequence) else ()  # an iterator is read once only
        return is_list and all(isinstance(text, str) for text in texts)
    return isinstance(value, kind)
