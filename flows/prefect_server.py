"""Run a Prefect server, or a command of Prefect, and end it with all processes it started.

Prefect itself would start a server if no setting names one, but only after all imports; it would
restart a server that cannot run (a full disk, a damaged database) for five minutes, and leave it
running if the command is killed. The server here starts during the imports, reports immediately why
it cannot run, and ends when its stdin is closed, which the system does for a killed command.
"""

import contextlib
import gc
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from hwprices import flows
from hwprices.errors import HwpricesError, first_line
from hwprices.flows import ENDING, PREFECT
from hwprices.landing.download import redact
from hwprices.storage.scratch import scratch_directory

COMMAND_STOP_SECONDS = 30
"""How long flows, and then a server, may take to end before they are killed. A flow takes seconds.
compose.yaml raises Docker's default of 10 s; systemd waits 90 s."""

WORKER_SECONDS = 3
"""How long a worker without flows may take to end before it is killed. Prefect 3.8's worker never
ends if a flow ends at the same moment, because it confuses the two cancellations. An idle worker
did not end within half a minute either."""

PROC = Path("/proc")
"""Linux's processes as files. macOS lacks it but always has ps; slim images lack ps."""


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    group: int


@contextlib.contextmanager
def running_command(
    *arguments: str, ends_within: float = COMMAND_STOP_SECONDS, program: Sequence[str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Prefect until the block ends, and end it with all processes it started.

    ``ends_within``: seconds that it may take to end after its flows. ``program`` replaces Prefect's
    command.
    """
    # a new process group: Ctrl-C only reaches this process, which ends the others in order
    process = subprocess.Popen([*(program or PREFECT), *arguments], start_new_session=True)
    try:
        yield process
    finally:
        _end(process, ends_within)


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """End a process and all processes it started, by SIGTERM, then SIGKILL.

    Prefect's worker starts each flow in a separate process group. Flows are ended before the
    worker, which would kill them before they can report a crash, or leave them running.
    """
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C would leave processes running
    flow_groups = _groups(process) - {process.pid}
    _signal(flow_groups, signal.SIGTERM)
    _wait_for(flow_groups, COMMAND_STOP_SECONDS)
    groups = flow_groups | _groups(process)  # a worker may have started another flow meanwhile
    _signal(groups, signal.SIGTERM)
    _wait_for(groups, seconds)
    _signal(groups, signal.SIGKILL)
    process.wait()


def _wait_for(groups: set[int], seconds: float) -> None:
    """Wait until no process of the groups is running, at most ``seconds``."""
    deadline = time.monotonic() + seconds
    while groups & {p.group for p in _processes()} and time.monotonic() < deadline:
        time.sleep(0.1)


def _groups(process: subprocess.Popen[bytes]) -> set[int]:
    """Return the process groups of a process and of its descendants."""
    listed = _processes()
    family, size = {process.pid}, 0
    while len(family) > size:
        size = len(family)
        family |= {p.pid for p in listed if p.parent in family}
    return {process.pid, *(p.group for p in listed if p.pid in family)}


def _processes() -> list[_Process]:
    """List the running processes of this machine, without zombies.

    In a container the first process adopts orphans, and their status may never be read.
    """
    rows = _rows_of_proc() if (PROC / "self").exists() else _rows_of_ps()
    return [
        _Process(int(pid), int(parent), int(group))
        for pid, state, parent, group in rows
        if not state.startswith("Z")
    ]


def _rows_of_proc() -> Iterator[list[str]]:
    for file in PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            # the name before the last bracket may contain blanks and brackets: proc(5)
            yield [file.parent.name, *file.read_text().rpartition(")")[2].split()[:3]]


def _rows_of_ps() -> Iterator[list[str]]:
    command = ["ps", "-A", "-o", "pid=,stat=,ppid=,pgid="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    yield from map(str.split, listed.splitlines())


def _signal(groups: set[int], number: int) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)


HOST = "127.0.0.1"
SERVER_STOP_SECONDS = 10  # How long the server may take to end before it is killed

DATABASE_SETTINGS = (
    "PREFECT_API_DATABASE_CONNECTION_URL",
    "PREFECT_SERVER_DATABASE_CONNECTION_URL",
)
"""Each names another database than the file in PREFECT_HOME.
https://docs.prefect.io/v3/api-ref/settings-ref"""

LINES_KEPT = 200  # Lines of the server's output; a traceback of its database has about 100

ERROR_LINE = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception)\b: ?(.+)")
"""The line of a traceback with the message, such as ``sqlite3.DatabaseError: …``."""


def is_needed() -> bool:
    """Check whether this program has to start a server.

    It has to if neither a variable nor a file may have Prefect's settings. If there is such a file,
    Prefect reads it, and starts a server if it names none.
    https://docs.prefect.io/v3/concepts/settings-and-profiles
    """
    if "PREFECT_API_URL" in os.environ or "PREFECT_PROFILES_PATH" in os.environ:
        return False
    files = [Path("prefect.toml"), Path(os.environ["PREFECT_HOME"], "profiles.toml")]
    texts = {Path("pyproject.toml"): "[tool.prefect", Path(".env"): "PREFECT_"}
    return not any(file.exists() for file in files) and not any(
        file.is_file() and text in _text_of(file) for file, text in texts.items()
    )


def _text_of(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        raise HwpricesError(
            f"cannot read {file.absolute()}, where Prefect looks for its settings:"
            f" {error.strerror or error}",
            "Let this user read it, or run the command in another folder.",
        ) from None


@contextlib.contextmanager
def running() -> Iterator["Server"]:
    """Start a server, name it in PREFECT_API_URL, and end it after the block.

    Prefect's settings must not have been read before. The server may not be ready when the block
    begins: see ``Server.wait``.
    """
    server = Server()
    os.environ["PREFECT_API_URL"] = server.api
    flows.reach_directly(HOST)
    try:
        yield server
    finally:
        try:
            send_logs()
        finally:
            server.stop()


class Server:
    """A Prefect server in a separate process, at a free port of this machine."""

    def __init__(self) -> None:
        with socket.create_server((HOST, 0)) as listening:
            self.api = f"http://{HOST}:{listening.getsockname()[1]}/api"
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listening.fileno())],
                pass_fds=[listening.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C only reaches the command, which ends the server
            )
        self._is_stopping = False
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait(self) -> None:
        """Wait until the server responds.

        Raises:
            HwpricesError: it has ended, or does not respond within STARTUP_LIMIT.
        """
        deadline = time.monotonic() + flows.STARTUP_LIMIT
        while (left := deadline - time.monotonic()) > 0 and self._process.poll() is None:
            # it waits for the server, or fails at once when the server has ended
            if responds(self.api, left):
                return
            time.sleep(0.1)
        reason = self.last_error() or f"no answer in {flows.STARTUP_LIMIT} s"
        raise HwpricesError(f"Prefect's server does not start: {reason}", remedy())

    def watch(self, ended: Callable[[], None]) -> None:
        """Call a function in a separate thread if the server ends by itself."""

        def wait_for_the_end() -> None:
            self._reader.join()
            if not self._is_stopping:
                ended()

        threading.Thread(target=wait_for_the_end, daemon=True).start()

    def last_error(self) -> str | None:
        """Describe in one line the last error of the server; None if none is known."""
        if not self._reader.is_alive():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(SERVER_STOP_SECONDS)  # it ends a moment after its output
        status = self._process.poll()
        if status is not None:
            self._reader.join(SERVER_STOP_SECONDS)
        errors = [match[1] for line in self._lines if (match := ERROR_LINE.match(line))]
        if errors:
            return errors[-1]
        return None if status is None else f"it ended with status {status}"

    def stop(self) -> None:
        """End the server by closing its stdin; kill it if that fails."""
        self._is_stopping = True
        cast(BinaryIO, self._process.stdin).close()
        try:
            self._process.wait(SERVER_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        """Keep the last lines of the server's output, so that it never blocks on a full pipe."""
        for line in cast(BinaryIO, self._process.stdout):
            self._lines.append(line.decode(errors="replace").strip())


def responds(api: str, seconds: float) -> bool:
    """Request the health of a server; without httpx, which reads all trusted certificates first."""
    address = urlsplit(api)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=seconds)
    with contextlib.closing(connection):
        try:
            connection.request("GET", f"{address.path}/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False


@contextlib.contextmanager
def quick_client() -> Iterator[None]:
    """Turn off what only a permanent or remote server needs.

    Heartbeats tell a permanent server that a process was killed. Their thread sleeps for a second
    at a time, and Prefect waits for it at the end of each flow run: 11 s in a refresh of 21
    providers. For each flow run Prefect also requests a CSRF token and reads all trusted
    certificates (30 ms). The command's own server uses neither tokens nor TLS, so one certificate
    is enough.
    """
    import certifi
    from prefect.settings import (
        PREFECT_API_SSL_CERT_FILE,
        PREFECT_CLIENT_CSRF_SUPPORT_ENABLED,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        temporary_settings,
    )

    with scratch_directory() as folder:
        file = Path(folder) / "one.pem"
        first, end, _ = certifi.contents().partition("-----END CERTIFICATE-----")
        file.write_text(f"{first}{end}\n", encoding="utf-8")
        values = {
            PREFECT_API_SSL_CERT_FILE: str(file),
            PREFECT_CLIENT_CSRF_SUPPORT_ENABLED: False,
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
        }
        with temporary_settings(values):
            yield


def send_logs() -> None:
    """Send the logs that Prefect, which sends them every two seconds, has not sent yet.

    After the end of the server they would be lost, and the program would wait a minute for
    Prefect's attempts to send them. Takes at most 5 s; does nothing if no flow has run.
    """
    handlers = sys.modules.get("prefect.logging.handlers")
    if handlers is not None:
        handlers.APILogHandler().flush()


def check() -> None:
    """Reach the server that Prefect's settings name, or the one that Prefect starts.

    Raises:
        HwpricesError: it does not respond, refuses access, or has another version of Prefect.
    """
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectException

    try:
        with get_client(sync_client=True) as client:
            client.raise_for_api_version_mismatch()
    except (RuntimeError, httpx.HTTPError, PrefectException) as error:
        cause = f" ({_in_short(error.__cause__)})" if error.__cause__ else ""
        raise HwpricesError(
            f"cannot use Prefect's server: {_in_short(error)}{cause}",
            "Start the server that PREFECT_API_URL or Prefect's settings name; without them the"
            " command starts one of its own.",
        ) from None


def error_of(error: Exception, own_server: Server | None) -> HwpricesError:
    """Make the error for a server that failed while a flow ran, with its own reason if known."""
    reason = (own_server and own_server.last_error()) or _in_short(error)
    return HwpricesError(
        f"Prefect's server failed, and its records of this run are incomplete: {reason}",
        remedy() if own_server else "Look at the log of the server.",
    )


def _in_short(error: BaseException) -> str:
    """Return the message without Prefect's additions and without passwords in URLs."""
    return redact(first_line(error).split(" - Response: ")[0])


def remedy() -> str:
    """Describe how to get your own server working again."""
    room = "If the disk or the memory is full, make room."
    if named := [name for name in DATABASE_SETTINGS if name in os.environ]:
        return f"{room} If its database does not answer, correct {' or '.join(named)}."
    database = Path(os.environ["PREFECT_HOME"], "prefect.db")
    return (
        f"{room} If {database} is damaged, delete it: it holds the records of past runs, no prices."
    )


def main(descriptor: int) -> None:
    """Serve at a listening socket, given by its descriptor, until stdin is closed."""
    gc.disable()  # imports make a million permanent objects that would be traversed often
    import uvicorn
    from prefect.server.api.server import create_app

    lock_before_reading()
    _let_old_runs_be_deleted()
    config = uvicorn.Config(create_app(ephemeral=True, final=True), log_level="error")
    server = uvicorn.Server(config)
    gc.freeze()
    gc.enable()

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        if not server.started:
            os._exit(1)  # a starting server ignores should_exit; SQLite keeps its database safe
        server.should_exit = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    server.run(sockets=[socket.socket(fileno=descriptor)])
    sys.stdout.flush()
    os._exit(0 if server.started else 1)  # freeing everything that Prefect imported takes a second


def lock_before_reading() -> None:
    """Make each transaction of Prefect's server take SQLite's lock when it begins.

    Prefect's transactions begin as readers. If another one writes before a transaction that has
    read writes too, it fails immediately, regardless of the timeout (SQLITE_BUSY_SNAPSHOT): the log
    had "database is locked", events and heartbeats were lost, and requests failed with 503. With
    the lock a transaction waits for its turn, as Prefect's comment in ``setup_sqlite`` recommends.
    https://www.sqlite.org/isolation.html
    """
    from prefect.server.database.configurations import AioSqliteConfiguration

    begin = AioSqliteConfiguration.begin_transaction

    def begin_with_lock(config: Any, session: Any, **_: bool) -> Any:
        return begin(config, session, with_for_update=True)

    AioSqliteConfiguration.begin_transaction = begin_with_lock  # type: ignore[assignment]


def _let_old_runs_be_deleted() -> None:
    """Delete the records of old runs in this server too; Prefect only does so in permanent ones."""
    from prefect.server.services import db_vacuum, perpetual_services

    deleting = (db_vacuum.schedule_vacuum_tasks, db_vacuum.schedule_orphan_vacuum_tasks)
    for service in perpetual_services.get_perpetual_services():
        if service.function in deleting:
            service.run_in_ephemeral = True


if __name__ == "__main__":
    if sys.argv[1:2] == ["server"]:  # Prefect's own command, for ``hwprices admin serve``
        from prefect.cli import app

        lock_before_reading()
        app()
    else:
        main(int(sys.argv[1]))
