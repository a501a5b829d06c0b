"""Try a request again: one policy for every vendor.

429, 5xx and broken connections are tried again after the pause that the server's Retry-After header
names, capped by a setting, or else after a growing pause with jitter. What counts as worth another
try is decided by the caller, because each vendor's SDK raises errors of its own.
"""

import email.utils
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import tenacity

from hwprices.landing.limits import Limits
from hwprices.settings import Settings

RETRIED_STATUSES = frozenset({403, 408, 429, 500, 502, 503, 504})
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
