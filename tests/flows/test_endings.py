"""What Prefect logs of errors of ours, and what the last line of a run says of several."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import hwprices
from hwprices.errors import FetchError, HwpricesError
from hwprices.release.manifest import CheckResult, ProviderOutcome, ProviderStatus, Trouble
from hwprices.stage import Staged

ENGINE = "Engine execution exited with unexpected exception"
TASK = "Task run failed with state: Failed(message='no answer', type=FAILED)"


def logged(name: str, message: str, error: Exception | None, *, with_error: bool) -> Any:
    """Filter what Prefect logs of an error; return the record as handlers get it, or None."""
    from hwprices.flows import endings  # adds the filters

    assert endings.REPEATED
    traceback = (type(error), error, None) if error else (None, None, None)
    record = logging.makeLogRecord({"msg": message, "exc_info": traceback if with_error else None})
    return record if logging.getLogger(name).filter(record) else None


@pytest.mark.parametrize("error", [HwpricesError("no answer"), FetchError("no answer")])
def test_the_line_of_an_error_of_ours_is_not_followed_by_what_prefect_says_of_it(error) -> None:
    assert logged("prefect.flow_runs", ENGINE, error, with_error=True) is None
    record = logged("prefect.flow_runs", "another line", error, with_error=True)
    assert record.exc_info is None


def test_a_task_that_returns_a_failed_state_has_one_line() -> None:
    """Prefect wrote the state and its data, and below it "NoneType: None"."""
    assert logged("prefect.task_runs", TASK, None, with_error=True) is None


@pytest.mark.parametrize("name", ["prefect.flow_runs", "prefect.task_runs"])
def test_a_mistake_of_the_program_keeps_its_traceback(name: str) -> None:
    record = logged(name, ENGINE, KeyError("price"), with_error=True)
    assert isinstance(record.exc_info[1], KeyError)
    assert logged(name, ENGINE, None, with_error=False).getMessage() == ENGINE


def test_failures_are_joined_without_two_stops() -> None:
    from hwprices.flows.refresh import ProvidersFailedError

    lines = {"aws": "aws: no answer. Try again.", "gcp": "gcp: no key. Set one."}
    error = ProvidersFailedError(lines, None)
    assert str(error) == "aws: no answer. Try again; gcp: no key. Set one"


@pytest.mark.parametrize(
    ("troubles", "line"),
    [
        ((), "AWS: 7 prices of 3 machine types staged"),
        (
            (Trouble("aws/prices/us-east-1", "failed", "HTTP 500"),),
            "AWS: 7 prices of 3 machine types staged; 1 of 5 price units failed (HTTP 500)",
        ),
    ],
)
def test_a_collection_in_one_line(troubles: tuple[Trouble, ...], line: str) -> None:
    from hwprices.flows import reports

    counts = {"prices": 7, "instance_types": 3}
    units = {"ok": 4, "failed": len(troubles)}
    staged = SimpleNamespace(
        provider="aws",
        units=units,
        price_units=units,
        troubles=troubles,
        quarantined={},
        rows=counts.get,
    )
    assert reports.outcome_line(cast(Staged, staged)) == line


def outcome(*, new: bool) -> Any:
    """What publishing gave, where the gate held two providers back."""
    stop = CheckResult("aws", "sample_over_live", "stop", "the figures are live")
    entries = {"gcp": ProviderStatus(outcome="partial"), "ovh": ProviderStatus(outcome="partial")}
    return SimpleNamespace(
        version="V",
        new=new,
        held_back={"aws": [stop], "ovh": [stop, stop]},
        held=[
            CheckResult("azure", "jump", "held", "", 2),
            CheckResult("azure", "fact", "held", "", 1),
        ],
        new_words=[],
        status=SimpleNamespace(providers=entries),
    )


def test_the_headline_is_short_and_names_each_provider_once() -> None:
    """OVHcloud failed in this run; what the gate holds back are tables of an older one."""
    from hwprices.flows import reports

    assert reports.headline(outcome(new=False), {"ovh": "ovh: no answer"}) == (
        "failed: OVHcloud; held back: AWS (sample_over_live); held: Azure (3 rows);"
        " partial: Google Cloud; release V stays"
    )
    assert reports.headline(outcome(new=True)) == (
        "held back: AWS (sample_over_live), OVHcloud (sample_over_live, sample_over_live);"
        " held: Azure (3 rows); partial: Google Cloud, OVHcloud; new release V"
    )


def test_a_provider_that_was_not_asked_is_said_to_be_held_back(project: Path) -> None:
    from hwprices.flows import reports

    entries = {
        "aws": provider_status("held_back", "sample_over_live: the figures are live"),
        "gcp": provider_status("published"),
        "ovh": provider_status("published"),
    }
    held_back = outcome(new=False)
    held_back.held_back.pop("ovh")
    held_back.status = SimpleNamespace(providers=entries)
    held_back.release = SimpleNamespace(providers={})
    held_back.results = []
    demo = project / "data" / "demo"
    held_back.version = hwprices.open(demo).version
    page = reports.refreshed(held_back, {}, ["ovh"], str(demo)).splitlines()
    rows = [line.strip("| ").split(" | ")[:2] for line in page if line.startswith("| ")]
    assert rows[:3] == [["provider", "outcome"], ["ovh", "published"], ["aws", "**held back**"]]
    assert "Not requested in this run: AWS, Google Cloud." in page


def provider_status(outcome: ProviderOutcome, reason: str = "") -> ProviderStatus:
    return ProviderStatus(
        outcome=outcome,
        reason=reason,
        last_try="2026-11-24T04:17:00Z",
        last_success=None,
        complete_since=None,
        origin="live",
        run_id=None,
        release=None,
    )


def test_the_state_says_what_the_gate_saw() -> None:
    """Also of a provider that failed since, whose entry of the status has another reason."""
    from hwprices.flows import reports

    reason = "sample_over_live: the figures are live"
    assert reports.held_back(outcome(new=False)) == (
        f"held back: AWS ({reason}); OVHcloud ({reason}; {reason})"
    )


def test_a_report_that_fails_is_a_warning_and_no_more(tmp_path, monkeypatch) -> None:
    from hwprices.flows import publish

    warnings: list[str] = []
    logger = SimpleNamespace(warning=lambda text, *values: warnings.append(text % values))
    monkeypatch.setattr(publish, "get_run_logger", lambda: logger)
    published = SimpleNamespace(version="20260801T000000Z")
    publish.write_report.fn(published, str(tmp_path))
    assert len(warnings) == 1
    assert "release 20260801T000000Z has no report: no release" in warnings[0]
