"""The command ``hwprices admin status``: the status of each provider."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli.common import call, print_csv, print_json, print_table
from hwprices.cli.tables import table
from hwprices.read import status as read_status
from hwprices.read.status import WELL, Verdict
from hwprices.release.manifest import UnitCounts
from hwprices.release.wording import ago, counted

SHARED = ("root", "json", "csv")

MaxAge = Annotated[
    str, typer.Option(help="Tables older than this are too old: 90m, 36h, 2d. Default: any age.")
]


def status(max_age: MaxAge = "") -> None:
    """Describe the status of each provider.

    Prints when each provider was last collected with success, how its last try ended and why, the
    age of its tables, how many words of the vendor are not known yet, and the units that failed.
    Ends with exit status 1 if a provider failed, is held back by the gate, or has tables older than
    --max-age; with 2 without a dataset.

    Example:

        hwprices admin status --max-age 36h
    """
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


HEADINGS = ["provider", "outcome", "last success", "tables from", "units", "reason"]


def render_status(verdicts: list[Verdict]) -> RenderableType:
    """Draw a table of the providers, and below it a line for each unit that gave trouble."""
    rows = [_row(verdict) for verdict in verdicts]
    least = ["units", "reason"]
    parts: list[RenderableType] = [table(HEADINGS, rows, wrap=["units", "reason"], least=least)]
    parts += [Text(line, "yellow") for verdict in verdicts for line in _trouble_lines(verdict)]
    return Group(*parts)


def _row(verdict: Verdict) -> list[Text]:
    entry = verdict.status
    outcome = entry.outcome.replace("_", " ")
    return [
        Text(entry.title or verdict.name),
        Text(outcome, "" if entry.outcome in WELL else "bold yellow"),
        Text(ago(verdict.since_success)),
        Text(ago(verdict.age), "bold yellow" if verdict.too_old else ""),
        Text(_unit_counts(entry.units)),
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


def _unit_counts(units: UnitCounts) -> str:
    """Write how many units ended in which state: ``12 fetched, 1 failed``."""
    counts = asdict(units).items()
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts if count)


def _trouble_lines(verdict: Verdict) -> Iterator[str]:
    """Write a line for each unit that failed or was carried over; skipped ones are fine."""
    for trouble in verdict.status.troubles:
        if trouble.status != "skipped":
            when = "" if trouble.requested else " in an earlier run"
            carried = f" (pages of run {trouble.carried_from})" if trouble.carried_from else ""
            yield f"{trouble.unit} {trouble.status}{when}{carried}: {trouble.reason}"
