"""Let a server on loopback fail a share of its requests; a seed says which ones."""

import gzip
import random
import threading
from collections.abc import Callable
from dataclasses import replace

from tests.helpers.stub_server import Handler, Reply, Request, StubServer

STALL_SECONDS = 30
"""Longer than any read timeout of a test. The server's stop ends it."""


def too_many(_request: Request, _reply: Reply) -> Reply:
    """Answer 429 and ask for a second's pause."""
    return Reply(b"{}", status=429, headers={"Retry-After": "1"})


def unavailable(_request: Request, _reply: Reply) -> Reply:
    """Answer 503, as a proxy does."""
    return Reply(b"busy", status=503, content_type="text/plain")


def reset(_request: Request, reply: Reply) -> Reply:
    """Break the connection in the middle of the body."""
    return replace(reply, cut=len(reply.body) // 2, reset=True)


def cut(_request: Request, reply: Reply) -> Reply:
    """Send half of the length announced."""
    return replace(reply, cut=len(reply.body) // 2)


def cut_gzip(request: Request, reply: Reply) -> Reply:
    """Send a gzip body without its end, its length announced as if it were whole.

    A client that takes no gzip (EC2's) gets a plain body cut.
    """
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return cut(request, reply)
    packed = gzip.compress(reply.body, mtime=0)
    headers = {**reply.headers, "Content-Encoding": "gzip"}
    return replace(reply, body=packed[: len(packed) // 2], headers=headers)


def stall(_request: Request, reply: Reply) -> Reply:
    """Send half of the body, then nothing."""
    return replace(reply, cut=len(reply.body) // 2, stall=STALL_SECONDS)


def html(_request: Request, _reply: Reply) -> Reply:
    """Answer 200 with a web page."""
    return Reply(b"<html><body>Please sign in</body></html>", content_type="text/html")


def other_json(_request: Request, _reply: Reply) -> Reply:
    """Answer 200 with JSON of another shape."""
    return Reply(b'{"message": "try later"}')


def slow_drip(_request: Request, reply: Reply) -> Reply:
    """Send the whole body, slowly."""
    return replace(reply, drip=10, pause=0.02)


def endless_drip(_request: Request, reply: Reply) -> Reply:
    """Send blanks without end, a few a second."""
    return Reply(endless=b" ", pause=0.05, content_type=reply.content_type)


KINDS: dict[str, Callable[[Request, Reply], Reply]] = {
    "429 with Retry-After": too_many,
    "503": unavailable,
    "connection reset": reset,
    "body cut": cut,
    "gzip body cut": cut_gzip,
    "stall": stall,
    "HTML instead of JSON": html,
    "JSON of another shape": other_json,
    "slow drip": slow_drip,
    "endless drip": endless_drip,
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
