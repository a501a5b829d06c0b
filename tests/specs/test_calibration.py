"""What recommend was fitted to is what the sheets hold, and its errors are as good as aimed for."""

from tools import calibration as tool

from hwprices.read.recommend.calibration import calibration


def test_the_fit_is_up_to_date() -> None:
    """The sheets, the table of docs/method.md and the plot follow from the measurements."""
    assert tool.main(["--check"]) == 0


def test_the_errors_are_as_small_as_aimed_for() -> None:
    """Median 25 % and 90th percentile 60 % for filled machines whose accelerator was measured."""
    for basis in ("measured", "scaled", "modelled"):
        median, p90 = calibration().errors[f"{basis}/serving"]
        assert median <= 0.25, basis
        assert p90 <= 0.60, basis
