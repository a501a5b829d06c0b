"""The commands ``hwprices admin status``, ``preflight`` and ``sheets``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hwprices.cli.common import call, described, print_csv, print_json
from hwprices.cli.tables import codes, print_table, table
from hwprices.read import status as read_status
from hwprices.read.status import WELL, Verdict
from hwprices.release.wording import ago, counted, unit_counts
from hwprices.storage import layout

if TYPE_CHECKING:
    from hwprices.collect.preflight import Subject
    from hwprices.providers.price_sheets.fetch import SheetPage


@described()
def status(
    max_age: str = "",
) -> None:
    """Describe the status of each provider."""
    limit = read_status.parse_age(max_age) if max_age else None
    status = read_status.read(call().place)
    now = datetime.now(UTC)
    verdicts = read_status.judge(status, now, limit)
    if call().as_json:
        print_json(read_status.to_json(status, verdicts))
    elif call().as_csv:
        print_csv(read_status.frame(status, now, limit))
    else:
        print_table(render_status(verdicts))
    if not all(verdict.well for verdict in verdicts):
        raise typer.Exit(1)


def render_status(verdicts: list[Verdict]) -> RenderableType:
    """Draw a table of the providers, and below it a line for each unit with trouble."""
    drawn = table(
        ["provider", "outcome", "last success", "tables from", "units", "reason"],
        [_row(verdict) for verdict in verdicts],
        wrap=["units", "reason"],
        least=["units", "reason"],
    )
    troubles = (line for verdict in verdicts for line in _trouble_lines(verdict))
    return Group(drawn, *(Text(line, "yellow") for line in troubles))


def _row(verdict: Verdict) -> list[Text]:
    entry = verdict.status
    return [
        Text(entry.title or verdict.name),
        Text(codes(entry.outcome), "" if entry.outcome in WELL else "bold yellow"),
        Text(ago(verdict.since_success)),
        Text(ago(verdict.age), "bold yellow" if verdict.too_old else ""),
        Text(unit_counts(vars(entry.units))),
        Text("; ".join(_reasons(verdict))),
    ]


def _reasons(verdict: Verdict) -> Iterator[str]:
    if verdict.too_old:
        yield "older than --max-age"
    if verdict.status.reason:
        yield verdict.status.reason
    if verdict.status.new_words:
        yield f"{counted(verdict.status.new_words, 'new word')}: hwprices show coverage --unknown"
    if verdict.sheet_age is not None:
        stale = ": stale" if verdict.stale else ""
        yield f"price sheet, read {ago(verdict.sheet_age)}{stale}"


def _trouble_lines(verdict: Verdict) -> Iterator[str]:
    """Write a line for each unit that failed or was carried over."""
    for trouble in verdict.status.troubles:
        if trouble.status != "skipped":
            when = "" if trouble.requested else " in an earlier run"
            carried = f" (pages of run {trouble.carried_from})" if trouble.carried_from else ""
            yield f"{trouble.unit} {trouble.status}{when}{carried}: {trouble.reason}"


MARKS = {"ok": "ok", "absent": "missing", "failed": "FAILED"}
STYLES = {"ok": "green", "absent": "yellow", "failed": "bold red"}


@described()
def preflight(
    provider: list[str] | None = None,
) -> None:
    """Check what a live run will need, before it starts."""
    from hwprices import providers
    from hwprices.collect import preflight as checks
    from hwprices.settings import load

    settings = load(root=call().root or None)
    subjects = []
    for subject in checks.check_all(settings, provider or providers.chosen(settings)):
        subjects.append(subject)
        if not call().as_json:
            print_table(_render(subject))
    if call().as_json:
        print_json([asdict(subject) for subject in subjects])
    else:
        print_table(_summary(subjects))
    if any(map(_failures, subjects)):
        raise typer.Exit(1)


def _failures(subject: "Subject") -> int:
    return sum(check.outcome == "failed" for check in subject.checks)


def _summary(subjects: "list[Subject]") -> Text:
    """State whether a run can begin, and for which providers it may fail."""
    from hwprices.collect.preflight import ROOT_TITLE

    failures = {each.title: _failures(each) for each in subjects if _failures(each)}
    if not failures:
        return Text("\nNothing failed: a live run can begin.", STYLES["ok"])
    named = ", ".join(f"{title} ({counted(count, 'check')})" for title, count in failures.items())
    if ROOT_TITLE in failures:
        return Text(f"\nA live run cannot begin. Failed: {named}.", STYLES["failed"])
    return Text(
        f"\nA live run can begin, but may fail for: {named}."
        " Fix what failed, or name the other providers with --provider.",
        STYLES["failed"],
    )


def _render(subject: "Subject") -> Group:
    lines = Table.grid(padding=(0, 1))
    lines.add_column(min_width=max(map(len, MARKS.values())))
    lines.add_column()
    for check in subject.checks:
        mark = Text(MARKS[check.outcome], style=STYLES[check.outcome])
        remedy = f"\n→ {check.remedy}" if check.remedy else ""
        lines.add_row(mark, f"{check.what}: {check.detail}{remedy}")
    return Group(Text(subject.title, style="bold"), lines)


@described()
def sheets(
    file: Path | None = None,
) -> None:
    """List price sheets by age, or check one."""
    from hwprices.landing.pages import Landing
    from hwprices.providers.price_sheets.fetch import check, pages
    from hwprices.settings import load

    now = datetime.now(UTC)
    if file is None:
        listed = pages(now)
        if call().as_json:
            print_json([asdict(page) for page in listed])
        else:
            print_table(render_pages(listed))
        return
    landings = [Landing(layout.landing_root(call().place)), Landing(load().sample)]
    report = check(file, landings, now)
    if call().as_json:
        print_json(asdict(report))
    else:
        print_table(render_report(asdict(report)))
    if report.refused:
        raise typer.Exit(1)


def render_pages(listed: "Sequence[SheetPage]") -> RenderableType:
    """Draw the pages to read again, with their figures, and count the others."""
    from hwprices.providers.price_sheets.fetch import READ_AGAIN

    drawn: list[RenderableType] = []
    for page in listed:
        if page.due:
            drawn.append(
                Text(f"{page.provider}, read {page.read_on}, {page.days} days ago", "bold")
            )
            drawn.append(Text(f"  {page.page}", no_wrap=True, overflow="ignore"))
            drawn += [Padding(Text(figure), (0, 0, 0, 4)) for figure in page.figures]
    fresh = sum(1 for page in listed if not page.due)
    drawn.append(Text(f"{counted(fresh, 'page')} read in the last {READ_AGAIN.days} days.", "dim"))
    return Group(*drawn)


HEADINGS = ["region", "machine", "option", "before", "now"]


def render_report(report: Mapping[str, Any]) -> RenderableType:
    """Draw a report of ``price_sheets.fetch.check`` as a mapping."""
    refused = [Text(f"refused: {line}", "red") for line in report["refused"]]
    notes = [Text(f"note: {note}", "yellow") for note in report["notes"]]
    state = "cannot be used" if refused else "can be used"
    heading = Text(f"{report['name']}: {state}, {counted(report['prices'], 'price')}", "bold")
    return Group(heading, *refused, *notes, *_changes(report))


def _changes(report: Mapping[str, Any]) -> list[RenderableType]:
    if not report["last"]:
        return [Text("an earlier sheet is missing, so nothing is compared")]
    count = len(report["changes"])
    summary = f"{count or 'no'} changes, {report['unchanged']} unchanged since {report['last']}"
    rows = [[*change["key"], change["before"], change["after"]] for change in report["changes"]]
    drawn = table(HEADINGS, rows, right=["before", "now"])
    return [Text(summary), drawn] if rows else [Text(summary)]
