"""Write a price history and a comparison of releases as lines of text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.read.find import words
from hwprices.read.history.cheapest import BY, cheapest
from hwprices.read.history.intervals import PastAnswer
from hwprices.read.terminal.chart import Span, steps
from hwprices.read.terminal.tables import listing, money, number, table
from hwprices.read.terminal.words import purchase, system
from hwprices.release.wording import counted, placeholders_left_out, why_unknown

SERIES = [
    "provider",
    "region",
    "zone",
    "instance_type",
    "purchase_option",
    "commitment_plan",
    "term_months",
    "payment_option",
    "os",
    "software",
    "license_model",
    "tenancy",
    "currency",
]

REASONS = {
    "first_release": "first release",
    "first_collected": "collected for the first time",
    "added": "new",
    "returned": "sold again",
    "price_changed": "",
    "restated": "restated by us",
    "changed_and_restated": "changed, and restated by us",
    "unclear": "vendor or us: unclear",
}

STATES = {
    "not_collected": "not collected since",
    "refused": "refused since",
}

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

DIFF_HEADINGS = ["machine", "region", "how", "before", "now", "change", "note", "cloud"]

MIN_CHART, MAX_CHART = 10, 60

MAX_REASON = 20
"""Characters of a reason in the place of an amount."""

AFTER = 20
"""A chart goes on for a twentieth of the time after the last change."""


def of_answer(answer: PastAnswer, *, width: int, chart: bool, limit: int) -> list[str]:
    """Write a history: of machines with every interval, of accelerators the cheapest hour."""
    is_one_type = answer.rows.select("instance_type").n_unique() == 1
    names_machines = answer.search.machines is not None
    if is_one_type or names_machines or not words.asks_for_accelerators(answer.search):
        return of_type(answer.rows, width=width, chart=chart, limit=limit)
    return of_accelerator(answer.rows, width=width, chart=chart, limit=limit)


def of_type(rows: pl.DataFrame, *, width: int, chart: bool, limit: int) -> list[str]:
    """Write the history of a machine type or family: one block for each purchase option.

    Args:
        rows: those of ``intervals.answer``.
        width: columns of the screen.
        chart: whether to draw a line of blocks.
        limit: how many purchase options; those that changed most often come first.
    """
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
        if chart and end > begin:
            lines.append(f"  {_chart(spans, begin, end, width - 2)}")
        lines += [_cut(f"  {line}", width) for line in _interval_lines(one)]
        lines.append("")
    return [*lines, *_rest(len(series), limit, "purchase options")]


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
    """Find the end of the time to draw: a little after the last change, so that it is seen."""
    times = [rows["valid_from"].max(), rows["valid_to"].max(), rows["observed_last"].max()]
    last = max(time for time in times if isinstance(time, datetime))
    return last + (last - _begin(rows)) / AFTER


def _chart(spans: Sequence[Span], begin: Any, end: datetime, width: int) -> str:
    room = max(MIN_CHART, min(MAX_CHART, width))
    return steps(spans, begin, end, room)


def _place(row: Mapping[str, Any]) -> str:
    term = f"{row['term_months'] // 12} y" if row["term_months"] else ""
    plan = str(row["commitment_plan"] or "").replace("_", " ")
    paid = str(row["payment_option"]).replace("_", " ") if row["term_months"] else ""
    option = str(row["purchase_option"]).replace("_", " ")
    parts = [row["zone"] or row["region"], option, plan, term, paid, system(row)]
    return "  ".join(str(part) for part in parts if part)


def _interval_lines(rows: pl.DataFrame) -> Iterable[str]:
    before = None
    for row in rows.sort("valid_from").iter_rows(named=True):
        amount = row["effective_hourly"]
        shown = (
            money(amount) if amount is not None else f"no price: {why_unknown(row['price_reason'])}"
        )
        percent = f"{(amount / before - 1) * 100:+.1f} %" if amount and before else ""
        until = f"{row['valid_to']:%Y-%m-%d}" if row["valid_to"] else "now       "
        yield (
            f"{row['valid_from']:%Y-%m-%d} to {until}  {shown:>10}  {percent:>8}  {_reason(row)}"
        ).rstrip()
        before = amount


def _reason(row: Mapping[str, Any]) -> str:
    begun = REASONS.get(row["start_reason"], row["start_reason"])
    ended = "no longer sold" if row["end_reason"] == "removed" else ""
    state = STATES.get(row["state"], "")
    missing = f"{state} {row['last_release'][:8]}" if state else ""
    flag = "placeholder, no real offer" if row["placeholder"] else ""
    return "; ".join(text for text in (begun, ended, missing, flag) if text)


def of_accelerator(rows: pl.DataFrame, *, width: int, chart: bool, limit: int) -> list[str]:
    """Write what one accelerator cost at least: one block for each provider and option."""
    devices = listing(rows["accelerator_id"].drop_nulls().unique().sort().to_list())
    since = f"{_begin(rows):%Y-%m-%d}"
    lines = [f"{devices}: cheapest hour of one accelerator since {since}", ""]
    spans = cheapest(rows)
    series = spans.partition_by(BY, maintain_order=True)
    begin, end = _begin(rows), _end(rows)
    for one in series[:limit]:
        row = one.row(0, named=True)
        term = f"  {row['term_months'] // 12} y" if row["term_months"] else ""
        option = row["purchase_option"].replace("_", " ")
        lines.append(f"{row['provider']}  {option}{term}  {row['currency']}")
        columns = one.select("valid_from", "valid_to", "per_accelerator_hour").iter_rows()
        if chart and end > begin:
            lines.append(
                f"  {_chart([Span(*values) for values in columns], begin, end, width - 2)}"
            )
        for span in one.iter_rows(named=True):
            until = f"{span['valid_to']:%Y-%m-%d}" if span["valid_to"] else "now       "
            amount = money(span["per_accelerator_hour"])
            where = f"{span['instance_type']} in {span['region']}"
            line = f"  {span['valid_from']:%Y-%m-%d} to {until}  {amount:>10}  {where}"
            lines.append(_cut(line, width))
        lines.append("")
    lines += _rest(len(series), limit, "providers and options")
    placeholders = rows.filter("placeholder")["price_id"].n_unique()
    return [*lines, *([placeholders_left_out(placeholders)] if placeholders else [])]


def of_diff(rows: pl.DataFrame, older: str, newer: str, limit: int) -> RenderableType:
    """Draw a comparison of two releases: the counts, then the largest changes."""
    heading = Text(f"{newer} compared with {older}")
    if rows.is_empty():
        return Group(heading, Text("No price differs."))
    counts = dict(rows.group_by("change").len().iter_rows())
    changes = [f"{counts[code]:,} {word}" for code, word in CHANGES.items() if code in counts]
    shown = rows.head(limit)
    return Group(
        heading,
        Text(f"Prices: {', '.join(changes)}."),
        *(Text(note) for note in _unknown_placeholders(rows)),
        Text(),
        table(
            DIFF_HEADINGS,
            [_cells(row) for row in shown.iter_rows(named=True)],
            right=["before", "now", "change"],
            wrap=["how"],
            least=["cloud", "region"],
            caption="\n".join(_rest(rows.height, limit, "prices")),
        ),
    )


def _cells(row: Mapping[str, Any]) -> list[str]:
    """Write machine, place, purchase option, old and new amount, per cent, and what else to say."""
    old, new = (_amount(row, when) for when in ("old", "new"))
    percent = f"{row['change_percent']:+.1f} %" if row["change_percent"] is not None else ""
    how = purchase(row) if system(row) == "linux" else f"{purchase(row)}, {system(row)}"
    return [
        row["instance_type"],
        row["zone"] or row["region"],
        how,
        old,
        f"{new} {row['currency']}" if row["currency"] != "USD" else new,
        percent,
        _note(row),
        row["provider"],
    ]


def _note(row: Mapping[str, Any]) -> str:
    """Write what else there is to say of a change, and which of the two is a placeholder."""
    note = NOTES.get(row["change"], "") or ("partly restated" if row["partly_restated"] else "")
    if row["old_placeholder"] and row["new_placeholder"]:
        flag = "placeholder"
    elif row["old_placeholder"]:
        flag = "was placeholder"
    else:
        flag = "now placeholder" if row["new_placeholder"] else ""
    return ", ".join(text for text in (note, flag) if text)


def _unknown_placeholders(rows: pl.DataFrame) -> Iterator[str]:
    """Count the rises and falls that may be placeholders in a release that is gone."""
    moved = rows.filter(pl.col("change").is_in(["price_up", "price_down"]))
    count = moved["old_placeholder"].null_count()
    if count:
        yield (
            f"Dearer or cheaper since a release that is not kept: {counted(count, 'price')}."
            " Whether that was a placeholder before is not known."
        )


def _amount(row: Mapping[str, Any], when: str) -> str:
    """Write an amount, or the reason why there is none; a dash where there is no price at all."""
    reason = row[f"{when}_price_reason"]
    return money(row[f"{when}_effective_hourly"]) or (_cut(reason, MAX_REASON) if reason else "-")


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _rest(count: int, limit: int, what: str) -> list[str]:
    more = count - limit
    return [f"and {more:,} more {what}: see --limit, --json or --csv"] if more > 0 else []
