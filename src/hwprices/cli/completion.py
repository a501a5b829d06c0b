"""Complete names in the shell: what the dataset has that begins with what was typed.

A completion is silent: without a dataset it offers nothing.
"""

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from hwprices.errors import HwpricesError

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset

MAX_OFFERED = 50  # a longer list does not help


def _dataset(context: typer.Context) -> "Dataset":
    from hwprices.cli.common import open_dataset

    return open_dataset(str(context.params.get("root") or ""), "latest")


def _completer(
    names: "Callable[[Dataset], Iterable[str]]",
) -> Callable[[typer.Context, str], list[str]]:
    """Make a function that typer can call, of one that lists names."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        with contextlib.suppress(HwpricesError, OSError):
            start = incomplete.lower()
            fitting = (name for name in names(_dataset(ctx)) if name.lower().startswith(start))
            return sorted(set(fitting))[:MAX_OFFERED]
        return []

    return complete


def _column(table: str, column: str) -> "Callable[[Dataset], Iterable[str]]":
    def values(dataset: "Dataset") -> Iterable[str]:
        frame = dataset.scan(table).select(column).drop_nulls().unique().collect()
        return [str(value) for value in frame[column]]

    return values


def _accelerator_words(dataset: "Dataset") -> Iterable[str]:
    ids = _column("accelerators", "accelerator_id")(dataset)
    return [*ids, *(name.partition("-")[2] for name in ids)]


def _option_codes(_: "Dataset") -> Iterable[str]:
    from hwprices.schemas.vocabulary import PURCHASE_OPTIONS

    return [*PURCHASE_OPTIONS, "commitment"]


machines = _completer(_column("instance_types", "instance_type"))
regions = _completer(_column("regions", "region"))
accelerators = _completer(_accelerator_words)
providers = _completer(lambda dataset: dataset.release.providers)
options = _completer(_option_codes)
