"""Format values, draw the table that all answers use, and print it."""

import copy
import dataclasses
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from hwprices.errors import escaped
from hwprices.release.wording import purchase, system

THOUSAND = 1_000
MILLION = 1_000_000
MILLICENT = Decimal("0.00001")
ROOM_FOR_WORDS = 26  # columns that a text broken into lines has at least
ROOM_FOR_NAMES = 14  # columns of a name that is broken so that another column has room
ROOM_FOR_BROKEN = 8  # columns of a text that is broken even inside its words
MAX_LISTED = 8  # regions or machines shown before "and n more"


class Escaped:
    """Draw something with the control and bidi characters of its texts escaped.

    Texts come from vendors or from whoever wrote the dataset. They must not move the cursor, change
    colors or turn the direction of writing.
    """

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(text if control else escaped(text), style, control)


class FittingTable(Table):
    """A table that fits itself into a narrow terminal.

    It moves values that all rows share into a line above the table, then hides columns, and last
    breaks text into lines; figures stay on one line.

    Attributes:
        least: headings of the columns to hide, the first one first; a note lists hidden ones.
        breaks_for: headings of columns that are hidden only after text is broken into lines.
    """

    heading = ""
    in_common = ""
    note = ""
    least: tuple[str, ...] = ()
    breaks_for: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        forms = self._forms()
        smallest = self.without(self.least) if self.least else self
        fits = (form for form in forms if form.width_needed <= options.max_width)
        drawn = next(fits, smallest)
        # rich would wrap heading and note at the width of the table, not of the terminal
        if self.heading:
            yield Text(self.heading, "bold")
        if drawn.in_common:
            yield Text(f"in each row: {drawn.in_common}")
        yield from super(FittingTable, drawn).__rich_console__(console, options)
        if drawn.note:
            yield Text(drawn.note, "dim")

    def _forms(self) -> Iterator["FittingTable"]:
        """Return the complete table, then narrower and narrower ones."""
        yield self
        complete = form = self._without_repetition()
        for count, next_hidden in enumerate([*self.least, ""]):
            form = complete.without(self.least[:count]) if count else complete
            yield form
            if next_hidden in self.breaks_for:
                yield form.with_broken_text(ROOM_FOR_NAMES)
                yield form.with_broken_text(ROOM_FOR_BROKEN)
        yield form.with_broken_text(ROOM_FOR_BROKEN)

    @property
    def width_needed(self) -> int:
        """The smallest width at which no value is cut."""
        gap = 2  # see the padding in ``table``
        return sum(_column_width(column) + gap for column in self.columns) - gap

    def without(self, headings: Collection[str]) -> "FittingTable":
        """Return the same table without some columns."""
        fewer = self._with_columns([c for c in self.columns if c.header not in headings])
        hidden = [name for name in self.headings if name and name in headings]
        names = ", ".join(hidden).replace("\n", " ")
        # hide the line that explains a hidden heading ("break-even: …") as well
        kept_notes = [line for line in self.note.splitlines() if line.split(":")[0] not in hidden]
        notes = [*kept_notes, f"hidden (terminal too narrow): {names}"] if hidden else kept_notes
        fewer.note = "\n".join(notes)
        return fewer

    def _without_repetition(self) -> "FittingTable":
        """Move the columns in which all rows have the same text into the line above the table."""
        kept, repeated = self.columns[:1], []
        for column in self.columns[1:]:
            texts = {str(cell) for cell in column._cells}
            if self.row_count > 1 and len(texts) == 1 and column.header and (text := texts.pop()):
                repeated.append(f"{column.header} {text}".replace("\n", " "))
            else:
                kept.append(column)
        fewer = self._with_columns(kept)
        fewer.in_common = ", ".join(repeated)
        return fewer

    def _with_columns(self, columns: Sequence[Column]) -> "FittingTable":
        other = copy.copy(self)
        other.columns = [
            dataclasses.replace(column, _index=index) for index, column in enumerate(columns)
        ]
        for column, original in zip(other.columns, columns, strict=True):
            column._cells = original._cells
        return other

    def with_broken_text(self, room: int) -> "FittingTable":
        """Return the same table with text, but not figures, broken into lines of ``room``."""
        narrow = copy.copy(self)
        narrow.columns = [
            copy.copy(column) if column.justify == "right" else _broken(column, room)
            for column in self.columns
        ]
        return narrow

    @property
    def headings(self) -> list[str]:
        """The headings, from left to right."""
        return [str(column.header) for column in self.columns]


def _broken(column: Column, room: int) -> Column:
    """Return a column whose text is broken into lines of ``room``, even inside words."""
    least = min(room, _longest(column))
    broken = dataclasses.replace(column, no_wrap=False, min_width=least)
    broken._cells = column._cells
    return broken


def _column_width(column: Column) -> int:
    """Return the smallest width of a column. Text that may be broken needs room for a few words."""
    if column.min_width:
        return column.min_width
    longest = _longest(column)
    return longest if column.no_wrap else min(longest, ROOM_FOR_WORDS)


def _longest(column: Column) -> int:
    texts = [str(cell) for cell in (column.header, *column._cells)]
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[RenderableType]],
    *,
    title: str = "",
    right: Collection[str] = (),
    wrap: Collection[str] = (),
    caption: str = "",
    least: Sequence[str] | None = None,
    breaks_for: Sequence[str] = (),
) -> FittingTable:
    """Make a table without lines.

    ``right``: headings of the columns to align right. ``wrap``: headings of the columns whose text
    may be broken into lines. ``least``: headings of the columns to hide in a narrow terminal, the
    first one first; by default from the last column to the third. ``breaks_for``: see
    ``FittingTable``.
    """
    drawn = FittingTable(
        show_header=any(heading.strip() for heading in headings),
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    drawn.heading, drawn.note = title, caption
    drawn.least = tuple(reversed(headings[2:])) if least is None else tuple(least)
    drawn.breaks_for = tuple(breaks_for)
    for heading in headings:
        drawn.add_column(
            heading,
            justify="right" if heading in right else "left",
            no_wrap=heading not in wrap,
            overflow="fold",
        )
    for row in rows:
        drawn.add_row(*row)
    return drawn


Row = Mapping[str, Any]
Cell = str | tuple[str, Callable[[Any], str]] | Callable[[Row], RenderableType]
"""What a heading shows of a row: the text of a column, a column's value in a format, or the result
of a function of the row."""


def table_of(
    rows: pl.DataFrame | Iterable[Row],
    cells: Mapping[str, Cell],
    *,
    right: Collection[str] = (),
    **options: Any,
) -> FittingTable:
    """Make a table with a line for each row; ``cells`` by heading.

    Formatted values are aligned right, as are the headings in ``right``. ``options`` as in
    ``table``.
    """
    figures = [heading for heading, cell in cells.items() if isinstance(cell, tuple)]
    records = rows.iter_rows(named=True) if isinstance(rows, pl.DataFrame) else rows
    lines = [[_cell(row, cell) for cell in cells.values()] for row in records]
    return table(list(cells), lines, right=[*figures, *right], **options)


def _cell(row: Row, cell: Cell) -> RenderableType:
    if isinstance(cell, str):
        return "" if row[cell] is None else str(row[cell])
    return cell[1](row[cell[0]]) if isinstance(cell, tuple) else cell(row)


def codes(values: Iterable[str] | str | None) -> str:
    """Write codes as words: on_demand, spot → "on demand, spot"."""
    names = [values] if isinstance(values, str) else values or []
    return ", ".join(names).replace("_", " ")


def option(row: Row) -> str:
    """Write the purchase option of a price, and its operating system if that is not Linux."""
    os_name = system(row)
    return purchase(row) if os_name == "linux" else f"{purchase(row)}, {os_name}"


def count(value: int | None) -> str:
    """Format a count; empty for None."""
    return "" if value is None else f"{value:,}"


def money(value: Any) -> str:
    """Format an amount of money, rounded for reading; empty for None."""
    if value is None:
        return ""
    amount = Decimal(value)
    if amount >= MILLION:
        return f"{amount / MILLION:,.2f} M"
    if amount >= THOUSAND:
        return f"{amount:,.0f}"
    if amount >= 1 or amount == 0:
        return f"{amount:,.2f}"
    return f"{amount:.4f}" if amount >= MILLICENT * 100 else f"{amount:.2}"


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


def rounded(value: float | Decimal | None, digits: int = 3) -> str:
    """Format an estimate with a number of significant digits; empty for None.

    >>> rounded(0.18427, 2), rounded(20.02), rounded(4216.3)
    ('0.18', '20', '4,220')
    """
    return "" if value is None else number(float(f"{value:.{digits}g}"))


RANGES = {
    "usd_per_million_tokens": ("usd_per_million_tokens_low", "usd_per_million_tokens"),
    "usd": ("usd_low", "usd"),
    "tokens_per_second": ("tokens_per_second", "tokens_per_second_high"),
}
"""Estimated figures: the columns with both ends of the range that holds half of all
measurements."""


def ranged(row: Mapping[str, Any], column: str) -> str:
    """Write a range of RANGES with two digits each; a figure without a lower end with three.

    >>> [ranged({"usd_low": low, "usd": 9.96}, "usd") for low in (0.996, 9.94, None)]
    ['1.0–10', '9.9–10', '9.96']
    """
    low, high = (row.get(name) for name in RANGES[column])
    ends = [
        f"{float(value):#.2g}" if value is not None and value < 9.95 else rounded(value, 2)
        for value in (low, high)
    ]
    return "–".join(ends) if ends[0] and ends[0] != ends[1] else rounded(high)


def listing(values: Sequence[str] | None) -> str:
    """Join the first MAX_LISTED values, and count the others."""
    shown = [value or "(none)" for value in values or []]
    others = len(shown) - MAX_LISTED
    more = f" and {others} more" if others > 0 else ""
    return ", ".join(shown[:MAX_LISTED]) + more


def with_remark(value: str, remark: str | None) -> str:
    """Write a remark in brackets behind a value; empty without a value."""
    return f"{value} ({remark})" if value and remark else value


def place(row: Row, *columns: str) -> str:
    """Join the columns that have a value with slashes: provider/region."""
    return "/".join(row[column] for column in columns if row[column])


PIPE_WIDTH = 100_000
"""Width of output that is not a terminal: nothing is cut or broken into lines."""


def console() -> Console:
    """Make a console as wide as the terminal; without limit in a pipe. Markup is not read."""
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=PIPE_WIDTH, markup=False, emoji=False, highlight=False)


def print_table(drawn: RenderableType) -> None:
    """Print an answer on stdout with control characters escaped.

    In a pipe, the blanks with which rich fills cells are removed at the end of each line.
    """
    screen = console()
    if screen.is_terminal:
        screen.print(Escaped(drawn), crop=False)
        return
    with screen.capture() as captured:
        screen.print(Escaped(drawn), crop=False)
    lines = captured.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip(" ") for line in lines))


PRIVATE = "community hosts"  # Written beside the name of their cloud

HOURS = {"hour": 1, "month": 730, "year": 8760}
"""Hours of each --per. Vendors count a month as 730 hours, a twelfth of 8,760."""

SCREENFUL = 20  # rows of an answer in a terminal, unless --limit says more
STALE_MARK = "*"

STALE_CAPTION = f"{STALE_MARK} stale"

PAYS_FROM = "break-even"

PAYS_FROM_CAPTION = (
    f"{PAYS_FROM}: the share of hours in use from which it costs less than on demand there"
)
"""The meaning of the heading PAYS_FROM."""


def amount(row: Mapping[str, Any], column: str = "effective_hourly") -> str:
    """Write a price, with its currency if that is not USD."""
    value = money(row[column])
    return value if row["currency"] == "USD" or not value else f"{value} {row['currency']}"


def pays_from(break_even: float | None) -> str:
    """Write the break-even utilization of a commitment; empty for None.

    >>> pays_from(0.6153), pays_from(1.02), pays_from(None)
    ('62%', 'never', '')
    """
    if break_even is None:
        return ""
    return f"{break_even:.0%}" if break_even < 1 else "never"


def cut(text: str, room: int) -> str:
    """Cut a text that is longer than its room, and end it with …."""
    return text if len(text) <= room else text[: room - 1] + "…"


def count_hidden(count: int, limit: int, what: str) -> list[str]:
    """Return a line that counts the rows beyond the limit; no line if all are shown."""
    more = count - limit
    return [f"and {more:,} more {what}: see --limit, --json or --csv"] if more > 0 else []
