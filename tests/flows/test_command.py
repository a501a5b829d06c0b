"""The command ``hwprices admin refresh``, as far as it goes without Prefect."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import yaml
from typer.testing import CliRunner

from hwprices import providers
from hwprices.cli import app
from hwprices.cli.refresh import RefreshOutcome
from hwprices.publish.release import Published
from hwprices.release.manifest import (
    CheckResult,
    ProviderStatus,
    ReleaseManifest,
    Status,
    UnitCounts,
)
from tests.helpers import processes
from tests.helpers.cases import cases
from tests.helpers.flows_environment import clean_environment


def published(*, held_back: bool = False) -> Published:
    """A release of aws."""
    stop = CheckResult("aws", "rows_lost", "stop", "200 of 300 rows")
    status = Status(updated_at="", providers={"aws": ProviderStatus(outcome="published")})
    release = cast(ReleaseManifest, "a release")
    return Published(release, True, (stop,) if held_back else (), status)


FAILURES = ["azure: no answer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--provider", "ibm"], f"no provider 'ibm'. There are: {', '.join(providers.names())}"),
        (
            ["--root", "ftp://host/x"],
            "HWPRICES_ROOT: ftp://host/x is neither a folder nor one of s3://, gs://, az://",
        ),
        (["--root", "/dev/null/x"], "cannot write"),
        (["--source", "guess"], "HWPRICES_SOURCE"),
        (["--region", "eastsu"], "the sample has no region eastsu. Did you mean eastus?"),
        (["--accept", "aws:"], "--accept aws:: it names no part"),
    ],
)
def test_what_cannot_be_done_is_one_line_before_prefect_starts(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["refresh", *arguments])
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert done.stdout == ""


SKIPPED = {"gcp": ProviderStatus(outcome="skipped", reason="gcp: no credentials. Set a key.")}


def units(**counts: int) -> dict[str, ProviderStatus]:
    """How AWS fares, with these units."""
    units = UnitCounts(**counts)
    return {"aws": ProviderStatus(title="AWS", outcome="partial", reason="1 of 2", units=units)}


@cases("flows/exit_status", status=int)
def test_the_exit_status_says_how_much_was_done(
    release, failed, entries, strict, new_words, status
) -> None:
    counts = {} if entries in ("", "skipped provider") else yaml.safe_load(entries)
    outcome = RefreshOutcome(
        published(held_back=release == "held back") if release else None,
        FAILURES if failed == "yes" else [],
        SKIPPED if entries == "skipped provider" else counts and units(**counts),
        strict=strict == "yes",
        new_words=[new_words] if new_words else [],
    )
    assert outcome.exit_status == status


def test_strict_names_what_is_incomplete_and_what_is_new() -> None:
    outcome = RefreshOutcome(published(), entries=units(failed=1), new_words=["aws Db2", "gcp Z4D"])
    assert list(outcome.strict_reasons) == [
        "--strict: units of AWS failed or were carried over: status 4",
        "--strict: 2 new words of vendors (aws Db2, gcp Z4D): status 4",
    ]
    assert list(RefreshOutcome(published()).strict_reasons) == []


def test_what_is_incomplete_or_skipped_is_a_line_each() -> None:
    entries = {**units(carried=1), **SKIPPED}
    lines = RefreshOutcome(published(), entries=entries).notices
    assert lines == ["AWS: 1 of 2", "gcp: skipped, no credentials. Set a key."]
    failed = {"aws": replace(entries["aws"], prices_fetched=False)}
    assert RefreshOutcome(published(), FAILURES, failed).notices == []


@pytest.mark.parametrize(
    "form", [["flows/refresh.py"], ["-m", "hwprices.flows.refresh"], ["-m", "hwprices", "refresh"]]
)
def test_every_form_of_the_command_has_the_same_help(project: Path, form: list[str]) -> None:
    done = processes.python(*form, "--help", cwd=project, env=clean_environment())
    flags = ("--source", "--provider", "--region", "--kind", "--root", "--accept", "--strict")
    for word in (*flags, "HWPRICES_ROOT", "HWPRICES_GCP_API_KEY", "sample", "live"):
        assert word in done.stdout, word


def test_prefect_is_not_imported_for_the_help(project: Path) -> None:
    code = "import sys, hwprices.cli.refresh; sys.exit('prefect' in sys.modules)"
    processes.python("-c", code, cwd=project)
