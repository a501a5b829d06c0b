"""The options of a question: what each is called, and which values it may have.

This is their one declaration. Type checkers and editors read it from the methods of ``Dataset``,
which have ``**options: Unpack[Options]``; ``help()`` and notebooks read the signatures that
``named_options`` gives those methods; ``option_values`` checks what is given; and a test compares
it with the options of the command line.
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypedDict, TypeVar

Names = str | Iterable[str] | None
"""One name, several with commas, or a list of either."""

Amount = str | float | None
"""16 is at least 16, "16-32" a range, "=16" exactly 16."""


class PastOptions(TypedDict, total=False):
    """What a question about past prices may ask for besides its words. None asks for nothing.

    Options of names take several: with commas, as on the command line, or as a list.
    """

    accelerator: Names
    """An accelerator, by id or name: h100, l40s; or a kind: gpu, tpu, fpga."""
    count: str | float | None
    """Accelerators of the machine, exactly."""
    accelerator_memory: Amount
    """GiB of one accelerator: 80 or "80GB" is at least 80, "80-96" a range, "=80" exactly."""
    vcpus: Amount
    """In the same form."""
    memory: Amount
    """GiB of main memory, in the same form."""
    arch: str | None
    """x86_64 or arm64."""
    type: Names
    """Machine types or families."""
    provider: Names
    """Clouds, by name: aws, google."""
    region: Names
    """Regions, or directions such as us-east."""
    country: Names
    """Countries, by code or English name."""
    continent: Names
    """Continents: europe, north_america."""
    option: Names
    """Purchase options; "commitment" means all that have a term."""
    purchase_option: Names
    """Another name of ``option``, as the command line has it."""
    term: Names | int
    """1y, 3y, or months."""
    os: str | None
    """An operating system, or "any"."""
    software: str | None
    """Software whose license the price includes, or "any"."""
    license: str | None
    """included, byol or any."""
    tenancy: str | None
    """shared, dedicated, host or any."""


class Options(PastOptions, total=False):
    """What a question about offers may ask for besides its words."""

    max_price: str | float | Decimal | None
    """USD for an hour of the machine."""
    usd_per: Mapping[str, object] | None
    """What a unit of other currencies is worth: {"EUR": "1.08"}."""


F = TypeVar("F", bound=Callable[..., Any])


def named_options(kind: type) -> Callable[[F], F]:
    """Add a signature that names them to a function that takes ``**options``.

    ``help()``, notebooks and ``inspect`` see it; calls are as they were, so that a name that is
    wrong is an error that names near ones.

    Args:
        kind: the TypedDict of the options.
    """

    def name_them(function: F) -> F:
        signature = inspect.signature(function)
        named = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
            for name, annotation in typing.get_type_hints(kind).items()
        ]
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *named]
        )
        return function

    return name_them
