"""The main job as people start it: a command, a script, a deployment."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.flows.conftest import CANARY, CREDENTIALS, Release
from tests.helpers import make
from tests.helpers.flows_environment import clean_environment
from tests.helpers.landed import landed_pages
from tests.helpers.prefect_server import Server

import hwprices
from hwprices import providers
from hwprices.publish.release import publish
from hwprices.storage.store import Store

# A test may first have to start Prefect's server and make the release: 2 to 10 minutes, by load.
pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(900)]

SMALL = "scaleway"
"""A provider whose sample is a page."""


def run(
    *command: str | Path, cwd: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def run_command(
    server: Server, cwd: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run ``hwprices refresh`` with a server that runs already."""
    command = [sys.executable, "-m", "hwprices", "refresh", *arguments]
    return run(*command, cwd=cwd, environment={**server.environment, **variables})


def published_providers(root: Path) -> list[str]:
    column = hwprices.open(root).prices.select("provider").unique().collect()
    return sorted(column.to_series())


def prices_digests(root: Path, provider: str) -> dict[str, str]:
    """The digest of each of the provider's files of prices."""
    files = hwprices.open(root).manifest["tables"]["prices"]["files"]
    return {file["key"]: file["content_sha256"] for file in files if file["provider"] == provider}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Release:
    """Run the flow's file as a script, which starts a Prefect server of its own and ends it."""
    root, home = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home")
    command = [sys.executable, project / "flows/refresh.py", "--root", str(root)]
    environment = {**clean_environment(home), **CREDENTIALS}
    done = run(*command, "--provider", SMALL, cwd=home, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return Release(root, done.stdout + done.stderr, [])


def test_no_credential_gets_to_the_screen_or_into_prefects_database(
    release: Release, script: Release, prefect_home: Path
) -> None:
    """Prefect's home has its database, with parameters, states and artifacts, its results and logs.

    The worker and the script had credentials in their environment.
    """
    files = [path for path in prefect_home.rglob("*") if path.is_file()]
    for root in (release.root, script.root):
        files += [path for path in root.rglob("*.json") if path.is_file()]
    assert {"prefect.db", "serve.log"} <= {path.name for path in files}
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in release.output + script.output


def test_every_provider_is_published(release: Release) -> None:
    assert published_providers(release.root) == providers.names()
    assert hwprices.open(release.root).verify() == []


def test_the_release_has_its_report(release: Release) -> None:
    report = release.root / "releases" / hwprices.open(release.root).version / "report"
    assert (report / "index.html").is_file()
    assert (report / "machines" / "aws" / "p5.48xlarge.html").is_file()


def test_every_price_leads_to_a_landed_page(release: Release) -> None:
    landed = {page.name.split(".")[0] for page in landed_pages(release.root / "raw")}
    prices = hwprices.open(release.root).prices
    cited = set(prices.select("raw_sha256").unique().collect().to_series())
    assert cited
    assert cited <= landed


def test_duckdb_answers_a_worked_number(release: Release) -> None:
    """Known wrong number G1 (docs/known-wrong-numbers.md): parts of the machine left out."""
    sql = """
        select effective_hourly from prices
        where provider = 'gcp' and region = 'us-central1' and instance_type = 'a3-highgpu-8g'
          and purchase_option = 'on_demand' and os = 'linux' and software = 'none'
          and license_model = 'included' and tenancy = 'shared' and currency = 'USD'
    """
    [[usd]] = hwprices.open(release.root).duckdb.sql(sql).fetchall()
    assert float(usd) == pytest.approx(88.49, abs=1e-5)


def test_a_deployment_and_the_script_publish_the_same_prices(
    release: Release, script: Release
) -> None:
    assert published_providers(script.root) == [SMALL]
    digests = prices_digests(script.root, SMALL)
    assert digests
    assert prices_digests(release.root, SMALL) == digests


def test_the_screen_shows_progress_and_the_summary(script: Release) -> None:
    first, *_ = script.output.splitlines()
    assert first == "Starting Prefect, about 15 s …"
    assert f"{SMALL}: plan" in script.output
    assert hwprices.open(script.root).version in script.output
    assert "One H100 for an hour" in script.output


def test_a_second_run_publishes_nothing_new(script: Release, prefect_server: Server) -> None:
    before = (script.root / "latest.json").read_bytes()
    again = ("--root", str(script.root), "--provider", SMALL)
    done = run_command(prefect_server, script.root, *again)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Starting Prefect" not in done.stdout  # a server runs already
    assert "Nothing new" in done.stdout
    assert (script.root / "latest.json").read_bytes() == before


@pytest.mark.skipif(
    os.environ.get("HWPRICES_NIGHTLY") != "1",
    reason="tests/collect and tests/publish try the same in parts: set HWPRICES_NIGHTLY=1",
)
def test_altered_pages_fail_their_provider_and_the_others_publish(
    tmp_path: Path, project: Path, prefect_server: Server
) -> None:
    sample, root = tmp_path / "sample", tmp_path / "root"
    shutil.copytree(project / "data/sample", sample)
    pages = landed_pages(sample / "azure")
    assert pages
    for page in pages:
        page.write_bytes(page.read_bytes()[:-3] + b"xxx")
    done = run_command(
        prefect_server,
        tmp_path,
        *("--root", str(root), "--provider", "azure", "--provider", SMALL),
        HWPRICES_SAMPLE=str(sample),
    )
    assert done.returncode == 1
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
    """Such a run was green, with the headline "Nothing new": a provider could stand still."""
    world = make.world(provider=SMALL)
    make.stage_frames(Store(tmp_path), "20260801T040000.000000Z", world, provider=SMALL)
    publish(Store(tmp_path))
    arguments = ("--root", str(tmp_path), "--provider", SMALL)
    done = run_command(prefect_server, tmp_path, *arguments)
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"\nheld back: {SMALL} (sample_over_live: " in done.stdout
    assert "nothing new" not in done.stdout.lower()
    [remedy] = done.stderr.strip().splitlines()
    assert f"--accept {SMALL}:sample_over_live" in remedy
    status = [sys.executable, "-m", "hwprices", "status", "--root", str(tmp_path)]
    asked = run(*status, cwd=tmp_path, environment=clean_environment())
    assert asked.returncode == 1
    assert "held back" in asked.stdout
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
