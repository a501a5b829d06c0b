"""Format values, and draw the one kind of table that all answers use."""

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table

THOUSAND = 1_000
MILLION = 1_000_000

MAX_LISTED = 8  # regions or machines shown before "and n more"


HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories of characters that steer a terminal or the direction of writing, or show
nothing."""


def escaped(text: str) -> str:
    """Show control and bidi characters as Python would write them; line breaks stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_escaped_character(character) for character in text)


def _escaped_character(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in HIDDEN:
        return character
    return character.encode("unicode_escape").decode()


class Escaped:
    """Draw something with the control and bidi characters of its texts escaped.

    A dataset's texts come from vendors, or from whoever wrote the dataset: none may move the
    cursor, change colours or turn the direction of writing.
    """

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(text if control else escaped(text), style, control)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[RenderableType]],
    *,
    title: str = "",
    right: Collection[str] = (),
    wrap: Collection[str] = (),
    caption: str = "",
) -> Table:
    """Make a table without lines.

    ``right`` names the headings whose columns are aligned right, ``wrap`` those whose text may be
    broken into lines; the others keep each value in one line.
    """
    drawn = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        caption=caption or None,
        caption_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for heading in headings:
        drawn.add_column(
            heading,
            justify="right" if heading in right else "left",
            no_wrap=heading not in wrap,
        )
    for row in rows:
        drawn.add_row(*row)
    return drawn


def money(value: Any) -> str:
    """Format an amount of money with as many digits as one reads; empty for None."""
    if value is None:
        return ""
    amount = Decimal(value)
    if amount >= MILLION:
        return f"{amount / MILLION:,.2f} M"
    if amount >= THOUSAND:
        return f"{amount:,.0f}"
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.4f}"


def number(value: Any, unit: str = "") -> str:
    """Format a number with its unit; empty for None."""
    if value is None:
        return ""
    return f"{_digits(value)} {unit}".strip()


def _digits(value: Any) -> str:
    if abs(value) >= MILLION:
        return f"{value / MILLION:,.3g} M"
    if abs(value) >= MILLION / 10:
        return f"{value / THOUSAND:,.0f} k"
    return f"{value:,.0f}" if abs(value) >= THOUSAND else f"{value:,.4g}"


def listing(values: Sequence[str] | None) -> str:
    """Join the first MAX_LISTED values, and say how many more there are."""
    shown = list(values or [])
    rest = len(shown) - MAX_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(shown[:MAX_LISTED]) + more


def with_remark(value: str, remark: str | None) -> str:
    """Put a remark in brackets behind a value; empty without a value."""
    return f"{value} ({remark})" if value and remark else value


def place(row: dict[str, Any], *columns: str) -> str:
    """Join the columns that have a value with slashes: provider/region."""
    return "/".join(row[column] for column in columns if row[column])
