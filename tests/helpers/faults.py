"""Let a server on loopback fail a share of its requests; a seed says which ones."""

import gzip
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.helpers.stub_server import Handler, Reply, Request, StubServer

HTML = "text/html"

STALL_SECONDS = 30
"""Longer than any read timeout of a test. The server's stop ends it."""


Fault = Callable[[Request, Reply], Reply]


def cut(_request: Request, reply: Reply, **more: Any) -> Reply:
    """Send half of the length announced."""
    return replace(reply, cut=len(reply.body) // 2, **more)


def cut_gzip(request: Request, reply: Reply) -> Reply:
    """Send a gzip body without its end, its length announced as if it were whole.

    A client that takes no gzip (EC2's) gets a plain body cut.
    """
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return cut(request, reply)
    packed = gzip.compress(reply.body, mtime=0)
    headers = {**reply.headers, "Content-Encoding": "gzip"}
    return replace(reply, body=packed[: len(packed) // 2], headers=headers)


def instead(body: bytes, status: int = 200, **more: Any) -> Fault:
    """Answer something else."""
    return lambda _request, _reply: Reply(body, status, **more)


KINDS: dict[str, Fault] = {
    "429 with Retry-After": instead(b"{}", 429, headers={"Retry-After": "1"}),
    "503": instead(b"busy", 503, content_type="text/plain"),
    "connection reset": lambda request, reply: cut(request, reply, reset=True),
    "body cut": cut,
    "gzip body cut": cut_gzip,
    "stall": lambda request, reply: cut(request, reply, stall=STALL_SECONDS),
    "HTML instead of JSON": instead(b"<html><body>Please sign in</body></html>", content_type=HTML),
    "JSON of another shape": instead(b'{"message": "try later"}'),
    "slow drip": lambda _, reply: replace(reply, drip=10, pause=0.02),
    "endless drip": lambda _, reply: Reply(
        endless=b" ", pause=0.05, content_type=reply.content_type
    ),
}


class Faults:
    """Faults of one kind in a share of a server's requests, and in one of the first twelve.

    Which requests fail depends on the seed and on their order, so a client that asks for one page
    after the other has the same faults every time. ``count`` says how many there were.
    """

    def __init__(self, server: StubServer, kind: str, *, share: float, seed: int) -> None:
        self.count = 0
        self._fault, self._share = KINDS[kind], share
        self._random = random.Random(seed)
        self._sure, self._asked = self._random.randrange(12), 0
        self._lock = threading.Lock()
        for path, handler in list(server.routes.items()):
            server.on(path, self._wrapped(handler))

    def _wrapped(self, handler: Handler) -> Handler:
        def answer(request: Request) -> Reply:
            reply = handler(request)
            return self._fault(request, reply) if self._is_hit() else reply

        return answer

    def _is_hit(self) -> bool:
        with self._lock:
            is_hit = self._random.random() < self._share or self._asked == self._sure
            self._asked += 1
            self.count += is_hit
        return is_hit
