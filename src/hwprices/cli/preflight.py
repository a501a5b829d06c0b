"""The command ``hwprices admin preflight``: what a run will need, and what is missing."""

from typing import TYPE_CHECKING, Annotated

import typer

from hwprices.cli.common import call, print_json, print_table

SHARED = ("root", "json")

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from hwprices.collect.preflight import Subject

Providers = Annotated[
    list[str] | None,
    typer.Option("--provider", help="Check this provider only; may be repeated. Default: all."),
]

MARKS = {"ok": "ok", "absent": "missing", "failed": "FAILED"}
STYLES = {"ok": "green", "absent": "yellow", "failed": "bold red"}


def preflight(provider: Providers = None) -> None:
    """Check what a live run will need, before it starts.

    Looks for misspelled settings, at the root (rights, free space), at the folder for temporary
    files, at each vendor's endpoints, at the credentials that each vendor's SDK finds and at the
    rights they have. Says what each adds to the dataset, and how to fix what is missing. Collects
    nothing, leaves nothing behind, and shows no credential. Needs hwprices[pipeline].

    Ends with exit status 1 if something failed. A missing account is not a failure: the run then
    uses what the vendors give without one.

    Examples:

        hwprices admin preflight --root data/live

        hwprices admin preflight --provider aws --json
    """
    from dataclasses import asdict

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


def _summary(subjects: "list[Subject]") -> "Text":
    """Describe in a line whether a run can begin, and for which providers it may fail."""
    from rich.text import Text

    from hwprices.collect.preflight import ROOT_TITLE
    from hwprices.release.wording import counted

    failures = {each.title: _failures(each) for each in subjects if _failures(each)}
    if not failures:
        return Text("\nNothing failed: a live run can begin.", STYLES["ok"])
    named = ", ".join(f"{title} ({counted(count, 'check')})" for title, count in failures.items())
    if ROOT_TITLE in failures:
        return Text(f"\nA live run cannot begin. Failed: {named}.", STYLES["failed"])
    return Text(
        f"\nA live run can begin, but may fail for: {named}."
        " Mend what failed, or name the other providers with --provider.",
        STYLES["failed"],
    )


def _render(subject: "Subject") -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(min_width=max(map(len, MARKS.values())))
    table.add_column()
    for check in subject.checks:
        mark = Text(MARKS[check.outcome], style=STYLES[check.outcome])
        remedy = f"\n→ {check.remedy}" if check.remedy else ""
        table.add_row(mark, f"{check.what}: {check.detail}{remedy}")
    return Group(Text(subject.title, style="bold"), table)
