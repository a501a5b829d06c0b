"""The command ``hwprices find``: offers by words and options."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    open_dataset,
    print_frame,
)
from hwprices.cli.tables import SCREENFUL, amount, money, number, table
from hwprices.read.find import offers
from hwprices.read.find.offers import OfferAnswer
from hwprices.release.root import root_option
from hwprices.release.wording import purchase, system

Sort = Annotated[
    str,
    typer.Option(
        help="A figure: price, price_per_accelerator, price_per_vcpu, memory, vcpu, accelerators, "
        "network, carbon, or a column of --json."
    ),
]

Descending = Annotated[bool, typer.Option("--descending", help="The highest figure first.")]


@filters.add_options(
    *filters.MACHINE, "provider", *filters.PLACE, *filters.PURCHASE, "max_price", "usd_per"
)
def find(
    *,
    words: filters.Words = None,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
    sort: Sort = "price",
    descending: Descending = False,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Find offers by words or options.

    Say it in words, with options, or both: then both must hold. Prints one line for each price, the
    cheapest first; of Linux on shared hardware unless another system or tenancy is requested. Says
    why, if there is nothing: not sold, or not in this release.

    Example:

        hwprices find 8xH100 europe 1y

        hwprices find --gpu l4 --count 1 --country germany --option on_demand

        hwprices find 16vcpu 64gb arm64 --sort price_per_vcpu
    """
    dataset = open_dataset(root, version)
    answer = offers.answer(
        dataset,
        " ".join(words or []),
        sort=sort,
        descending=descending,
        overlays=filters.load_overlays(overlays),
        **options,
    )
    first = answer.rows["price_id"][0] if answer.rows.height else ""
    hint = f"hwprices explain {first}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        as_json,
        lambda _: render_offers(answer, limit, hint),
        as_csv=as_csv,
        limit=limit,
        notes=answer.notes,
    )


OFFER_HEADINGS = [
    "USD/h",
    "machine",
    "region",
    "how",
    "accelerators",
    "vCPU",
    "GiB",
    "USD/acc·h",
    "cloud",
    "note",
]

LEAST_OF_OFFER = ["GiB", "vCPU", "USD/acc·h", "note", "accelerators", "cloud"]


def devices(row: Mapping[str, Any]) -> str:
    """Write the accelerators of a machine: ``8 × h100-sxm5-80gb``."""
    if not row["accelerator_count"]:
        return ""
    name = str(row["accelerator_id"] or row["accelerator_kind"] or "?").partition("-")
    return f"{number(row['accelerator_count'])} × {name[2] or name[0]}"


def render_offers(answer: OfferAnswer, limit: int | None, hint: str = "") -> RenderableType:
    """Draw offers, the best first. ``hint`` is a command to copy."""
    shown = answer.rows.head(limit or SCREENFUL)
    parts: list[RenderableType] = []
    if shown.height:
        parts.append(_offers(shown, answer.rows.height, answer.sheets))
    parts += [Text(note, "yellow" if not shown.height else "") for note in answer.notes]
    if hint and shown.height:
        parts.append(Text(f"where from: {hint}", "dim", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _offers(shown: pl.DataFrame, total: int, sheets: Collection[str]) -> Table:
    overlaid = "overlay" in shown.columns
    more = f"the first {shown.height} of {total:,} (--limit {total} shows all)"
    extra = ["list", "rule"] if overlaid else []
    alone = shown["accelerator_count"].fill_null(0).max() == 0
    hidden = {"accelerators", "USD/acc·h"} if alone else set()
    headings = [name for name in (*OFFER_HEADINGS, *extra) if name not in hidden]
    rows = [_offer(row, headings, sheets) for row in shown.iter_rows(named=True)]
    empty = {h for i, h in enumerate(headings) if h == "note" and not any(r[i] for r in rows)}
    keep = [index for index, heading in enumerate(headings) if heading not in empty]
    return table(
        [headings[index] for index in keep],
        [[row[index] for index in keep] for row in rows],
        title=f"{total:,} offers" if total != 1 else "1 offer",
        right=["USD/h", "vCPU", "GiB", "USD/acc·h", "list"],
        caption=more if total > shown.height else "",
        least=LEAST_OF_OFFER,
    )


def _offer(row: Mapping[str, Any], headings: Sequence[str], sheets: Collection[str]) -> list[str]:
    price = money(row["usd_per_hour"]) or amount(row)
    os_name = system(row)
    how = purchase(row) if os_name == "linux" else f"{purchase(row)}, {os_name}"
    remarks = [flag.replace("_", " ") for flag in row["flags"]]
    if row["stale"] and row["provider"] not in sheets:
        remarks.append(f"stale: {row['observed_at']:%Y-%m-%d}")
    cells = {
        "USD/h": price,
        "machine": row["instance_type"],
        "region": row["zone"] or row["region"],
        "how": how,
        "accelerators": devices(row),
        "vCPU": number(row["vcpus"]),
        "GiB": number(row["memory_gib"]),
        "USD/acc·h": money(row["usd_per_accelerator_hour"]) or _per_accelerator(row),
        "cloud": row["provider"],
        "note": ", ".join(remarks),
        "list": amount(row, "list_effective_hourly") if row.get("overlay") else "",
        "rule": row.get("overlay") or "",
    }
    return [cells[heading] for heading in headings]


def _per_accelerator(row: Mapping[str, Any]) -> str:
    """Write the price of one accelerator in the row's own currency."""
    if not row["accelerator_count"]:
        return ""
    return amount(
        {**row, "each": row["effective_hourly"] / Decimal(row["accelerator_count"])}, "each"
    )
