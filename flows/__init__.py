"""The Prefect flows, and the environment variables that Prefect and polars read when imported.

Nothing else in the project imports Prefect. A variable that is already set stays as it is. An empty
one of Prefect counts as not set, as compose files and unit files write it. How a signal ends a run
is here too.
"""

import contextlib
import ctypes
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from hwprices.errors import HwpricesError, first_line
from hwprices.settings import OBJECT_STORES

PREFECT = [sys.executable, "-m", "prefect"]
"""Prefect's own command."""

STARTUP_LIMIT = 300
"""Seconds after which a server that does not answer is given up. With a new database it took 10 to
34 s on 2 cores, and 110 s on 2 cores that four other programs used; Prefect's own limit is 20 s."""

ALLOCATOR = f"narenas:{os.cpu_count() or 1},dirty_decay_ms:5000,muzzy_decay_ms:0"
"""Options of jemalloc, which manages polars' memory on Linux: one pool for each core in place of
four, and freed pages are kept for 5 s, where polars keeps them for half a second. That saves
processor time. polars appends the variable to its own options, and the last
one of a name counts. https://jemalloc.net/jemalloc.3.html#tuning and
https://github.com/pola-rs/polars/pull/21829"""

M_ARENA_MAX = -8
"""Option of glibc's malloc: in how many arenas it keeps memory. By default it has eight for each
core, by thread, and keeps what is free in each: half a gigabyte after the prices of AWS were
staged. https://man7.org/linux/man-pages/man3/mallopt.3.html"""

RUNS_KEPT_DAYS = 30
"""How long Prefect's records of a run are kept, in days; by default they stay for good. It is the
month that the gate looks back on, and that people ask about."""

DEFAULTS = {
    "_RJEM_MALLOC_CONF": ALLOCATOR,
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(STARTUP_LIMIT),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # Without these two the server sends no log, and --watch shows events only.
    "PREFECT_SERVER_LOGS_STREAM_OUT_ENABLED": "true",
    "PREFECT_SERVER_LOGS_STREAM_PUBLISHING_ENABLED": "true",
    # By default the server records each state of a task in a transaction of its own. SQLite lets
    # one write at a time: after the 240 units of Azure the next provider had to wait for 14 s. With
    # 50 states at once, and those of a second at the latest, it is 1 to 3 s.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    # By default old events are deleted, and flow runs with their tasks, logs and artifacts are not.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(RUNS_KEPT_DAYS * 24 * 60 * 60),
    "DO_NOT_TRACK": "1",
}
"""For every process that runs a flow."""

CONSOLE = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"}
"""On the screen of a worker: what went wrong, and a line for each run (progress.finish). The
server has all lines, and shows them with the run; on the screen they would be 900 a day. An item of
Prefect's logging.yml, and no setting."""

QUIET = {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL"}
"""For a command that shows its own progress; a worker's log stays as Prefect has it."""

STARTUP_SECONDS, FIRST_STARTUP_SECONDS = 10, 20
"""Measured on a machine with 2 cores: 6 and 12 s until the first flow runs.
Slower machines take longer."""


def set_defaults() -> None:
    """Set the defaults that every process needs."""
    _set({**DEFAULTS, **CONSOLE})
    _use_one_arena()


def check_prefect_settings() -> None:
    """Import Prefect, which reads its settings.

    Raises:
        HwpricesError: a variable or a file has a value that Prefect does not take, or a file cannot
            be read.
    """
    # Prefect writes some mistakes on the screen and raises them besides: they are shown once.
    with contextlib.redirect_stderr(io.StringIO()) as written:
        try:
            from prefect.settings import get_current_settings

            get_current_settings()
        except (OSError, ValueError) as error:
            reason, where = _reason_and_place(error)
            raise HwpricesError(
                f"Prefect's settings cannot be used: {reason}", f"Correct {where}."
            ) from None
    sys.stderr.write(written.getvalue())


def _reason_and_place(error: OSError | ValueError) -> tuple[str, str]:
    """Describe in one line what is wrong with Prefect's settings, and where if that is known.

    A value is not named: it may be a password.
    """
    from pydantic import ValidationError

    files = (
        "the variable PREFECT_…, or the file prefect.toml, pyproject.toml, .env or profiles.toml"
    )
    if not isinstance(error, ValidationError):
        return first_line(error), files
    first = error.errors()[0]
    setting = ".".join(str(part) for part in first["loc"])
    names = [n for n, v in os.environ.items() if n.startswith("PREFECT_") and v == first["input"]]
    return f"{error.title} {setting}: {first['msg']}", " or ".join(sorted(names)) or files


def set_command_defaults(root: str) -> None:
    """Set the defaults of a command that shows its own progress, and Prefect's folder."""
    _set({**DEFAULTS, **QUIET})
    _use_one_arena()
    set_home(root)


def set_home(root: str) -> None:
    """Make ``.prefect`` below the root, and let Prefect keep its database and results there.

    An object store cannot hold a database; the folder is then below ``data`` of the working
    directory. Nothing is done if PREFECT_HOME is set.
    """
    if "PREFECT_HOME" in os.environ:
        return
    kept = Path("data" if root.startswith(OBJECT_STORES) else root).expanduser()
    folder = kept.resolve() / ".prefect"
    try:
        # Prefect makes its folder, but not the one above it.
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HwpricesError(
            f"cannot write in {folder.parent}: {error.strerror or error}",
            "Set PREFECT_HOME to a folder for Prefect's state.",
        ) from None
    os.environ["PREFECT_HOME"] = str(folder)


def reach_directly(host: str) -> None:
    """Exclude a host from the environment's proxies, for the clients of Prefect's server."""
    others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = f"{others},{host}" if others else host


def startup_seconds() -> int:
    """Return the seconds that Prefect's server needs to start: more with a new database."""
    known = Path(os.environ["PREFECT_HOME"], "prefect.db").exists()
    return STARTUP_SECONDS if known else FIRST_STARTUP_SECONDS


def _set(variables: dict[str, str]) -> None:
    """Set the variables that are not set, after those of Prefect that are empty were removed."""
    for name, value in list(os.environ.items()):
        if name.startswith("PREFECT_") and not value:
            del os.environ[name]
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def _use_one_arena() -> None:
    """Make malloc keep freed memory in one place, unless MALLOC_ARENA_MAX says otherwise."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


ENDING = (signal.SIGTERM, signal.SIGHUP)
"""``kill``, ``docker stop`` and systemd send the first, a terminal that is closed the second.
Without a handler Python ends at once, and child processes stay. Ctrl-C raises KeyboardInterrupt
already."""


def handle_ending(handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle SIGTERM and SIGHUP with a function; it raises what ends the program.

    A signal that is ignored, as ``nohup`` does with SIGHUP, stays so.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the program as Ctrl-C does: a handler for ``handle_ending``."""
    raise KeyboardInterrupt


set_defaults()
