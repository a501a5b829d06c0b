"""Write the answers into docs/questions.md: what each command prints about the small release.

``python -m tools.questions`` writes them; ``--check`` fails when the page is out of date, or when a
query gives a price that the answer does not show.
"""

import re
import shlex
import sys
from decimal import Decimal

from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.cli.tables import money
from tools.generated import PROJECT, write_or_check

TARGET = PROJECT / "docs" / "questions.md"

SECTION = re.compile(
    r"```sh\n(?P<command>.*?)\n```(?P<between>.*?)```text\n(?P<answer>.*?)```", re.DOTALL
)
QUERY = re.compile(r"```sql\n(.*?)```", re.DOTALL)

HINT = re.compile(r"^source of the first price: .*\n", re.MULTILINE)


def answer(command: str) -> str:
    """Run a command over the small release, and return what it prints."""
    arguments = [*shlex.split(command.removeprefix("hwprices ")), "--root", "sample"]
    result = CliRunner().invoke(app, arguments, prog_name="hwprices")
    if result.exit_code != 0:
        raise SystemExit(f"{command}: {result.stderr}")
    lines = (line.rstrip() for line in HINT.sub("", result.stdout).splitlines())
    return "\n".join(lines).strip("\n") + "\n"


def missing(query: str, text: str) -> list[str]:
    """List the prices that a query gives and a text does not show."""
    rows = hwprices.open("sample").duckdb.sql(query).fetchall()
    prices = [value for row in rows for value in row if isinstance(value, Decimal)]
    return [money(price) for price in prices if money(price) not in text]


def render(page: str) -> str:
    """Return the page with the answers of today."""

    def section(match: re.Match[str]) -> str:
        return (
            f"```sh\n{match['command']}\n```{match['between']}"
            f"```text\n{answer(match['command'])}```"
        )

    return SECTION.sub(section, page)


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` compare it. Returns the exit status."""
    page = render(TARGET.read_text(encoding="utf-8"))
    for match in SECTION.finditer(page):
        for query in QUERY.findall(match["between"]):
            lacking = missing(query, match["answer"])
            if lacking:
                sys.stderr.write(f"error: {match['command']} lacks {', '.join(lacking)}\n")
                return 1
    return write_or_check(TARGET, page, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
