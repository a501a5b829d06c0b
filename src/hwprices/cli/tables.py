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

    A dataset's texts come from vendors, or from whoever wrote the dataset: none may move the
    cursor, change colours or turn the direction of writing.
    """

    def __init__(self, renderable: RenderableType) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.renderable, options):
            yield Segment(text if control else escaped(text), style, control)


class FittingTable(Table):
    """A table that leaves out its least important columns where the terminal is too narrow.

    What all rows have in common is said above the table then. ``least``: headings of columns that
    may be left out, the first one first; which ones were is said below. Where that is not enough,
    text is broken into lines and figures are kept whole, as long as they have room. ``breaks_for``:
    headings for which text is broken before they are left out.
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
        """Return the table whole, and then with less and less."""
        yield self
        whole = form = self._without_repetition()
        for count, next_to_go in enumerate([*self.least, ""]):
            form = whole.without(self.least[:count]) if count else whole
            yield form
            if next_to_go in self.breaks_for:
                yield form.with_broken_text(ROOM_FOR_NAMES)
        yield form.with_broken_text(ROOM_FOR_BROKEN)

    @property
    def width_needed(self) -> int:
        """How wide the table is at least, with no value cut."""
        gap = 2  # see the padding in ``table``
        return sum(_column_width(column) + gap for column in self.columns) - gap

    def without(self, headings: Collection[str]) -> "FittingTable":
        """Return the same table without some columns."""
        fewer = self._with_columns([c for c in self.columns if c.header not in headings])
        hidden = [name for name in self.headings if name and name in headings]
        names = ", ".join(hidden).replace("\n", " ")
        # a line that explains a hidden heading ("break-even: …") goes with it
        kept_notes = [line for line in self.note.splitlines() if line.split(":")[0] not in hidden]
        notes = [*kept_notes, f"hidden (terminal too narrow): {names}"] if hidden else kept_notes
        fewer.note = "\n".join(notes)
        return fewer

    def _without_repetition(self) -> "FittingTable":
        """Return the same table without the columns in which all rows have the same text."""
        repeated = {}
        for column in self.columns[1:]:
            texts = {str(cell) for cell in column._cells}
            if len(texts) == 1 and self.row_count > 1 and (text := texts.pop()):
                repeated[column.header] = text
        fewer = self._with_columns([c for c in self.columns if c.header not in repeated])
        fewer.in_common = ", ".join(
            f"{heading} {text}".replace("\n", " ") for heading, text in repeated.items()
        )
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
        """Return the same table with texts, but not figures, broken into lines of ``room``."""
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
    """Return a column whose text is broken into lines wherever they end, if it is longer."""
    least = min(room, _longest(column))
    broken = dataclasses.replace(column, no_wrap=False, min_width=least)
    broken._cells = column._cells
    return broken


def _column_width(column: Column) -> int:
    """Measure how wide a column is at least. Text that may be broken needs a few words' room."""
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

    ``right`` names the headings whose columns are aligned right, ``wrap`` those whose text may be
    broken into lines; the others keep each value in one line. ``least`` names the columns to leave
    out in a narrow terminal, the first one first; without it from the last column to the third.
    ``breaks_for``: columns for which text is broken into lines before they are left out.
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
"""What a heading shows of a row: a column's text, a column's figure in a format, or what is made of
the whole row."""


def table_of(
    rows: pl.DataFrame | Iterable[Row],
    cells: Mapping[str, Cell],
    *,
    right: Collection[str] = (),
    **options: Any,
) -> FittingTable:
    """Make a table of rows, a line for each; ``cells`` by heading.

    Figures are aligned right, besides the headings of ``right``. ``options``: those of ``table``.
    """
    figures = [heading for heading, cell in cells.items() if isinstance(cell, tuple)]
    each = rows.iter_rows(named=True) if isinstance(rows, pl.DataFrame) else rows
    lines = [[_cell(row, cell) for cell in cells.values()] for row in each]
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
    """Write how a price is bought, and its system where that is not Linux."""
    os_name = system(row)
    return purchase(row) if os_name == "linux" else f"{purchase(row)}, {os_name}"


def count(value: int | None) -> str:
    """Format a number of things; empty for None."""
    return "" if value is None else f"{value:,}"


def money(value: Any) -> str:
    """Format an amount of money with as many digits as one reads; empty for None."""
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
    """Format an estimate with as many significant digits as it deserves; empty for None.

    >>> rounded(0.18427, 2), rounded(20.02), rounded(4216.3)
    ('0.18', '20', '4,220')
    """
    return "" if value is None else number(float(f"{value:.{digits}g}"))


RANGES = {
    "usd_per_million_tokens": ("usd_per_million_tokens_low", "usd_per_million_tokens"),
    "usd": ("usd_low", "usd"),
    "tokens_per_second": ("tokens_per_second", "tokens_per_second_high"),
}
"""Figures that half of all measurements are around: the columns of both ends of the range."""


def ranged(row: Mapping[str, Any], column: str) -> str:
    """Write a range of RANGES with two digits, of which the last may be 0; one end alone as it is.

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
    """Join the first MAX_LISTED values, and say how many more there are."""
    shown = [value or "(none)" for value in values or []]
    rest = len(shown) - MAX_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(shown[:MAX_LISTED]) + more


def with_remark(value: str, remark: str | None) -> str:
    """Write a remark in brackets behind a value; empty without a value."""
    return f"{value} ({remark})" if value and remark else value


def place(row: Row, *columns: str) -> str:
    """Join the columns that have a value with slashes: provider/region."""
    return "/".join(row[column] for column in columns if row[column])


PIPE_WIDTH = 100_000
"""Columns where the output is not a terminal: nothing is cut or broken into lines."""


def console() -> Console:
    """Make a console as wide as the terminal; without bounds and colours in a pipe.

    Texts are shown as they are: [red] and :smile: are neither styles nor pictures.
    """
    if sys.stdout.isatty():
        return Console(markup=False, emoji=False, highlight=False)
    return Console(width=PIPE_WIDTH, markup=False, emoji=False, highlight=False)


def show(drawn: RenderableType) -> None:
    """Print an answer on stdout. Control characters are escaped; in a pipe no line ends in blanks.

    rich fills the cells of a table with blanks up to the width of their column.
    """
    screen = console()
    if screen.is_terminal:
        screen.print(Escaped(drawn), crop=False)
        return
    with screen.capture() as captured:
        screen.print(Escaped(drawn), crop=False)
    lines = captured.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip(" ") for line in lines))


PRIVATE = "community hosts"  # Name of community hosts, beside that of their cloud

HOURS = {"hour": 1, "month": 730, "year": 8760}
"""Hours of the times that --per takes. Vendors count a month as 730 hours, a twelfth of 8,760."""

SCREENFUL = 20  # rows of an answer in a terminal, unless --limit says more
STALE_MARK = "*"

STALE_CAPTION = f"{STALE_MARK} stale"
"""How a table whose cells are prices marks those that are stale, and says so below."""

PAYS_FROM = "break-even"

PAYS_FROM_CAPTION = (
    f"{PAYS_FROM}: the share of hours in use from which it costs less than on demand there"
)
"""Heading of the break-even of a commitment, and what it means."""


def amount(row: Mapping[str, Any], column: str = "effective_hourly") -> str:
    """Write a price; with its currency where that is not USD."""
    value = money(row[column])
    return value if row["currency"] == "USD" or not value else f"{value} {row['currency']}"


def pays_from(break_even: float | None) -> str:
    """Write from which share of the hours a commitment pays.

    >>> pays_from(0.6153), pays_from(1.02), pays_from(None)
    ('62%', 'never', '')
    """
    if break_even is None:
        return ""
    return f"{break_even:.0%}" if break_even < 1 else "never"


def cut(text: str, room: int) -> str:
    """Cut a text that is longer than its room; … is for the rest."""
    return text if len(text) <= room else text[: room - 1] + "…"


def rest(count: int, limit: int, what: str) -> list[str]:
    """State in a line how many more there are; no line where all are shown."""
    more = count - limit
    return [f"and {more:,} more {what}: see --limit, --json or --csv"] if more > 0 else []
