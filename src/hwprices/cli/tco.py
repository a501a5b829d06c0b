"""The command ``hwprices tco``: owning a machine against renting one."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import UsdPer, call, open_dataset, print_frame
from hwprices.cli.tables import money, number, table
from hwprices.read.currency import parse_rates
from hwprices.read.ownership import (
    COMMITTED_YEARS,
    DEFAULTS,
    NOT_COMPARED,
    OVERLAY_COLUMNS,
    Ownership,
)


def tco(
    lifetime_years: filters.LifetimeYears = 5,
    utilisation: filters.Utilisation = 0.5,
    usd_per_kwh: filters.UsdPerKwh = 0.13,
    pue: filters.Pue = 1.56,
    grid: filters.Grid = None,
    usd_per: UsdPer = None,
    overlays: filters.OverlayFile = None,
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
    ownership = Ownership(
        lifetime_years=lifetime_years,
        utilisation=utilisation,
        usd_per_kwh=usd_per_kwh,
        pue=pue,
        grid_gco2e_per_kwh=grid,
        usd_per=parse_rates(usd_per),
    )
    own = filters.load_overlays(overlays)
    machines = open_dataset().tco(ownership, overlays=own)
    shown = machines.head(call().limit or machines.height)
    print_frame(shown, lambda rows: render_break_even(rows, ownership))


OWNED_HEADINGS = ["machine", "USD", "price of", "USD/h owned"]
RENTED_HEADINGS = ["USD/h cloud", "cheapest offer", "pays after", ""]
COMMITTED_HEADINGS = ["machine", "USD/h cloud", "commitment", "cheapest offer", "pays after", ""]


def year(price: Decimal | None, day: date | None) -> str:
    """Write the year of a price to buy; empty without a price."""
    if price is None:
        return ""
    return "undated" if day is None else str(day.year)


NEVER = "never"  # the electricity alone costs more than renting


def in_its_life(hours: float, ownership: Ownership) -> str:
    """Write the hours of use after which a machine pays, if it is used that long."""
    if hours <= ownership.hours_of_use:
        return number(hours, "h")
    years = f"{ownership.lifetime_years:g}"
    return f"not within {years} year{'' if years == '1' else 's'}"


def render_break_even(frame: pl.DataFrame, ownership: Ownership = DEFAULTS) -> RenderableType:
    """Draw ``ownership.break_even``: what owning costs, and when it beats the cheapest offer.

    ``ownership`` is that of the answer: it says how long a machine is used.
    """
    everything, frame = frame, frame.filter(pl.col("not_compared").is_null())
    emissions = frame["operational_gco2e_per_hour"].count() > 0
    grams = ["gCO2e/h"] if emissions else []
    rows = [
        [
            row["name"],
            money(row["purchase_price_usd"]),
            year(row["purchase_price_usd"], row["price_date"]),
            money(row["tco_usd_per_hour"]),
            *([number(row["operational_gco2e_per_hour"])] if emissions else []),
            money(row["cloud_usd_per_hour"]),
            row["cloud_offer"] or "",
            *_break_even(row, ownership),
        ]
        for row in frame.iter_rows(named=True)
    ]
    headings = [*OWNED_HEADINGS, *grams, *RENTED_HEADINGS]
    drawn = table(
        headings,
        rows,
        title="Owning against renting on demand",
        right=[heading for heading in headings if heading.startswith(("USD", "gCO2e"))],
        wrap=["machine"],
        least=["cheapest offer", "price of", "", "gCO2e/h", "USD", "USD/h owned"],
    )
    private = (Text(line, "dim") for line in _of_private_hosts(frame))
    own = (Text(line, "dim") for line in _own_discounts(frame))
    left_out = (Text(line, "dim") for line in _left_out(everything))
    return Group(
        *([drawn] if rows else []),
        *left_out,
        *_against_commitments(frame, ownership),
        *private,
        *own,
    )


def _left_out(frame: pl.DataFrame) -> Iterator[str]:
    """Count the machines that are not compared, by reason, in one line."""
    others = frame.drop_nulls("not_compared")
    if others.is_empty():
        return
    counts = others.group_by("not_compared").agg(pl.len())
    reasons = "; ".join(
        f"{row['len']} {NOT_COMPARED[row['not_compared']]}"
        for row in counts.sort("len", "not_compared", descending=[True, False]).to_dicts()
    )
    yield f"{others.height} machines have no answer: {reasons}. --json lists them."


def _own_discounts(frame: pl.DataFrame) -> Iterator[str]:
    """State which own discounts the rents include; nothing where none were requested."""
    if not set(OVERLAY_COLUMNS) <= set(frame.columns):
        return
    columns = (frame[name].drop_nulls() for name in OVERLAY_COLUMNS)
    applied = list(dict.fromkeys(rules for column in columns for rules in column))
    if not applied:
        yield "Own discounts changed none of these prices."
        return
    yield (
        f"USD/h cloud includes own discounts ({'; '.join(applied)}); prices to buy and electricity"
        " are not discounted."
    )


def _break_even(row: dict[str, Any], ownership: Ownership) -> tuple[str, str]:
    """Write after how many hours of use, and years, owning is cheaper; else why that is unknown."""
    hours = row["break_even_hours"]
    if hours is None:
        return NEVER, ""
    return in_its_life(hours, ownership), _years(hours, row["break_even_years"], ownership)


def _years(hours: float, years: float, ownership: Ownership) -> str:
    """Write the years after which a machine pays; empty if it is not used that long."""
    return "" if hours > ownership.hours_of_use else number(float(f"{years:.2g}"), "years")


def _against_commitments(frame: pl.DataFrame, ownership: Ownership) -> Iterator[RenderableType]:
    """Draw when owning costs less than the cheapest commitments, of machines with a cost alone."""
    rows = []
    for row in frame.drop_nulls("tco_usd_per_hour").iter_rows(named=True):
        for years in COMMITTED_YEARS:
            if row[f"cloud_{years}y_usd_per_hour"] is None:
                continue
            hours = row[f"break_even_{years}y_hours"]
            pays = (NEVER, "")
            if hours is not None:
                in_years = _years(hours, row[f"break_even_{years}y_years"], ownership)
                pays = (in_its_life(hours, ownership), in_years)
            rows.append(
                [
                    row["name"],
                    money(row[f"cloud_{years}y_usd_per_hour"]),
                    str(row[f"cloud_{years}y_option"]).replace("_", " "),
                    row[f"cloud_{years}y_offer"],
                    *pays,
                ]
            )
    if rows:
        used = f"{ownership.utilisation:.0%} used"
        yield table(
            COMMITTED_HEADINGS,
            rows,
            title=f"Owning against commitments, paid for all hours; {used}",
            right=COMMITTED_HEADINGS[1:2],
            wrap=["machine"],
            least=["cheapest offer", "", "commitment"],
        )


def _of_private_hosts(frame: pl.DataFrame) -> Iterator[str]:
    """List the community hosts that cost less than a data center."""
    less = pl.col("private_host_usd_per_hour") < pl.col("cloud_usd_per_hour")
    only = pl.col("private_host_usd_per_hour").is_not_null() & pl.col("cloud_offer").is_null()
    cheaper = frame.filter(less | only)
    if cheaper.height:
        yield "Community hosts cost less, but may not be free:"
    for row in cheaper.iter_rows(named=True):
        price = money(row["private_host_usd_per_hour"])
        yield f"  {row['name']}: {price} USD/h, {row['private_host_offer']}"
