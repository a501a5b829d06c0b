"""The Prefect flows, and the environment variables that Prefect and polars read when imported.

Nothing else in the project imports Prefect. A variable that is already set is not changed. An empty
variable of Prefect counts as not set, because compose files and unit files may set it empty. Signal
handling is here too.
"""

import contextlib
import ctypes
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from hwprices.errors import HwpricesError, first_line
from hwprices.settings import OBJECT_STORES

PREFECT = [sys.executable, "-m", "prefect"]
"""Prefect's command."""

STARTUP_LIMIT = 300
"""Seconds to wait for a server to start. With a new database it took 10 to 34 s on 2 cores, and
110 s on 2 cores shared with four other programs; Prefect's limit is 20 s."""

ALLOCATOR = f"narenas:{os.cpu_count() or 1},dirty_decay_ms:5000,muzzy_decay_ms:0"
"""Options of jemalloc, which manages polars' memory on Linux. One pool per core instead of four,
and keeping freed pages for 5 s instead of half a second, saves processor time. polars appends the
variable to its own options, and the last value of an option counts.
https://jemalloc.net/jemalloc.3.html#tuning and https://github.com/pola-rs/polars/pull/21829"""

M_ARENA_MAX = -8
"""Option of glibc's malloc: number of arenas. By default there are eight per core, each with its
own free memory: half a gigabyte after staging the prices of AWS.
https://man7.org/linux/man-pages/man3/mallopt.3.html"""

RUNS_KEPT_DAYS = 30
"""Days for which Prefect keeps the records of a run; by default they are never deleted. The gate
also looks back a month."""

DEFAULTS = {
    "_RJEM_MALLOC_CONF": ALLOCATOR,
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(STARTUP_LIMIT),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # Without these two the server sends no logs, and --watch only shows events.
    "PREFECT_SERVER_LOGS_STREAM_OUT_ENABLED": "true",
    "PREFECT_SERVER_LOGS_STREAM_PUBLISHING_ENABLED": "true",
    # By default the server records each state of a task in a separate transaction. SQLite allows
    # one writer at a time: after Azure's 240 units the next provider waited for 14 s. Recording up
    # to 50 states together, at least once a second, takes 1 to 3 s.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "50",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    # By default only old events are deleted, not flow runs with their tasks, logs and artifacts.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(RUNS_KEPT_DAYS * 24 * 60 * 60),
    "DO_NOT_TRACK": "1",
}
"""For every process that runs a flow."""

CONSOLE = {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"}
"""A worker's terminal only shows warnings, and a line for each run (progress.finish); all lines
would be 900 a day. The server shows them with each run. This is an item of Prefect's logging.yml,
not a setting."""

QUIET = {"PREFECT_LOGGING_LEVEL": "CRITICAL", "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL"}
"""For a command that shows its own progress. A worker keeps Prefect's logging."""

STARTUP_SECONDS, FIRST_STARTUP_SECONDS = 10, 20
"""Measured on a machine with 2 cores: 6 and 12 s until the first flow runs.
Slower machines take longer."""


def set_defaults() -> None:
    """Set the defaults of all processes."""
    _set({**DEFAULTS, **CONSOLE})
    _use_one_arena()


def check_prefect_settings() -> None:
    """Import Prefect, which reads its settings.

    Raises:
        HwpricesError: a variable or file has an invalid value, or a file cannot be read.
    """
    # Prefect prints some errors before it raises them: show them only once.
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
    """Describe in one line what is wrong with Prefect's settings, and where if known.

    Values are not quoted, because they may be passwords.
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
    """Set the defaults of a command that shows its own progress, and Prefect's home."""
    _set({**DEFAULTS, **QUIET})
    _use_one_arena()
    set_home(root)


def set_home(root: str) -> None:
    """Make ``.prefect`` below the root the home of Prefect's database and results.

    An object store cannot hold a database: then it is below ``data`` in the working directory. Does
    nothing if PREFECT_HOME is set.
    """
    if "PREFECT_HOME" in os.environ:
        return
    kept = Path("data" if root.startswith(OBJECT_STORES) else root).expanduser()
    folder = kept.resolve() / ".prefect"
    try:
        # Prefect makes its folder, but not the parents.
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
    """Estimate how long Prefect's server takes to start: longer with a new database."""
    known = Path(os.environ["PREFECT_HOME"], "prefect.db").exists()
    return STARTUP_SECONDS if known else FIRST_STARTUP_SECONDS


def _set(variables: dict[str, str]) -> None:
    """Remove empty variables of Prefect, then set the variables that are not set."""
    for name, value in list(os.environ.items()):
        if name.startswith("PREFECT_") and not value:
            del os.environ[name]
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def _use_one_arena() -> None:
    """Make malloc use one arena, unless MALLOC_ARENA_MAX is set."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(AttributeError):  # the C library is not glibc
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


ENDING = (signal.SIGTERM, signal.SIGHUP)
"""``kill``, ``docker stop`` and systemd send SIGTERM; closing a terminal sends SIGHUP. Without a
handler Python would end immediately and leave child processes running. Ctrl-C already raises
KeyboardInterrupt."""


def handle_ending(handler: Callable[[int, FrameType | None], None]) -> None:
    """Set the handler of SIGTERM and SIGHUP, which raises an error to end the program.

    Ignored signals, such as SIGHUP under ``nohup``, stay ignored.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Handle the signals that end a program after the block, in which an error may be lost.

    pydantic, which Prefect's import calls, ignores a KeyboardInterrupt while it makes a schema.
    """
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    heeded = [
        number for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)
    ]
    for number in heeded:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, handlers[number])
    if received:
        signal.raise_signal(received[0])


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """End the program like Ctrl-C; a handler for ``handle_ending``."""
    raise KeyboardInterrupt


set_defaults()
