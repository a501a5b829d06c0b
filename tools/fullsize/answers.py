"""What a server answers: pages in memory, and pages that are made while they are sent."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

CHUNK = 1 << 20


@dataclass(frozen=True)
class Request:
    """A request: path, query and form (each parameter's last value), and the headers."""

    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """An answer whose body is in memory. ``compresses``: with gzip where the client accepts it."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    compresses: bool = False


@dataclass(frozen=True)
class Stream:
    """An answer that is made while it is sent; ``pieces`` gives the same bytes every time."""

    pieces: Callable[[], Iterator[str]]
    content_type: str

    def chunks(self) -> Iterator[bytes]:
        """Yield the body in chunks of about a megabyte."""
        waiting: list[str] = []
        characters = 0
        for piece in self.pieces():
            waiting.append(piece)
            characters += len(piece)
            if characters >= CHUNK:
                yield "".join(waiting).encode()
                waiting, characters = [], 0
        yield "".join(waiting).encode()


Handler = Callable[[Request], Answer | Stream]


def json_answer(value: Any, *, compresses: bool = False) -> Answer:
    """Make an answer of JSON."""
    return Answer(json.dumps(value, separators=(",", ":")).encode(), compresses=compresses)


def not_found(what: str) -> Answer:
    """Make the answer to a request for what is not there."""
    return Answer(json.dumps({"error": f"there is no {what}"}).encode(), status=404)
