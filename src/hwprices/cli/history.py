"""Prices of the past: ``hwprices history`` shows them, ``hwprices admin backfill`` fetches them."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import polars as pl
import typer

from hwprices.cli import filters
from hwprices.cli.common import call, open_dataset, print_frame, shares
from hwprices.cli.tables import codes, cut, listing, money, number, rest
from hwprices.errors import HwpricesError, escaped
from hwprices.read import past
from hwprices.read.find import words
from hwprices.read.find.break_even import spot_moves, spot_words
from hwprices.read.find.search import EVERY_WAY, USUAL
from hwprices.read.past import BEGINS, BY, PastAnswer, cheapest
from hwprices.release.versions import instant, resolve
from hwprices.release.wording import counted, placeholders_left_out, system, why_unknown
from hwprices.schemas import PAST
from hwprices.storage.store import Store

Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Make the history again from all kept releases, and compare it with what is there.",
    ),
]

SHOWN = 10  # purchase options, a table that is read at a glance


@filters.add_options("region", "os")
def history(
    *, words: filters.Words = None, options: filters.Options, rebuild: Rebuild = False
) -> None:
    """Show what a machine type or accelerator cost, and when.

    Takes words and options as find does: a machine type, a family or an accelerator, and where, how
    and with which system. Prints every price it had with the time in which it was valid, and a
    small chart in a terminal; of an accelerator the cheapest hour. Says which changes are
    corrections of ours, since when something is no longer sold or was not collected, and when its
    vendor stated a shortage. Types that are gone are found too. --json and --csv have every
    tenancy, software and license.

    Example:

        hwprices history p5.48xlarge us-east

        hwprices history h100 europe on_demand --csv
    """
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
    print_lines(of_answer(answer, moves, width=screen_width(), chart=is_screen(), limit=limit))
    titles = {name: entry.title for name, entry in dataset.release.providers.items()}
    print_lines(of_shortages(past.shortages(dataset, answer.rows), titles, limit=limit))


def is_screen() -> bool:
    """Return whether a person looks at the output: in a pipe it is plain."""
    encoding = (sys.stdout.encoding or "").lower()
    return sys.stdout.isatty() and encoding.startswith("utf")


def screen_width() -> int:
    """Count the columns of the screen; in a pipe lines are as long as they are."""
    return shutil.get_terminal_size().columns if is_screen() else 10_000


def print_lines(lines: list[str]) -> None:
    """Print lines, control characters escaped."""
    for line in lines:
        typer.echo(escaped(line))


def _rebuild(place: str) -> None:
    """Make the histories again, print what differs, and end with 1 if anything does."""
    from hwprices.publish.history import differences, rebuild

    store = Store(place)
    made = rebuild(store)
    faults = [
        f"{one.release.version}: {key} comes out differently"
        for one in made
        for key in differences(store, one)
    ]
    print_lines(faults)
    if faults:
        raise typer.Exit(1)
    typer.echo(f"the history of {len(made)} releases comes out byte for byte as it is")


SERIES = [
    *("provider", "region", "zone", "instance_type", "purchase_option", "commitment_plan"),
    *("term_months", "payment_option", "os", "software", "license_model", "tenancy", "currency"),
]

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


MIN_CHART, MAX_CHART = 10, 60


A_DAY = timedelta(days=1)  # A chart of less has nothing to show
AFTER = 20  # A chart goes on for a twentieth of the time after the last change
BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"


@dataclass(frozen=True)
class Span:
    """A value, None if unknown, and the time in which it held; ``end`` is None while it does."""

    start: datetime
    end: datetime | None
    value: Decimal | None


def steps(spans: Iterable[Span], begin: datetime, end: datetime, width: int) -> str:
    """Draw spans as a line of ``width`` characters from ``begin`` to ``end``.

    Each character is the value that held last in its piece of time, a dot where there was none. The
    lowest value has the lowest bar, unless all are the same.

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
        began = (span for span in listed if span.start < until)
        at = [span for span in began if span.end is None or span.end > since]
        line += _bar(
            at[-1].value if at else None, min(values, default=None), max(values, default=None)
        )
    return line


def _bar(value: Decimal | None, low: Decimal | None, high: Decimal | None) -> str:
    if value is None or low is None or high is None:
        return NOTHING
    if low == high:
        return BARS[len(BARS) // 2]
    return BARS[round((value - low) / (high - low) * (len(BARS) - 1))]


def of_answer(
    answer: PastAnswer, moves: pl.DataFrame, *, width: int, chart: bool, limit: int
) -> list[str]:
    """Write a history: of machines with every interval, of accelerators the cheapest hour.

    ``moves`` is what ``spot_moves`` returns.
    """
    is_one_type = answer.rows.select("instance_type").n_unique() == 1
    names_machines = answer.search.machines is not None
    if is_one_type or names_machines or not words.asks_for_accelerators(answer.search):
        return of_type(answer.rows, moves, width=width, chart=chart, limit=limit)
    return of_accelerator(answer.rows, width=width, chart=chart, limit=limit)


def of_type(
    rows: pl.DataFrame, moves: pl.DataFrame | None = None, *, width: int, chart: bool, limit: int
) -> list[str]:
    """Write the history of a machine type or family: one block for each purchase option.

    Args:
        rows: those of ``intervals.answer``.
        moves: what ``spot_moves`` returns.
        width: columns of the screen.
        chart: whether to draw a line of blocks.
        limit: how many purchase options; those that changed most often come first.
    """
    rows = rows.with_columns(valid_from=BEGINS)
    lines = [_heading(rows), ""]
    series = rows.partition_by(SERIES, maintain_order=True)
    names = [name for name in ("provider", "instance_type") if rows[name].n_unique() > 1]
    series.sort(key=lambda one: -one.height)
    begin, end = _begin(rows), _end(rows)
    for one in series[:limit]:
        row = one.row(0, named=True)
        lines.append("  ".join([*(row[name] for name in names), _place(row)]))
        spans = [
            Span(*values)
            for values in one.select("valid_from", "valid_to", "effective_hourly").iter_rows()
        ]
        if chart and end - begin > A_DAY:
            lines.append(f"  {_chart(spans, begin, end, width - 2)}")
        shown = [*_move_lines(moves, row["price_id"]), *_interval_lines(one)]
        lines += [cut(f"  {line}", width) for line in shown]
        lines.append("")
    return [*lines, *rest(len(series), limit, "purchase options")]


def of_shortages(rows: pl.DataFrame, titles: Mapping[str, str], *, limit: int) -> list[str]:
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
    return [*lines[:limit], *rest(len(lines), limit, "shortages")]


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
    """Find the day on which the first of the prices was seen."""
    times: list[datetime] = rows["valid_from"].to_list()
    return min(times)


def _end(rows: pl.DataFrame) -> datetime:
    """Find the end of the time to draw: a little after the last change, so that it is seen."""
    times = [rows["valid_from"].max(), rows["valid_to"].max(), rows["observed_last"].max()]
    last = max(time for time in times if isinstance(time, datetime))
    return last + (last - _begin(rows)) / AFTER


def _chart(spans: Sequence[Span], begin: Any, end: datetime, width: int) -> str:
    room = max(MIN_CHART, min(MAX_CHART, width))
    return steps(spans, begin, end, room)


def _place(row: Mapping[str, Any]) -> str:
    term = f"{row['term_months'] // 12} y" if row["term_months"] else ""
    paid = row["payment_option"] if row["term_months"] else None
    bought = (codes(row[name]) for name in ("purchase_option", "commitment_plan"))
    parts = [row["zone"] or row["region"], *bought, term, codes(paid), system(row)]
    return "  ".join(str(part) for part in parts if part)


def _move_lines(moves: pl.DataFrame | None, price_id: str) -> Iterator[str]:
    own = [] if moves is None else moves.filter(price_id=price_id).to_dicts()
    for row in (one for one in own if one["spot_days"] >= 1):
        yield (
            f"last {counted(round(row['spot_days']), 'day')}: {money(row['spot_low'])} to"
            f" {money(row['spot_high'])}, {spot_words(row)}"
        )


def _interval_lines(rows: pl.DataFrame) -> Iterator[str]:
    before = None
    ordered = rows.sort("valid_from")
    if (
        "hourly_low" in rows.columns and ordered["hourly_low"].count() and ordered.height > SHOWN
    ):  # means of days
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
    """Write whether the vendor's past lists have the price, or releases observed it."""
    if not str(row["collection_unit"]).startswith(PAST):
        return "observed"
    if row["basis"] == "recomposed":
        return "backfilled, past rates of today's machine"
    return "backfilled, mean of days" if row.get("hourly_low") is not None else "backfilled"


def _reason(row: Mapping[str, Any], has_past: bool) -> str:
    """Write what is to know of an interval; ``has_past``: some of the others are backfilled."""
    source = _source(row) if has_past else ""
    begun = REASONS.get(row["start_reason"], row["start_reason"])
    ended = "no longer sold" if row["end_reason"] == "removed" else ""
    state = STATES.get(row["state"], "")
    missing = f"{state} {row['last_release'][:8]}" if state else ""
    flag = "placeholder, no real offer" if row["placeholder"] else ""
    return "; ".join(text for text in (source, begun, ended, missing, flag) if text)


def of_accelerator(rows: pl.DataFrame, *, width: int, chart: bool, limit: int) -> list[str]:
    """Write what one accelerator cost at least: one block for each provider and option."""
    rows = rows.with_columns(valid_from=BEGINS)
    devices = listing(rows["accelerator_id"].drop_nulls().unique().sort().to_list())
    since = f"{_begin(rows):%Y-%m-%d}"
    lines = [f"{devices}: cheapest hour of one accelerator since {since}", ""]
    spans = cheapest(rows)
    series = spans.partition_by(BY, maintain_order=True)
    begin, end = _begin(rows), _end(rows)
    for one in series[:limit]:
        row = one.row(0, named=True)
        term = f"  {row['term_months'] // 12} y" if row["term_months"] else ""
        option = codes(row["purchase_option"])
        lines.append(f"{row['provider']}  {option}{term}  {row['currency']}")
        columns = one.select("valid_from", "valid_to", "per_accelerator_hour").iter_rows()
        if chart and end - begin > A_DAY:
            lines.append(
                f"  {_chart([Span(*values) for values in columns], begin, end, width - 2)}"
            )
        for span in one.iter_rows(named=True):
            until = f"{span['valid_to']:%Y-%m-%d}" if span["valid_to"] else "now       "
            amount = money(span["per_accelerator_hour"])
            where = f"{span['instance_type']} in {span['region']}"
            line = f"  {span['valid_from']:%Y-%m-%d} to {until}  {amount:>10}  {where}"
            lines.append(cut(line, width))
        lines.append("")
    lines += rest(len(series), limit, "providers and options")
    placeholders = rows.filter("placeholder")["price_id"].n_unique()
    return [*lines, *([placeholders_left_out(placeholders)] if placeholders else [])]


Vendor = Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider: aws or gcp.")]
Since = Annotated[str, typer.Option(help="From this day on: 2024-01-01.")]
Until = Annotated[str, typer.Option(help="Until this day; without it until today.")]
Every = Annotated[
    Literal["month", "quarter", "year"],
    typer.Option(
        help="How many price lists: the first of each month, quarter or year. Spot: every day."
    ),
]
Region = Annotated[
    list[str] | None,
    typer.Option(help="Only this region; may be repeated. Without it all of the last run."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how much it would download, and download nothing.")
]


@shares("root")
def backfill(
    provider: Vendor,
    since: Since,
    until: Until = "",
    every: Every = "month",
    region: Region = None,
    dry_run: DryRun = False,
) -> None:
    """Fetch past prices from the vendor itself.

    The next release has them in its history, marked as backfilled; what releases observed stays as
    it is. AWS keeps a price list for each month from December 2015 on, with savings plans, and 90
    days of spot prices; Google Cloud the rates of each month. After an interruption, give the same
    command again: lists that are there are not fetched again. Exit status: 1 if a list was left
    out.

    Example:

        hwprices admin backfill aws --since 2024-01-01 --region us-east-1 --dry-run

        hwprices admin backfill gcp --since 2024-01-01 --every quarter
    """
    from hwprices.publish.backfill import Backfill
    from hwprices.settings import load

    begin = instant(since).replace(hour=0, minute=0, second=0, microsecond=0)
    end = instant(until) if until else datetime.now(UTC)
    if begin >= end:
        raise HwpricesError(f"{since} is not before {until or 'today'}", "Name an earlier day.")
    store = Store(resolve(call().place))
    with Backfill(store, provider, load()) as made:
        chosen = made.choose(region or [], begin, end, every)
        plan = made.estimate(chosen)
        size = f"{plan.bytes / 1e9:.2f} GB, {plan.minutes:.0f} minutes at 20 MB/s"
        lines = [f"{counted(plan.lists, 'list')}, {plan.missing:,} to fetch: {size}"]
        if plan.unknown:
            names = listing(plan.unknown)
            lines.append(f"not in the estimate, as no run has fetched it yet: {names}")
        lines += [f"left out: {note}" for note in made.notes]
        for line in lines:
            typer.echo(line, err=not dry_run)
        if dry_run:
            return
        done = made.run(chosen, lambda line: typer.echo(line, err=True))
    for line in done.left_out:
        typer.echo(f"left out: {line}", err=True)
    typer.echo(
        f"{counted(done.fetched, 'list')} fetched, {done.kept:,} there already,"
        f" {done.absent:,} that the vendor does not have,"
        f" {counted(done.intervals, 'interval')}. The next release has them."
    )
    if done.left_out:
        raise typer.Exit(1)
