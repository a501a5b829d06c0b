"""The command ``hwprices bill``: check a bill against list prices, or reprice its usage."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
import typer
from rich.console import Group, RenderableType

from hwprices.cli import filters
from hwprices.cli.common import (
    call,
    open_dataset,
    print_json,
    print_table,
)
from hwprices.cli.tables import cut, money, number, pays_from, table
from hwprices.errors import HwpricesError
from hwprices.hidden_characters import escaped

if TYPE_CHECKING:
    from hwprices.read.bill.check import BillCheck
    from hwprices.read.bill.reprice import Repricing

SHARED = ("root", "version", "json")

CHECK, REPRICE = "bill check", "bill reprice"  # panels of the help

Action = Annotated[
    Literal["check", "reprice"],
    typer.Argument(help="check: compare with list prices; reprice: cost elsewhere."),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A bill, or a folder of its parts: FOCUS 1.0 to 1.3, AWS CUR 2.0, Azure cost export,"
        " Google's detailed export; CSV, gzip, Parquet or JSON lines.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write every line with its match, price_id and citation: .parquet, .csv or .xlsx.",
        rich_help_panel=CHECK,
    ),
]
Nearest = Annotated[
    bool,
    typer.Option(
        "--nearest",
        help="Compare lines that are older than the price history with the first price known.",
        rich_help_panel=CHECK,
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="PROVIDER",
        help=f"Clouds to move to; without it the bill's own. {filters.SEVERAL}",
        rich_help_panel=REPRICE,
        autocompletion=filters.providers,
    ),
]
PurchaseOption = Annotated[
    str,
    typer.Option(
        help="Purchase option there: on_demand, spot, reserved, savings_plan, committed_use, or"
        " commitment for the cheapest of them.",
        rich_help_panel=REPRICE,
    ),
]
Region = Annotated[
    list[str] | None,
    typer.Option(
        help=f"Region there; without it the cheapest of the machine's continent. {filters.SEVERAL}",
        rich_help_panel=REPRICE,
        autocompletion=filters.regions,
    ),
]

MOST_ROWS = 15
"""Rows of a list on the screen; --json has all."""


@filters.add_options("usd_per")
def bill(
    *,
    action: Action,
    file: File,
    out: Out = None,
    nearest: Nearest = False,
    overlays: filters.OverlayFile = None,
    on: On = None,
    option: PurchaseOption = "on_demand",
    region: Region = None,
    options: filters.Options,
) -> None:
    """Check a cloud's bill, or reprice its usage.

    `check` compares each line with the list price of its hour: by rate code, meter or SKU, else by
    type, region, system, tenancy and option. It prints which share could be checked, totals by
    class, the largest differences and what commitments save. `reprice` prints what the machines
    cost elsewhere, and what could not be moved.

    Example:

        hwprices bill check bill.csv --out checked.parquet

        hwprices bill check exports/ --overlays discounts.yaml

        hwprices bill reprice bill.csv --on gcp,azure --option commitment
    """
    if action == "check" and (on or region or option != "on_demand"):
        raise HwpricesError(
            "--on, --option and --region are of bill reprice", "Leave them out, or reprice."
        )
    if action == "reprice" and (out or nearest or overlays):
        raise HwpricesError(
            "--out, --nearest and --overlays are of bill check", "Leave them out, or check."
        )
    if out is not None:
        from hwprices.read.bill.write import check_target

        check_target(out)
    opened = open_dataset().bill(file)
    if action == "reprice":
        answer = opened.reprice(
            on=_split(on), option=option, region=_split(region), usd_per=options["usd_per"]
        )
        if call().as_json:
            print_json(
                {name: getattr(answer, name).to_dicts() for name in ("totals", "rows", "left")}
                | {"assumed": answer.assumed}
            )
        else:
            print_table(render_repricing(answer))
        return
    found = opened.check(overlays=filters.load_overlays(overlays), nearest=nearest)
    if call().as_json:
        frames = ("coverage", "totals", "services", "largest", "commitments")
        print_json(
            {name: getattr(found, name).to_dicts() for name in frames} | {"notes": found.notes}
        )
    else:
        print_table(render_check(found))
    if out is not None:
        typer.echo(f"wrote {escaped(str(found.write(out)))}", err=call().as_json)


def _split(names: list[str] | None) -> list[str]:
    return [part.strip() for name in names or [] for part in name.split(",") if part.strip()]


def render_check(found: "BillCheck") -> RenderableType:
    """Draw the answer: coverage first."""
    content = found.bill
    cost = f"list cost, {found.currency}"
    shown = ["usage lines", "checked", "share", cost, "checked ", "share "]
    shares = table(
        ["", *shown],
        [
            (
                row["provider"],
                f"{row['lines']:,}",
                f"{row['lines_checked']:,}",
                _share(row["lines_share"]),
                money(row["list_cost"]),
                money(row["list_cost_checked"]),
                _share(row["list_cost_share"]),
            )
            for row in found.coverage.to_dicts()
        ],
        title=f"{content.format}, {content.count:,} lines of {content.first:%Y-%m-%d} to"
        f" {content.last:%Y-%m-%d}. What could be checked:",
        right=shown,
    )
    from hwprices.read.bill.check import CLASSES

    headings = ["lines", "list cost", "billed", "difference"]
    totals = table(
        ["class", "price", *headings],
        [
            (
                CLASSES[row["class"]],
                row["price_of"] or "",
                f"{row['lines']:,}",
                *(_signed(row[name]) for name in ("list_cost", "billed", "difference")),
            )
            for row in found.totals.to_dicts()
        ],
        title=f"Classes of lines, {found.currency}",
        right=headings,
    )
    parts: list[RenderableType] = [shares, "", totals]
    if found.services.height:
        parts += ["", _services(found.services)]
    if found.largest.height:
        parts += ["", _largest(found.largest, found.currency)]
    if found.commitments.height:
        parts += ["", _commitments(found.commitments, found.currency)]
    return Group(*parts, "", *found.notes)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _signed(value: object) -> str:
    text = money(abs(value)) if value is not None else ""  # type: ignore[arg-type]
    return f"-{text}" if text and value < 0 else text  # type: ignore[operator]


def _services(services: pl.DataFrame) -> RenderableType:
    words = {"not_collected": "not collected", "unknown_sku": "unknown", "no_price_then": "too old"}
    return table(
        ["not checked", "", "lines", "list cost"],
        [
            (
                words[row["class"]],
                f"{row['provider']}: {row['detail'] or row['service']}",
                f"{row['lines']:,}",
                _signed(row["list_cost"]),
            )
            for row in services.head(MOST_ROWS).to_dicts()
        ],
        right=["lines", "list cost"],
        caption=_more(services.height),
    )


def _more(count: int) -> str:
    return f"and {count - MOST_ROWS} more: see --json" if count > MOST_ROWS else ""


def _largest(largest: pl.DataFrame, currency: str) -> RenderableType:
    from hwprices.read.bill.check import CLASSES

    headings = ["billed", "expected", "difference"]
    return table(
        ["file, line", "class", "what", *headings],
        [
            (
                f"{row['file']}, {row['line']}",
                CLASSES[row["class"]],
                cut(f"{row['type'] or row['service']} {row['region'] or ''}", 48),
                *(_signed(row[name]) for name in headings),
            )
            for row in largest.to_dicts()
        ],
        title=f"Largest differences, {currency}",
        right=headings,
    )


def _commitments(commitments: pl.DataFrame, currency: str) -> RenderableType:
    headings = ["cost", "on demand", "saving", "used"]
    return table(
        ["commitment", "kind", *headings],
        [
            (
                row["commitment"],
                row["kind"] or "",
                _signed(row["cost"]),
                _signed(row["on_demand_cost"]),
                "unknown" if row["saving"] is None else _signed(row["saving"]),
                _share(row["utilization"]),
            )
            for row in commitments.head(MOST_ROWS).to_dicts()
        ],
        title=f"Commitments, {currency}; those that cost more than they save first",
        right=headings,
        caption=_more(commitments.height),
    )


def render_repricing(answer: "Repricing") -> RenderableType:
    """Draw the answer: what moves, what does not, and each machine."""
    headings = ["now", "there", "saving", "machines that stay", "other lines"]
    totals = table(
        ["on", *headings],
        [
            (
                row["on"],
                *(
                    _signed(row[name])
                    for name in (
                        *("cost_now", "cost_there", "saving"),
                        *("cost_machines_left", "cost_other"),
                    )
                ),
            )
            for row in answer.totals.to_dicts()
        ],
        title="Machine hours moved, and what stays, USD",
        right=headings,
    )
    figures = ["hours", "USD/h now", "USD/h there", "break-even", "gCO2e now", "gCO2e there"]
    machines = table(
        ["machine", "in", "there", "in ", *figures],
        [
            (
                row["instance_type"],
                f"{row['provider']}/{row['region']}",
                row["machine_there"] or f"({row['why_not']})",
                f"{row['on']}/{row['region_there']}" if row["region_there"] else row["on"],
                number(row["hours"]),
                money(row["usd_per_hour_now"]),
                money(row["usd_per_hour_there"]),
                pays_from(row["break_even_utilisation"]),
                number(row["gco2e_now"]),
                number(row["gco2e_there"]),
            )
            for row in answer.rows.head(MOST_ROWS).to_dicts()
        ],
        right=figures,
        caption=_more(answer.rows.height),
    )
    left = table(
        ["stays", "from", "lines", "cost"],
        [
            (row["why"], row["on"] or "all", f"{row['lines']:,}", _signed(row["cost"]))
            for row in answer.left.head(MOST_ROWS).to_dicts()
        ],
        title="What could not be moved, USD",
        right=["lines", "cost"],
        caption=_more(answer.left.height),
    )
    return Group(totals, "", machines, "", left, "", *answer.assumed)
