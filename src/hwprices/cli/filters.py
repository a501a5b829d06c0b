"""Options that several commands share, and what the shell completes for them."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from hwprices.cli.common import UsdPer
from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.overlays.rules import Overlays

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

PANEL = "Machines to buy"

LifetimeYears = Annotated[
    float, typer.Option(help="Years that the machine is used.", rich_help_panel=PANEL)
]

Utilisation = Annotated[
    float,
    typer.Option(
        help="Share of all hours in which a machine that one owns works, 0 to 1.",
        rich_help_panel=PANEL,
    ),
]

UsdPerKwh = Annotated[
    float, typer.Option(help="Price of electricity in USD.", rich_help_panel=PANEL)
]

Pue = Annotated[
    float,
    typer.Option(
        help="Energy of the building over that of the machine; 1 for a desk.",
        rich_help_panel=PANEL,
    ),
]

Grid = Annotated[
    float | None,
    typer.Option(
        "--grid",
        help="gCO2e/kWh of your electricity, for its emissions.",
        min=0,
        rich_help_panel=PANEL,
    ),
]

SEVERAL = "Several with commas, or with the option again."

TEXT = "<str>"
"""How the help writes an option of ``TAKE_ONE``."""

Words = Annotated[
    list[str] | None,
    typer.Argument(
        help="In words: 8xH100 europe spot; 4 gpus 80gb; 16vcpu 64gb arm64; d4s_v5 germany."
    ),
]

Accelerator = Annotated[
    list[str] | None,
    typer.Option(
        "--accelerator",
        "--gpu",
        help=f"An accelerator: h100, 'a100 80gb'; or a kind: gpu, tpu, fpga. {SEVERAL}",
        autocompletion=accelerators,
    ),
]

Count = Annotated[
    list[float] | None,
    typer.Option("--count", min=0, metavar="<float>", help="Accelerators of the machine, exactly."),
]

AcceleratorMemory = Annotated[
    list[str] | None,
    typer.Option(
        metavar=TEXT,
        help="GiB of one accelerator: 80 or 80GB is at least 80; 40-80 a range; =80 exactly.",
    ),
]

Vcpus = Annotated[list[str] | None, typer.Option(metavar=TEXT, help="vCPUs: 16, 16-32 or =16.")]

Memory = Annotated[
    list[str] | None, typer.Option(metavar=TEXT, help="GiB of main memory: 64, 64GB, 64-128.")
]

Arch = Annotated[list[str] | None, typer.Option(metavar=TEXT, help="x86_64 or arm64.")]

Type = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help=f"A machine type or family: g6.xlarge, p5, d4s_v5. {SEVERAL}",
        autocompletion=machines,
    ),
]

Provider = Annotated[
    list[str] | None,
    typer.Option(help=f"A cloud: aws, google. {SEVERAL}", autocompletion=providers),
]

Region = Annotated[
    list[str] | None,
    typer.Option(
        help=f"A region, or a direction: us-east-1, us-east, westeurope. {SEVERAL}",
        autocompletion=regions,
    ),
]

Country = Annotated[list[str] | None, typer.Option(help=f"A country: DE, germany. {SEVERAL}")]

Continent = Annotated[
    list[str] | None, typer.Option(help=f"A continent: europe, north_america. {SEVERAL}")
]

PurchaseOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "--purchase-option",
        help=f"on_demand, spot, reserved …; commitment is every option with a term. {SEVERAL}",
        autocompletion=options,
    ),
]

Term = Annotated[list[str] | None, typer.Option(help=f"Length of commitment: 1y, 3y. {SEVERAL}")]

System = Annotated[
    list[str] | None,
    typer.Option("--os", metavar=TEXT, help="linux (the default), windows, rhel …; any for all."),
]

License = Annotated[
    list[str] | None,
    typer.Option("--license", metavar=TEXT, help="included (the default), byol or any."),
]

Software = Annotated[
    list[str] | None,
    typer.Option(
        metavar=TEXT, help="Software in the price: none (the default), sql_server … or any."
    ),
]

Tenancy = Annotated[
    list[str] | None,
    typer.Option(metavar=TEXT, help="shared (the default), dedicated, host or any."),
]

MaxPrice = Annotated[
    list[str] | None, typer.Option(metavar=TEXT, help="At most so many USD for an hour.")
]

OverlayFile = Annotated[
    Path | None,
    typer.Option(
        "--overlays",
        envvar="HWPRICES_OVERLAYS",
        help="Own discounts: a YAML file of rules (docs/overlays.md).",
    ),
]

MACHINE = (
    "accelerator",
    "count",
    "accelerator_memory",
    "vcpus",
    "memory",
    "arch",
    "type",
)

PLACE = ("region", "country", "continent")

PURCHASE = ("option", "term", "os", "software", "license", "tenancy")

VALUE = ("usd_per", "overlays")
"""How a price is read: exchange rates and own discounts."""

OPTIONS: Mapping[str, Any] = {
    "accelerator": Accelerator,
    "count": Count,
    "accelerator_memory": AcceleratorMemory,
    "vcpus": Vcpus,
    "memory": Memory,
    "arch": Arch,
    "type": Type,
    "provider": Provider,
    "region": Region,
    "country": Country,
    "continent": Continent,
    "option": PurchaseOption,
    "term": Term,
    "os": System,
    "software": Software,
    "license": License,
    "tenancy": Tenancy,
    "max_price": MaxPrice,
    "usd_per": UsdPer,
    "overlays": OverlayFile,
}
"""The options that commands share, by the keyword that ``read.find`` takes each under."""

TAKE_ONE = {
    "count",
    "accelerator_memory",
    "vcpus",
    "memory",
    "arch",
    "os",
    "software",
    "license",
    "tenancy",
    "max_price",
}
"""Options with one value. Typer collects it as a list, so that a second one is not lost."""

Options = Mapping[str, Any]
"""Values of shared options, as keywords of ``read.find``."""


def add_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add some of the shared options to a command. It gets their values as ``options``.

    They are listed in its help where its parameter ``options`` is.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            options = {name: _given(name, values.pop(name)) for name in names}
            if "usd_per" in options:
                options["usd_per"] = usd_rates(options["usd_per"])
            if "overlays" in options:
                options["overlays"] = load_overlays(options["overlays"])
            command(**values, options=options)

        shared = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name]
            )
            for name in names
        ]
        parameters = [
            parameter
            for own in inspect.signature(command).parameters.values()
            for parameter in (shared if own.name == "options" else [own])
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return with_options


def _given(name: str, value: Any) -> Any:
    """Return what was written for an option; None for nothing.

    Raises:
        HwpricesError: an option with one value has two.
    """
    if name not in TAKE_ONE:
        return value or None
    if value and len(value) > 1:
        raise HwpricesError(
            f"--{name.replace('_', '-')} is given {len(value)} times: {', '.join(map(str, value))}",
            "It takes one value.",
        )
    return value[0] if value else None


def load_overlays(file: Path | None) -> "Overlays | None":
    """Read the rules of --overlays."""
    if file is None:
        return None
    from hwprices.read.overlays import rules

    return rules.load(file)


def usd_rates(texts: list[str] | None) -> dict[str, Any]:
    """Read the rates of --usd-per."""
    from hwprices.read.currency import parse_rates

    return dict(parse_rates(texts))
