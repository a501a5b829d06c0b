"""Share what all tests use: paths, servers on loopback, and the rules for the ``shared`` marker."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import disk_usage

import pytest

from tests.helpers.nightly import NIGHTLY
from tests.helpers.stub_server import StubServer

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared"


def keep_bytecode() -> None:
    """Compile each module once, here and in the processes that tests start.

    Where PYTHONDONTWRITEBYTECODE is set, each process compiles all that it imports: 7 s of CPU for
    Prefect, 10 s for the tests.
    """
    folder = Path(sys.prefix, "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    sys.dont_write_bytecode = False
    of_copies = folder / Path(tempfile.gettempdir()).relative_to("/")
    atexit.register(shutil.rmtree, of_copies, ignore_errors=True)


def keep_files_in_memory() -> None:
    """Put temporary files of tests, and of the processes that they start, into memory.

    To make, sync and delete a file on a disk takes 20 times as much processor time as in memory,
    and 5 ms of waiting. A daytime run has up to 0.2 GB of files; a container's memory folder often
    has only 64 MB.
    """
    memory = Path("/dev/shm")
    is_free = not NIGHTLY and "TMPDIR" not in os.environ and memory.is_dir()
    if is_free and disk_usage(memory).free > 4 << 30:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


keep_files_in_memory()

# The workers of pytest-xdist inherit the folder.
if "PYTHONDONTWRITEBYTECODE" in os.environ:
    keep_bytecode()


def pytest_configure() -> None:
    """Limit hypothesis: by day to few examples, the same in every run; at night they are new ones.

    Examples of one test may differ in time on a busy machine. pytest has a limit for each test.
    """
    import hypothesis  # 2 s of CPU where its bytecode is not kept

    hypothesis.settings.register_profile(
        "hwprices", deadline=None, derandomize=not NIGHTLY, max_examples=100 if NIGHTLY else 30
    )
    hypothesis.settings.load_profile("hwprices")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``shared`` where ../shared is absent, unless it is required.

    With HWPRICES_REQUIRE_SHARED=1 they run and fail, so that a machine that should have the folder
    cannot lose these tests unnoticed.
    """
    if SHARED.is_dir() or os.environ.get("HWPRICES_REQUIRE_SHARED") == "1":
        return
    skip = pytest.mark.skip(reason="extra check against recordings in ../shared, which is absent")
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Take what is imported out of garbage collection, which looked through it: 5 % of the CPU."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the end of the program free it, or extensions report leaks."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of recordings beside the checkout."""
    if not SHARED.is_dir():
        pytest.fail(f"HWPRICES_REQUIRE_SHARED is 1, and {SHARED} is not a folder")
    return SHARED


@pytest.fixture(scope="session")
def project() -> Path:
    """Return the root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def sample_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a release of the whole bundled sample. Read only."""
    from tests.helpers.sample_release import sample_release  # it imports the pipeline

    return sample_release(tmp_path_factory)


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small release of three clouds; see tests/helpers/market.py. Read only."""
    from tests.helpers import market  # it imports the pipeline
    from tests.helpers.sample_release import made_once

    return made_once(tmp_path_factory, "market", market.publish)


@pytest.fixture
def stub() -> Iterator[Callable[[], StubServer]]:
    """Start servers on loopback; they stop when the test ends."""
    servers: list[StubServer] = []

    def start() -> StubServer:
        servers.append(StubServer().start())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
