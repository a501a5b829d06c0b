"""Share what tests of several providers need."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.stub_server import StubServer
from tests.helpers.vendor_tables import Tables, read_sample

from hwprices.collect import Collector
from hwprices.landing.pages import Unit, UnitResult
from hwprices.settings import load


@pytest.fixture(scope="module")
def sample(request: pytest.FixtureRequest, project: Path) -> Tables:
    """The tables of the bundled sample of the provider whose folder the test is in."""
    return read_sample(request.path.parent.name, project)


@pytest.fixture
def live(
    stub: Callable[[], StubServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., StubServer]:
    """Start a server for a live run; ``live(linode_url="/v4")`` points that setting to its path."""

    def start(**paths: str) -> StubServer:
        server = stub()
        common = {"root": str(tmp_path), "source": "live", "attempts": "1"}
        addresses = {name: server.url + path for name, path in paths.items()}
        for name, text in (common | addresses).items():
            monkeypatch.setenv(f"HWPRICES_{name.upper()}", text)
        return server

    return start


@pytest.fixture
def fetch() -> Callable[..., UnitResult]:
    """Fetch one unit by the settings of the environment."""

    def one(provider: str, kind: str, *region: str) -> UnitResult:
        with Collector(provider, load()) as collector:
            return collector.fetch(Unit(provider, kind, *region))

    return one
