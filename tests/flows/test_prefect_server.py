"""The Prefect server that a command starts for itself, and servers that do not work."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
import sqlalchemy.exc

from hwprices.cli import refresh as command
from hwprices.errors import HwpricesError
from hwprices.flows import prefect_server
from hwprices.landing.download import NO_HOST, NO_HOST_REMEDY
from tests.helpers import processes
from tests.helpers.flows_environment import clean_environment, migrated_home, refresh_here
from tests.helpers.stub_server import Reply

SMALL = ["--provider", "lambda", "--provider", "scaleway"]
"""Providers whose sample is a page each."""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """An empty working directory, and an environment that has Prefect's home only."""
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(os.environ, {"PREFECT_HOME": str(tmp_path / "home")}, clear=True):
        (tmp_path / "home").mkdir()
        yield os.environ  # type: ignore[misc]


def test_a_server_is_needed_where_no_setting_names_one(settings: dict[str, str]) -> None:
    assert prefect_server.is_needed()
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n")
    Path(".env").write_text("HWPRICES_ROOT=data\n")
    assert prefect_server.is_needed()


@pytest.mark.parametrize("variable", ["PREFECT_API_URL", "PREFECT_PROFILES_PATH"])
def test_none_is_needed_where_a_variable_names_one(settings: dict[str, str], variable: str) -> None:
    settings[variable] = "something"
    assert not prefect_server.is_needed()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("prefect.toml", "[api]\nurl = 'http://prefect:4200/api'\n"),
        ("pyproject.toml", "[tool.prefect.api]\nurl = 'http://prefect:4200/api'\n"),
        (".env", "PREFECT_API_URL=http://prefect:4200/api\n"),
        ("home/profiles.toml", "active = 'mine'\n"),
    ],
)
def test_prefects_own_files_are_left_to_prefect(settings, file, text) -> None:
    Path(file).write_text(text)
    assert not prefect_server.is_needed()


def test_a_file_that_cannot_be_read_is_an_error_of_one_line(settings: dict[str, str]) -> None:
    """Running beside the protected .env of another program is usual."""
    Path(".env").write_text("PASSWORD=x\n")
    with (
        mock.patch.object(Path, "read_text", side_effect=PermissionError(13, "Permission denied")),
        pytest.raises(HwpricesError, match=r"cannot read .*/\.env, where Prefect .*: Permission"),
    ):
        prefect_server.is_needed()


def test_the_remedy_names_the_database_in_use(settings: dict[str, str]) -> None:
    assert f"If {settings['PREFECT_HOME']}/prefect.db is damaged" in prefect_server.remedy()
    settings["PREFECT_API_DATABASE_CONNECTION_URL"] = "postgresql+asyncpg://127.0.0.1:1/x"
    assert "prefect.db" not in prefect_server.remedy()
    assert "correct PREFECT_API_DATABASE_CONNECTION_URL" in prefect_server.remedy()


@pytest.mark.flow
def test_a_setting_that_prefect_does_not_take_is_an_error_of_one_line(tmp_path: Path) -> None:
    process = refresh(tmp_path / "data", PREFECT_LOGGING_LEVEL="FOO")
    _, errors = process.communicate()
    assert errors.splitlines()[-1].startswith("error: Prefect's settings cannot be used: Logging")
    assert errors.endswith("Correct PREFECT_LOGGING_LEVEL.\n")
    assert "Traceback" not in errors
    assert process.returncode == 2


def refresh(root: Path, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
    """Start the command for two small providers."""
    return subprocess.Popen(
        [sys.executable, "-m", "hwprices", "refresh", "--root", str(root), *SMALL, *arguments],
        cwd=root.parent,
        env={**clean_environment(), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.flow
def test_a_damaged_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Prefect itself starts its server anew for five minutes then."""
    database = tmp_path / "prefect.db"
    database.write_text("no database")
    with (
        mock.patch.dict(os.environ, clean_environment(tmp_path), clear=True),
        prefect_server.running() as server,
        pytest.raises(HwpricesError, match=r"^Prefect's server does not start: ") as error,
    ):
        server.wait()
    assert "file is not a database" in str(error.value)
    assert f"If {database} is damaged, delete it" in str(error.value)


@pytest.mark.flow
def test_a_server_that_is_not_there_is_an_error() -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    why = "^cannot use Prefect's server: Failed to reach API at http://127.* PREFECT_API_URL"
    nowhere = {PREFECT_API_URL: "http://127.0.0.1:1/api"}
    with temporary_settings(nowhere), pytest.raises(HwpricesError, match=why):
        prefect_server.check()


@pytest.mark.flow
def test_the_password_of_a_server_that_refuses_is_not_shown(tmp_path, stub) -> None:
    server = stub().on("/api/*", Reply.json({"detail": "Unauthorized"}, status=401))
    url = server.url.replace("://", "://me:c4n4ry4711@")
    environment = {**clean_environment(tmp_path), "PREFECT_API_URL": f"{url}/api"}
    done = refresh_here(environment, tmp_path, "--root", "data", *SMALL)
    [line] = done.stderr.splitlines()
    assert line.startswith("error: cannot use Prefect's server: Client error '401 ")
    assert "c4n4ry4711" not in done.output
    assert done.exit_code == 2


def test_a_failure_of_a_provider_quotes_no_password() -> None:
    from hwprices.flows import reports

    error = RuntimeError("no answer from http://me:c4n4ry4711@prefect:4200/api")
    line = reports.failure("aws", error)
    assert line == "aws: RuntimeError: no answer from http://(secret)@prefect:4200/api"


def test_a_server_whose_output_ends_before_itself_has_a_status(settings: dict[str, str]) -> None:
    """The system closes the files of a killed process before the process has ended."""
    slow_end = "import os, time; os.close(1); os.close(2); time.sleep(0.5); os._exit(3)"
    start = subprocess.Popen

    def start_other(_: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return start([sys.executable, "-c", slow_end], **options)

    with mock.patch.object(subprocess, "Popen", start_other):
        server = prefect_server.Server()
    ended = threading.Event()
    server.watch(ended.set)
    assert ended.wait(60)
    assert server.last_error() == "it ended with status 3"
    server.stop()


@pytest.mark.flow
def test_a_server_that_dies_while_the_flow_runs_is_an_error_of_one_line(tmp_path_factory, tmp_path):
    """Prefect itself tries to reach it for minutes, once for each event that it has not sent."""
    migrated_home(tmp_path_factory, tmp_path / "data" / ".prefect")
    process = refresh(tmp_path / "data")
    assert process.stdout is not None
    for line in process.stdout:
        if "plan" in line:
            break
    [server] = [of for of in processes.running() if of.parent == process.pid]
    os.kill(server.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    [last] = errors.splitlines()
    assert last.startswith("error: Prefect's server failed, and with it the run: it ended with")
    assert "it ended with status -9" in last
    assert process.returncode == 2


def unrecorded(raised: Exception) -> httpx.HTTPError:
    """What Prefect's client raises if its server does not take the end of a flow that raised."""
    try:
        try:
            raise raised
        except Exception:
            try:
                raise ConnectionRefusedError(111, "Connection refused")
            except OSError as refused:
                raise httpx.ConnectError("no server") from refused
    except httpx.HTTPError as error:
        return error


def test_what_the_flow_raised_is_told_though_prefect_could_not_record_it(monkeypatch) -> None:
    from hwprices.flows.refresh import ProvidersFailedError

    monkeypatch.setenv("PREFECT_HOME", "/x/.prefect")
    for raised, first in (
        (ProvidersFailedError({"azure": "azure: no answer"}, None), "azure: no answer"),
        (HwpricesError("cannot write x", "Make room."), "cannot write x. Make room."),
        (KeyError("region"), "KeyError: 'region'"),
    ):
        outcome = command._outcome_of(unrecorded(raised), None)
        assert outcome.exit_status == 2
        assert outcome.failures[0] == first
        assert outcome.failures[1].startswith("Prefect's server failed, and its records of this")


def test_a_failed_connection_alone_is_told_once() -> None:
    outcome = command._outcome_of(httpx.ConnectError("no server"), None)
    assert len(outcome.failures) == 1
    assert "no server" in outcome.failures[0]


def test_providers_whose_hosts_were_not_found_are_one_line() -> None:
    from hwprices.flows.refresh import ProvidersFailedError

    lines = {name: f"{name}: https://{name}.com/ failed 2 times, last: {NO_HOST}. {NO_HOST_REMEDY}"
             for name in ("aws", "ovh")}  # fmt: skip
    lines["azure"] = "azure: no answer"
    outcome = command._outcome_of(ProvidersFailedError(lines, None), None)
    assert outcome.failures == [
        "azure: no answer", f"aws, ovh: the names of their hosts are not found. {NO_HOST_REMEDY}"
    ]  # fmt: skip


async def two_writers(url: str) -> None:
    """Run transactions that read, wait for each other, and then write, as Prefect's services do."""
    from prefect.server.database.configurations import AioSqliteConfiguration

    config = AioSqliteConfiguration(connection_url=url)
    engine = await config.engine()

    async def run(statement: str) -> None:
        session = await config.session(engine)
        async with session, config.begin_transaction(session):
            await session.execute(sqlalchemy.text("SELECT 1 FROM sqlite_master"))
            await asyncio.sleep(0.5)
            await session.execute(sqlalchemy.text(statement))

    await run("CREATE TABLE IF NOT EXISTS seen (number INTEGER)")
    await asyncio.gather(*(run(f"INSERT INTO seen VALUES ({n})") for n in range(3)))


def test_two_writers_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They gave 26 tracebacks of "database is locked" in two hours of ``hwprices admin serve``.

    Where Prefect's own server no longer fails, ``lock_before_reading`` can go.
    """
    from prefect.server.database.configurations import AioSqliteConfiguration

    own = AioSqliteConfiguration.begin_transaction
    monkeypatch.setattr(AioSqliteConfiguration, "begin_transaction", own)  # restored at the end
    url = f"sqlite+aiosqlite:///{tmp_path}/prefect.db"
    with pytest.raises(sqlalchemy.exc.OperationalError, match="database is locked"):
        asyncio.run(two_writers(url))
    prefect_server.lock_before_reading()
    asyncio.run(two_writers(url))
