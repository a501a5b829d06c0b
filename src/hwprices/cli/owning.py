"""Options about a machine that one owns, which ``recommend`` and ``tco`` share.

Their defaults are those of ``read.ownership.Ownership``, which names the sources.
"""

from typing import Annotated

import typer

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
