"""The command ``hwprices bill``: check a bill against list prices, or reprice its usage."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.table import Table

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_json
from hwprices.cli.tables import (
    Cell,
    Row,
    count,
    cut,
    money,
    number,
    pays_from,
    place,
    print_table,
    table_of,
)
from hwprices.errors import HwpricesError, escaped
from hwprices.release.wording import counted

if TYPE_CHECKING:
    from hwprices.read.bill.check import BillCheck
    from hwprices.read.bill.reprice import Repricing

CHECK, REPRICE = "bill check", "bill reprice"  # panels of the help

MAX_ROWS = 15  # Rows of a list on the screen; --json has all
MIN_SUM = 1e-9  # A smaller sum is a rounding error, and is shown as 0
ALL_ROWS = 1_000  # Rows of providers and classes, of which there are few


@filters.add_options("usd_per")
@described(on=filters.providers, region=filters.regions)
def bill(
    *,
    action: Literal["check", "reprice"],
    file: Path,
    out: Path | None = None,
    nearest: bool = False,
    overlays: filters.OverlayFile = None,
    on: list[str] | None = None,
    option: str = "on_demand",
    region: list[str] | None = None,
    options: filters.Options,
) -> None:
    """Check a cloud's bill, or reprice its usage."""
    if action == "check" and (on or region or option != "on_demand"):
        raise HwpricesError(
            "--on, --option and --region belong to bill reprice", "Leave them out, or reprice."
        )
    if action == "reprice" and (out or nearest or overlays):
        raise HwpricesError(
            "--out, --nearest and --overlays belong to bill check", "Leave them out, or check."
        )
    if out is not None:
        from hwprices.read.bill import check_target

        check_target(out)
    content = open_dataset().bill(file)
    if action == "reprice":
        answer = content.reprice(
            on=on or (), option=option, region=region or (), usd_per=options["usd_per"]
        )
        if call().as_json:
            print_json(
                {name: getattr(answer, name).to_dicts() for name in ("totals", "rows", "left")}
                | {"assumed": answer.assumed}
            )
        else:
            print_table(render_repricing(answer))
        return
    checked = content.check(overlays=overlays, nearest=nearest)
    if call().as_json:
        frames = ("coverage", "totals", "services", "largest", "commitments")
        print_json(
            {name: getattr(checked, name).to_dicts() for name in frames} | {"notes": checked.notes}
        )
    else:
        print_table(render_check(checked))
    if out is not None:
        typer.echo(f"wrote {escaped(str(checked.write(out)))}", err=call().as_json)


def _table(
    title: str,
    frame: pl.DataFrame,
    cells: Mapping[str, Cell],
    limit: int = MAX_ROWS,
    *,
    wrap: Collection[str] = (),
    least: Sequence[str] = (),
) -> Table:
    hidden = frame.height - limit
    caption = f"and {hidden} more: see --json" if hidden > 0 else ""
    return table_of(frame.head(limit), cells, title=title, caption=caption, wrap=wrap, least=least)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _signed(value: Any) -> str:
    if value is None:
        return ""
    value = value if abs(value) >= MIN_SUM else 0
    return f"{'-' if value < 0 else ''}{money(abs(value))}"


def _size(row: Row, end: str) -> str:
    sizes = [row[f"{name}{end}"] for name in ("vcpus", "memory_gib")]
    return ", ".join(number(size) or "?" for size in sizes) if any(sizes) else ""


def _now(row: Row) -> str:
    """Name what a machine runs and how it is bought, unless that is Linux on demand."""
    names = [row[name] for name in ("os", "software", "tenancy", "option_now")]
    usual = ("linux", "none", "shared", "on_demand")
    return ", ".join(n.replace("_", " ") for n, u in zip(names, usual, strict=True) if n != u)


LINES: Cell = ("lines", count)


def render_check(checked: "BillCheck") -> RenderableType:
    """Draw the answer: coverage first."""
    from hwprices.read.bill.check import CLASSES

    content, currency = checked.bill, checked.currency
    reasons = {
        "not_collected": "not collected",
        "unknown_sku": "unknown",
        "no_price_then": "too old",
    }
    parts = [
        _table(
            f"{content.format}, {counted(content.count, 'line')} of {content.first:%Y-%m-%d} to"
            f" {content.last:%Y-%m-%d}. What could be checked:",
            checked.coverage,
            {
                "": "provider",
                "usage lines": LINES,
                "lines checked": ("lines_checked", count),
                "share": ("lines_share", _share),
                f"list cost, {currency}": ("list_cost", money),
                "cost checked": ("list_cost_checked", money),
                "share of cost": ("list_cost_share", _share),
            },
            ALL_ROWS,
            least=["lines checked", "cost checked"],
        ),
        _table(
            f"Classes of lines, {currency}",
            checked.totals,
            {
                "class": lambda row: CLASSES[row["class"]],
                "price": "price_of",
                "lines": LINES,
                "list cost": ("list_cost", _signed),
                "billed": ("billed", _signed),
                "difference": ("difference", _signed),
            },
            ALL_ROWS,
            wrap=["class"],
            least=["price"],
        ),
        _table(
            "",
            checked.services,
            {
                "not checked": lambda row: reasons[row["class"]],
                "": lambda row: f"{row['provider']}: {row['detail'] or row['service']}",
                "lines": LINES,
                "list cost": ("list_cost", _signed),
            },
            wrap=[""],
        ),
        _table(
            f"Largest differences, {currency}",
            checked.largest,
            {
                "file, line": lambda row: f"{row['file']}, {row['line']}",
                "class": lambda row: CLASSES[row["class"]],
                "what": lambda row: cut(
                    f"{row['type'] or row['service']} {row['region'] or ''}", 48
                ),
                "billed": ("billed", _signed),
                "expected": ("expected", _signed),
                "difference": ("difference", _signed),
            },
            wrap=["class", "what"],
            least=["file, line"],
        ),
        _table(
            f"Commitments, {currency}; those that cost more than they save first",
            checked.commitments,
            {
                "commitment": "commitment",
                "kind": "kind",
                "cost": ("cost", _signed),
                "on demand": ("on_demand_cost", _signed),
                "saving": ("saving", lambda value: _signed(value) or "unknown"),
                "used": ("utilization", _share),
            },
            wrap=["commitment"],
            least=["kind"],
        ),
    ]
    return _group(parts, checked.notes)


def render_repricing(answer: "Repricing") -> RenderableType:
    """Draw the answer: the totals, each machine that moves, and what stays."""
    totals = _table(
        "Machine hours moved, and what stays, USD",
        answer.totals,
        {
            "on": "on",
            "now": ("cost_now", _signed),
            "there": ("cost_there", _signed),
            "saving": ("saving", _signed),
            "machines that stay": ("cost_machines_left", _signed),
            "other lines": ("cost_other", _signed),
        },
        ALL_ROWS,
    )
    machines = _table(
        "",
        answer.rows.drop_nulls("cost_there"),
        {
            "machine": "instance_type",
            "now": _now,
            "vCPU, GiB": lambda row: _size(row, ""),
            "region": lambda row: f"{row['provider']}/{row['region']}",
            "machine there": "machine_there",
            "vCPU, GiB there": lambda row: _size(row, "_there"),
            "region there": lambda row: place(row, "on", "region_there"),
            "hours": ("hours", number),
            "USD/h now": ("usd_per_hour_now", money),
            "USD/h there": ("usd_per_hour_there", money),
            "break-even": ("break_even_utilisation", pays_from),
            "gCO2e now": ("gco2e_now", number),
            "gCO2e there": ("gco2e_there", number),
        },
        wrap=["machine", "machine there"],
        least=[
            *("gCO2e there", "gCO2e now", "break-even", "region", "region there", "hours"),
            *("now", "vCPU, GiB", "vCPU, GiB there"),
        ],
    )
    left = _table(
        "What could not be moved, USD",
        answer.left,
        {
            "stays": "why",
            "from": lambda row: row["on"] or "all",
            "lines": LINES,
            "cost": ("cost", _signed),
        },
        wrap=["stays"],
    )
    return _group([totals, machines, left], answer.assumed)


def _group(tables: Iterable[Table], notes: Iterable[str]) -> RenderableType:
    """Draw the tables that have rows, and the notes below them."""
    shown = [drawn for drawn in tables if drawn.row_count]
    return Group(*(part for drawn in shown for part in (drawn, "")), *notes)
