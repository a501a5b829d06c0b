"""The retry policy: how often, how long between, and when not at all."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases, number

from hwprices.landing import limits
from hwprices.settings import load

AGAIN = limits.TryAgain()


class BusyError(Exception):
    """An error that another try may not meet."""


class Caller:
    """Calls a function that fails so many times, and records the pauses between the tries."""

    def __init__(self, failures, *, decision=AGAIN, attempts=4):
        self.failures, self.decision = failures, decision
        self.settings = load(attempts=attempts, max_retry_after=120)
        self.tries, self.pauses = 0, []

    def function(self):
        self.tries += 1
        if self.tries <= self.failures:
            raise BusyError(f"try {self.tries}")
        return "answer"

    def call(self):
        return limits.call(
            self.function,
            settings=self.settings,
            sleep=self.pauses.append,
            decide=lambda error: self.decision,
        )


@pytest.mark.parametrize(
    ("failures", "attempts", "decision", "tries"),
    [
        (2, 4, AGAIN, 3),
        (9, 4, AGAIN, 4),
        (9, 1, AGAIN, 1),
        (9, 4, None, 1),  # an error that will not pass
        (9, 4, limits.TryAgain(at_most=2), 2),
    ],
)
def test_the_first_answer_or_the_last_error_is_given(failures, attempts, decision, tries):
    caller = Caller(failures, decision=decision, attempts=attempts)
    if failures < tries:
        assert caller.call() == "answer"
    else:
        with pytest.raises(BusyError, match=f"^try {tries}$"):
            caller.call()
    assert (caller.tries, len(caller.pauses)) == (tries, tries - 1)


@pytest.mark.parametrize(("named", "pause"), [(7, 7), (9999, 120)])
def test_the_pause_is_the_one_the_server_names_up_to_the_setting(named, pause):
    caller = Caller(failures=1, decision=limits.TryAgain(retry_after=named))
    caller.call()
    assert caller.pauses == [pause]


def test_without_a_named_pause_it_grows():
    caller = Caller(failures=5, attempts=6)
    caller.call()
    for pause, expected in zip(caller.pauses, [0.5, 1, 2, 4, 8], strict=True):
        assert expected <= pause <= expected + 0.5  # half a second of jitter


NOW = datetime(2015, 10, 21, 7, 27, 0, tzinfo=UTC)


@cases("landing/retry_after", seconds=number)
def test_retry_after(header, seconds):
    assert limits.parse_retry_after(header, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_of_a_server_raises(header):
    seconds = limits.parse_retry_after(header, NOW)
    assert seconds is None or seconds >= 0
