"""The command ``hwprices tco``: owning a machine against renting one."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_frame
from hwprices.cli.tables import Cell, Row, codes, money, number, table_of
from hwprices.errors import HwpricesError
from hwprices.read.ownership import (
    COMMITTED_YEARS,
    DEFAULTS,
    NOT_COMPARED,
    OVERLAY_COLUMNS,
    Ownership,
)
from hwprices.release.wording import counted


@filters.add_options("usd_per")
@described()
def tco(
    *,
    names: list[str] | None = None,
    lifetime_years: float = DEFAULTS.lifetime_years,
    utilisation: float = DEFAULTS.utilisation,
    usd_per_kwh: float = DEFAULTS.usd_per_kwh,
    pue: float = DEFAULTS.pue,
    grid: float | None = DEFAULTS.grid_gco2e_per_kwh,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
) -> None:
    """Compare owning a machine with renting one."""
    ownership = Ownership(
        lifetime_years=lifetime_years,
        utilisation=utilisation,
        usd_per_kwh=usd_per_kwh,
        pue=pue,
        grid_gco2e_per_kwh=grid,
        **options,
    )
    machines = open_dataset().tco(ownership, overlays=overlays)
    named = pl.concat_str("device_id", "name", "accelerator_id", separator=" ", ignore_nulls=True)
    for word in names or []:
        machines = machines.filter(
            named.str.to_lowercase().str.contains(word.lower(), literal=True)
        )
    if machines.is_empty():
        raise HwpricesError(
            f"no machine to buy is called {' '.join(names or [])!r}", "hwprices tco lists them."
        )
    shown = machines.head(call().limit or machines.height)
    print_frame(shown, lambda rows: render_break_even(rows, ownership))


def year(price: Decimal | None, day: date | None) -> str:
    """Write the year of a price to buy; empty without a price."""
    if price is None:
        return ""
    return "undated" if day is None else str(day.year)


NEVER = "never"  # the electricity alone costs more than renting


def within_lifetime(hours: float, ownership: Ownership) -> str:
    """Write the hours of use to break-even, if the machine is used that long."""
    if hours <= ownership.hours_of_use:
        return number(hours, "h")
    years = f"{ownership.lifetime_years:g}"
    return f"> {years} year{'' if years == '1' else 's'}"


def render_break_even(frame: pl.DataFrame, ownership: Ownership = DEFAULTS) -> RenderableType:
    """Draw the answer of ``ownership.break_even`` to the assumptions ``ownership``."""
    machines, frame = frame, frame.filter(pl.col("not_compared").is_null())
    emissions = frame["operational_gco2e_per_hour"].count() > 0
    grams: dict[str, Cell] = {"gCO2e/h": ("operational_gco2e_per_hour", number)}
    drawn = table_of(
        frame,
        {
            "machine": "name",
            "USD": ("purchase_price_usd", money),
            "price of": lambda row: year(row["purchase_price_usd"], row["price_date"]),
            "USD/h owned": ("tco_usd_per_hour", money),
            **(grams if emissions else {}),
            "USD/h cloud": ("cloud_usd_per_hour", money),
            "cheapest offer": "cloud_offer",
            "break-even after": lambda row: _pays_after(row, ownership),
            "": lambda row: _years(row, ownership),
        },
        title="Owning against renting on demand",
        wrap=["machine"],
        least=["cheapest offer", "price of", "", "gCO2e/h", "USD", "USD/h owned"],
    )
    return Group(
        *([drawn] if frame.height else []),
        *(Text(line, "dim") for line in _left_out(machines)),
        *_against_commitments(frame, ownership),
        *(Text(line, "dim") for line in (*_community_hosts(frame), *_own_discounts(frame))),
    )


def _left_out(frame: pl.DataFrame) -> Iterator[str]:
    others = frame.drop_nulls("not_compared")
    if others.is_empty():
        return
    counts = others.group_by("not_compared").agg(pl.len())
    reasons = "; ".join(
        f"{row['len']} {NOT_COMPARED[row['not_compared']]}"
        for row in counts.sort("len", "not_compared", descending=[True, False]).to_dicts()
    )
    yield f"No answer for {counted(others.height, 'machine')}: {reasons}. --json lists them."


def _own_discounts(frame: pl.DataFrame) -> Iterator[str]:
    """State which of the user's discounts the rents include; nothing without --overlays."""
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


def _pays_after(row: Row, ownership: Ownership, term: str = "") -> str:
    """Write after how many hours owning is cheaper than on demand, or than a ``term``: "1y_"."""
    hours = row[f"break_even_{term}hours"]
    return NEVER if hours is None else within_lifetime(hours, ownership)


def _years(row: Row, ownership: Ownership, term: str = "") -> str:
    """Write the years to break-even; empty if the machine is not used that long."""
    hours, years = (row[f"break_even_{term}{unit}"] for unit in ("hours", "years"))
    pays = hours is not None and hours <= ownership.hours_of_use
    return number(float(f"{years:.2g}"), "years") if pays else ""


def _against_commitments(frame: pl.DataFrame, ownership: Ownership) -> Iterator[RenderableType]:
    """Draw after how many hours owning costs less than the cheapest commitments."""
    rows = [
        row | {"term": f"{years}y_"}
        for row in frame.drop_nulls("tco_usd_per_hour").iter_rows(named=True)
        for years in COMMITTED_YEARS
        if row[f"cloud_{years}y_usd_per_hour"] is not None
    ]
    if rows:
        yield table_of(
            rows,
            {
                "machine": "name",
                "USD/h cloud": lambda row: money(row[f"cloud_{row['term']}usd_per_hour"]),
                "commitment": lambda row: codes(row[f"cloud_{row['term']}option"]),
                "cheapest offer": lambda row: row[f"cloud_{row['term']}offer"],
                "break-even after": lambda row: _pays_after(row, ownership, row["term"]),
                "": lambda row: _years(row, ownership, row["term"]),
            },
            title="Owning against commitments, paid for all hours;"
            f" {ownership.utilisation:.0%} used",
            right=["USD/h cloud"],
            wrap=["machine"],
            least=["cheapest offer", "", "commitment"],
        )


def _community_hosts(frame: pl.DataFrame) -> Iterator[str]:
    """List the community hosts that cost less than a data center."""
    less = pl.col("private_host_usd_per_hour") < pl.col("cloud_usd_per_hour")
    only = pl.col("private_host_usd_per_hour").is_not_null() & pl.col("cloud_offer").is_null()
    cheaper = frame.filter(less | only)
    if cheaper.height:
        yield "Community hosts cost less, but may not be free:"
    for row in cheaper.iter_rows(named=True):
        price = money(row["private_host_usd_per_hour"])
        yield f"  {row['name']}: {price} USD/h, {row['private_host_offer']}"
