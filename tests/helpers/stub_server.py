"""A vendor's server on this machine: real sockets, scripted answers and faults."""

import gzip
import http.server
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Request:
    """One request received. ``query`` keeps the last value of a repeated parameter."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""
    raw_path: str = ""


@dataclass
class Reply:
    """One answer, and the fault it has, if any.

    ``cut`` sends only so many bytes of the body, though its full length is announced. ``stall``
    waits so many seconds after the body. ``reset`` breaks the connection (RST) after ``cut`` bytes.
    ``length=False`` announces no length. ``endless`` is sent again and again after the body, every
    ``pause`` seconds, until the client has gone; the length announced is a petabyte. ``drip`` sends
    the body in so many pieces, with ``pause`` seconds between. ``endless_header`` sends a header
    that never ends, a byte every ``pause`` seconds.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    stall: float = 0
    reset: bool = False
    length: bool = True
    endless: bytes = b""
    pause: float = 0
    drip: int = 1
    endless_header: bool = False

    @staticmethod
    def json(value: Any, **more: Any) -> "Reply":
        """Make an answer of JSON."""
        return Reply(json.dumps(value).encode(), **more)

    @staticmethod
    def gzipped(content: bytes, content_type: str = "application/json", **more: Any) -> "Reply":
        """Make an answer compressed with gzip."""
        return Reply(
            gzip.compress(content, mtime=0),
            content_type=content_type,
            headers={"Content-Encoding": "gzip"},
            **more,
        )


Handler = Callable[[Request], Reply]


class StubServer:
    """Answers requests by path: an exact one, or a prefix that ends with ``*``.

    A route is a Reply, a list of them played in turn (the last repeats), or a function of the
    Request. ``requests`` lists all requests received.
    """

    def __init__(self) -> None:
        self.routes: dict[str, Handler] = {}
        self.requests: list[Request] = []
        self._stopping = threading.Event()
        outer = self

        class _Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                parts = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                query = {k: v[-1] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
                request = Request(
                    self.command,
                    parts.path,
                    query,
                    dict(self.headers.items()),
                    self.rfile.read(length),
                    self.path,
                )
                outer.requests.append(request)
                outer._send(self, outer._route(request))

            do_GET = do_POST = do_PUT = do_HEAD = _serve

            def log_message(self, *_: Any) -> None:
                pass

        class _Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:  # clients that give up are part of the tests
                pass

        self._server = _Server(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> "StubServer":
        """Serve in a thread."""
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def stop(self) -> None:
        """Stop serving; answers that stall end now."""
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def on(self, path: str, answer: Reply | Iterable[Reply] | Handler) -> "StubServer":
        """Set what a path answers."""
        if isinstance(answer, Reply):
            self.routes[path] = lambda _request: answer
        elif callable(answer):
            self.routes[path] = answer
        else:
            script = list(answer)
            self.routes[path] = lambda _request: script.pop(0) if len(script) > 1 else script[0]
        return self

    def _route(self, request: Request) -> Reply:
        handler = self.routes.get(request.path)
        if handler is None:
            prefixes = [
                p for p in self.routes if p.endswith("*") and request.path.startswith(p[:-1])
            ]
            handler = self.routes[max(prefixes, key=len)] if prefixes else None
        return (
            handler(request)
            if handler
            else Reply.json({"error": f"no route {request.path}"}, status=404)
        )

    def _send(self, to: http.server.BaseHTTPRequestHandler, reply: Reply) -> None:
        to.send_response(reply.status)
        to.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            to.send_header(name, value)
        if reply.endless_header:
            to.flush_headers()
            to.wfile.write(b"X-Slow: ")
            while not self._stopping.wait(reply.pause):
                to.wfile.write(b"x")
                to.wfile.flush()
        if reply.length:
            length = 10**15 if reply.endless else len(reply.body)
            to.send_header("Content-Length", str(length))
        else:
            to.send_header("Connection", "close")
        to.end_headers()
        if to.command == "HEAD":
            return
        to.wfile.flush()
        body = reply.body[: reply.cut]
        size = len(body) // reply.drip + 1
        for start in range(0, len(body), size):
            if start:
                self._stopping.wait(reply.pause)
            to.wfile.write(body[start : start + size])
            to.wfile.flush()
        while reply.endless and not self._stopping.wait(reply.pause):
            to.wfile.write(reply.endless)
            to.wfile.flush()
        deadline = time.monotonic() + reply.stall
        while time.monotonic() < deadline and not self._stopping.is_set():
            time.sleep(0.02)
        if reply.reset:
            to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            to.connection.close()
        if reply.cut is not None or not reply.length:
            to.close_connection = True
