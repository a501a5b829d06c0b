"""Bound what a server can cost (time, bytes, stalls), and try a request again: one policy.

A vendor's server, or what is in for it, may send a body without end, a byte a minute, a few
kilobytes that decompress to gigabytes, or nothing. Each of these ends with one line that names the
page, while the body is received and not after it.

429, 5xx and broken connections are tried again after the pause that the server's Retry-After header
names, capped by a setting, or else after a growing pause with jitter. What counts as worth another
try is decided by the caller, because each vendor's SDK raises errors of its own.
"""

import email.utils
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import tenacity
from isal import isal_zlib

from hwprices.errors import FetchError
from hwprices.settings import Settings

CHUNK = 1 << 20

SDK_CHUNK = 1 << 16
"""Most bytes taken from an SDK's connection at once. Older urllib3 decompress them at one go, to a
thousand times as many at the worst."""

MAX_READ_BYTES = 128 << 20
"""Largest content that is read into memory at once. The largest such pages, of Google's SKUs, stay
below 50 MB, those of Azure below 10 MB. Parsed JSON takes about ten times its length."""

MAX_LIST_BYTES = 512 << 20
"""Largest sum of the pages of a list that is held in memory until its last page has come. Google's
40,000 SKUs are about 100 MB."""

MAX_RATIO = 200
"""Largest ratio of content to compressed bytes. Vendors' pages compress to between a twentieth and
a fiftieth, zeros to a thousandth (the most that gzip can do)."""

RATIO_FROM_BYTES = 16 << 20
"""Content up to this length may compress as well as it likes: it costs little."""

MAX_STALLS = 2  # Stalls of one unit after which it fails: the first one is tried again

_GZIP_FORMAT = 16 + isal_zlib.MAX_WBITS
"""Tells isal to expect gzip's header and trailer, in zlib's way:
https://www.zlib.net/manual.html#Advanced."""


class Limits:
    """What one unit may cost. Its pages share one object, made when the unit is begun."""

    def __init__(
        self,
        settings: Settings,
        name: str = "this unit",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.name = name
        self.clock = clock
        self._ends = clock() + settings.unit_deadline
        self._stalls = 0
        self._bytes = 0

    def seconds_left(self) -> float:
        """Count the seconds until the unit's deadline, 0 when it has passed."""
        return max(0.0, self._ends - self.clock())

    def check_deadline(self) -> None:
        """Refuse to go on after the unit's deadline.

        Raises:
            FetchError: it has passed.
        """
        if not self.seconds_left():
            raise FetchError(
                f"{self.name} takes longer than {self.settings.unit_deadline:g} s",
                "Try again later, or raise HWPRICES_UNIT_DEADLINE.",
            )

    def check_bytes(self, more: int = 0) -> None:
        """Refuse more content than a unit may have, all its tries together.

        Raises:
            FetchError: it is more, with ``more`` bytes added.
        """
        if self._bytes + more > self.settings.max_unit_bytes:
            raise FetchError(
                f"{self.name} has more than {self.settings.max_unit_bytes} bytes",
                "Look at what the vendor sends, or raise HWPRICES_MAX_UNIT_BYTES.",
            )

    def add_bytes(self, number: int) -> None:
        """Count the content of a body that has ended, whole or not."""
        self._bytes += number

    def count_stall(self) -> bool:
        """Count a stall; returns whether another try is allowed."""
        self._stalls += 1
        return self._stalls < MAX_STALLS

    def page(self, name: str, max_bytes: int | None = None) -> "PageLimits":
        """Begin a page. ``max_bytes`` is what it may have where the setting allows more."""
        limit = self.settings.max_page_bytes
        return PageLimits(self, name, limit if max_bytes is None else min(limit, max_bytes))


class PageLimits:
    """What one page may cost. Its deadline spans all its tries, its size is that of each try."""

    def __init__(self, unit: Limits, name: str, max_bytes: int) -> None:
        self.unit = unit
        self.name = name
        self.max_bytes = max_bytes
        self._ends = unit.clock() + unit.settings.page_deadline

    def check(self, received: int, content: int) -> None:
        """Check the deadlines, and the bytes of a body so far: as received, and decompressed.

        Raises:
            FetchError: one of the limits is passed; names the page.
        """
        self.unit.check_deadline()
        settings = self.unit.settings
        if self.unit.clock() > self._ends:
            raise FetchError(
                f"{self.name} takes longer than {settings.page_deadline:g} s",
                "Try again later, or raise HWPRICES_PAGE_DEADLINE.",
            )
        if max(received, content) > self.max_bytes:
            by_setting = self.max_bytes == settings.max_page_bytes
            remedy = ", or raise HWPRICES_MAX_PAGE_BYTES" if by_setting else ""
            raise FetchError(
                f"{self.name} is larger than {self.max_bytes} bytes",
                f"Look at what the vendor sends{remedy}.",
            )
        if content > max(RATIO_FROM_BYTES, MAX_RATIO * received):
            raise FetchError(
                f"{self.name} decompresses to more than {MAX_RATIO} times its length",
                "It is taken for a decompression bomb. Look at what the vendor sends.",
            )
        self.unit.check_bytes(content)


class DamagedGzipError(Exception):
    """A gzip stream is damaged; says how."""


class Gunzip:
    """Decompress a gzip stream as it arrives, at most CHUNK bytes at a time."""

    def __init__(self) -> None:
        self._member = isal_zlib.decompressobj(_GZIP_FORMAT)
        self._is_padding = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream has come to its trailer, which a cut stream has not."""
        return self._is_padding

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of the next bytes of the stream, in pieces.

        Raises:
            DamagedGzipError: the stream is damaged.
        """
        while data:
            if self._is_padding:
                # Zeros may follow a member, and another member may follow both (RFC 1952, 2.2).
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._member, self._is_padding = isal_zlib.decompressobj(_GZIP_FORMAT), False
            yield self._decompress(data)
            self._is_padding = self._member.eof
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def _decompress(self, data: bytes) -> bytes:
        try:
            return self._member.decompress(data, CHUNK)
        except isal_zlib.error as error:  # type: ignore[misc] # its stub calls it an object
            raise DamagedGzipError(str(error)) from None


RETRIED = frozenset({403, 408, 429, 500, 502, 503, 504})
"""HTTP statuses worth another try. 403 too: the AWS bulk host answers it under load."""

_BACKOFF = tenacity.wait_exponential_jitter(multiplier=0.5, max=20, jitter=0.5)
"""Seconds: 0.5 before the second try, then twice as much each time up to 20, and by chance up to
0.5 more, so that units do not come back together. All three are estimates; a server that needs
longer can say so with Retry-After."""

T = TypeVar("T")


@dataclass(frozen=True)
class TryAgain:
    """The decision to try again.

    ``retry_after`` is the pause in seconds that the server asks for, None where it asks for none.
    ``at_most`` limits the tries below the setting ``attempts`` for errors that seldom pass.
    ``is_stall`` says that the server was silent: that is tried again once in a unit, not once more
    on every page.
    """

    retry_after: float | None = None
    at_most: int | None = None
    is_stall: bool = False


def call(
    function: Callable[[], T],
    *,
    settings: Settings,
    sleep: Callable[[float], None],
    decide: Callable[[BaseException], TryAgain | None],
    limits: Limits | None = None,
) -> T:
    """Call a function until it succeeds, ``decide`` says None, or tries or time are used up.

    Args:
        function: makes one try.
        settings: gives ``attempts`` and ``max_retry_after``.
        sleep: waits so many seconds; an argument so that tests need not wait.
        decide: gets the error of a try, says whether another one is worth it.
        limits: of the unit; no pause goes beyond its deadline.

    Raises:
        FetchError: the unit's deadline has passed.
        Exception: the error of the last try, unchanged.
    """
    unit = limits or Limits(settings)
    decisions: list[TryAgain] = []

    def once() -> T:
        unit.check_deadline()
        return function()

    def again(state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        decision = decide(error) if error is not None else None
        if decision is None:
            return False
        if decision.is_stall and not unit.count_stall():
            return False
        decisions.append(decision)
        limit = min(settings.attempts, decision.at_most or settings.attempts)
        return state.attempt_number < limit

    def wait(state: tenacity.RetryCallState) -> float:
        retry_after = decisions[-1].retry_after
        if retry_after is None:
            pause = _BACKOFF(state)
        else:
            pause = min(retry_after, settings.max_retry_after)
        return min(pause, unit.seconds_left())

    return tenacity.Retrying(retry=again, wait=wait, sleep=sleep, reraise=True)(once)


def parse_retry_after(value: str, now: datetime | None = None) -> float | None:
    """Read a Retry-After header, seconds or a date (RFC 9110 10.2.3), as seconds from now.

    None where it is empty or not understood.
    """
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])  # more digits than that are centuries, and overflow a float
    try:
        when = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:  # "-0000", which RFC 5322 reads as UTC
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
