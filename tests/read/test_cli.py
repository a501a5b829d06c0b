"""The commands on a small dataset, as a person or a program calls them."""

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any
from unittest.mock import ANY

import polars as pl
import pytest
import yaml
from tests.helpers import processes
from tests.helpers.cases import cases, named_cases
from tests.helpers.releases import machine, price, publish, tables
from tests.helpers.terminal import run

import hwprices
from hwprices import cli
from hwprices.specs import csv_rows

VERSION = "20260801T000000Z"
PIPELINE_COMMANDS = ["refresh", "serve"]
COMMANDS = [name for name in cli.COMMANDS if name not in PIPELINE_COMMANDS]


@pytest.fixture
def root(twenty: Path) -> Path:
    return twenty


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A copy of the dataset that a test may damage."""
    shutil.copytree(root, tmp_path / "data")
    return tmp_path / "data"


def test_releases_lists_versions_and_rows(root: Path) -> None:
    text = run("releases", root=root).stdout
    assert VERSION in text
    assert "latest" in text
    entries = json.loads(run("releases", "--json", root=root).stdout)
    assert [entry["version"] for entry in entries] == [VERSION]
    assert entries[0]["rows"]["prices"] == 20


KEYS = {"run", "exit", "out", "no_out", "err", "no_err", "whole", "lines", "rows", "each"}


@named_cases("read/commands", "root", "commands")
def test_a_command_answers(request: pytest.FixtureRequest, case: Mapping[str, Any]) -> None:
    root = request.getfixturevalue(case["root"]) if "root" in case else None
    for expected in case["commands"]:
        assert expected.keys() <= KEYS
        result = run(*shlex.split(expected["run"]), root=root)
        assert result.exit_code == expected.get("exit", 0), result.stderr
        for name, printed in (("out", result.stdout), ("err", result.stderr)):
            for text in expected.get(name, []):
                assert text.replace("ROOT", str(root)) in printed
            assert [text for text in expected.get(f"no_{name}", []) if text in printed] == []
        assert result.stdout == expected.get("whole", result.stdout)
        assert len(result.stdout.splitlines()) == expected.get("lines", ANY)
        if expected.keys() & {"rows", "each"}:
            assert_json(json.loads(result.stdout), expected)


def assert_json(rows: list[dict[str, Any]], expected: Mapping[str, Any]) -> None:
    """Check some columns of each row, and those that are the same in all rows."""
    if "rows" in expected:
        pairs = zip(rows, expected["rows"], strict=True)
        assert [{name: row[name] for name in some} for row, some in pairs] == expected["rows"]
    assert rows
    assert [row for row in rows if row | expected.get("each", {}) != row] == []


def next_steps(root: Path) -> list[list[str]]:
    """The commands under "What next" of ``hwprices show``, as a shell would split them."""
    _, _, text = run("show", root=root).stdout.partition("What next")
    commands = re.findall(r"hwprices ((?:find|price|explain|device|coverage|query) .*)", text)
    return [shlex.split(command.partition("   (")[0]) for command in commands]


def test_the_next_steps_have_answers(market: Path) -> None:
    steps = next_steps(market)
    assert ["price", "p5.48xlarge", "--root", str(market)] in steps
    assert [step for step in steps if run(*step).exit_code != 0] == []


SHARED = "NVIDIA HGX H100"  # The name of a machine type in several clouds


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two clouds whose machines have one name; the folder's name has a blank."""
    root = tmp_path_factory.mktemp("dataset") / "my data"
    amounts = {"coreweave": "29.24", "nebius": "49.24"}
    h100 = {"device": "nvidia-h100-sxm5-80gb", "count": 8, "gib": 80}
    costs = [price(provider, "us-east-1", SHARED, cost) for provider, cost in amounts.items()]
    publish(root, tables(costs, [machine(provider, SHARED, **h100) for provider in amounts]))
    return root


def test_the_history_of_a_name_that_clouds_share_says_whose_each_price_is(shared: Path) -> None:
    heading, *blocks = run("history", SHARED, root=shared).stdout.strip().split("\n\n")
    assert heading.startswith(f"{SHARED} (coreweave, nebius): 2 prices")
    assert [re.split(r"\s+", block)[0] for block in blocks] == ["coreweave", "nebius"]
    assert ["29.24" in block for block in blocks] == [True, False]


def test_the_next_steps_name_machines_that_the_release_has(shared: Path) -> None:
    steps = {step[0]: step for step in next_steps(shared)}
    assert steps["price"] == ["price", SHARED, "--provider", "coreweave", "--root", str(shared)]
    for command in ("price", "explain", "query"):
        result = run(*steps[command])
        assert result.exit_code == 0, result.stderr
        assert "29.24" in result.stdout
        assert "49.24" not in result.stdout


def test_show_summarises_a_release(root: Path) -> None:
    result = run("show", root=root)
    assert result.exit_code == 0, result.stderr
    assert f"Release {VERSION}" in result.stdout
    rows = next(line for line in result.stdout.splitlines() if line.startswith("AWS "))
    assert rows.split() == ["AWS", "1", "20", "20"]
    assert "AWS" in result.stdout


def test_verify_names_an_altered_file(copy: Path) -> None:
    altered = next((copy / "releases").rglob("prices/**/*.parquet"))
    altered.write_bytes(altered.read_bytes() + b"x")
    result = run("verify", root=copy)
    assert result.exit_code == 1
    assert result.stderr.strip() == (
        f"{altered} was altered: its checksum does not match the manifest"
    )


@pytest.mark.parametrize("command", [["find", "m0"], ["price", "m0.large"], ["show"]])
def test_a_damaged_table_is_an_error_in_one_line(copy: Path, command: list[str]) -> None:
    file = next((copy / "releases").rglob("prices/**/*.parquet"))
    file.write_bytes(file.read_bytes()[:500])
    result = run(*command, root=copy)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith(f"error: {file} was altered")
    file.unlink()
    assert run(*command, root=copy).stderr == (
        f"error: {file} is missing. "
        "hwprices admin verify names the files that are missing or altered.\n"
    )


@pytest.mark.parametrize(
    ("command", "columns"),
    [(["find", "m0"], {}), (["price", "m0.large"], {}), (["find", "m0"], {"os": 5})],
    ids=["find without columns", "price without columns", "find with a number for a text"],
)
def test_a_table_with_other_columns_is_an_error_in_one_line(copy, command, columns) -> None:
    for file in (copy / "releases").rglob("prices/**/*.parquet"):
        changed = pl.read_parquet(file).with_columns(**{n: pl.lit(v) for n, v in columns.items()})
        (changed if columns else pl.DataFrame()).write_parquet(file)
    result = run(*command, root=copy)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith(f"error: {copy}")
    assert ".parquet was altered" in result.stderr


def test_a_fault_of_ours_is_not_called_damage(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise FileNotFoundError("of_another_program.parquet")

    monkeypatch.setattr("hwprices.read.past.answer", fail)
    result = run("history", "m0.large", root=root)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "FileNotFoundError in test_cli.py" in result.stderr
    assert "was altered" not in result.stderr
    monkeypatch.setenv("HWPRICES_TRACEBACK", "1")
    assert isinstance(run("history", "m0.large", root=root).exception, FileNotFoundError)


def test_csv_of_a_query_has_times_in_utc_and_none_of_its_own(root: Path) -> None:
    zoned, naive = "timestamptz '2026-08-01 02:00:00+00' as a", "timestamp '2026-08-01' as b"
    query = ["query", f"select {zoned}, {naive}", "--csv", "--root", str(root)]
    result = hwprices_to(subprocess.PIPE, *query, TZ="America/New_York")
    assert result.stdout.decode() == "a,b\n2026-08-01T02:00:00Z,2026-08-01T00:00:00\n"
    assert result.stderr == b"", "DuckDB complains at its end about objects that remain"


ENDLESS = "with recursive r as (select 1 as a union all select a + 1 from r) select count(*) from r"
ROWS = "select * from range(10000000000)"
LARGE = "select len(list(range order by hash(range))) from range(100000000)"


@pytest.mark.parametrize(
    ("query", "limit", "named"),
    [
        ([ENDLESS], ["--max-seconds", "0.5"], "takes longer than 0.5 s"),
        ([ROWS, "--json"], ["--max-seconds", "0.5"], "takes longer than 0.5 s"),
        ([ROWS, "--csv"], ["--max-seconds", "0.5"], "takes longer than 0.5 s"),
        ([LARGE], ["--max-memory", "200MB"], "needs more memory than 200MB"),
        (["select 1"], ["--max-memory", "much"], "cannot limit memory to 'much'"),
    ],
)
def test_a_query_ends_at_its_limits(root, tmp_path, monkeypatch, query, limit, named) -> None:
    """And writes no temporary files: DuckDB does so in the working directory."""
    monkeypatch.chdir(tmp_path)
    result = run("query", *query, *limit, root=root)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert named in result.stderr
    assert limit[0] in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_query_are_printed_in_pieces_that_fit_together(root: Path) -> None:
    query = ["query", "select range as a, null as b from range(25000)"]
    rows = json.loads(run(*query, "--json", root=root).stdout)
    assert rows == [{"a": a, "b": None} for a in range(25_000)]
    lines = run(*query, "--csv", "--limit", "20001", root=root).stdout.splitlines()
    assert lines == ["a,b", *(f"{a}," for a in range(20_001))]
    assert run("query", "select 1 as a where false", "--json", root=root).stdout == "[]\n"


@cases("read/query_types", in_json=yaml.safe_load)
def test_json_and_csv_of_a_query_take_every_type(root, value, in_json, in_csv) -> None:
    query = f"select {value} as a, 'x' as b"
    text = run("query", query, "--json", root=root).stdout
    assert json.loads(text, parse_constant=pytest.fail) == [{"a": in_json, "b": "x"}]
    assert run("query", query, "--csv", root=root).stdout == f"a,b\n{in_csv},x\n"


def test_device_prints_a_table_or_json(root: Path) -> None:
    """Known wrong number S2 (docs/known-wrong-numbers.md): 989.4 is dense, 1,979 is sparse."""
    answer = json.loads(run("device", "nvidia-h100-sxm5-80gb", "--json", root=root).stdout)[0]
    assert answer["device_id"] == "nvidia-h100-sxm5-80gb"
    rates = {rate["dtype"]: rate["rate"] for rate in answer["dense_rates"]}
    assert rates["bf16"] == 989.4
    assert "989.4" in run("device", "H100 SXM", root=root).stdout


def test_the_help_of_recommend_has_its_options_in_panels() -> None:
    text = run("recommend", "--help").stdout
    headings = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert headings == ["Question", "Training", "Serving", "Prices and budgets", "Options"]
    assert "Speeds of one user" in text


def test_every_described_option_is_a_parameter_of_its_command() -> None:
    for row in csv_rows(Path(cli.__file__).with_name("options.csv")):
        name = row["command"]
        file = cli.COMMANDS[name]["file"] if name in cli.COMMANDS else "common"
        command = getattr(import_module(f"hwprices.cli.{file}"), name)
        assert row["parameter"] in inspect.signature(command).parameters, row


def test_shared_options_may_stand_in_front_of_the_command(market: Path) -> None:
    behind = run("show", "releases", "--json", "--limit", "1", root=market)
    for front in (["--root", str(market), "--json", "--limit=1"], ["--limit", "1", "--json"]):
        in_front = run(*front, "show", "releases", root=None if "--root" in front else market)
        assert in_front.exit_code == 0
        assert in_front.stdout == behind.stdout
    query = run("--root", "/nowhere", "query", "--root", str(market), "--", "select 1 as a")
    assert query.stdout.split() == ["a", "1"]  # the option behind counts


@cases("read/commands_without_dataset", command=yaml.safe_load)
def test_a_missing_dataset_is_an_error_in_one_line(command: list[str], tmp_path: Path) -> None:
    result = run(*command, root=tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no release")
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_release_is_an_argument_or_an_option(command: str, root: Path) -> None:
    named = run(command, VERSION, root=root)
    assert named.exit_code == 0
    assert run(command, "--version", VERSION, root=root).stdout == named.stdout
    assert run(command, VERSION, "--version", VERSION, root=root).exit_code == 0
    unknown = run(command, "--version", "2020", root=root)
    assert unknown.stderr.startswith(f"error: no release 2020 in {root}")
    both = run(command, "2020", "--version", VERSION, root=root)
    assert both.stderr == f"error: two releases are named: 2020 and {VERSION}. Name one.\n"


def test_a_pointer_to_a_release_that_is_gone_says_so(copy: Path) -> None:
    manifest = copy / "releases" / VERSION / "manifest.json"
    manifest.unlink()
    result = run("show", root=copy)
    assert result.exit_code == 2
    assert " ".join(result.stderr.split()) == (
        f"error: {manifest} is missing, and latest.json names this release."
        " Publish again: hwprices admin refresh."
    )


def test_the_root_is_the_data_folder_of_a_parent(copy, monkeypatch) -> None:
    folder = copy.parent / "deep" / "er"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert VERSION in run("releases").stdout


def test_brackets_in_a_message_are_kept(tmp_path: Path) -> None:
    """rich would take [pipeline] for a style and leave it out."""
    assert "[pipeline]" in run("releases", root=tmp_path / "[pipeline]").stderr


def test_prune_asks_before_it_deletes(copy: Path) -> None:
    remains = copy / "releases/left-over/x.parquet"
    remains.parent.mkdir()
    remains.write_text("of an interrupted publication")
    asked = run("prune", root=copy)
    assert asked.exit_code != 0, "no answer on stdin"
    assert "would delete 1 release: left-over" in asked.stdout
    tried = run("prune", "--dry-run", "--yes", root=copy)
    assert tried.exit_code == 0
    assert tried.stdout.splitlines() == asked.stdout.splitlines()[:2]
    assert f"1 release kept: {VERSION}" in tried.stdout
    assert remains.exists()
    assert "deleted 1 release: left-over" in run("prune", "--yes", root=copy).stdout
    assert not remains.exists()


def test_prune_does_not_ask_where_there_is_nothing_to_delete(copy: Path) -> None:
    done = run("prune", root=copy)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "nothing to delete"


@pytest.mark.parametrize(
    ("group", "listed"),
    [
        ((), {name for section in cli.SECTIONS.values() for name in section}),
        (("admin",), set(cli.ADMIN)),
    ],
    ids=["all", "admin"],
)
def test_help_lists_commands_with_a_complete_sentence(group, listed) -> None:
    help_text = run(*group, "--help").stdout.split("Options of commands:")[0]
    pages = help_text.split("Options:\n")[1].split("\n\n", 1)[1]
    described = {line.split()[0]: line for line in pages.splitlines() if line.startswith("  ")}
    assert set(described) == listed
    assert len(listed) <= 14
    assert all(line.endswith(".") and "..." not in line for line in described.values())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(command: str) -> None:
    text = run(command, "--help").stdout
    assert re.search(rf"Examples?:\n\n +hwprices (admin |show |cite |export )?{command}", text)
    assert "<bool>" not in text


@pytest.mark.parametrize(
    "command",
    [[str(Path(sys.executable).with_name("hwprices"))], [sys.executable, "-m", "hwprices"]],
    ids=["script", "module"],
)
def test_the_package_runs_as_script_and_as_module(command: list[str]) -> None:
    result = processes.run(*command, "--version")
    assert result.stdout.strip() == f"hwprices {hwprices.__version__}"


def test_each_command_has_a_help() -> None:
    assert sorted(cli.HELP) == sorted(cli.COMMANDS)


def test_help_imports_no_polars() -> None:
    code = "import sys, hwprices.cli; print([m for m in ('polars', 'duckdb') if m in sys.modules])"
    assert processes.python("-c", code).stdout.strip() == "[]"


FIND = """
import sys
from importlib import import_module
from hwprices import cli
from hwprices.specs import csv_rows
from hwprices.cli import app
app(["find", "--root", sys.argv[1]], standalone_mode=False)
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""

UNNECESSARY = {"duckdb", "jinja2", "numpy", "pandas", "pyarrow", "yaml"}
"""What ``find`` can do without, and what takes long to import."""


@pytest.mark.parametrize("command", [["coverage"], ["device", "h100-sxm"]])
def test_no_line_in_a_pipe_ends_in_blanks(root: Path, command: list[str]) -> None:
    lines = run(*command, root=root).stdout.splitlines()
    assert len(lines) > 3
    assert lines == [line.rstrip() for line in lines]


def test_find_imports_only_what_it_needs(root: Path) -> None:
    command = [sys.executable, "-c", FIND, str(root)]
    result = processes.run(*command)
    assert "offers" in result.stdout
    imported = set(result.stderr.splitlines())
    assert "polars" in imported
    assert not imported & (UNNECESSARY | {"hwprices.publish", "hwprices.providers", "prefect"})


def hwprices_to(
    stdout: int | IO[bytes], *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    """Call the command in a process of its own, with this stdout."""
    return subprocess.run(
        [sys.executable, "-m", "hwprices", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
        check=False,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("command", [["releases"], ["releases", "--json"], ["find", "--help"]])
def test_a_full_disk_is_an_error_of_one_line(root: Path, command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        result = hwprices_to(full, *command, HWPRICES_ROOT=str(root))
    assert result.stderr.decode() == (
        "error: cannot write the output: No space left on device. Make room where it goes.\n"
    )
    assert result.returncode == 1


@pytest.mark.parametrize("command", [["releases"], ["releases", "--json"], ["find", "--help"]])
def test_a_reader_that_went_away_is_no_error(root: Path, command: list[str]) -> None:
    ours, its = os.pipe()
    os.close(ours)
    result = hwprices_to(its, *command, HWPRICES_ROOT=str(root))
    os.close(its)
    assert result.stderr == b""


def test_a_reader_that_went_away_before_the_last_words_is_no_error() -> None:
    """What a command leaves in Python's buffer is written when Typer has ended."""
    program = "import hwprices.cli as cli; cli.app = lambda **_: print('rest'); cli.main()"
    ours, its = os.pipe()
    os.close(ours)
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, stdout=its, stderr=subprocess.PIPE, check=False)
    os.close(its)
    assert (result.returncode, result.stderr) == (1, b"")


def test_a_closed_stdout_takes_everything(root: Path) -> None:
    command = f'"{sys.executable}" -m hwprices show releases --root "{root}" >&-'
    result = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


QUERY = ["query", "select '8 H100 ' || chr(8776) as machine"]


@pytest.mark.parametrize(
    ("environment", "written"),
    [
        ({"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, "8 H100 ≈"),
        ({"PYTHONIOENCODING": "latin-1"}, "8 H100 ?"),
        ({"PYTHONIOENCODING": "utf-8"}, "8 H100 ≈"),
    ],
)
def test_a_locale_without_utf8_is_no_obstacle(root, environment, written) -> None:
    """Unless the user names an encoding, a file or pipe gets UTF-8."""
    result = hwprices_to(subprocess.PIPE, *QUERY, "--root", str(root), **environment)
    assert written in result.stdout.decode()
    assert result.returncode == 0
