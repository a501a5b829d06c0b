"""Run every command that the documents print, as printed, on one release made from the sample.

What cannot run here is in tests/cases/docs/not_run.csv with the reason, or the test that runs it.
"""

import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest
from click.testing import Result
from tests.helpers.cases import rows as case_rows
from tests.helpers.sample_release import COLLECTED_AT
from tools import cli_reference, docs_site
from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.schemas.tables import TABLES

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PROGRAM = ".venv/bin/hwprices"

NOT_RUN = [row["part"] for row in case_rows("docs/not_run")]
"""Parts of commands that are not run here, and why. Other programs than ours are not run either."""

CLI = "docs/cli.md"

INDENTED = re.compile(r"^    (hwprices .*)$", re.M)
"""Examples in the help of the commands."""

INLINE = re.compile(r"`(hwprices [a-z]+ -[^`]*)`")
"""Commands with options in running text."""

NEEDS_AN_ANSWER = ("<", "--unsafe", "--accept", "refresh")
"""Parts of commands in running text that are not whole commands, or start the pipeline."""


@dataclass(frozen=True)
class Printed:
    """A command as a document prints it, comments aside and continued lines joined."""

    document: str
    text: str


def documents() -> dict[str, str]:
    """Map documents to their texts; the reference of the command line is not in git."""
    pages = sorted(PROJECT.glob("docs/*.md"))
    in_git = [path for path in pages if path.name not in docs_site.OPTIONAL_NAV.values()]
    files = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *in_git]
    texts = {path.relative_to(PROJECT).as_posix(): path.read_text() for path in files}
    return {**texts, CLI: cli_reference.render()}


def blocks(text: str, language: str) -> list[str]:
    """List the blocks of code in a language, indented ones too."""
    return [code for _, code in re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.S | re.M)]


def commands_of(block: str) -> Iterator[str]:
    """Yield the commands of a shell block: a quotation or a backslash continues a line."""
    command = ""
    for line in block.splitlines():
        command += line.strip().removesuffix("\\") if not command else " " + line.strip()
        unfinished = line.endswith("\\") or command.count('"') % 2
        if command and not unfinished:
            yield " ".join(re.sub(r"\s+#\s.*", "", command.replace("\\", " ")).split())
            command = ""


def printed_commands() -> list[Printed]:
    found = []
    for name, text in documents().items():
        commands = [command for block in blocks(text, "sh") for command in commands_of(block)]
        commands += INDENTED.findall(text) if name == CLI else []
        commands += [
            command
            for command in INLINE.findall(text)
            if not any(part in command for part in NEEDS_AN_ANSWER)
        ]
        found += [Printed(name, command) for command in commands]
    return list({printed.text: printed for printed in found}.values())


def runnable() -> list[Printed]:
    return [
        printed
        for printed in printed_commands()
        if printed.text.startswith((f"{PROGRAM} ", "hwprices "))
        and not any(part in printed.text for part in NOT_RUN)
    ]


@pytest.fixture(scope="module")
def root(sample_root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Copy the sample's release: some commands write into it. It was collected just now."""
    root = shutil.copytree(sample_root, str(tmp_path_factory.mktemp("root") / "data"))
    status = Path(root) / "status.json"
    then, now = COLLECTED_AT.isoformat(), datetime.now(UTC).isoformat()
    assert then in status.read_text()
    status.write_text(status.read_text().replace(then, now))
    return root


@pytest.fixture
def checkout(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the release in the folder data, as after `make run`."""
    (tmp_path / "data").symlink_to(root)
    discounts = blocks((PROJECT / "docs/overlays.md").read_text(), "yaml")[0]
    (tmp_path / "discounts.yaml").write_text(discounts)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HWPRICES_ROOT", raising=False)
    return tmp_path


def run(text: str) -> Result:
    """Call the command with the words as a shell splits them."""
    program, *arguments = shlex.split(text)
    assert program in (PROGRAM, "hwprices")
    return CliRunner().invoke(app, arguments, prog_name="hwprices")


@pytest.mark.parametrize("printed", runnable(), ids=lambda p: f"{p.document}:{p.text[:60]}")
def test_the_command_runs_as_printed(printed: Printed, checkout: Path) -> None:
    if "prune" in printed.text:
        printed = Printed(printed.document, f"{printed.text} --yes")
    done = run(printed.text)
    assert done.exit_code == 0, done.output
    assert done.output.strip()


def test_the_first_query_has_one_price_for_a_machine_and_region(checkout: Path) -> None:
    """It once mixed on-demand, spot and three-year prices in rows that look the same."""
    texts = [printed.text for printed in runnable()]
    query = next(text for text in texts if text.startswith(f"{PROGRAM} query"))
    answer = run(f"{query} --json").output
    rows = pl.read_json(answer.encode())
    assert rows.height > 5
    assert not rows.select("provider", "region", "instance_type").is_duplicated().any()
    assert re.search(r"88\.4(8999|9)", answer)  # known wrong number G1


def test_the_python_example_runs(checkout: Path) -> None:
    [code] = blocks((PROJECT / "README.md").read_text(), "python")
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["data"], hwprices.Dataset)


@pytest.fixture(scope="module")
def folder(root: str) -> Path:
    """The folder of the release."""
    return Path(root) / "releases" / hwprices.open(root).version


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_read_by_pandas_pyarrow_polars_and_duckdb(table: str, folder: Path) -> None:
    """R's arrow and Spark are not here. R's is pyarrow's C++ library with the same discovery."""
    place = folder / table if (folder / table).is_dir() else folder / f"{table}.parquet"
    rows = hwprices.open(folder.parents[1]).scan(table).select(pl.len()).collect().item()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pd.read_parquet(place)
    assert len(frame) == rows
    assert list(frame.columns) == list(TABLES[table].columns)
    for partitioning in ("hive", None):
        assert ds.dataset(place, partitioning=partitioning).count_rows() == rows
    assert pl.scan_parquet(place).select(pl.len()).collect().item() == rows
    pattern = f"{place}/**/*.parquet" if place.is_dir() else str(place)
    with duckdb.connect() as connection:
        query = f"select count(*) from read_parquet('{pattern}')"
        counted = connection.sql(query).fetchall()
    assert counted == [(rows,)]
