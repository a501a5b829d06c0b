"""The retry policy: how often, how long between, and when not at all."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.landing import retry
from hwprices.settings import load


class BusyError(Exception):
    """An error that another try may not meet."""


class Caller:
    """Calls a function that fails so many times, and records the pauses between the tries."""

    def __init__(self, failures, *, decision=None, attempts=4, max_retry_after=120):
        self.failures = failures
        self.decision = decision or retry.TryAgain()
        self.settings = load(attempts=attempts, max_retry_after=max_retry_after)
        self.tries = 0
        self.pauses = []

    def function(self):
        self.tries += 1
        if self.tries <= self.failures:
            raise BusyError(f"try {self.tries}")
        return "answer"

    def call(self, decide=None):
        return retry.call(
            self.function,
            settings=self.settings,
            sleep=self.pauses.append,
            decide=decide or (lambda error: self.decision),
        )


def test_the_first_success_is_returned():
    caller = Caller(failures=2)
    assert caller.call() == "answer"
    assert (caller.tries, len(caller.pauses)) == (3, 2)


def test_the_error_of_the_last_try_is_raised_unchanged():
    caller = Caller(failures=9)
    with pytest.raises(BusyError, match="try 4"):
        caller.call()
    assert (caller.tries, len(caller.pauses)) == (4, 3)


def test_one_attempt_means_no_second_try():
    caller = Caller(failures=9, attempts=1)
    with pytest.raises(BusyError, match="try 1"):
        caller.call()
    assert caller.pauses == []


def test_an_error_that_will_not_pass_is_not_tried_again():
    caller = Caller(failures=9)
    with pytest.raises(BusyError, match="try 1"):
        caller.call(decide=lambda error: None)
    assert (caller.tries, caller.pauses) == (1, [])


def test_a_decision_may_allow_fewer_tries_than_the_setting():
    caller = Caller(failures=9, decision=retry.TryAgain(at_most=2))
    with pytest.raises(BusyError, match="try 2"):
        caller.call()


def test_the_pause_is_the_one_the_server_names_up_to_the_setting():
    caller = Caller(failures=1, decision=retry.TryAgain(retry_after=7))
    caller.call()
    assert caller.pauses == [7]
    caller = Caller(failures=1, decision=retry.TryAgain(retry_after=9999))
    caller.call()
    assert caller.pauses == [120]


def test_without_a_named_pause_it_grows():
    caller = Caller(failures=5, attempts=6)
    caller.call()
    for pause, expected in zip(caller.pauses, [0.5, 1, 2, 4, 8], strict=True):
        assert expected <= pause <= expected + 0.5  # half a second of jitter


NOW = datetime(2015, 10, 21, 7, 27, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),  # the two examples of RFC 9110, 10.2.3 and 5.6.7
        ("Wed, 21 Oct 2015 07:28:00 GMT", 60),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 60),
        (" 7 ", 7),
        ("9" * 400, 999_999_999),
        ("", None),
        ("soon", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
    ],
)
def test_retry_after(header, seconds):
    assert retry.parse_retry_after(header, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_of_a_server_raises(header):
    seconds = retry.parse_retry_after(header, NOW)
    assert seconds is None or seconds >= 0
