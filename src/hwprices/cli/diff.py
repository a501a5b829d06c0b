"""The command ``hwprices show diff``: how the prices of two releases differ."""

from collections.abc import Iterator
from typing import Annotated

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, open_dataset, print_frame, print_table, shares
from hwprices.cli.tables import Row, cut, money, option, rest, table_of
from hwprices.release.wording import counted

Older = Annotated[
    str,
    typer.Argument(
        help="The earlier release, or a day such as 2026-10-01; without it the one before."
    ),
]

Newer = Annotated[str, typer.Argument(help="The later release.")]
SHOWN = 20  # prices, a screenful


@shares("root", "limit", "json", "csv")
@filters.add_options("provider", "region", "type", *filters.PURCHASE)
def diff(*, older: Older = "", newer: Newer = "latest", options: filters.Options) -> None:
    """Show how the prices of two releases differ.

    Prints how many went up, went down, are new or gone, and how many we restated without the
    vendor having changed them; then the largest changes. A price that was a placeholder or is one
    now is counted apart: it went neither up nor down. The earlier release need not be kept:
    its prices are in the history of the later one.

    Example:

        hwprices show diff

        hwprices show diff 2026-10-01 --provider aws --os linux --csv
    """
    dataset = open_dataset(newer)
    rows = dataset.diff(older or None, **options)
    if call().for_programs:
        print_frame(rows, lambda _: "")
        return
    before = older or dataset.release.previous or ""
    shown = call().limit or SHOWN
    print_table(of_diff(rows, before, dataset.version, shown))


CHANGES = {
    "price_up": "more expensive",
    "price_down": "cheaper",
    "added": "new",
    "removed": "gone",
    "price_known": "with a price at last",
    "price_unknown": "without a price now",
    "placeholder": "to or from a placeholder",
    "terms_changed": "with other terms",
    "restated": "restated by us",
    "first_collected": "collected for the first time",
    "unclear": "unclear",
}
NOTES = {
    "added": "new",
    "removed": "gone",
    "price_known": "known",
    "price_unknown": "unknown",
    "terms_changed": "terms",
    "restated": "restated",
    "first_collected": "first seen",
    "unclear": "unclear",
}
"""The same in a word, for the lines of a table; the amounts say more expensive and cheaper."""
MAX_REASON = 20  # Characters of a reason in the place of an amount


def of_diff(rows: pl.DataFrame, older: str, newer: str, limit: int) -> RenderableType:
    """Draw a comparison of two releases: the counts, then the largest changes."""
    heading = Text(f"{newer} compared with {older}")
    if rows.is_empty():
        return Group(heading, Text("No price differs."))
    counts = dict(rows.group_by("change").len().iter_rows())
    changes = [f"{counts[code]:,} {word}" for code, word in CHANGES.items() if code in counts]
    shown = [row | _amounts(row) for row in rows.head(limit).iter_rows(named=True)]
    return Group(
        heading,
        Text(f"Prices: {', '.join(changes)}."),
        *(Text(note) for note in _unknown_placeholders(rows)),
        Text(),
        table_of(
            shown,
            {
                "machine": "instance_type",
                "region": lambda row: row["zone"] or row["region"],
                "option": option,
                "before": "before",
                "now": "now",
                "change": ("change_percent", _percent),
                "note": _note,
                "cloud": "provider",
            },
            right=["before", "now"],
            wrap=["option"],
            least=["cloud", "region"],
            caption="\n".join(rest(rows.height, limit, "prices")),
        ),
    )


def _amounts(row: Row) -> dict[str, str]:
    """Write the amounts before and now, with more digits if they would otherwise look the same."""
    old, new = (_amount(row, when) for when in ("old", "new"))
    amounts = [row[f"{when}_effective_hourly"] for when in ("old", "new")]
    if old == new and None not in amounts and amounts[0] != amounts[1]:
        old, new = (f"{amount.normalize():,f}" for amount in amounts)
    currency = f" {row['currency']}" if row["currency"] != "USD" else ""
    return {"before": old, "now": f"{new}{currency}"}


def _percent(change: float | None) -> str:
    """Write a change in per cent; empty for None.

    >>> _percent(-44.02), _percent(0.02), _percent(0)
    ('-44.0 %', '+<0.1 %', '+0.0 %')
    """
    if change is None:
        return ""
    rounds_to_zero = 0 < abs(change) < 0.05
    return f"{change:+.0f}"[0] + "<0.1 %" if rounds_to_zero else f"{change:+.1f} %"


def _unknown_placeholders(rows: pl.DataFrame) -> Iterator[str]:
    """Count the rises and falls that may be placeholders in a release that is gone."""
    moved = rows.filter(pl.col("change").is_in(["price_up", "price_down"]))
    count = moved["old_placeholder"].null_count()
    if count:
        yield (
            f"Up or down since a release that is not kept: {counted(count, 'price')}."
            " Whether that was a placeholder before is not known."
        )


def _note(row: Row) -> str:
    """Write what else there is to say of a change, and which of the two is a placeholder."""
    note = NOTES.get(row["change"], "") or ("partly restated" if row["partly_restated"] else "")
    if row["old_placeholder"] and row["new_placeholder"]:
        flag = "placeholder"
    elif row["old_placeholder"]:
        flag = "was placeholder"
    else:
        flag = "now placeholder" if row["new_placeholder"] else ""
    return ", ".join(text for text in (note, flag) if text)


def _amount(row: Row, when: str) -> str:
    """Write an amount, or the reason why there is none; a dash without a price."""
    reason = row[f"{when}_price_reason"]
    return money(row[f"{when}_effective_hourly"]) or (cut(reason, MAX_REASON) if reason else "-")
