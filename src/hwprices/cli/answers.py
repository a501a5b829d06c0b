"""Commands that answer a question: explain, device, tco."""

from typing import Annotated

import typer

from hwprices.cli.common import AsJson, Release, Root, open_dataset, print_frame, print_table

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


DeviceName = Annotated[
    str,
    typer.Argument(
        help="An id, a name or enough words of one: nvidia-l4, 'H100 SXM', 'Raspberry Pi 5'."
    ),
]


def device(
    name: DeviceName, root: Root = "", version: Release = "latest", as_json: AsJson = False
) -> None:
    """Describe an accelerator, CPU or machine.

    Prints what it is, where it is sold, what it costs by the hour, by the year and to buy, how fast
    it is and what it emits. Costs and emissions are of one device; "not known" says why a figure is
    missing.

    Example:

        hwprices device "H100 SXM"
    """
    from hwprices.read.device.device import device as describe
    from hwprices.read.terminal.device import render_device

    print_frame(describe(open_dataset(root, version), name), as_json, render_device)


LifetimeYears = Annotated[float, typer.Option(help="Years that the machine is used.")]
Utilisation = Annotated[float, typer.Option(help="Share of all hours in which it works, 0 to 1.")]
UsdPerKwh = Annotated[float, typer.Option(help="Price of electricity in USD.")]
Pue = Annotated[
    float, typer.Option(help="Energy of the building over that of the machine; 1 for a desk.")
]


def tco(
    lifetime_years: LifetimeYears = 5,
    utilisation: Utilisation = 0.5,
    usd_per_kwh: UsdPerKwh = 0.13,
    pue: Pue = 1.56,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
) -> None:
    """Compare owning a machine with renting one.

    Prints for each machine that one can buy: its price, what an hour of use costs its owner, what
    as many accelerators cost per hour in the cheapest cloud offer, and after how many hours of use
    owning is cheaper.

    Example:

        hwprices tco --utilisation 0.8 --usd-per-kwh 0.20
    """
    from hwprices.read.ownership import Ownership, break_even
    from hwprices.read.terminal.recommendation import render_break_even

    ownership = Ownership(
        lifetime_years=lifetime_years, utilisation=utilisation, usd_per_kwh=usd_per_kwh, pue=pue
    )
    print_frame(break_even(open_dataset(root, version), ownership), as_json, render_break_even)
