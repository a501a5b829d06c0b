"""The command ``hwprices explain``: a price back to the vendor's line."""

from typing import Annotated

import typer

from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    check_one_format,
    open_dataset,
    print_frame,
    print_json,
)
from hwprices.cli.filters import Provider

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

Raw = Annotated[bool, typer.Option("--raw", help="Show the vendor's lines as they are.")]

SHOWN = 40  # prices: more are to be narrowed down, not to be read


def explain(
    price: PriceOrType,
    provider: Provider = None,
    region: Region = None,
    os: System = None,
    purchase_option: PurchaseOption = None,
    raw: Raw = False,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Trace a price back to the vendor's line.

    Prints the sum, the parts it is computed from, and what the vendor's page says about each SKU.
    If several prices match, it lists them with their ids; call it again with one of the ids. --csv
    gives the parts of one price, or its row where it has none; --json everything.

    Example:

        hwprices explain p5.48xlarge --region us-east-1 --os linux
    """
    from hwprices.read import explain as tracing
    from hwprices.read.terminal.prices import render_explanation, render_prices

    check_one_format(as_json, as_csv)
    dataset = open_dataset(root, version)
    prices = tracing.find_prices(
        dataset,
        price,
        provider=provider,
        region=region,
        os=os,
        purchase_option=purchase_option,
    )
    if prices.height > 1:
        print_frame(
            prices,
            as_json,
            lambda rows: render_prices(rows, limit or SHOWN),
            as_csv=as_csv,
            limit=limit,
        )
        return
    explanation = tracing.explain(dataset, prices["price_id"][0])
    if as_json:
        print_json(explanation.to_dict())
        return
    parts = explanation.components if explanation.components.height else prices
    print_frame(parts, as_json, lambda _: render_explanation(explanation, raw=raw), as_csv=as_csv)
