"""Serve a folder as an S3 bucket on loopback, to count what a reader far away fetches.

    python -m tools.object_store data [--delay 0.05]

Prints the environment variables that lead to it. Every request waits ``delay`` seconds, as one to
another continent does. It can be read only, and checks no signature.
"""

import argparse
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"
ROOT = f"s3://{BUCKET}"


@dataclass
class Counter:
    """The requests since the last ``reset``: method, key and bytes of the body of each."""

    requests: list[tuple[str, str, int]] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The bytes of all bodies."""
        return sum(size for _, _, size in self.requests)

    def reset(self) -> None:
        """Begin to count anew."""
        self.requests = []


class ObjectStore(ThreadingHTTPServer):
    """A bucket with the files of a folder; ``counter`` has what was requested."""

    daemon_threads = True

    def __init__(self, folder: Path, delay: float = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.delay, self.counter = folder, delay, Counter()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that lead obstore, polars and the vendors' tools to it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ObjectStore

    def do_GET(self) -> None:
        time.sleep(self.server.delay)
        url = urlsplit(self.path)
        key = unquote(url.path).removeprefix(f"/{BUCKET}").strip("/")
        if not key:
            self._send(200, self._listing(parse_qs(url.query)), "")
            return
        path = self.server.folder / key
        if not path.is_file():
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", key)
            return
        size = path.stat().st_size
        first, last = self._range(size)
        with path.open("rb") as file:
            file.seek(first)
            body = file.read(last + 1 - first)
        headers = {"Last-Modified": _time(path), "ETag": _tag(path)}
        if "Range" in self.headers:
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        self._send(206 if "Range" in self.headers else 200, body, key, headers)

    do_HEAD = do_GET  # noqa: N815

    def _range(self, size: int) -> tuple[int, int]:
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        if not first:
            return max(0, size - int(last)), size - 1
        return int(first), min(int(last or size), size - 1)

    def _listing(self, query: Mapping[str, list[str]]) -> bytes:
        prefix = query.get("prefix", [""])[0]
        files = (path for path in sorted(self.server.folder.rglob("*")) if path.is_file())
        keys = {path.relative_to(self.server.folder).as_posix(): path for path in files}
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{path.stat().st_size}</Size>"
            f"<LastModified>{_iso_time(path)}</LastModified><ETag>{_tag(path)}</ETag></Contents>"
            for key, path in keys.items()
            if key.startswith(prefix)
        )
        head = f"<Name>{BUCKET}</Name><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{head}{entries}</ListBucketResult>".encode()

    def _send(
        self, status: int, body: bytes, key: str, headers: Mapping[str, str] | None = None
    ) -> None:
        is_head = self.command == "HEAD"
        self.server.counter.requests.append((self.command, key, 0 if is_head else len(body)))
        with suppress(ConnectionError):
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if is_head else body)

    def log_message(self, *_: object) -> None:
        """Write nothing: there are counters."""


def _tag(path: Path) -> str:
    return f'"{path.stat().st_mtime_ns}"'


def _iso_time(path: Path) -> str:
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _time(path: Path) -> str:
    return formatdate(path.stat().st_mtime, usegmt=True)


@contextmanager
def served(folder: Path, delay: float = 0) -> Iterator[ObjectStore]:
    """Serve a folder until the block ends."""
    server = ObjectStore(folder, delay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Serve until the process is interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--delay", type=float, default=0, help="seconds before each answer")
    options = parser.parse_args()
    server = ObjectStore(options.folder, options.delay)
    for name, value in server.environment.items():
        print(f"export {name}={value}")
    print(f"# the root is {ROOT}; stop with Ctrl-C", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
