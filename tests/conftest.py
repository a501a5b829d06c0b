"""What all tests share: the research folder, and servers on loopback."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.stub_server import StubServer

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED.is_dir():
        return
    for item in items:
        if item.get_closest_marker("shared") and not os.environ.get("CI"):
            item.add_marker(
                pytest.mark.skip(
                    reason="needs ../shared, the research folder beside the project, which is not here"
                )
            )


@pytest.fixture(scope="session")
def shared() -> Path:
    """The research folder. In CI its absence is a failure, elsewhere a skip."""
    assert SHARED.is_dir(), "CI needs ../shared beside the checkout"
    return SHARED


@pytest.fixture(scope="session")
def project() -> Path:
    return PROJECT


@pytest.fixture
def stub() -> Iterator[Callable[[], StubServer]]:
    """Start servers on loopback; they end with the test."""
    servers: list[StubServer] = []

    def start() -> StubServer:
        servers.append(StubServer().start())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
