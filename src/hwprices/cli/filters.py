"""Options by which several commands choose machines, places and ways to buy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwprices.cli import completion

if TYPE_CHECKING:
    from hwprices.read.overlays.rules import Overlays

Words = Annotated[
    list[str] | None,
    typer.Argument(help="In words: 8xH100 europe spot; 16vcpu 64gb arm64; d4s_v5 germany."),
]
Accelerator = Annotated[
    str | None,
    typer.Option(
        "--accelerator",
        "--gpu",
        help="An accelerator: h100, l40s, 'a100 80gb'. Several with commas, as everywhere.",
        autocompletion=completion.accelerators,
    ),
]
Count = Annotated[
    float | None, typer.Option("--count", min=0, help="Accelerators of the machine, exactly.")
]
AcceleratorMemory = Annotated[
    str | None,
    typer.Option(help="GiB of one accelerator: 80 is at least 80; 40-80 a range; =80 exactly."),
]
Vcpus = Annotated[str | None, typer.Option(help="vCPUs, in the same form.")]
Memory = Annotated[str | None, typer.Option(help="GiB of main memory, in the same form.")]
Arch = Annotated[str | None, typer.Option(help="x86_64 or arm64.")]
Type = Annotated[
    str | None,
    typer.Option(
        "--type",
        help="A machine type or family: g6.xlarge, p5, d4s_v5.",
        autocompletion=completion.machines,
    ),
]
Provider = Annotated[str | None, typer.Option(help="A cloud.", autocompletion=completion.providers)]
Region = Annotated[
    str | None,
    typer.Option(
        help="A region, or a direction: us-east-1, us-east, westeurope.",
        autocompletion=completion.regions,
    ),
]
Country = Annotated[str | None, typer.Option(help="A country: DE, germany.")]
Continent = Annotated[str | None, typer.Option(help="A continent: europe, north_america.")]
PurchaseOption = Annotated[
    str | None,
    typer.Option(
        "--option",
        "--purchase-option",
        help="on_demand, spot, reserved …; commitment is every option with a term.",
        autocompletion=completion.options,
    ),
]
Term = Annotated[str | None, typer.Option(help="Length of the commitment: 1y, 3y.")]
System = Annotated[
    str | None,
    typer.Option("--os", help="linux (the default), windows, rhel …; any for all."),
]
License = Annotated[
    str | None, typer.Option("--license", help="included (the default), byol or any.")
]
Tenancy = Annotated[str | None, typer.Option(help="shared (the default), dedicated, host or any.")]
MaxPrice = Annotated[str | None, typer.Option(help="At most so many USD for an hour.")]
OverlayFile = Annotated[
    Path | None,
    typer.Option(
        "--overlays",
        envvar="HWPRICES_OVERLAYS",
        help="Own discounts: a YAML file of rules (docs/overlays.md).",
    ),
]


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
