"""Commands that answer a question: device, tco."""

from typing import Annotated

import typer

from hwprices.cli import filters, owning
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    UsdPer,
    open_dataset,
    print_frame,
)

DeviceName = Annotated[
    str,
    typer.Argument(
        help="An id, a name or enough words of one: nvidia-l4, 'H100 SXM', 'Raspberry Pi 5'."
    ),
]


def device(
    name: DeviceName,
    usd_per: UsdPer = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Describe an accelerator, CPU or machine.

    Prints what it is, where it is sold, what it costs by the hour, by the year and to buy, how fast
    it is and what it emits. Costs and emissions are of one device, or of one vCPU of a CPU; "not
    known" says why a figure is missing.

    Example:

        hwprices device "H100 SXM"
    """
    from hwprices.read.currency import parse_rates
    from hwprices.read.terminal.device import render_device

    rates = parse_rates(usd_per)
    answer = open_dataset(root, version).device(name, usd_per=rates)
    print_frame(answer, as_json, render_device, as_csv=as_csv)


def tco(
    lifetime_years: owning.LifetimeYears = 5,
    utilisation: owning.Utilisation = 0.5,
    usd_per_kwh: owning.UsdPerKwh = 0.13,
    pue: owning.Pue = 1.56,
    grid: owning.Grid = None,
    usd_per: UsdPer = None,
    overlays: filters.OverlayFile = None,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Compare owning a machine with renting one.

    Prints for each machine that one can buy: its price, what an hour of use costs its owner, what
    as many accelerators cost per hour on demand in the cheapest cloud offer, and after how many
    hours of use owning is cheaper: "not within 5 years" where that is later than the machine is
    used, "never" where its electricity alone costs more than renting. --json and --csv have the
    hours of the former all the same. The last column says why a machine is not compared. --grid
    adds what an hour of its electricity emits. Below stands the same against the cheapest
    commitments of one and of three years, which are paid for all hours of their term, used or not.
    --overlays applies own discounts to what renting costs; prices to buy and electricity stay as
    they are.

    Example:

        hwprices tco --utilisation 0.8 --usd-per-kwh 0.20

        hwprices tco --overlays discounts.yaml
    """
    from hwprices.read.currency import parse_rates
    from hwprices.read.ownership import Ownership
    from hwprices.read.terminal.recommendation import render_break_even

    ownership = Ownership(
        lifetime_years=lifetime_years,
        utilisation=utilisation,
        usd_per_kwh=usd_per_kwh,
        pue=pue,
        grid_gco2e_per_kwh=grid,
        usd_per=parse_rates(usd_per),
    )
    own = filters.load_overlays(overlays)
    machines = open_dataset(root, version).tco(ownership, overlays=own)
    shown = machines if limit is None else machines.head(limit)
    print_frame(shown, as_json, lambda rows: render_break_even(rows, ownership), as_csv=as_csv)
