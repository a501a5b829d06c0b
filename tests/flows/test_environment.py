"""The defaults of the variables that Prefect and polars read when they are imported."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from sqlalchemy import make_url

from hwprices import flows
from hwprices.errors import HwpricesError
from hwprices.storage.store import Store
from tests.helpers import processes


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    """Start with an empty environment, and restore the real one after the test."""
    with mock.patch.dict(os.environ, clear=True):
        yield os.environ  # type: ignore[misc]


def test_a_command_keeps_prefects_state_below_the_root(variables, tmp_path) -> None:
    flows.set_command_defaults(str(tmp_path))
    assert variables["PREFECT_HOME"] == str(tmp_path / ".prefect")
    assert variables["PREFECT_LOGGING_LEVEL"] == "CRITICAL"
    assert variables["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert variables["DO_NOT_TRACK"] == "1"


@pytest.mark.parametrize(
    ("root", "home"),
    [
        ("data/live", "data/live/.prefect"),  # Prefect's server may have another working directory
        ("~/hw", "home/hw/.prefect"),
        ("s3://bucket/prices", "data/.prefect"),
    ],
)
def test_prefects_state_is_where_the_tables_are(variables, tmp_path, monkeypatch, root, home):
    variables["HOME"] = str(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    flows.set_command_defaults(root)
    assert variables["PREFECT_HOME"] == str(tmp_path / home)
    assert root.startswith("s3:") or Store(root).path.absolute() == (tmp_path / home).parent
    assert (tmp_path / home).parent.is_dir()


def test_a_folder_that_cannot_be_made_is_one_line(variables: dict[str, str]) -> None:
    with pytest.raises(HwpricesError, match=r"cannot write in /dev/null: .* Set PREFECT_HOME"):
        flows.set_home("/dev/null")


def test_a_new_database_takes_longer_to_start(variables: dict[str, str], tmp_path: Path) -> None:
    flows.set_home(str(tmp_path))
    new = flows.startup_seconds()
    (tmp_path / ".prefect" / "prefect.db").touch()
    assert new > flows.startup_seconds()


def test_an_empty_variable_of_prefect_counts_as_not_set(variables, tmp_path) -> None:
    variables |= {"PREFECT_API_URL": "", "PREFECT_HOME": "", "PREFECT_LOGGING_LEVEL": "", "X": ""}
    flows.set_command_defaults(str(tmp_path))
    assert "PREFECT_API_URL" not in variables
    assert variables["PREFECT_HOME"] == str(tmp_path / ".prefect")
    assert variables["PREFECT_LOGGING_LEVEL"] == "CRITICAL"
    assert variables["X"] == ""


def test_variables_that_are_set_stay(variables: dict[str, str], tmp_path: Path) -> None:
    variables["PREFECT_HOME"] = "/elsewhere"
    variables["DO_NOT_TRACK"] = "0"
    flows.set_command_defaults(str(tmp_path))
    assert variables["PREFECT_HOME"] == "/elsewhere"
    assert variables["DO_NOT_TRACK"] == "0"


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_no_proxy_is_asked_for_this_machine(variables: dict[str, str], name: str) -> None:
    flows.reach_directly("127.0.0.1")
    assert variables["no_proxy"] == variables["NO_PROXY"] == "127.0.0.1"
    variables.clear()
    variables[name] = "intranet"
    flows.reach_directly("127.0.0.1")
    assert variables["no_proxy"] == variables["NO_PROXY"] == "intranet,127.0.0.1"


def test_a_worker_keeps_prefects_own_log(variables: dict[str, str]) -> None:
    flows.set_defaults()
    assert "PREFECT_LOGGING_LEVEL" not in variables
    assert "PREFECT_HOME" not in variables
    assert variables["DO_NOT_TRACK"] == "1"


def settings_of(variables: dict[str, str], tmp_path: Path) -> Any:
    """Read what Prefect makes of its variables."""
    from prefect.settings import Settings

    own = {name: value for name, value in variables.items() if name.startswith("PREFECT_")}
    with mock.patch.dict(os.environ, {"PREFECT_HOME": str(tmp_path), **own}, clear=True):
        return Settings()


def prefect_settings(variables: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """Tell which variables Prefect does not know, of which it says nothing, and what it deletes."""
    settings = settings_of(variables, tmp_path)
    known = settings.to_environment_variables(exclude_unset=False)
    vacuum = settings.server.services.db_vacuum
    return {
        "unknown": [n for n in variables if n.startswith("PREFECT_") and n not in known],
        "deleted": sorted(vacuum.enabled_vacuum_types),
        "days": vacuum.retention_period.total_seconds() / 86400,
    }


DELETES = {"unknown": [], "deleted": ["events", "flow_runs", "orphans"], "days": 30}


def test_prefect_knows_every_default_and_deletes_old_runs(tmp_path: Path) -> None:
    assert prefect_settings({**flows.DEFAULTS, **flows.QUIET}, tmp_path) == DELETES
    misspelt = {"PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION": "1"}
    assert prefect_settings(misspelt, tmp_path)["unknown"] == [*misspelt]


def test_the_servers_of_deploy_delete_old_runs(project: Path, tmp_path: Path) -> None:
    unit = (project / "deploy/systemd/hwprices-server.service").read_text()
    systemd = dict(re.findall(r"^Environment=(\w+)=(.*)$", unit, re.MULTILINE))
    services = yaml.safe_load((project / "deploy/compose.yaml").read_text())["services"]
    compose = services["prefect"]["environment"]
    del systemd["PREFECT_HOME"]
    for variables in (systemd, compose):
        assert prefect_settings(variables, tmp_path) == DELETES


def test_a_password_with_any_signs_reaches_postgres(project: Path, tmp_path: Path) -> None:
    """``openssl rand -base64 24`` gives them; within an address they ended the server's start."""
    password = "p@ss/w:rd#1%2F?+="
    services = yaml.safe_load((project / "deploy/compose.yaml").read_text())["services"]
    variables = {
        name: re.sub(r"\$\{POSTGRES_PASSWORD:[^}]*\}", password, value)
        for name, value in services["prefect"]["environment"].items()
    }
    url = settings_of(variables, tmp_path).server.database.connection_url.get_secret_value()
    found = make_url(url)
    assert found.drivername == "postgresql+asyncpg"
    assert (found.host, found.port, found.database) == ("postgres", 5432, "prefect")
    assert (found.username, found.password) == ("prefect", password)


def test_what_a_server_of_ones_own_needs_is_documented(project: Path) -> None:
    """Kubernetes and ECS have no server here."""
    page = (project / "docs/operations.md").read_text()
    for name, value in flows.DEFAULTS.items():
        if "DB_VACUUM" in name:
            assert f"{name}={value}" in page


COMMAND_IMPORTS = """
import os
import hwprices.cli.refresh, polars
print(os.environ["_RJEM_MALLOC_CONF"])
"""


def test_a_command_sets_the_allocator_before_polars_is_imported() -> None:
    """polars appends what it finds to its own options, and sets the variable in every case."""
    options = dict(os.environ)
    options.pop("_RJEM_MALLOC_CONF", None)
    assert _run(COMMAND_IMPORTS, options).stdout.strip().endswith(f",{flows.ALLOCATOR}")


def test_polars_allocator_knows_the_options() -> None:
    """With ``confirm_conf`` it prints each option that it took, and those that it does not know."""
    options = {**os.environ, "_RJEM_MALLOC_CONF": f"confirm_conf:true,{flows.ALLOCATOR}"}
    printed = _run("import polars", options).stderr
    if "<jemalloc>" not in printed:
        pytest.skip("polars has another allocator on this system")
    assert "Invalid conf" not in printed
    for option in flows.ALLOCATOR.split(","):
        assert f"-- Set conf value: {option}" in printed


def _run(program: str, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return processes.python("-c", program, env=variables)
