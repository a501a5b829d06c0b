"""The environment of processes that run Prefect: none of the caller's settings or credentials."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.helpers.sample_release import made_once

PRIVATE = ("PREFECT_", "HWPRICES_", "AWS_", "AZURE_", "GOOGLE_")


def clean_environment(prefect_home: Path | None = None) -> dict[str, str]:
    """Return the environment for a child process.

    Prefect keeps its state in ``prefect_home``; without one it is where the command puts it.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith(PRIVATE)}
    variables |= {"NO_COLOR": "1", "COLUMNS": "200"}
    variables |= {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    if prefect_home is not None:
        variables["PREFECT_HOME"] = str(prefect_home)
    return variables


def migrated_home(factory: pytest.TempPathFactory, home: Path) -> Path:
    """Fill a home of Prefect with an empty database of today's schema, and return it.

    Prefect builds a new database in hundreds of migrations: 6 s of CPU, here once for all workers.
    """

    def migrate(made: Path) -> None:
        command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        environment = clean_environment(made)
        subprocess.run(command, env=environment, cwd=made.parent, check=True)

    return shutil.copytree(made_once(factory, "prefect", migrate), home, dirs_exist_ok=True)


@contextlib.contextmanager
def own_signals() -> Iterator[None]:
    """Give this process its signal handlers back after the block."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def refresh_here(environment: Mapping[str, str], folder: Path, *arguments: str) -> Result:
    """Run ``hwprices admin refresh`` in this process, for the server that ``environment`` names.

    A process of its own imports Prefect first: 5 s of CPU. The console shows no logs of Prefect:
    the command turns them off before it imports Prefect.
    """
    from prefect.logging.handlers import PrefectConsoleHandler
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    from hwprices.cli import app

    names = (PREFECT_API_URL, PREFECT_HOME)
    with (
        own_signals(),
        mock.patch.dict(os.environ, environment, clear=True),
        contextlib.chdir(folder),
        temporary_settings({name: environment[name.name] for name in names}),
        mock.patch.object(PrefectConsoleHandler, "emit"),
    ):
        return CliRunner().invoke(app, ["refresh", *arguments])
