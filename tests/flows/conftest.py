"""One Prefect server for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.prefect_server import Server, running_server


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Server]:
    with running_server(project, tmp_path_factory.mktemp("prefect")) as server:
        yield server
