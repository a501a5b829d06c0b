"""Limit time, bytes and stalls of a download, and retry requests: one policy for all vendors.

A server may send a body without end, a byte a minute, a few kilobytes that decompress to gigabytes,
or nothing. Each of these fails with one line that names the page, while the body is received and
not after it.

429, 5xx and broken connections are retried after the pause in the server's Retry-After header,
capped by a setting, or after a growing pause with jitter. The caller decides which errors are
retried, because each vendor's SDK raises its own.
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
"""Bytes read from an SDK's connection in one piece. Older versions of urllib3 decompress the whole
piece at once, to a thousand times its length at worst."""

MAX_READ_BYTES = 128 << 20
"""Largest content that is read into memory. The largest such pages are Google's SKUs (below 50 MB)
and Azure's (below 10 MB). Parsed JSON takes about ten times its length."""

MAX_LIST_BYTES = 512 << 20
"""Largest list whose pages are all held in memory. Google's 40,000 SKUs are about 100 MB."""

MAX_RATIO = 200
"""Largest ratio of content to compressed bytes. Vendors' pages compress by a factor of 20 to 50,
zeros by a factor of 1000 (gzip's maximum)."""

RATIO_FROM_BYTES = 16 << 20
"""Content up to this length may exceed MAX_RATIO: it costs little."""

MAX_STALLS = 2  # A unit fails at its second stall; the first one is retried

_GZIP_FORMAT = 16 + isal_zlib.MAX_WBITS
"""Makes isal expect gzip's header and trailer, as in zlib:
https://www.zlib.net/manual.html#Advanced."""


class Limits:
    """The limits of one unit, shared by its pages. The unit's deadline runs from construction."""

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
        """Return the seconds until the unit's deadline, 0 if it has passed."""
        return max(0.0, self._ends - self.clock())

    def check_deadline(self) -> None:
        """Check the unit's deadline.

        Raises:
            FetchError: it has passed.
        """
        if not self.seconds_left():
            raise FetchError(
                f"{self.name} takes longer than {self.settings.unit_deadline:g} s",
                "Try again later, or raise HWPRICES_UNIT_DEADLINE.",
            )

    def check_bytes(self, more: int = 0) -> None:
        """Check the content of the unit, all its tries together, with ``more`` bytes added.

        Raises:
            FetchError: it is above the limit.
        """
        if self._bytes + more > self.settings.max_unit_bytes:
            raise FetchError(
                f"{self.name} has more than {self.settings.max_unit_bytes} bytes",
                "Look at what the vendor sends, or raise HWPRICES_MAX_UNIT_BYTES.",
            )

    def add_bytes(self, number: int) -> None:
        """Count the content of a finished body, complete or not."""
        self._bytes += number

    def count_stall(self) -> bool:
        """Count a stall; returns whether another try is allowed."""
        self._stalls += 1
        return self._stalls < MAX_STALLS

    def page(self, name: str, max_bytes: int | None = None) -> "PageLimits":
        """Start the limits of a page. ``max_bytes`` may lower the limit of the setting."""
        limit = self.settings.max_page_bytes
        return PageLimits(self, name, limit if max_bytes is None else min(limit, max_bytes))


class PageLimits:
    """The limits of one page. The deadline covers all its tries, the size limit each of them."""

    def __init__(self, unit: Limits, name: str, max_bytes: int) -> None:
        self.unit = unit
        self.name = name
        self.max_bytes = max_bytes
        self._ends = unit.clock() + unit.settings.page_deadline

    def check(self, received: int, content: int) -> None:
        """Check the deadlines and the bytes of a body so far, as received and decompressed.

        Raises:
            FetchError: a limit is exceeded; names the page.
        """
        self.unit.check_deadline()
        settings = self.unit.settings
        if self.unit.clock() > self._ends:
            raise FetchError(
                f"{self.name} takes longer than {settings.page_deadline:g} s",
                "Try again later, or raise HWPRICES_PAGE_DEADLINE.",
            )
        if max(received, content) > self.max_bytes:
            is_setting = self.max_bytes == settings.max_page_bytes
            remedy = ", or raise HWPRICES_MAX_PAGE_BYTES" if is_setting else ""
            raise FetchError(
                f"{self.name} is larger than {self.max_bytes} bytes",
                f"Look at what the vendor sends{remedy}.",
            )
        if content > max(RATIO_FROM_BYTES, MAX_RATIO * received):
            raise FetchError(
                f"{self.name} decompresses to more than {MAX_RATIO} times its length",
                "This looks like a decompression bomb. Look at what the vendor sends.",
            )
        self.unit.check_bytes(content)


class DamagedGzipError(Exception):
    """A gzip stream is damaged. The message says how."""


class Gunzip:
    """Decompress a gzip stream as it arrives, at most CHUNK bytes at a time."""

    def __init__(self) -> None:
        self._member = isal_zlib.decompressobj(_GZIP_FORMAT)
        self._is_padding = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream has reached its trailer; a truncated stream has not."""
        return self._is_padding

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed content of the stream's next bytes, in pieces.

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
"""HTTP statuses that are retried; also 403, which the AWS bulk host returns under load."""

_BACKOFF = tenacity.wait_exponential_jitter(multiplier=0.5, max=20, jitter=0.5)
"""Seconds: 0.5 before the second try, doubled each time up to 20, plus up to 0.5 at random, so that
units do not retry at the same moment. All three are estimates; a server that needs longer can send
Retry-After."""

T = TypeVar("T")


@dataclass(frozen=True)
class TryAgain:
    """The decision to retry.

    ``retry_after`` is the pause in seconds that the server requests, if any. ``at_most`` lowers the
    setting ``attempts`` for errors that rarely go away. ``is_stall``: the server was silent, which
    is retried only once in a unit, not once for each page.
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
    """Call a function until it succeeds, ``decide`` returns None, or tries or time run out.

    Args:
        function: makes one try.
        settings: has ``attempts`` and ``max_retry_after``.
        sleep: waits for a number of seconds; tests replace it.
        decide: decides whether to retry after an error.
        limits: of the unit; no pause exceeds its deadline.

    Raises:
        FetchError: the unit's deadline has passed.
        Exception: the error of the last try, unchanged.
    """
    unit = limits or Limits(settings)
    decisions: list[TryAgain] = []

    def once() -> T:
        unit.check_deadline()
        return function()

    def should_retry(state: tenacity.RetryCallState) -> bool:
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

    return tenacity.Retrying(retry=should_retry, wait=wait, sleep=sleep, reraise=True)(once)


def parse_retry_after(value: str, now: datetime | None = None) -> float | None:
    """Parse a Retry-After header, seconds or a date (RFC 9110 10.2.3), into seconds from now.

    None if it is empty or invalid.
    """
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])  # nine digits are 30 years; hundreds would overflow a float
    try:
        when = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:  # "-0000", which RFC 5322 reads as UTC
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
