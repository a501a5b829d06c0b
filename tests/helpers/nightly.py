"""Tests, and long forms of tests, that run with HWPRICES_NIGHTLY=1 only."""

import os

import pytest

NIGHTLY = os.environ.get("HWPRICES_NIGHTLY") == "1"
"""Whether long forms run: more seeds, kills and examples than the short form tries."""


def only_at_night(reason: str) -> pytest.MarkDecorator:
    """Skip a test by day; ``reason`` says why it does not run with every push."""
    return pytest.mark.skipif(not NIGHTLY, reason=f"{reason}: set HWPRICES_NIGHTLY=1 to run it")
