"""The main job as people start it: a command, a script, a deployment; what Prefect shows of it.

One file, because the tests share a Prefect server and a finished run, and a file is what one worker
of pytest takes.
"""

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import hwprices
from hwprices import providers
from hwprices.cli import app
from hwprices.publish.release import publish
from hwprices.storage.store import Store
from tests.flows.conftest import CANARY, CREDENTIALS
from tests.helpers import processes
from tests.helpers.aws_pages import bulk_server
from tests.helpers.flows_environment import clean_environment, migrated_home, refresh_here
from tests.helpers.landed import landed_pages
from tests.helpers.nightly import only_at_night
from tests.helpers.prefect_server import Server
from tests.helpers.releases import fleet, stage

# A test may first have to start Prefect's server and make the release: 2 to 10 minutes, by load.
pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(900)]

PROVIDERS = ["linode", "scaleway", "vast"]
"""One with several pages, one whose sample is two, and one without prices."""
_, SMALL, MARKET = PROVIDERS


@dataclass(frozen=True)
class Release:
    """A release of some providers' sample, and what the screen showed while it was made."""

    root: Path
    output: str
    intruders: list[str]
    """Ids of runs of the same deployment that were started meanwhile."""


@pytest.fixture(scope="module")
def release(prefect_server, tmp_path_factory, project) -> Release:
    """Run the main job once with the README's command for a deployment.

    The whole sample is in ``sample_root``: here it takes a minute. While this one runs, a second
    run of the deployment is started.
    """
    root = tmp_path_factory.mktemp("root")
    intruders: list[str] = []
    intruding = threading.Thread(target=start_another, args=(prefect_server, intruders))
    intruding.start()
    done = run_deployment(prefect_server, project, root)
    intruding.join()
    assert done.returncode == 0, done.stdout + done.stderr
    return Release(root, done.stdout + done.stderr, intruders)


def start_another(server: Server, intruders: list[str]) -> None:
    """Wait until a run of the deployment refresh is at work, start another, and note its id."""
    [deployment] = [each for each in server.filter("deployments") if each["name"] == "refresh"]
    of_deployment = {"deployment_id": {"any_": [deployment["id"]]}}
    at_work = {"state": {"type": {"any_": ["RUNNING"]}}, **of_deployment}
    deadline = time.monotonic() + 300
    while not server.filter("flow_runs", flow_runs=at_work) and time.monotonic() < deadline:
        time.sleep(0.5)
    body = {"parameters": {"source": "sample"}}
    run = server.post(f"deployments/{deployment['id']}/create_flow_run", body)
    intruders.append(run["id"])


def run_deployment(server: Server, project: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the README's command that starts a deployment, with this root and PROVIDERS."""
    text = (project / "README.md").read_text()
    command = text.partition(".venv/bin/prefect ")[2].partition("```")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["deployment", "run", "refresh/refresh"]
    assert words[-2:] == ["root=data", "--watch"]
    chosen = ["--param", f"providers={json.dumps(PROVIDERS)}"]
    return server.prefect(*words[:-2], f"root={root}", *chosen, "--watch")


def published_providers(root: Path) -> list[str]:
    column = hwprices.open(root).prices.select("provider").unique().collect()
    return sorted(column.to_series())


def prices_digests(root: Path, provider: str) -> list[str]:
    """The ids of the provider's prices, with the amounts."""
    prices = hwprices.open(root).prices.filter(provider=provider).sort("price_id")
    amount = pl.col("effective_hourly").cast(pl.String).fill_null("")
    return prices.select(pl.col("price_id") + "=" + amount).collect().to_series().to_list()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Release:
    """Run the flow's file as a script, which starts a Prefect server of its own and ends it.

    A proxy that does not answer stands between this machine and all others. Prefect's logs, which
    the command turns off, are on, and not sent before the end.
    """
    root = tmp_path_factory.mktemp("root")
    home = migrated_home(tmp_path_factory, root / ".prefect")
    command = (project / "flows/refresh.py", "--root", root)
    variables = {"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": "", "no_proxy": ""}
    variables |= {"PREFECT_LOGGING_LEVEL": "INFO", "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "600"}
    environment = {**clean_environment(home), **CREDENTIALS, **variables}
    done = processes.python(*command, "--provider", SMALL, cwd=root, env=environment)
    assert "Traceback" not in done.stdout + done.stderr
    return Release(root, done.stdout + done.stderr, [])


def test_no_credential_gets_to_the_screen_or_into_prefects_database(release, script, prefect_home):
    """Prefect's home has its database, with parameters, states and artifacts, its results and logs.

    The worker and the script had credentials in their environment.
    """
    homes = [prefect_home, script.root / ".prefect"]
    files = [path for home in homes for path in home.rglob("*") if path.is_file()]
    for root in (release.root, script.root):
        files += [path for path in root.rglob("*.json") if path.is_file()]
    assert {"prefect.db", "serve.log"} <= {path.name for path in files}
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in release.output + script.output


def test_the_providers_of_a_deployment_are_published(release: Release) -> None:
    assert published_providers(release.root) == [n for n in PROVIDERS if n != MARKET]
    assert hwprices.open(release.root).market_quantiles.collect().height > 0
    assert hwprices.open(release.root).verify() == []


def test_the_release_has_its_report(release: Release) -> None:
    report = release.root / "releases" / hwprices.open(release.root).version / "report"
    assert (report / "index.html").is_file()
    assert (report / "machine.html").is_file()


def test_a_deployment_and_the_script_publish_the_same_prices(release, script) -> None:
    assert published_providers(script.root) == [SMALL]
    digests = prices_digests(script.root, SMALL)
    assert digests
    assert prices_digests(release.root, SMALL) == digests


def test_the_screen_shows_progress_and_the_summary(script: Release) -> None:
    first, *_ = script.output.splitlines()
    assert first == "Starting Prefect, about 10 s …"
    assert f"{SMALL}: plan" in script.output
    assert hwprices.open(script.root).version in script.output
    assert "One H100 for an hour" in script.output


def test_the_last_log_gets_to_the_server_that_the_command_ends(script: Release) -> None:
    with closing(sqlite3.connect(script.root / ".prefect" / "prefect.db")) as database:
        messages = [message for (message,) in database.execute("select message from log")]
        events = {name for (name,) in database.execute("select event from events")}
    assert "Finished in state Completed()" in messages
    assert f"new release {hwprices.open(script.root).version}" in messages
    assert "Error logging to API" not in script.output
    assert "prefect.flow-run.Completed" in events
    assert "prefect.flow-run.heartbeat" not in events  # it takes half a second of each run


def test_a_second_run_publishes_nothing_new(script: Release, prefect_server: Server) -> None:
    before = (script.root / "latest.json").read_bytes()
    again = ("--root", str(script.root), "--provider", SMALL)
    done = refresh_here(prefect_server.environment, script.root, *again)
    assert done.exit_code == 0, done.output
    assert "Starting Prefect" not in done.stdout  # a server runs already
    assert "Nothing new" in done.stdout
    assert (script.root / "latest.json").read_bytes() == before


@only_at_night("tests/collect and tests/publish try the same in parts")
def test_altered_pages_fail_their_provider_and_the_others_publish(
    tmp_path: Path, project: Path, prefect_server: Server
) -> None:
    sample, root = tmp_path / "sample", tmp_path / "root"
    shutil.copytree(project / "data/sample", sample)
    pages = landed_pages(sample / "azure")
    assert pages
    for page in pages:
        page.write_bytes(page.read_bytes()[:-3] + b"xxx")
    environment = {**prefect_server.environment, "HWPRICES_SAMPLE": str(sample)}
    chosen = ("--provider", "azure", "--provider", SMALL)
    done = refresh_here(environment, tmp_path, "--root", str(root), *chosen)
    assert done.exit_code == 1
    [line] = done.stderr.strip().splitlines()
    assert "azure:" in line
    assert "checksum" in line
    assert published_providers(root) == [SMALL]
    status = json.loads((root / "status.json").read_text())["providers"]
    assert (status["azure"]["outcome"], status[SMALL]["outcome"]) == ("failed", "published")
    assert "checksum" in status["azure"]["reason"]
    artifacts = first_lines(prefect_server)
    assert artifacts["refresh"].startswith("# failed: Azure; new release ")
    version = json.loads((root / "latest.json").read_text())["version"]
    assert artifacts["release-notes"] == f"# Release {version}"


def test_a_provider_held_back_is_seen(tmp_path: Path, prefect_server: Server) -> None:
    world = fleet(provider=SMALL)
    stage(Store(tmp_path), "20260801T040000.000000Z", world)
    publish(Store(tmp_path))
    arguments = ("--root", str(tmp_path), "--provider", SMALL)
    done = refresh_here(prefect_server.environment, tmp_path, *arguments)
    assert done.exit_code == 3, done.output
    assert f"\nheld back: {SMALL} (sample_over_live: " in done.stdout
    assert "nothing new" not in done.stdout.lower()
    [remedy] = done.stderr.strip().splitlines()
    assert f"--accept {SMALL}:sample_over_live" in remedy
    after = CliRunner().invoke(app, ["status", "--root", str(tmp_path)])
    assert after.exit_code == 1
    assert "held back" in after.stdout
    assert newest_states(prefect_server)["refresh"] == ("FAILED", "HeldBack")
    assert newest_states(prefect_server)["publish"] == ("FAILED", "HeldBack")
    assert first_lines(prefect_server)["refresh"].startswith("# held back: Scaleway ")


def newest_states(server: Server) -> dict[str, tuple[str, str]]:
    """The type and the name of the state of each flow's newest run."""
    flows = {flow["id"]: flow["name"] for flow in server.filter("flows")}
    runs = server.filter("flow_runs", sort="START_TIME_ASC")
    ended = [run for run in runs if run["end_time"]]
    return {flows[run["flow_id"]]: (run["state_type"], run["state_name"]) for run in ended}


def first_lines(server: Server) -> dict[str, str]:
    """The first line of each artifact's newest version."""
    artifacts = server.filter("artifacts/latest")
    # artifacts of other types, such as results, hold a dictionary
    texts = {each["key"]: each["data"] for each in artifacts if isinstance(each["data"], str)}
    return {key: text.splitlines()[0] for key, text in texts.items()}


def test_every_schedule_makes_runs(prefect_server: Server) -> None:
    """A server that cannot insert runs (as with SQLAlchemy 2.1) reports nothing, runs nothing."""
    assert {"refresh", "publish"} < set(prefect_server.scheduled)
    assert all(prefect_server.scheduled.values()), prefect_server.scheduled


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


def test_runs_and_tasks_have_names(prefect_server, release, main_run) -> None:
    assert main_run["name"] == f"refresh sample: {', '.join(PROVIDERS)}"
    names = [run["name"] for run in sub_runs(prefect_server, main_run)]
    collects = [f"collect {name}" for name in PROVIDERS]
    assert names == [*collects, f"publish {release.root}"]
    version = hwprices.open(release.root).version
    assert {"gate, join and release", f"report of {version}"} <= task_names(
        prefect_server, names[-1]
    )


def test_the_page_of_the_run_says_what_came_of_it(prefect_server, release, main_run) -> None:
    version = hwprices.open(release.root).version
    page = artifact(prefect_server, main_run, "refresh")
    assert page["description"] == f"new release {version}"
    text = page["data"]
    assert text.startswith(f"# new release {version}\n")
    assert "| Akamai (Linode) | published | 967 | 3 fetched |  |" in text
    for name in PROVIDERS:
        assert f"| {providers.get(name).about.title} | published |" in text
    assert "## What changed\n\n- First release: 988 prices of 2 providers.\n\n" in text
    assert "[Release notes](/artifacts/key/release-notes)" in text
    notes = artifact(prefect_server, main_run, "release-notes")
    assert notes["data"].startswith(f"# Release {version}\n")


def test_the_log_has_lines_of_our_own_and_watch_shows_them(prefect_server, release, main_run):
    version = hwprices.open(release.root).version
    runs = {run["name"]: run["id"] for run in sub_runs(prefect_server, main_run)}
    lines = log_lines(prefect_server, runs["collect linode"], "staged")
    assert lines.index("3 units to fetch") < lines.index("3 of 3 units fetched")
    assert any(line.startswith("Akamai (Linode): 967 prices of ") for line in lines)
    headline = f"new release {version}"
    main_lines = log_lines(prefect_server, main_run["id"], headline)
    assert headline in main_lines
    assert any(line in release.output for line in main_lines)  # --watch may miss the last ones
    # what came of each provider, as soon as it is known
    for name in PROVIDERS:
        title = providers.get(name).about.title
        [line] = [each for each in main_lines if each.startswith(f"{title}: ")]
        assert (" rows of market_quantiles" if name == MARKET else " prices of ") in line
        assert main_lines.index(line) < main_lines.index(headline)


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
    headline = "failed: Scaleway; nothing published"
    assert run["state"]["message"] == headline
    lines = log_lines(prefect_server, run["id"], headline)
    [why] = [line for line in lines if "nowhere-1" in line]
    assert why.startswith("scaleway: ")
    assert [line for line in lines if headline in line] == [
        f"Finished in state Failed('{headline}')"
    ]
    assert not any("Traceback" in line for line in lines)
    page = artifact(prefect_server, run, "refresh")
    assert page["description"] == headline
    assert page["data"].count("nowhere-1") == 1


@pytest.mark.usefixtures("in_process")
def test_on_a_cluster_the_server_limits_the_units_of_a_provider(
    prefect_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers share no memory, so that the collector's own limit would hold in each of them."""
    from hwprices.collect import Collector
    from hwprices.flows import collect
    from hwprices.settings import load

    with Collector("scaleway", load(source="sample", root=str(tmp_path))) as collector:
        assert collect._shared_limit(collector) is None
        monkeypatch.setenv("HWPRICES_DASK_SCHEDULER", "tcp://127.0.0.1:8786")
        name = collect._shared_limit(collector)
        limits = prefect_server.filter("v2/concurrency_limits")
        assert {each["name"]: each["limit"] for each in limits}[name] == 4
        unit, _ = collector.plan()
        assert collect.fetch(collector, unit, name).status == "ok"


@pytest.mark.usefixtures("in_process")
def test_a_collection_that_takes_too_long_fails_and_is_in_the_status(tmp_path, monkeypatch) -> None:
    from hwprices.flows import collect

    def dawdle(*_: object) -> None:
        for _tenth in range(600):  # the limit is kept between two steps, where pytest has the alarm
            time.sleep(0.1)

    monkeypatch.setattr(collect, "_collect", dawdle)
    limited = collect.collect.with_options(timeout_seconds=3)
    state = limited("scaleway", "sample", str(tmp_path), return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "TimedOut")
    assert "took longer than 6 hours" in (tmp_path / "status.json").read_text()


def test_a_job_on_kubernetes_ends_after_the_flows_own_limits(project: Path) -> None:
    from hwprices.flows import endings

    template = json.loads((project / "deploy/kubernetes/job-template.json").read_text())
    deadline = template["job_configuration"]["job_manifest"]["spec"]["activeDeadlineSeconds"]
    collections = len(providers.names()) * endings.COLLECT_SECONDS
    assert deadline >= collections + endings.PUBLISH_SECONDS


@pytest.mark.usefixtures("in_process")
def test_without_an_account_its_kinds_are_skipped_and_the_status_stays(stub, tmp_path, monkeypatch):
    """What the deployment collect-aws does every hour, with boto3 on a machine without AWS."""
    from hwprices.flows.collect import collect

    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = bulk_server(stub(), {"us-east-1": b""})
    for name in ("PRICE_LIST", "CHINA_PRICE_LIST", "SPOT_ADVISOR"):
        monkeypatch.setenv(f"HWPRICES_AWS_{name}_URL", server.url)
    state = collect("aws", "live", str(tmp_path), kinds=["spot"], return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Skipped")
    assert state.message.startswith("aws: nothing to collect, no credentials for spot.")
    assert [path.name for path in tmp_path.iterdir()] == [".leases"]
    again: Any = collect("aws", "live", str(tmp_path), kinds=["spot"])
    assert str(again) == state.message


@pytest.mark.usefixtures("in_process")
def test_providers_are_chosen_once_for_all_flows(prefect_server, tmp_path, monkeypatch) -> None:
    """The schedules of the others are skipped; who names one gets it."""
    from hwprices.flows import publish as publishing
    from hwprices.flows.collect import collect
    from hwprices.flows.publish import publish
    from hwprices.flows.refresh import refresh

    monkeypatch.setenv("HWPRICES_PROVIDERS", "lambda")
    monkeypatch.setattr(publishing, "write_report", lambda *_: None)  # others test it
    state = collect("scaleway", "sample", str(tmp_path), return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Skipped")
    assert "HWPRICES_PROVIDERS does not name it" in state.message
    state = publish(str(tmp_path), return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "NothingCollected")
    refresh("sample", str(tmp_path))
    assert published_providers(tmp_path) == ["lambda"]
    refresh("sample", str(tmp_path), ["scaleway"])
    assert published_providers(tmp_path) == ["lambda", "scaleway"]


def test_what_a_refresh_chose_is_collected_whatever_the_variable_names(monkeypatch) -> None:
    from hwprices.errors import HwpricesError
    from hwprices.flows import collect

    monkeypatch.setenv("HWPRICES_PROVIDERS", "lambad")
    monkeypatch.setattr(collect, "flow_run", SimpleNamespace(parent_flow_run_id="of a refresh"))
    collect._check_chosen("lambda")
    monkeypatch.setattr(collect, "flow_run", SimpleNamespace(parent_flow_run_id=None))
    with pytest.raises(HwpricesError, match="lambad"):
        collect._check_chosen("lambda")


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(("is_busy", "tries"), [(True, 2), (False, 1)])
def test_publishing_is_tried_again_while_another_publisher_is_at_work(
    is_busy: bool, tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hwprices.errors import HwpricesError
    from hwprices.flows import publish
    from hwprices.publish.locks import BusyError

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
            return MemoryError("worker died, it had sent ?key=AIzaSyD-9tSrke72PouQMnMX-a7eZSW")

    unit = Unit("aws", "spot", "us-east-1")
    result = collect._result(LostFuture(), unit)  # type: ignore[arg-type]
    assert (result.unit, result.status) == (unit, "failed")
    lost = "the task was lost: MemoryError: worker died, it had sent ?key=(secret)"
    assert result.reason == lost


def test_a_run_begins_when_it_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for another run of the provider is no part of it."""
    from hwprices.flows import collect

    entered: list[datetime] = []

    @contextmanager
    def place(*_: object) -> Iterator[None]:
        entered.append(datetime.now(UTC))
        yield

    def fail(attempt: collect._Attempt, *_: object) -> None:
        raise ZeroDivisionError(f"began at {attempt.started_at.isoformat()}")

    monkeypatch.setattr(collect, "_one_at_a_time", place)
    monkeypatch.setattr(collect, "_collect", fail)
    monkeypatch.setattr(collect, "_record_failure", lambda *_: None)
    with pytest.raises(ZeroDivisionError) as error:
        collect.collect.fn("scaleway")
    assert datetime.fromisoformat(str(error.value).removeprefix("began at ")) >= entered[0]
