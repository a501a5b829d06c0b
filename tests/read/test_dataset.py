"""The package's functions on a small dataset."""

import ast
import copy
import inspect
import json
import os
import pickle
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml
from tests.helpers import processes
from tests.helpers.cases import cases
from tests.helpers.releases import fleet, stage
from tests.helpers.terminal import run

import hwprices
from hwprices.cli import COMMANDS
from hwprices.read import dataset as reading
from hwprices.read.export.cells import to_json
from hwprices.read.find.names import ReleaseWords
from hwprices.release.release import DAMAGED
from hwprices.schemas.tables import TABLES
from hwprices.storage.store import Store

IMPORT_THE_READER = """
import importlib, pkgutil, sys
import hwprices.cli, hwprices.read
for package in (hwprices.cli, hwprices.read):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name not in {"hwprices.cli.refresh", "hwprices.cli.status"}:
            importlib.import_module(module.name)
print(*sorted(sys.modules), sep="\\n")
"""

PIPELINE = {
    *("azure", "boto3", "google.cloud", "httpx", "pandera"),
    *("polars_hash", "prefect", "pyarrow", "pydantic_settings"),
}
"""What only ``hwprices[pipeline]`` installs."""


IMPORT_THE_PACKAGE = """
import sys, hwprices
hwprices.open
print(*sorted(sys.modules), sep="\\n")
"""

NEEDED_LATER = {
    *("duckdb", "hwprices.release.manifest", "msgspec", "numpy"),
    *("pydantic", "rich", "typer", "yaml"),
}
"""What takes long to import, and what no program needs that only imports the package."""


@pytest.fixture(scope="module")
def dataset(twenty: Path) -> hwprices.Dataset:
    return hwprices.open(twenty)


def test_a_table_is_an_attribute(dataset: hwprices.Dataset) -> None:
    assert dataset.prices.collect().height == 20
    assert "prices" in dir(dataset)
    with pytest.raises(AttributeError, match="no_such_table"):
        _ = dataset.no_such_table


def test_the_error_for_an_unknown_table_lists_the_tables(dataset: hwprices.Dataset) -> None:
    with pytest.raises(
        hwprices.HwpricesError, match=r"has no table 'nothing'.*There are: .*prices"
    ):
        dataset.scan("nothing")


def test_repr_shows_version_and_rows(dataset: hwprices.Dataset) -> None:
    assert "20260801T000000Z" in repr(dataset)
    assert "prices 20" in repr(dataset)


def test_a_dataset_whose_connection_was_used_can_be_copied_and_pickled(dataset) -> None:
    query = "select count(*) from prices"
    rows = dataset.duckdb.sql(query).fetchall()
    words = ReleaseWords.of(dataset)
    assert ReleaseWords.of(dataset) is words, "they are read once"
    for copied in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert copied.duckdb is not dataset.duckdb
        assert ReleaseWords.of(copied) is not words
        assert copied.duckdb.sql(query).fetchall() == rows


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import hwprices
data = hwprices.open(sys.argv[1])
frame = data.query("select effective_hourly, observed_at, flags, 1::hugeint as h from prices")
print(*frame.schema.dtypes(), frame.height, sep="; ")
"""


def test_a_query_gives_a_frame_without_pyarrow(dataset: hwprices.Dataset) -> None:
    """``duckdb.sql(…).pl()`` needs pyarrow, which the reader does not install."""
    result = processes.python("-c", WITHOUT_PYARROW, dataset.store.root)
    assert (result.stdout.strip(), result.stderr) == (
        "Decimal(precision=20, scale=10); Datetime(time_unit='us', time_zone='UTC'); List(String); "
        "Decimal(precision=38, scale=0); 20",
        "",
    )


def test_queries_share_a_connection(dataset: hwprices.Dataset) -> None:
    data = copy.copy(dataset)
    data.query("create table mine as select 7 as n")
    assert data.query("select n from mine").item() == 7
    assert data.query("select n from mine where n < 7").schema == {"n": pl.Int32}


@pytest.mark.parametrize("empty", ["", " \n", ";", "-- a comment", "/* another */ ; "])
def test_an_empty_query_is_an_error(dataset: hwprices.Dataset, empty: str) -> None:
    with pytest.raises(hwprices.HwpricesError, match=r"^the query is empty\. Write SQL: "):
        dataset.query(empty)


@cases("read/wrong_queries")
def test_a_wrong_query_is_an_error_of_one_line(dataset, sql, words) -> None:
    with pytest.raises(hwprices.HwpricesError, match=words):
        dataset.query(sql)


def test_threads_may_ask_one_dataset(dataset: hwprices.Dataset) -> None:
    """DuckDB refuses a busy connection: of 240 queries of eight threads 222 failed."""
    data = copy.copy(dataset)

    def ask(number: int) -> int:
        answer: int = data.query(f"select {number} + 0 * count(*) from range(200000)").item()
        return answer

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(64))) == list(range(64))


def test_a_dataset_stays_the_same_in_another_working_directory(dataset, monkeypatch, tmp_path):
    root = Path(dataset.store.root)
    monkeypatch.chdir(root.parent)
    data = hwprices.open(root.name)
    monkeypatch.chdir(tmp_path)
    assert data.verify() == []
    assert data.prices.collect().height == 20
    assert pickle.loads(pickle.dumps(data)).query("select count(*) from prices").item() == 20


def test_with_closes_the_connection(dataset: hwprices.Dataset) -> None:
    data = copy.copy(dataset)
    with data.duckdb as connection:
        assert connection.sql("select 1").fetchall() == [(1,)]
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        data.duckdb.sql("select 1")


IN_UTC = """
import sys, hwprices
data = hwprices.open(sys.argv[1])
sql = "select timestamptz '2026-08-01 02:00:00+00' as t, date_trunc('day', t)::varchar as day"
for connection in (data.duckdb, data.duckdb.cursor(), data.unsafe_duckdb()):
    print(connection.sql(sql).pl().schema["t"].time_zone, connection.sql(sql).fetchall()[0][1])
"""


def test_sql_gives_times_in_utc_on_every_machine(dataset: hwprices.Dataset) -> None:
    elsewhere = os.environ | {"TZ": "America/New_York"}
    result = processes.python("-c", IN_UTC, dataset.store.root, env=elsewhere)
    assert result.stdout.splitlines() == ["UTC 2026-08-01 00:00:00+00"] * 3


PLACES = {"a directory": Path.mkdir, "a pipe or device": os.mkfifo}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_not_read_as_one(dataset, tmp_path, place) -> None:
    """polars read a directory beside other files as no rows, and waited for a pipe for ever."""
    shutil.copytree(dataset.store.root, tmp_path / "data")
    data = hwprices.open(tmp_path / "data")
    (file,) = data.files("offers")
    Path(file).unlink()
    PLACES[place](Path(file))
    error = f"{file} is {place}, not a file"
    asked = [
        lambda: data.offers,
        lambda: data.scan("offers"),
        lambda: data.find("m0"),
        lambda: data.duckdb,
        data.unsafe_duckdb,
    ]
    for question in asked:
        with pytest.raises(hwprices.HwpricesError) as raised:
            question()
        assert (raised.value.message, raised.value.remedy) == (error, DAMAGED)
    assert data.prices.collect().height == 20
    assert data.verify() == [error]


def test_a_wrong_root_is_not_a_dataset_without_releases(tmp_path: Path) -> None:
    """A monitor of a mistyped root saw an empty dataset for ever."""
    for root in (tmp_path / "nope", tmp_path):
        with pytest.raises(hwprices.HwpricesError, match=f"no release or other data in {root}"):
            hwprices.releases(root)
    stage(Store(tmp_path), "r1", fleet(1))
    assert hwprices.releases(tmp_path) == []


def test_public_names_are_imported_when_used() -> None:
    assert set(hwprices.__all__) <= set(dir(hwprices))
    for name in hwprices.__all__:
        assert getattr(hwprices, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hwprices.no_such_name


def test_no_module_of_the_reader_needs_the_pipeline() -> None:
    modules = set(processes.python("-c", IMPORT_THE_READER).stdout.split())
    assert {"hwprices.read.device", "hwprices.read.recommend.recommend"} <= modules
    assert modules & PIPELINE == set()


def test_the_package_imports_little_besides_polars() -> None:
    modules = set(processes.python("-c", IMPORT_THE_PACKAGE).stdout.split())
    assert {"hwprices.read.dataset", "polars"} <= modules
    assert modules & NEEDED_LATER == set()


def test_a_type_checker_knows_every_table_and_no_other_name() -> None:
    (declared,) = (
        node
        for node in ast.walk(ast.parse(Path(reading.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.If) and node.orelse and "TYPE_CHECKING" in ast.unparse(node.test)
    )
    names = [ast.unparse(node.target) for node in declared.body if isinstance(node, ast.AnnAssign)]
    assert names == list(TABLES)


def test_a_type_checker_knows_every_public_name() -> None:
    """Names are imported when they are used: for a type checker they are written a second time."""
    tree = ast.parse(Path(hwprices.__file__).read_text(encoding="utf-8"))
    (declared,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = {
        alias.name: node.module
        for node in declared.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = {name: getattr(hwprices, name).__module__ for name in hwprices.__all__}
    assert imports == modules == hwprices._MODULES


def test_recommend_takes_the_same_as_function_and_method() -> None:
    function = dict(inspect.signature(hwprices.recommend).parameters)
    method = dict(inspect.signature(hwprices.Dataset.recommend).parameters)
    del function["dataset"], method["self"]
    assert list(method) == list(function)
    for name, parameter in method.items():
        assert parameter.kind is function[name].kind
        if name != "ownership":  # its default would have to be imported
            assert parameter.default == function[name].default


OF_PROGRAMS = {"show", "report", "releases", "quarantine", "prune", "sheets", "recheck", "mcp"}
OF_PIPELINE = {"refresh", "preflight", "serve", "deploy", "worker", "reproduce", "backfill"}


def test_what_commands_answer_methods_answer() -> None:
    assert COMMANDS.keys() >= OF_PROGRAMS | OF_PIPELINE
    answers = COMMANDS.keys() - OF_PROGRAMS - OF_PIPELINE
    methods = {name for name in answers if callable(getattr(hwprices.Dataset, name, None))}
    assert methods == answers


@cases("read/methods", arguments=yaml.safe_load)
def test_a_method_answers_as_its_command(market, command, method, arguments) -> None:
    result = run(*shlex.split(command), "--json", root=market)
    assert result.exit_code == 0, result.stderr
    if "ownership" in arguments:
        arguments = {"ownership": hwprices.Ownership(**arguments["ownership"])}
    names = arguments.pop("names", [])
    answer = getattr(hwprices.open(market), method)(*names, **arguments)
    values = answer.to_dicts() if isinstance(answer, pl.DataFrame) else answer.to_dict()
    assert json.loads(result.stdout) == json.loads(to_json(values))
