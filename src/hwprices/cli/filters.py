"""Options that several commands share, and what the shell completes for them."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from hwprices.cli.common import LATEST
from hwprices.errors import HwpricesError
from hwprices.read.currency import parse_rates
from hwprices.read.dataset import Dataset
from hwprices.read.find.options import OPTIONS
from hwprices.read.overlays import rules
from hwprices.release.versions import default_root, resolve
from hwprices.schemas.vocabulary import PURCHASE_OPTIONS
from hwprices.specs import packaged_sheet
from hwprices.storage.store import Store

MAX_OFFERED = 50  # a longer list does not help

Completer = Callable[[typer.Context, str], list[str]]
"""Called by typer with the beginning of a name."""


def _completer(names: Callable[[Dataset], Iterable[str]]) -> Completer:
    """Complete names from the dataset. Without a dataset nothing is offered."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        with contextlib.suppress(HwpricesError, OSError):
            start = incomplete.lower()
            root = ctx.params.get("root") or default_root()
            dataset = Dataset(Store(resolve(root)), LATEST)
            matches = {name for name in names(dataset) if name.lower().startswith(start)}
            return sorted(matches)[:MAX_OFFERED]
        return []

    return complete


def _column(table: str, column: str) -> Callable[[Dataset], Iterable[str]]:
    def values(dataset: Dataset) -> Iterable[str]:
        frame = dataset.scan(table).select(column).drop_nulls().unique().collect()
        return [str(value) for value in frame[column]]

    return values


def _accelerator_words(dataset: Dataset) -> Iterable[str]:
    ids = _column("accelerators", "accelerator_id")(dataset)
    return [*ids, *(name.partition("-")[2] for name in ids)]


def _device_ids(dataset: Dataset) -> Iterable[str]:
    tables = {"accelerators": "accelerator_id", "cpus": "cpu_id", "local_hardware": "device_id"}
    return [name for table, column in tables.items() for name in _column(table, column)(dataset)]


machines = _completer(_column("instance_types", "instance_type"))
regions = _completer(_column("regions", "region"))
providers = _completer(lambda dataset: dataset.release.providers)
models = _completer(lambda _: packaged_sheet("models")["model_id"])
devices = _completer(_device_ids)

COMPLETERS = {
    "accelerator": _completer(_accelerator_words),
    "type": machines,
    "provider": providers,
    "region": regions,
    "option": _completer(lambda _: [*PURCHASE_OPTIONS, "commitment"]),
}
"""Shell completion by option."""

Words = Annotated[
    list[str] | None,
    typer.Argument(
        help="In words: 8xH100 europe spot; 4 gpus 80gb; 16vcpu 64gb 1tb nvme; d4s_v5 germany."
    ),
]
OverlayFile = Annotated[
    Path | None,
    typer.Option(
        "--overlays",
        envvar="HWPRICES_OVERLAYS",
        help="Your own discounts: a YAML file of rules (docs/overlays.md).",
    ),
]

Options = Mapping[str, Any]  # Values of shared options, as keywords of ``Dataset.find``
PURCHASE = ("option", "os", "software", "license", "tenancy")
MACHINE = ("accelerator", "accelerator_memory", "vcpus", "memory", "type")
ALIASES = {"accelerator": ["gpu"], "option": ["purchase_option"]}
SEVERAL = "Several with commas, or with the option again."


def takes_several(name: str) -> bool:
    """Return whether an option takes several names."""
    return Iterable[str] in get_args(OPTIONS[name][0])


def _option(name: str) -> inspect.Parameter:
    """Make the command-line option for an option of ``read.find.options``.

    Typer collects every value, so that ``_value`` can reject a second one.
    """
    about = OPTIONS[name][1]
    several = takes_several(name)
    is_flag = bool in get_args(OPTIONS[name][0])
    metavar = "CURRENCY=USD" if name == "usd_per" else None if several or is_flag else "<str>"
    option = typer.Option(
        *(f"--{each.replace('_', '-')}" for each in (name, *ALIASES.get(name, ()))),
        help=f"{about.help} {SEVERAL}" if several else about.help,
        metavar=metavar,
        autocompletion=COMPLETERS.get(name),
    )
    kind, default = (bool, False) if is_flag else (list[str] | None, None)
    annotation = Annotated[kind, option]  # type: ignore[valid-type]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def add_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options of ``read.find.options`` to a command, which gets their values as ``options``.

    Its help lists them at the position of the parameter ``options``.

    Raises:
        HwpricesError: an option that takes one value was given several times.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            options = {name: _value(name, values.pop(name)) for name in names}
            command(**values, options=options)

        signature = inspect.signature(command)
        parameters = [
            parameter
            for each in signature.parameters.values()
            for parameter in (map(_option, names) if each.name == "options" else [each])
        ]
        # typer makes the options of a command from its signature
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return with_options


def _value(name: str, values: list[str] | bool | None) -> Any:
    if isinstance(values, bool):
        return values or None
    if name == "usd_per":
        return dict(parse_rates(values))
    if not values or takes_several(name):
        return values or None
    if len(values) > 1:
        raise HwpricesError(
            f"--{name.replace('_', '-')} is given {len(values)} times: {', '.join(values)}",
            "It takes one value.",
        )
    return values[0]


def load_overlays(file: Path | None) -> rules.Overlays | None:
    """Read the rules of --overlays."""
    return None if file is None else rules.load(file)
