"""The command ``hwprices status``: the status of each provider, for people and monitors."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Root,
    check_one_format,
    default_root,
    print_csv,
    print_json,
    print_table,
)

MaxAge = Annotated[
    str, typer.Option(help="Tables older than this are too old: 90m, 36h, 2d. Default: any age.")
]


def status(
    root: Root = "", max_age: MaxAge = "", as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """Describe the status of each provider.

    Prints when each provider was last collected with success, how its last try ended and why, the
    age of its tables, how many words of the vendor are not known yet, and the units that failed.
    Ends with exit status 1 if a provider failed, is held back by the gate, or has tables older than
    --max-age; with 2 if there is no dataset.

    Example:

        hwprices status --max-age 36h
    """
    from hwprices.read import status as read_status

    check_one_format(as_json, as_csv)
    limit = read_status.parse_age(max_age) if max_age else None
    status = read_status.read(root or default_root())
    now = datetime.now(UTC)
    verdicts = read_status.judge(status, now, limit)
    if as_json:
        print_json(read_status.to_json(status, verdicts))
    elif as_csv:
        print_csv(read_status.frame(status, now, limit))
    else:
        print_table(read_status.render(verdicts))
    if not all(verdict.well for verdict in verdicts):
        raise typer.Exit(1)
