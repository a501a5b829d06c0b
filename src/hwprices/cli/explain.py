"""The command ``hwprices explain``: a price back to the vendor's line."""

from typing import Annotated

import typer

from hwprices.cli.common import Release, Root, open_dataset, print_table

PriceOrType = Annotated[
    str, typer.Argument(metavar="PRICE", help="A price_id, or an instance type.")
]
Region = Annotated[str | None, typer.Option(help="Only this region.")]
System = Annotated[
    str | None, typer.Option("--os", help="Only this operating system: linux, windows, rhel …")
]
PurchaseOption = Annotated[
    str | None,
    typer.Option(
        "--purchase-option",
        "--option",
        help="Only this purchase option: on_demand, spot, reserved …",
    ),
]


def explain(
    price: PriceOrType,
    region: Region = None,
    os: System = None,
    purchase_option: PurchaseOption = None,
    root: Root = "",
    version: Release = "latest",
) -> None:
    """Trace a price back to the vendor's line.

    Prints how the price is computed, from which SKUs, and the line about each SKU on the landed
    page. If several prices match, it lists them with their ids; call it again with one of the ids.

    Example:

        hwprices explain p5.48xlarge --region us-east-1 --os linux
    """
    from hwprices.read import explain as tracing
    from hwprices.read.terminal.prices import render_explanation, render_prices

    dataset = open_dataset(root, version)
    prices = tracing.find_prices(
        dataset, price, region=region, os=os, purchase_option=purchase_option
    )
    if prices.height == 1:
        print_table(render_explanation(tracing.explain(dataset, prices["price_id"][0])))
    else:
        print_table(render_prices(prices))
