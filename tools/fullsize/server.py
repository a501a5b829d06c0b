"""Serve the three vendors from one port of this machine."""

import gzip
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tools.fullsize import aws_bulk, aws_ec2, azure, gcp
from tools.fullsize.answers import Answer, Handler, Request, Stream, not_found
from tools.fullsize.aws_world import World
from tools.fullsize.sizes import Size

GZIP_LEVEL = 1
"""Of gzip: the cheapest, because the server shares the machine with what is measured."""


Name = tuple[str, frozenset[tuple[str, str]]]
"""What identifies a request: its path and its parameters."""


def _name(request: Request) -> Name:
    """Return the name of a request; the version of an API changes no answer here."""
    parameters = request.query | {"api-version": ""}
    return request.path, frozenset(parameters.items())


def _gzip(answer: Answer) -> bytes:
    return gzip.compress(answer.body, GZIP_LEVEL, mtime=0)


class FullSizeServer:
    """A server on loopback; ``port`` 0 takes a free one. Call ``serve`` or ``start``.

    AWS's bulk files and Azure's pages are made while they are sent. ``keep`` makes them in advance,
    the former as files.

    AWS's bulk files are sent as they are, with their length: the host behind them compresses none
    above 10 MB
    (https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/ServingCompressedFiles.html).
    Google and Azure compress their answers.
    """

    def __init__(self, size: Size, port: int = 0) -> None:
        self._lengths: dict[str, int] = {}
        self._files: dict[str, Path] = {}
        self._gzipped: dict[Name, bytes] = {}
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", port), self._handler_class())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        world = World(size)
        self._subscription = azure.Subscription(size)
        self._handlers: dict[str, Handler] = {
            **aws_bulk.handlers(world),
            **aws_ec2.handlers(world),
            **azure.handlers(self._subscription, self.url),
            **gcp.handlers(size, self.url),
        }

    def serve(self) -> None:
        """Serve until the process is interrupted or ``stop`` is called."""
        self._http.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self.serve, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()

    def keep(self, folder: Path) -> int:
        """Write every bulk file into a folder, keep Azure's pages; return the bytes of the files.

        Making a file or page takes far more of the processor than sending it, and what is measured
        runs on the same processor.
        """
        self.keep_azure()
        request = Request("", {}, {}, {})
        for path, handler in self._handlers.items():
            if path.endswith((".csv", ".json")) and isinstance(body := handler(request), Stream):
                file = folder / str(len(self._files))
                with file.open("wb") as out:
                    out.writelines(body.chunks())
                self._files[path] = file
        return sum(file.stat().st_size for file in self._files.values())

    def keep_azure(self) -> int:
        """Make Azure's pages of prices and sizes and keep them gzipped; return their number."""
        for request in azure.requests(self._subscription):
            answer = self._answer(request)
            assert isinstance(answer, Answer)
            self._gzipped[_name(request)] = _gzip(answer)
        return len(self._gzipped)

    def _length(self, path: str, stream: Stream) -> int:
        if path not in self._lengths:
            self._lengths[path] = sum(len(chunk) for chunk in stream.chunks())
        return self._lengths[path]

    def _answer(self, request: Request) -> Answer | Stream:
        handler = self._handlers.get(request.path)
        if handler is None:
            parents = [
                p
                for p in self._handlers
                if p.endswith("*") and request.path[: len(p) - 1] == p[:-1]
            ]
            handler = self._handlers[max(parents, key=len)] if parents else None
        return handler(request) if handler else not_found(request.path)

    def _handler_class(self) -> type[http.server.BaseHTTPRequestHandler]:
        server = self

        class RequestHandler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # headers and small bodies leave in one piece

            def _serve(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(
                    parts.path,
                    dict(parse_qsl(parts.query, keep_blank_values=True)),
                    dict(parse_qsl(body.decode())),
                    dict(self.headers.items()),
                )
                gzipped = server._gzipped.get(_name(request))
                if gzipped is not None and self._accepts_gzip():
                    self._send_body("application/json", gzipped, is_gzipped=True)
                    return
                answer = server._answer(request)
                if isinstance(answer, Answer):
                    self._send(answer)
                elif file := server._files.get(parts.path):
                    self._send_file(answer, file)
                else:
                    self._stream(answer, server._length(parts.path, answer))

            do_GET = do_POST = _serve  # noqa: N815 the names that http.server calls

            def _accepts_gzip(self) -> bool:
                return "gzip" in self.headers.get("Accept-Encoding", "")

            def _send(self, answer: Answer) -> None:
                compresses = answer.compresses and self._accepts_gzip()
                body = _gzip(answer) if compresses else answer.body
                self._send_body(
                    answer.content_type, body, is_gzipped=compresses, status=answer.status
                )

            def _send_body(
                self, content_type: str, body: bytes, *, is_gzipped: bool, status: int = 200
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                if is_gzipped:
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _send_file(self, answer: Stream, file: Path) -> None:
                self._start(answer, file.stat().st_size)
                self.wfile.flush()
                with file.open("rb") as content:
                    self.connection.sendfile(content)

            def _stream(self, answer: Stream, length: int) -> None:
                self._start(answer, length)
                for chunk in answer.chunks():
                    self.wfile.write(chunk)

            def _start(self, answer: Stream, length: int) -> None:
                self.send_response(200)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(length))
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        return RequestHandler


@contextmanager
def running(size: Size) -> Iterator[FullSizeServer]:
    """Run a server in a thread until the block ends."""
    server = FullSizeServer(size)
    server.start()
    try:
        yield server
    finally:
        server.stop()
