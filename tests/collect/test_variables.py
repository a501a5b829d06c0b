"""A misspelt setting is noticed, and no variable that is read is taken for one."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hwprices.cli import app
from hwprices.collect.preflight import unknown_variables

LISTED = "hwprices admin refresh --help lists the settings."


def test_a_variable_that_nothing_reads_is_listed_with_the_one_that_is_meant() -> None:
    names = ["HWPRICES_ATTEMTS", "HWPRICES_ATTEMPTS", "HWPRICES_GCP_KEY", "HWPRICES_X", "PATH"]
    assert unknown_variables(names) == [
        ("HWPRICES_ATTEMTS", "Did you mean HWPRICES_ATTEMPTS?"),
        ("HWPRICES_GCP_KEY", "Did you mean HWPRICES_GCP_API_KEY?"),
        ("HWPRICES_X", LISTED),
    ]


def test_a_service_of_kubernetes_is_no_misspelt_setting() -> None:
    protocol = "HWPRICES_PAGE_PORT_80_TCP"
    names = ["HWPRICES_PAGE_SERVICE_HOST", "HWPRICES_SERVICE_PORT_HTTP", "HWPRICES_PORT"]
    assert unknown_variables([*names, protocol, f"{protocol}_ADDR"]) == []


def test_every_variable_in_the_code_and_the_docs_is_known(project: Path) -> None:
    folders = ("src", "flows", "deploy", "docs", ".github")
    files = [path for folder in folders for path in (project / folder).rglob("*")]
    texts = [path.read_text() for path in files if path.suffix in (".py", ".md", ".yaml", ".yml")]
    names = set(re.findall(r"\bHWPRICES_[A-Z_]+[A-Z]\b", " ".join(texts)))
    assert {"HWPRICES_ROOT", "HWPRICES_GCP_API_KEY", "HWPRICES_STORE_KEY_ID"} <= names
    of_an_example = {"HWPRICES_TOYCLOUD_URL"}  # docs: how to add a provider
    assert unknown_variables(names - of_an_example) == []


def test_preflight_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_KEEP_RELEASE", "5")
    arguments = ["preflight", "--provider", "lambda", "--root", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert "Did you mean HWPRICES_KEEP_RELEASES?" in result.output
