"""Every command that answers: as JSON and CSV, cut short by --limit, without colour in a pipe."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import sys
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result
from rich.cells import cell_len
from tests.helpers import terminal
from tests.helpers.market import tables
from tests.helpers.releases import publish

from hwprices.cli import COMMANDS, app
from hwprices.release.manifest import ProviderStatus, Status
from hwprices.storage import manifests
from hwprices.storage.store import Store
from hwprices.units import Money

AT = "2026-08-01T00:00:00+00:00"

LISTS = {
    "find": ["h100"],
    "price": ["d4s_v5"],
    "query": ["select * from prices"],
    "explain": ["m7g.large"],
    "recommend": ["7B"],
    "tco": [],
    "history": ["h100"],
    "diff": [],
    "releases": [],
    "coverage": [],
    "quarantine": [],
}
"""Commands that list something, with arguments for which the dataset has an answer."""

SINGLE = {
    "show": [],
    "compare": ["g6.xlarge", "--equals"],
    "device": ["l4"],
    "status": [],
    "verify": [],
}
"""Commands whose answer is of one thing, or as long as the question: they have no --limit."""

NO_ANSWERS = [
    *("deploy", "export", "report", "prune", "refresh", "serve", "worker"),
    *("sheets", "preflight"),
    *("cite", "recheck", "reproduce", "backfill", "mcp", "bill"),
]
"""Commands that make or show something else, and two that check what is not a dataset."""

ANSWERS = {**LISTS, **SINGLE}

OBJECTS = {"show", "status", "verify"}
"""Commands whose JSON is one object with more in it than a table has."""


@pytest.fixture(scope="module")
def root(market: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The market with a second release, in which AWS is more expensive, and with a status."""
    folder = tmp_path_factory.mktemp("answers") / "data"
    shutil.copytree(market, folder)
    store = Store(folder)
    own = {name: frame.filter(provider="aws") for name, frame in tables().items()}
    dearer = own["prices"].with_columns(
        (pl.col("hourly", "effective_hourly") + Decimal("0.01")).cast(Money)
    )
    filled = {name: frame for name, frame in own.items() if frame.height} | {"prices": dearer}
    publish(store, filled, run_id="run-2", origin="sample", at=datetime(2026, 8, 2, tzinfo=UTC))
    well = ProviderStatus(title="AWS", outcome="published", last_try=AT, last_success=AT)
    status = Status(updated_at=AT, providers={"aws": well})
    (folder / "status.json").write_bytes(manifests.encode(status))
    return folder


def run(command: str, *options: str, root: Path) -> Result:
    """Call a command with the arguments of the lists above."""
    return terminal.run(command, *ANSWERS[command], *options, root=root)


def of_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_command_is_in_one_of_the_lists() -> None:
    assert set(COMMANDS) == {*ANSWERS, *NO_ANSWERS}


@pytest.mark.parametrize("command", ANSWERS)
def test_json_and_csv_say_the_same(command: str, root: Path) -> None:
    as_json, as_csv = (run(command, option, root=root) for option in ("--json", "--csv"))
    assert (as_json.exit_code, as_csv.exit_code) == (0, 0), as_json.stderr + as_csv.stderr
    answer, lines = json.loads(as_json.stdout), of_csv(as_csv.stdout)
    assert isinstance(answer, dict) == (command in OBJECTS)
    if command not in OBJECTS:
        assert len(lines) == len(answer) > 0
        # a list of releases has rows and providers as texts
        assert set(lines[0]) - {"prices", "offers"} <= set(answer[0])
    both = run(command, "--json", "--csv", root=root)
    assert both.exit_code == 2
    assert "two formats" in both.stderr


@pytest.mark.parametrize("command", LISTS)
def test_limit_cuts_a_list_short(command: str, root: Path) -> None:
    """An answer of recommend is two lists: machines to rent, and to buy."""
    lists = 2 if command == "recommend" else 1
    whole, cut = (run(command, "--json", *limit, root=root) for limit in ([], ["--limit", "1"]))
    rows = json.loads(cut.stdout)
    assert len(rows) == lists
    assert [row for row in rows if row not in json.loads(whole.stdout)] == []
    if lists == 2:
        assert [row["where"] for row in rows] == ["cloud", "local"]
    assert len(of_csv(run(command, "--csv", "--limit", "1", root=root).stdout)) == lists


def on_a_screen(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch, **environment: str
) -> str:
    """Call a command in a terminal of 80 columns, and return what it printed."""
    for name, value in {"COLUMNS": "80", "LINES": "24", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    reading, writing = os.openpty()
    printed: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end was closed
            while part := os.read(reading, 65_536):
                printed.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "w", encoding="utf-8") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        arguments = [command, *ANSWERS[command], "--root", str(root)]
        app(arguments, prog_name="hwprices", standalone_mode=False)
    reader.join(timeout=10)
    os.close(reading)
    return b"".join(printed).decode().replace("\r\n", "\n")


LONG = re.compile(r"explain |vllm serve |sglang.launch_server |hwprices[ .]|releases/")
"""Lines that are longer than a screen on purpose: commands and addresses to copy."""


@pytest.mark.parametrize("command", ANSWERS)
def test_an_answer_fits_80_columns(command, root, monkeypatch) -> None:
    text = on_a_screen(command, root, monkeypatch, NO_COLOR="1")
    assert re.findall(r"\x1b\[[\d;]*\b(?:3\d|9\d)m", text) == [], "NO_COLOR was not heeded"
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in text.splitlines()]
    assert [line for line in lines if cell_len(line) > 80 and not LONG.search(line)] == []
    assert "…" not in text


def test_a_screen_has_colour(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert re.search(r"\x1b\[[\d;]*\b3\dm", on_a_screen("show", root, monkeypatch))


@pytest.mark.parametrize("command", ANSWERS)
def test_a_pipe_has_no_colour(command: str, root: Path) -> None:
    result = run(command, root=root)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip()
    assert "\x1b" not in result.stdout
