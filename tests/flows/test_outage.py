"""What an operator sees when a vendor answers nothing, less than before, or is not configured.

The tests share the Prefect server of a command.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from typer.testing import CliRunner

import hwprices
from hwprices import flows
from hwprices.cli import app
from hwprices.flows import prefect_server, progress
from hwprices.publish import locks
from hwprices.storage.store import Store
from tests.helpers import azure_pages, processes, vendors
from tests.helpers.flows_environment import clean_environment, migrated_home, refresh_here
from tests.helpers.prefect_server import NO_SERVER
from tests.helpers.stub_server import Reply, Request, StubServer

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.timeout(900)]

AZURE = ["--source=live", "--provider=azure"]
REGIONS = [f"--region={region}" for region in vendors.AZURE_REGIONS]


@dataclass(frozen=True)
class Seen:
    """What an operator sees of a refresh: the exit status, the screen, and the providers' status.

    ``status_code`` is the exit status of ``hwprices admin status`` afterwards.
    """

    code: int
    screen: str
    entries: dict[str, Any]
    status_code: int

    @property
    def entry(self) -> dict[str, Any]:
        """The status of Azure."""
        return dict(self.entries["azure"])


@dataclass(frozen=True)
class Refresh:
    """Refreshes Azure and others without credentials, live, on this machine."""

    cwd: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str) -> Seen:
        """Refresh in this process."""
        done = refresh_here(self.environment, self.cwd, *AZURE, *arguments)
        root = self.cwd / "root"
        shown = CliRunner().invoke(app, ["status", "--root", str(root)])
        entries = json.loads((root / "status.json").read_text())["providers"]
        return Seen(done.exit_code, done.output, entries, shown.exit_code)


def refreshing(environment: dict[str, str], azure: StubServer, folder: Path) -> Refresh:
    variables = {
        "HWPRICES_AZURE_RETAIL_URL": f"{azure.url}{azure_pages.RETAIL}",
        "HWPRICES_ROOT": str(folder / "root"),
        "HWPRICES_ATTEMPTS": "1",
        "NO_GCE_CHECK": "true",  # else google-auth looks for a machine of Google's
        "HOME": str(folder),
    }
    return Refresh(folder, {**environment, **variables})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands that use the Prefect server of a command, with no vendor.

    Its database begins with RUNS. It is up in a fifth of the time of ``prefect_server``.
    """
    home = migrated_home(tmp_path_factory, tmp_path_factory.mktemp("home"))
    insert_old_runs(home / "prefect.db")
    environment = clean_environment(home)
    with mock.patch.dict(os.environ, environment, clear=True):
        flows.set_command_defaults(str(home))
        server = prefect_server.Server()
    proxies = {"HTTPS_PROXY": NO_SERVER, "NO_PROXY": "127.0.0.1"}
    try:
        server.wait()
        yield {**environment, **proxies, "PREFECT_API_URL": server.api}
    finally:
        server.stop()


@pytest.fixture(scope="module")
def published(
    server: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Seen, Path]]:
    """What was seen of a refresh of Azure, which answered, and of Google Cloud, and their root.

    When it begins, another run holds Azure, until this one waits for it.
    """
    folder = tmp_path_factory.mktemp("published")
    azure = vendors.serve("azure", StubServer().start())
    refresh = refreshing(server, azure, folder)
    other, note = ExitStack(), progress.note

    def end_the_other(provider: str, line: str) -> None:
        note(provider, line)
        assert azure.requests == []
        other.close()

    with other, mock.patch.object(progress, "note", end_the_other):
        other.enter_context(locks.hold(Store(folder / "root"), "azure", "earlier", print))
        seen = refresh("--provider=gcp", *REGIONS)
    yield seen, folder / "root"
    azure.stop()


@pytest.fixture
def azure(stub: Callable[[], StubServer]) -> StubServer:
    return vendors.serve("azure", stub())


@pytest.fixture
def refresh(server: dict[str, str], azure: StubServer, tmp_path: Path) -> Refresh:
    return refreshing(server, azure, tmp_path)


@pytest.fixture
def later(refresh: Refresh, published: tuple[Seen, Path]) -> Refresh:
    """Refreshes a copy of a published root."""
    shutil.copytree(published[1], refresh.cwd / "root")
    return refresh


def test_an_outage_of_prices_is_said_and_fails(later, azure, published) -> None:
    """Every price call answered 500, and it was "nothing new", exit 0, last success just now."""
    before, _ = published
    assert (before.code, before.status_code, before.entry["outcome"]) == (0, 0, "published")
    azure.on(azure_pages.RETAIL, Reply(b"", status=500))
    after = later(*REGIONS)
    success = before.entry["last_success"]
    line = f"Azure: 7 of 7 price units failed (HTTP 500); prices of {success[:10]} kept"
    assert (after.code, after.status_code, after.entry["outcome"]) == (1, 1, "partial")
    assert f"error: {line}" in after.screen
    assert "nothing new" not in after.screen.lower()
    assert after.entry["last_success"] == after.entry["complete_since"] == success
    assert after.entry["last_try"] > success


def test_a_failed_region_and_a_new_word_are_said_and_take_no_known_price(later, azure) -> None:
    known = _prices(later)
    answer = azure.routes[azure_pages.RETAIL]

    def fail_in_the_west_and_add_a_unit_in_the_east(request: Request) -> Reply:
        if "westeurope" in request.query["$filter"]:
            return Reply(b"", status=503)
        page = json.loads(answer(request).body)
        new = [
            item | {"unitOfMeasure": "1 Fortnight", "meterId": f"{item['meterId']}-new"}
            for item in page["Items"]
            if item["type"] == "Consumption"
        ]
        items = page["Items"] + new
        return Reply.json(page | {"Items": items, "Count": len(items)})

    azure.on(azure_pages.RETAIL, fail_in_the_west_and_add_a_unit_in_the_east)
    seen = later(*REGIONS, "--strict")
    assert (seen.code, seen.status_code, seen.entry["outcome"]) == (4, 0, "partial")
    [line] = [each for each in seen.screen.splitlines() if each.startswith("Azure: ")]
    assert line.startswith("Azure: 3 of 5 price units failed (HTTP 503); prices of 20")
    assert "error: --strict: units of Azure failed or were carried over: status 4" in seen.screen
    assert "new from the vendor" in seen.screen
    assert "1 Fortnight" in seen.screen
    assert _prices(later).equals(known)
    root = ["--root", str(later.cwd / "root")]
    words = json.loads(CliRunner().invoke(app, ["coverage", "--unknown", "--json", *root]).stdout)
    assert [(word["provider"], word["word"]) for word in words] == [("azure", "1 Fortnight")]


def test_units_that_come_back_empty_or_smaller_are_named(later: Refresh, azure: StubServer) -> None:
    answer = azure.routes[azure_pages.RETAIL]

    def without_reservations_and_large_sizes(request: Request) -> Reply:
        reply = answer(request)
        page = json.loads(reply.body)
        items = [
            item
            for item in page["Items"]
            if item["type"] != "Reservation" and "D48s" not in item["armSkuName"]
        ]
        return Reply.json(page | {"Items": items, "Count": len(items)})

    azure.on(azure_pages.RETAIL, without_reservations_and_large_sizes)
    seen = later("--region=eastus")
    assert (seen.code, seen.entry["outcome"]) == (1, "partial")
    [line] = [each for each in seen.screen.splitlines() if "Azure: " in each]
    assert "retail_consumption_usd/eastus lost 1 of 7 items since the last run" in line
    assert "retail_reservation_usd/eastus has no items and had 7 before" in line


def test_a_run_that_waits_for_another_says_so(published: tuple[Seen, Path]) -> None:
    """It stood still for 4 min 40 s, and said nothing. tests/publish/test_lease.py has the rest."""
    seen, _ = published
    assert (seen.code, seen.entry["outcome"]) == (0, "published")
    [line] = [each for each in seen.screen.splitlines() if "waiting for" in each]
    assert line.startswith(f"azure: waiting for process {os.getpid()} on ")
    assert "(run earlier)" in line


def test_a_provider_without_credentials_is_skipped(published: tuple[Seen, Path]) -> None:
    """Google failed, and every daily refresh with it: an operator learned to ignore failures."""
    seen, _ = published
    assert (seen.code, seen.status_code, seen.entries["gcp"]["outcome"]) == (0, 0, "skipped")
    why = "skipped, no credentials for Google's prices. Set HWPRICES_GCP_API_KEY, or run: gcloud"
    assert f"Google Cloud: {why}" in seen.screen


def _prices(refresh: Refresh) -> pl.DataFrame:
    prices = hwprices.open(refresh.cwd / "root").prices
    columns = ["price_id", "currency", "hourly", "upfront", "effective_hourly", "flags"]
    return prices.select(columns).sort("price_id").collect()


FLOW, *RUNS = (str(uuid.UUID(int=number)) for number in range(1, 5))
AGES = ("-1 days", "-29 days", "-31 days")


def insert_old_runs(database: Path) -> None:
    """Insert runs of a flow that ended so long ago, each with a line of its log."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("insert into flow (id, name) values (?, 'x')", (FLOW,))
        for run, age in zip(RUNS, AGES, strict=True):
            connection.execute(
                "insert into flow_run (id, name, flow_id, state_type, state_name, end_time)"
                " values (?, 'x', ?, 'COMPLETED', 'Completed', datetime('now', ?))",
                (run, FLOW, age),
            )
            connection.execute(
                "insert into log (name, level, flow_run_id, message, timestamp)"
                " values ('x', 20, ?, 'x', datetime('now'))",
                (run,),
            )


def test_a_commands_server_deletes_the_runs_of_long_ago(server: dict[str, str]) -> None:
    """Prefect lets only servers that run for long do it. Its database begins with three runs."""
    database = Path(server["PREFECT_HOME"], "prefect.db")

    def with_logs() -> set[str]:
        query = "select id from flow_run union select flow_run_id from log"
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return {run for (run,) in connection.execute(query)} & {*RUNS}

    assert processes.wait_until(lambda: len(with_logs()) < 3)
    assert with_logs() == {*RUNS[:2]}
