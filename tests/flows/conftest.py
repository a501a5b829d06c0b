"""Prefect servers for the tests of this folder, which end with those that use them.

A server without work keeps a processor busy too.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from hwprices.flows import prefect_server as own_server
from tests.helpers.flows_environment import clean_environment, migrated_home
from tests.helpers.nightly import NIGHTLY
from tests.helpers.prefect_server import NO_SERVER, Server, running_server

CANARY = "c4n4ry4711k4n4r13nv0g3l"

CREDENTIALS = {
    name: f"{CANARY}-{name}"
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "AZURE_SUBSCRIPTION_ID",
        "HWPRICES_GCP_API_KEY",
    )
}
"""Credentials in the environment of the worker and the flows."""


def scope_of_server(fixture_name: str, config: pytest.Config) -> str:
    """Several files use the server at night. By day one does, and the server ends with it."""
    return "package" if NIGHTLY else "module"


@pytest.fixture(scope=scope_of_server)
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated_home(tmp_path_factory, tmp_path_factory.mktemp("prefect"))


@pytest.fixture(scope=scope_of_server)
def prefect_server(prefect_home: Path, project: Path) -> Iterator[Server]:
    with running_server(project, prefect_home, **CREDENTIALS) as server:
        yield server


@pytest.fixture(scope="module")
def server_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands that use a Prefect server: one without worker or deployments.

    It is up in a fifth of the time of ``prefect_server``, and no vendor can be reached either.
    """
    environment = clean_environment(
        migrated_home(tmp_path_factory, tmp_path_factory.mktemp("home"))
    )
    with mock.patch.dict(os.environ, environment, clear=True):
        server = own_server.Server()
    proxies = {"HTTPS_PROXY": NO_SERVER, "NO_PROXY": "127.0.0.1"}
    try:
        server.wait()
        yield {**environment, **proxies, "PREFECT_API_URL": server.api}
    finally:
        server.stop()


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Give this process its signal handlers back after the test."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)
