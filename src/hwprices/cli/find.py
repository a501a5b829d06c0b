"""The command ``hwprices find``: offers by words and options."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from typing import Any, Literal

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, not_collected, open_dataset, print_frame
from hwprices.cli.tables import HOURS, SCREENFUL, amount, codes, money, number, option, table
from hwprices.read.find import offers
from hwprices.read.find.offers import OfferAnswer
from hwprices.read.find.search import SORTABLE
from hwprices.release.versions import root_option
from hwprices.release.wording import counted


@filters.add_options(*filters.MACHINE, "provider", "region", "option", "os", "in_stock", "usd_per")
@described()
def find(
    *,
    words: list[str] | None = None,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
    sort: str = "price",
    per: Literal["hour", "month", "year"] = "hour",
) -> None:
    """Find offers by words or options."""
    dataset = open_dataset()
    answer = offers.answer(
        dataset,
        " ".join(words or []),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        overlays=overlays,
        shown=None if call().for_programs else call().limit or SCREENFUL,
        **options,
    )
    if answer.rows.is_empty():
        gaps = not_collected(answer.search.providers)
        answer = replace(answer, notes=(*answer.notes, *gaps))
    first = answer.rows["price_id"][0] if answer.rows.height else ""
    hint = f"hwprices explain {first}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        lambda _: render_offers(answer, call().limit, hint, sort=sort.removeprefix("-"), per=per),
        notes=answer.notes,
    )


FIRST_HEADINGS = ["GPUs", "machine", "cloud", "option", "region", "vCPU", "GiB"]
LEAST_OF_OFFER = ["GiB", "vCPU", "rule", "list", "region"]
"""Headings hidden in a narrow terminal, unless the offers are sorted by them."""

SIZE = re.compile(r"-\d+gb$")  # The memory at the end of an accelerator's id

MARKS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of the marks behind prices, which are explained below the table."""

SORTED_BY = {"vcpus": "vCPU", "memory_gib": "GiB"}  # Heading of a column of the answer

SORT_HEADINGS = {
    "accelerator_memory_gib": "accelerator GiB",
    "local_disk_gib": "disk GiB",
    "network_gbps_max": "Gbit/s",
    "gco2e_per_hour": "gCO2e/h",
    "usd_per_vcpu_hour": "USD/vCPU",
}
"""Headings of the columns that are shown only if offers are sorted by them, or must have them."""


def devices(row: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """Write the accelerators of a machine: ``8 × h100-sxm5-80gb``. ``names``: shorter ids."""
    if not row["accelerator_count"]:
        return ""
    key = str(row["accelerator_id"] or row["accelerator_kind"] or "?")
    name = (names or {}).get(key, key).partition("-")
    return f"{number(row['accelerator_count'])} × {name[2] or name[0]}"


def render_offers(
    answer: OfferAnswer,
    limit: int | None,
    hint: str = "",
    *,
    sort: str = "price",
    per: str = "hour",
) -> RenderableType:
    """Draw offers, the best first. ``hint`` is a command to copy; ``per`` is the time of prices."""
    shown = answer.rows.head(limit or SCREENFUL)
    parts: list[RenderableType] = []
    if shown.height:
        name = sort.strip().replace("-", "_").lower()
        parts.append(_offers(shown, answer, SORTABLE.get(name, name), per))
    notes = answer.notes[len(answer.currencies) :]  # the title has the notes on currencies
    parts += [Text(note, "yellow" if not shown.height else "") for note in notes]
    if hint and shown.height:
        line = f"source of the first price: {hint}"
        parts.append(Text(line, "dim", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _offers(shown: pl.DataFrame, answer: OfferAnswer, sorted_by: str, per: str) -> Table:
    total = answer.rows.height
    price, each = "USD/h" if per == "hour" else f"USD/{per}", "per GPU"
    headings = [price, each, *FIRST_HEADINGS]
    figures = [n for n in SORT_HEADINGS if n == sorted_by or getattr(answer.search, n, None)]
    headings[2:2] = [SORT_HEADINGS[name] for name in figures]
    if "overlay" in shown.columns:
        headings += ["list", "rule"]
    offers = shown.to_dicts()
    remarks = [_remarks(row, answer.sheets) for row in offers]
    distinct = dict.fromkeys(chain.from_iterable(remarks))
    marks = {text: str(n).translate(MARKS) for n, text in enumerate(distinct, 1)}
    names = _short_names(row["accelerator_id"] for row in offers)
    cells = []
    for row, texts in zip(offers, remarks, strict=True):
        amounts = _amounts(row, HOURS[per])
        cells.append(
            {
                price: amounts[0] + " ".join(marks[text] for text in texts),
                each: amounts[1],
                "list": amounts[2],
                "GPUs": devices(row, names),
                **_offer(row, figures),
            }
        )
    headings = [h for h in headings if h not in {each, "GPUs"} or any(row[h] for row in cells)]
    captions = [f"{mark} {text}" for text, mark in marks.items()]
    if total > shown.height:
        captions.append(f"the first {shown.height} of {total:,} (--limit {total} shows all)")
    return table(
        headings,
        [[row[heading] for heading in headings] for row in cells],
        title="; ".join([counted(total, "offer"), *(t.rstrip(".") for t in answer.currencies)]),
        right=[price, each, "vCPU", "GiB", "list", *SORT_HEADINGS.values()],
        caption="\n".join(captions),
        least=[h for h in LEAST_OF_OFFER if h != SORTED_BY.get(sorted_by)],
        breaks_for=["region"],
    )


def _remarks(row: Mapping[str, Any], sheets: Collection[str]) -> list[str]:
    """List the flags of a price, and the day it was last seen if it is stale."""
    remarks = [codes(flag) for flag in row["flags"]]
    if row["stale"] and row["provider"] not in sheets:
        remarks.append(f"stale: {row['observed_at']:%Y-%m-%d}")
    return remarks


def _short_names(ids: Iterable[str | None]) -> dict[str, str]:
    """Shorten ids of accelerators: leave out the memory unless two differ only in it."""
    short = {key: SIZE.sub("", key) for key in ids if key}
    count = Counter(short.values())
    return {key: name for key, name in short.items() if count[name] == 1}


def _amounts(row: Mapping[str, Any], hours: int) -> tuple[str, str, str]:
    """Write for a time the price, the price of one accelerator and the list price.

    In USD if there is a rate, else in the row's currency.
    """
    has_rate = row["usd_per_hour"] is not None
    price = row["usd_per_hour" if has_rate else "effective_hourly"] * hours
    count = row["accelerator_count"]
    shown = {
        "currency": "USD" if has_rate else row["currency"],
        "price": price,
        "per_gpu": price / Decimal(count) if count else None,
    }
    listed = {**row, "price": row["list_effective_hourly"] * hours} if row.get("overlay") else None
    return (
        amount(shown, "price"),
        amount(shown, "per_gpu"),
        amount(listed, "price") if listed else "",
    )


def _offer(row: Mapping[str, Any], figures: Iterable[str]) -> dict[str, str]:
    """Write the other cells of an offer, by heading. ``figures``: some of SORT_HEADINGS."""
    return {
        "machine": row["instance_type"],
        "cloud": row["provider"],
        "region": row["zone"] or row["region"],
        "option": option(row),
        "vCPU": number(row["vcpus"]),
        "GiB": number(row["memory_gib"]),
        "rule": row.get("overlay") or "",
        **{
            SORT_HEADINGS[name]: money(row[name])
            if isinstance(row[name], Decimal)
            else number(row[name])
            for name in figures
        },
    }
