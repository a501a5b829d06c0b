"""Prefect servers for the tests of this folder, which end with those that use them.

A server without work keeps a processor busy too.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import flows_environment
from tests.helpers.flows_environment import migrated_home
from tests.helpers.nightly import NIGHTLY
from tests.helpers.prefect_server import Server, running_server

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


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Give this process its signal handlers back after the test."""
    with flows_environment.own_signals():
        yield
