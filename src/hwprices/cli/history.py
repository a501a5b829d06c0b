"""Past prices: ``hwprices history`` shows them, ``hwprices admin backfill`` fetches them."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import polars as pl
import typer

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_frame
from hwprices.cli.tables import codes, count_hidden, cut, listing, money, number
from hwprices.errors import HwpricesError, escaped
from hwprices.read import past
from hwprices.read.find import words
from hwprices.read.find.break_even import spot_moves, spot_words
from hwprices.read.find.search import EVERY_WAY, USUAL
from hwprices.read.past import BEGINS, BY, PastAnswer, cheapest
from hwprices.release.versions import instant, resolve
from hwprices.release.wording import counted, placeholders_left_out, system, why_unknown
from hwprices.schemas import PAST, PRICE_KEY
from hwprices.storage.store import Store

SHOWN = 10  # purchase options or intervals on a screen


@filters.add_options("region", "os")
@described()
def history(
    *,
    words: list[str] | None = None,
    options: filters.Options,
    rebuild: bool = False,
) -> None:
    """Show past prices of a machine type or accelerator."""
    if rebuild:
        _rebuild(call().place)
        return
    usual = replace(EVERY_WAY, os=USUAL.os) if call().for_programs else USUAL
    dataset = open_dataset()
    answer = past.answer(dataset, " ".join(words or []), usual, **options)
    if call().for_programs:
        print_frame(answer.rows, lambda _: "")
        return
    if answer.rows.is_empty():
        raise HwpricesError(
            "no price that a release has had fits",
            "Leave out a word or an option, or ask --json for every tenancy and license.",
        )
    moves = spot_moves(dataset, answer.rows.filter(purchase_option="spot"))
    limit = call().limit or SHOWN
    print_lines(history_lines(answer, moves, width=screen_width(), chart=is_screen(), limit=limit))
    titles = {name: entry.title for name, entry in dataset.release.providers.items()}
    print_lines(shortage_lines(past.shortages(dataset, answer.rows), titles, limit=limit))


def is_screen() -> bool:
    """Check whether the output is a terminal that can draw charts."""
    encoding = (sys.stdout.encoding or "").lower()
    return sys.stdout.isatty() and encoding.startswith("utf")


def screen_width() -> int:
    """Return the columns of the terminal; in a pipe lines are not cut."""
    return shutil.get_terminal_size().columns if is_screen() else 10_000


def print_lines(lines: list[str]) -> None:
    """Print lines, control characters escaped."""
    for line in lines:
        typer.echo(escaped(line))


def _rebuild(place: str) -> None:
    """Rebuild the histories, print what differs, and exit with 1 if anything does."""
    from hwprices.publish.history import differences, rebuild

    store = Store(place)
    histories = rebuild(store)
    faults = [
        f"{history.release.version}: {key} comes out differently"
        for history in histories
        for key in differences(store, history)
    ]
    print_lines(faults)
    if faults:
        raise typer.Exit(1)
    typer.echo(f"the history of {len(histories)} releases comes out byte for byte as it is")


REASONS = {
    "first_release": "first release",
    "first_collected": "collected for the first time",
    "backfilled": "",
    "added": "new",
    "returned": "sold again",
    "price_changed": "",
    "restated": "restated by us",
    "changed_and_restated": "changed, and restated by us",
    "unclear": "vendor or us: unclear",
}

STATES = {"not_collected": "not collected since", "refused": "refused since"}

MIN_CHART, MAX_CHART = 10, 60  # columns
MIN_CHART_TIME = timedelta(days=1)  # no chart of a shorter history
CHART_MARGIN = 1 / 20  # a chart continues past the last change for this share of the time
BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"


@dataclass(frozen=True)
class Span:
    """A value, None if unknown, and the time in which it held; ``end`` is None if it still does."""

    start: datetime
    end: datetime | None
    value: Decimal | None


def steps(spans: Iterable[Span], begin: datetime, end: datetime, width: int) -> str:
    """Draw spans as a line of ``width`` characters from ``begin`` to ``end``.

    Each character is the last value in its share of the time, a dot if there was none. The lowest
    value has the lowest bar; if all are equal, the bar has half the height.

    >>> from datetime import UTC
    >>> day = [datetime(2026, 10, number, tzinfo=UTC) for number in range(1, 5)]
    >>> spans = [Span(day[0], day[2], Decimal(4)), Span(day[2], None, Decimal(2))]
    >>> steps(spans, day[0], day[3], 6)
    '████▁▁'
    """
    listed = sorted(spans, key=lambda span: span.start)
    values = [span.value for span in listed if span.value is not None]
    piece = (end - begin) / max(width, 1)
    line = ""
    for index in range(width):
        since, until = begin + piece * index, begin + piece * (index + 1)
        started = (span for span in listed if span.start < until)
        spans_here = [span for span in started if span.end is None or span.end > since]
        last = spans_here[-1].value if spans_here else None
        line += _bar(last, min(values, default=None), max(values, default=None))
    return line


def _bar(value: Decimal | None, low: Decimal | None, high: Decimal | None) -> str:
    if value is None or low is None or high is None:
        return NOTHING
    if low == high:
        return BARS[len(BARS) // 2]
    return BARS[round((value - low) / (high - low) * (len(BARS) - 1))]


def history_lines(
    answer: PastAnswer, moves: pl.DataFrame, *, width: int, chart: bool, limit: int
) -> list[str]:
    """Write a history: every interval of machines, or the cheapest hour of accelerators.

    ``moves`` is what ``spot_moves`` returns.
    """
    is_one_type = answer.rows.select("instance_type").n_unique() == 1
    names_machines = answer.search.machines is not None
    if is_one_type or names_machines or not words.asks_for_accelerators(answer.search):
        return machine_lines(answer.rows, moves, width=width, chart=chart, limit=limit)
    return accelerator_lines(answer.rows, width=width, chart=chart, limit=limit)


def machine_lines(
    rows: pl.DataFrame, moves: pl.DataFrame | None = None, *, width: int, chart: bool, limit: int
) -> list[str]:
    """Write the history of a machine type or family: one block for each purchase option.

    ``rows`` are those of a ``PastAnswer``, ``moves`` is what ``spot_moves`` returns, ``width``
    counts columns. ``limit``: how many purchase options; those that changed most often come first.
    """
    rows = rows.with_columns(valid_from=BEGINS)
    lines = [_heading(rows), ""]
    series = rows.partition_by(PRICE_KEY, maintain_order=True)
    names = [name for name in ("provider", "instance_type") if rows[name].n_unique() > 1]
    series.sort(key=lambda intervals: -intervals.height)
    begin, end = _begin(rows), _end(rows)
    for intervals in series[:limit]:
        row = intervals.row(0, named=True)
        lines.append("  ".join([*(row[name] for name in names), _place(row)]))
        if chart and end - begin > MIN_CHART_TIME:
            lines.append(_chart(intervals, "effective_hourly", begin, end, width))
        shown = [*_move_lines(moves, row["price_id"]), *_interval_lines(intervals)]
        lines += [cut(f"  {line}", width) for line in shown]
        lines.append("")
    return [*lines, *count_hidden(len(series), limit, "purchase options")]


def shortage_lines(rows: pl.DataFrame, titles: Mapping[str, str], *, limit: int) -> list[str]:
    """Write when machines were out of stock, one line for each interval, the newest first.

    ``rows`` is what ``past.shortages`` returns, ``titles`` the providers' display names.
    """
    is_one_type = rows["instance_type"].n_unique() == 1
    lines = []
    for row in rows.sort("first_seen", descending=True, maintain_order=True).iter_rows(named=True):
        place = f"{titles[row['provider']]} {row['region']}"
        machine = "" if is_one_type else f" {row['instance_type']}"
        until = (
            f"to {row['ended_at']:%Y-%m-%d}"
            if row["ended_at"]
            else f"and still on {row['observed_at']:%Y-%m-%d}"
        )
        lines.append(f"{place}{machine}: {row['state']} {row['first_seen']:%Y-%m-%d} {until}")
    return [*lines[:limit], *count_hidden(len(lines), limit, "shortages")]


def _heading(rows: pl.DataFrame) -> str:
    types = rows["instance_type"].unique().sort().to_list()
    row = rows.sort("valid_from").row(-1, named=True)
    is_one_machine = rows.select("provider", "instance_type").n_unique() == 1
    device = row["accelerator_id"] if is_one_machine else None
    with_device = f", {number(row['accelerator_count'])} × {device}" if device else ""
    prices = counted(rows["price_id"].n_unique(), "price")
    providers = ", ".join(rows["provider"].unique().sort())
    currencies = ", ".join(rows["currency"].unique().sort())
    return (
        f"{listing(types)} ({providers}{with_device}): {prices} "
        f"since {_begin(rows):%Y-%m-%d}, {currencies} an hour"
    )


def _begin(rows: pl.DataFrame) -> datetime:
    times: list[datetime] = rows["valid_from"].to_list()
    return min(times)


def _end(rows: pl.DataFrame) -> datetime:
    """Return the end of a chart: a little after the last change, so that it is visible."""
    times = [rows["valid_from"].max(), rows["valid_to"].max(), rows["observed_last"].max()]
    last = max(time for time in times if isinstance(time, datetime))
    return last + (last - _begin(rows)) * CHART_MARGIN


def _chart(intervals: pl.DataFrame, value: str, begin: datetime, end: datetime, width: int) -> str:
    """Draw the column ``value``, indented by two."""
    rows = intervals.select("valid_from", "valid_to", value).iter_rows()
    room = max(MIN_CHART, min(MAX_CHART, width - 2))
    return f"  {steps((Span(*row) for row in rows), begin, end, room)}"


def _place(row: Mapping[str, Any]) -> str:
    term = f"{row['term_months'] // 12} y" if row["term_months"] else ""
    paid = row["payment_option"] if row["term_months"] else None
    bought = (codes(row[name]) for name in ("purchase_option", "commitment_plan"))
    parts = [row["zone"] or row["region"], *bought, term, codes(paid), system(row)]
    return "  ".join(str(part) for part in parts if part)


def _move_lines(moves: pl.DataFrame | None, price_id: str) -> Iterator[str]:
    if moves is None:
        return
    for row in moves.filter(pl.col("spot_days") >= 1, price_id=price_id).to_dicts():
        yield (
            f"last {counted(round(row['spot_days']), 'day')}: {money(row['spot_low'])} to"
            f" {money(row['spot_high'])}, {spot_words(row)}"
        )


def _interval_lines(rows: pl.DataFrame) -> Iterator[str]:
    before = None
    ordered = rows.sort("valid_from")
    has_daily_means = "hourly_low" in rows.columns and ordered["hourly_low"].count() > 0
    if has_daily_means and ordered.height > SHOWN:
        earlier = ordered.height - SHOWN
        yield f"… {counted(earlier, 'earlier price')}, see --json"
        ordered = ordered.tail(SHOWN)
    has_past = ordered["collection_unit"].str.starts_with(PAST).any()
    for row in ordered.iter_rows(named=True):
        amount = row["effective_hourly"]
        shown = (
            f"{money(amount)} {row['currency']}"
            if amount is not None
            else f"no price: {why_unknown(row['price_reason'])}"
        )
        moved = amount and before and amount != before
        percent = f"{(amount / before - 1) * 100:+.1f} %" if moved else ""
        until = f"{row['valid_to']:%Y-%m-%d}" if row["valid_to"] else "now       "
        span = f"{row['valid_from']:%Y-%m-%d} to {until}"
        yield f"{span}  {shown:>14}  {percent:>8}  {_reason(row, has_past)}".rstrip()
        before = amount


def _source(row: Mapping[str, Any]) -> str:
    """Write whether a price comes from the vendor's past lists, or was observed by a release."""
    if not str(row["collection_unit"]).startswith(PAST):
        return "observed"
    if row["basis"] == "recomposed":
        return "backfilled, past rates of today's machine"
    return "backfilled, mean of days" if row.get("hourly_low") is not None else "backfilled"


def _reason(row: Mapping[str, Any], has_past: bool) -> str:
    """Write remarks on an interval; ``has_past``: some intervals of its price are backfilled."""
    source = _source(row) if has_past else ""
    begun = REASONS.get(row["start_reason"], row["start_reason"])
    ended = "no longer sold" if row["end_reason"] == "removed" else ""
    state = STATES.get(row["state"], "")
    missing = f"{state} {row['last_release'][:8]}" if state else ""
    flag = "placeholder, no real offer" if row["placeholder"] else ""
    return "; ".join(text for text in (source, begun, ended, missing, flag) if text)


def accelerator_lines(rows: pl.DataFrame, *, width: int, chart: bool, limit: int) -> list[str]:
    """Write the lowest price of one accelerator: one block for each provider and option."""
    rows = rows.with_columns(valid_from=BEGINS)
    devices = listing(rows["accelerator_id"].drop_nulls().unique().sort().to_list())
    since = f"{_begin(rows):%Y-%m-%d}"
    lines = [f"{devices}: cheapest hour of one accelerator since {since}", ""]
    series = cheapest(rows).partition_by(BY, maintain_order=True)
    begin, end = _begin(rows), _end(rows)
    for intervals in series[:limit]:
        row = intervals.row(0, named=True)
        term = f"  {row['term_months'] // 12} y" if row["term_months"] else ""
        option = codes(row["purchase_option"])
        lines.append(f"{row['provider']}  {option}{term}  {row['currency']}")
        if chart and end - begin > MIN_CHART_TIME:
            lines.append(_chart(intervals, "per_accelerator_hour", begin, end, width))
        for span in intervals.iter_rows(named=True):
            until = f"{span['valid_to']:%Y-%m-%d}" if span["valid_to"] else "now       "
            amount = money(span["per_accelerator_hour"])
            where = f"{span['instance_type']} in {span['region']}"
            line = f"  {span['valid_from']:%Y-%m-%d} to {until}  {amount:>10}  {where}"
            lines.append(cut(line, width))
        lines.append("")
    lines += count_hidden(len(series), limit, "providers and options")
    placeholders = rows.filter("placeholder")["price_id"].n_unique()
    return [*lines, *([placeholders_left_out(placeholders)] if placeholders else [])]


@described()
def backfill(
    provider: str,
    since: str,
    until: str = "",
    every: Literal["month", "quarter", "year"] = "month",
    region: list[str] | None = None,
    dry_run: bool = False,
) -> None:
    """Fetch past prices from the vendor itself."""
    from hwprices.publish.backfill import Backfill
    from hwprices.settings import load

    begin = instant(since).replace(hour=0, minute=0, second=0, microsecond=0)
    end = instant(until) if until else datetime.now(UTC)
    if begin >= end:
        raise HwpricesError(f"{since} is not before {until or 'today'}", "Name an earlier day.")
    store = Store(resolve(call().place))
    with Backfill(store, provider, load()) as backfill:
        chosen = backfill.choose(region or [], begin, end, every)
        plan = backfill.estimate(chosen)
        size = f"{plan.bytes / 1e9:.2f} GB, {plan.minutes:.0f} minutes at 20 MB/s"
        lines = [f"{counted(plan.lists, 'list')}, {plan.missing:,} to fetch: {size}"]
        if plan.unknown:
            names = listing(plan.unknown)
            lines.append(f"not in the estimate, as no run has fetched it yet: {names}")
        lines += [f"left out: {note}" for note in backfill.notes]
        for line in lines:
            typer.echo(line, err=not dry_run)
        if dry_run:
            return
        done = backfill.run(chosen, lambda line: typer.echo(line, err=True))
    for line in done.left_out:
        typer.echo(f"left out: {line}", err=True)
    typer.echo(
        f"{counted(done.fetched, 'list')} fetched, {done.kept:,} there already,"
        f" {done.absent:,} that the vendor does not have,"
        f" {counted(done.intervals, 'interval')}. The next release has them."
    )
    if done.left_out:
        raise typer.Exit(1)
