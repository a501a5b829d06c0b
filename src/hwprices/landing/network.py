"""Check the limits of a page at every read from its connection.

httpx bounds how long a server is silent, not how long it takes to send its headers: with a byte
every 29 s they would never end. httpcore gives no other place to count them, so that the streams of
its connections are wrapped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore
import httpx

from hwprices.landing.limits import PageLimits

_page: ContextVar[PageLimits | None] = ContextVar("page", default=None)


@contextmanager
def reading(page: PageLimits) -> Iterator[None]:
    """Apply the limits of a page to what this thread reads from the network."""
    token = _page.set(page)
    try:
        yield
    finally:
        _page.reset(token)


def bound_reads(client: httpx.Client) -> None:
    """Make every connection of a client, direct or through a proxy, keep to ``reading``."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_tcp(*args, **kwargs))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        page = _page.get()
        if page is not None:
            page.check(0, 0)
        return self._stream.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **kwargs))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
