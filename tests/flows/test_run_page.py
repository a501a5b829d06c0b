"""What Prefect shows of a run: names, the headline artifact, our own log, why it failed."""

import contextvars
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.flows.conftest import Release
from tests.helpers.prefect_server import Server

import hwprices
from hwprices import providers

# A test may first have to start Prefect's server and make the release: 2 to 10 minutes, by load.
pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def in_process(prefect_server: Server) -> Iterator[None]:
    """Let flows that a test calls report to the server."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: prefect_server.api}):
        yield


@pytest.fixture
def main_run(prefect_server: Server, release: Release) -> dict[str, Any]:
    """The refresh of the deployment, as the server has it."""
    runs = prefect_server.filter("flow_runs", sort="START_TIME_ASC")
    return next(run for run in runs if run["parameters"].get("root") == str(release.root))


def sub_runs(server: Server, run: dict[str, Any]) -> list[dict[str, Any]]:
    of_run = {"parent_flow_run_id": {"any_": [run["id"]]}}
    return list(server.filter("flow_runs", flow_runs=of_run, sort="START_TIME_ASC"))


def artifact(server: Server, run: dict[str, Any], key: str) -> dict[str, Any]:
    of_run = {"flow_run_id": {"any_": [run["id"]]}}
    [one] = [each for each in server.filter("artifacts", artifacts=of_run) if each["key"] == key]
    return dict(one)


def task_names(server: Server, run_name: str) -> set[str]:
    """List the tasks of a run, waiting for them: the server notes them after the run has ended."""
    of_run, deadline = {"name": {"any_": [run_name]}}, time.monotonic() + 60
    tasks: set[str] = set()
    while len(tasks) < 2 and time.monotonic() < deadline:
        tasks = {task["name"] for task in server.filter("task_runs", flow_runs=of_run)}
        time.sleep(0.3)
    return tasks


def log_lines(server: Server, run_id: str, last: str) -> list[str]:
    """Read a run's log, waiting for this line: it comes a moment after the run has ended."""
    of_run, deadline = {"flow_run_id": {"any_": [run_id]}}, time.monotonic() + 60
    lines: list[str] = []
    while not any(last in line for line in lines) and time.monotonic() < deadline:
        lines = [each["message"] for each in server.filter("logs", logs=of_run)]
        time.sleep(0.3)
    return lines


def test_runs_and_tasks_have_names(
    prefect_server: Server, release: Release, main_run: dict[str, Any]
) -> None:
    assert main_run["name"] == "refresh sample"
    names = [run["name"] for run in sub_runs(prefect_server, main_run)]
    collects = [f"collect {name}" for name in providers.names()]
    assert names == [*collects, f"publish {release.root}"]
    version = hwprices.open(release.root).version
    assert {"gate, join and release", f"report of {version}"} <= task_names(
        prefect_server, names[-1]
    )


def test_the_page_of_the_run_says_what_came_of_it(
    prefect_server: Server, release: Release, main_run: dict[str, Any]
) -> None:
    version = hwprices.open(release.root).version
    page = artifact(prefect_server, main_run, "refresh")
    assert page["description"] == f"new release {version}"
    text = page["data"]
    assert text.startswith(f"# new release {version}\n")
    assert "| Google Cloud | published | 21,199 | 4 fetched |  |" in text
    for name in providers.names():
        assert f"| {providers.get(name).about.title} | published |" in text
    assert "- AWS is in a release for the first time: 2,557 prices." in text
    assert "[Release notes](/artifacts/key/release-notes)" in text
    notes = artifact(prefect_server, main_run, "release-notes")
    assert notes["data"].startswith(f"# Release {version}\n")


def test_the_log_has_lines_of_our_own_and_watch_shows_them(
    prefect_server: Server, release: Release, main_run: dict[str, Any]
) -> None:
    version = hwprices.open(release.root).version
    [gcp] = [run for run in sub_runs(prefect_server, main_run) if run["name"] == "collect gcp"]
    lines = log_lines(prefect_server, gcp["id"], "staged")
    assert lines.index("4 units to fetch") < lines.index("4 of 4 units fetched")
    assert any(line.startswith("21,199 prices of ") for line in lines)
    headline = f"new release {version}"
    assert headline in log_lines(prefect_server, main_run["id"], headline)
    assert headline in release.output


def test_a_deployment_does_not_run_twice_at_once(prefect_server: Server, release: Release) -> None:
    of_id = {"id": {"any_": release.intruders}}
    [run] = prefect_server.filter("flow_runs", flow_runs=of_id)
    assert run["state_type"] == "CANCELLED"


@pytest.mark.usefixtures("in_process")
def test_a_failed_run_says_why_in_one_line(prefect_server: Server, tmp_path: Path) -> None:
    from hwprices.flows.refresh import ProvidersFailedError, refresh

    with pytest.raises(ProvidersFailedError, match=r"scaleway: .*nowhere-1"):
        refresh("sample", str(tmp_path), ["scaleway"], ["nowhere-1"])
    [run] = [
        run
        for run in prefect_server.filter("flow_runs", sort="START_TIME_ASC")
        if run["parameters"].get("root") == str(tmp_path) and not run["parent_task_run_id"]
    ]
    assert run["name"] == "refresh sample: scaleway"
    assert run["state"]["message"].startswith("scaleway: ")
    lines = log_lines(prefect_server, run["id"], "scaleway: ")
    assert next(line for line in lines if "nowhere-1" in line).startswith("scaleway: ")
    assert not any("Traceback" in line for line in lines)
    page = artifact(prefect_server, run, "refresh")
    assert page["description"] == "failed: Scaleway, publish; nothing published"
    assert "nowhere-1" in page["data"]


@pytest.mark.usefixtures("in_process")
def test_one_flow_collects_from_a_provider_at_a_time() -> None:
    from hwprices.flows.limits import one_at_a_time

    entered = threading.Event()

    def enter() -> None:
        with one_at_a_time("toy"):
            entered.set()

    with one_at_a_time("toy"):
        # the copy of the context has the server's address
        thread = threading.Thread(target=contextvars.copy_context().run, args=(enter,))
        thread.start()
        assert not entered.wait(2)
    assert entered.wait(120)
    thread.join()


@pytest.mark.usefixtures("in_process")
def test_on_a_cluster_the_server_limits_the_units_of_a_provider(
    prefect_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers share no memory, so that the collector's own limit would hold in each of them."""
    from hwprices.collect.collector import Collector
    from hwprices.flows import collect
    from hwprices.settings import load

    with Collector("scaleway", load(source="sample", root=str(tmp_path))) as collector:
        assert collect._shared_limit(collector) is None
        monkeypatch.setenv("HWPRICES_DASK_SCHEDULER", "tcp://127.0.0.1:8786")
        name = collect._shared_limit(collector)
        limits = prefect_server.filter("v2/concurrency_limits")
        assert {each["name"]: each["limit"] for each in limits}[name] == 4
        [unit] = collector.plan()
        assert collect.fetch(collector, unit, name).status == "ok"


@pytest.mark.usefixtures("in_process")
def test_a_collection_that_takes_too_long_fails_and_is_in_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hwprices.flows import collect

    def dawdle(*_: object) -> None:
        for _tenth in range(600):  # the limit is kept between two steps, where pytest has the alarm
            time.sleep(0.1)

    monkeypatch.setattr(collect, "_collect", dawdle)
    limited = collect.collect.with_options(timeout_seconds=3)
    state = limited("scaleway", "sample", str(tmp_path), return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "TimedOut")
    assert "took longer than 6 hours" in (tmp_path / "status.json").read_text()


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("is_busy", "tries"), [(True, 2), (False, 1)])
def test_publishing_is_tried_again_while_another_publisher_is_at_work(
    is_busy: bool, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hwprices.errors import HwpricesError
    from hwprices.flows import publish
    from hwprices.publish.pointer import BusyError

    calls: list[object] = []

    def give_up_once(*_: object, **__: object) -> str:
        calls.append(_)
        if len(calls) == 1:
            raise BusyError("another publisher") if is_busy else HwpricesError("no staged tables")
        return "a release"

    monkeypatch.setattr(publish.release, "publish", give_up_once)
    task = publish.gate_join_release.with_options(retry_delay_seconds=0)
    state = task(str(tmp_path), [], return_state=True)
    assert len(calls) == tries
    assert state.is_completed() == is_busy


def test_a_task_that_is_lost_fails_its_unit() -> None:
    from hwprices.flows import collect
    from hwprices.landing.pages import Unit

    class LostFuture:
        def wait(self) -> None: ...

        def result(self, *, raise_on_failure: bool) -> object:
            assert not raise_on_failure
            return MemoryError("worker died")

    unit = Unit("aws", "spot", "us-east-1")
    result = collect._result(LostFuture(), unit)  # type: ignore[arg-type]
    assert (result.unit, result.status) == (unit, "failed")
    assert result.reason == "the task was lost: MemoryError: worker died"
