"""The checks before a run, against servers on this machine and roots of several kinds."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.object_store import s3
from tests.helpers.stub_server import Reply, Request, StubServer
from typer.testing import CliRunner

from hwprices import providers
from hwprices.cli import app
from hwprices.collect import preflight
from hwprices.providers import Check
from hwprices.settings import load, provider_endpoints, variable

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYCANARYKEY000"


@pytest.fixture
def server() -> Iterator[StubServer]:
    server = StubServer().start()
    yield server
    server.stop()


@pytest.fixture
def aws(server: StubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StubServer:
    """Let every address of AWS lead to the server, and give boto3 credentials."""
    for name in ("PRICE_LIST", "CHINA_PRICE_LIST", "SPOT_ADVISOR"):
        monkeypatch.setenv(f"HWPRICES_AWS_{name}_URL", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("HWPRICES_CONNECT_TIMEOUT", "2")
    return server


def ec2_error(code: str, status: int) -> Reply:
    error = f"<Error><Code>{code}</Code><Message>-</Message></Error>"
    body = f"<Response><Errors>{error}</Errors></Response>"
    return Reply(body.encode(), status=status, content_type="text/xml")


def checks_of(title: str, root: Path, provider: str) -> dict[str, Check]:
    subjects = {s.title: s for s in preflight.check_all(load(root=str(root)), [provider])}
    return {check.what: check for check in subjects[title].checks}


def test_each_right_of_the_account_is_asked_for_without_making_the_call(aws, tmp_path) -> None:
    def answer(request: Request) -> Reply:
        if b"DescribeSpotPriceHistory" in request.body:
            return ec2_error("UnauthorizedOperation", 403)
        return ec2_error("DryRunOperation", 412)

    aws.on("/*", answer)
    checks = checks_of("AWS", tmp_path, "aws")
    assert checks["credentials"].outcome == "ok"
    assert "env" in checks["credentials"].detail
    assert checks["describe_instance_types"].outcome == "ok"
    spot = checks["describe_spot_price_history"]
    assert spot.outcome == "absent"
    assert "live spot prices" in spot.detail
    assert "aws-iam-policy" in spot.remedy
    calls = [request.body for request in aws.requests if request.method == "POST"]
    assert len(calls) == 6
    assert all(b"DryRun=true" in call for call in calls)
    assert list(tmp_path.rglob("*")) == []


def test_no_secret_is_shown(aws: StubServer, tmp_path: Path) -> None:
    aws.on("/*", ec2_error("AuthFailure", 401))
    result = CliRunner().invoke(app, ["preflight", "--provider", "aws", "--root", str(tmp_path)])
    assert "describe_regions" in result.output
    assert SECRET not in result.output
    assert "AKIAIOSFODNN7EXAMPLE" not in result.output


def test_a_dead_endpoint_is_a_failure_and_names_itself(aws, tmp_path, monkeypatch) -> None:
    aws.on("/*", ec2_error("DryRunOperation", 412))
    monkeypatch.setenv("HWPRICES_AWS_SPOT_ADVISOR_URL", "http://127.0.0.1:9/advice.json")
    checks = checks_of("AWS", tmp_path, "aws")
    assert checks["http://127.0.0.1:9/advice.json"].outcome == "failed"
    assert checks[aws.url].outcome == "ok"


def test_without_an_account_what_is_missing_is_no_failure(server, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
    monkeypatch.setenv("HWPRICES_AZURE_RETAIL_URL", server.url)
    monkeypatch.setenv("HWPRICES_AZURE_ARM_URL", server.url)
    server.on("/*", Reply(b"{}"))
    arguments = ["preflight", "--provider", "azure", "--root", str(tmp_path), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert '"absent"' in result.output
    assert "AZURE_SUBSCRIPTION_ID" in result.output


@pytest.mark.parametrize(
    ("provider", "title", "account", "needless"),
    [
        ("azure", "Azure", "AZURE_SUBSCRIPTION_ID", ["AZURE_ARM"]),
        ("gcp", "Google Cloud", "HWPRICES_GCP_PROJECT", ["GCP_COMPUTE", "GCP_TPU"]),
    ],
)
def test_an_endpoint_that_is_asked_with_an_account_only_is_not_checked_without(
    provider, title, account, needless, server, tmp_path, monkeypatch
) -> None:
    """Behind a strict firewall it does not answer, and no run would ask it."""
    monkeypatch.setenv("HWPRICES_AZURE_RETAIL_URL", server.url)
    monkeypatch.setenv("HWPRICES_GCP_BILLING_URL", server.url)
    dead = {f"HWPRICES_{name}_URL": f"http://127.0.0.1:9/{name}" for name in needless}
    for name, url in dead.items():
        monkeypatch.setenv(name, url)
    server.on("/*", Reply.json({"skus": []}))
    monkeypatch.delenv(account, raising=False)
    without = checks_of(title, tmp_path, provider)
    assert set(dead.values()) & set(without) == set()
    assert {check.outcome for check in without.values()} == {"ok", "absent"}
    monkeypatch.setenv(account, "an-account")
    checks = checks_of(title, tmp_path, provider)
    assert {checks[url].outcome for url in dead.values()} == {"failed"}


@pytest.mark.parametrize(("key", "outcome"), [("good", "ok"), ("bad", "failed")])
def test_googles_catalog_is_read_with_what_there_is(key, outcome, server, tmp_path, monkeypatch):
    for name in ("BILLING", "COMPUTE", "TPU"):
        monkeypatch.setenv(f"HWPRICES_GCP_{name}_URL", server.url)
    monkeypatch.delenv("HWPRICES_GCP_PROJECT", raising=False)
    refused: dict[str, Any] = {"error": {"code": 403, "message": "no", "status": "DENIED"}}
    skus = Reply.json({"skus": []}) if key == "good" else Reply.json(refused, status=403)
    server.on("/*", skus)
    checks = checks_of("Google Cloud", tmp_path, "gcp")
    assert checks["billing catalog"].outcome == outcome
    assert checks["project"].outcome == "absent"


@pytest.mark.parametrize("name", providers.names())
def test_every_provider_says_what_it_collects(name, server, tmp_path, monkeypatch) -> None:
    """As somebody without an account sees it: each endpoint answers, and something is had."""
    provider = providers.get(name)
    endpoints = provider_endpoints(provider.settings(load(root=str(tmp_path))))
    for field in provider.settings_class.model_fields:
        if getattr(provider.settings(load()), field) in endpoints:
            monkeypatch.setenv(variable(provider.settings_class, field), server.url)
    for variable_name in [each for each in os.environ if each.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(variable_name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    server.on("/*", Reply.json({"skus": []}))
    checks = checks_of(provider.about.title, tmp_path, name)
    assert all(check.detail for check in checks.values())
    assert endpoints == [] or checks[server.url].outcome == "ok"
    accounts = set(checks) - {server.url}
    assert accounts
    if not hasattr(provider._module("fetch"), "check_access"):
        assert provider.about.without_account in checks["account"].detail
    else:
        absent = [check for check in checks.values() if check.outcome == "absent"]
        assert absent
        assert all(check.remedy for check in absent)


def test_the_last_line_says_whether_a_run_can_begin(server, tmp_path, monkeypatch) -> None:
    server.on("/*", Reply.json({}))
    arguments = ["preflight", "--provider", "scaleway", "--root", str(tmp_path)]
    for url, exit_code, line in (
        (server.url, 0, "Nothing failed: a live run can begin."),
        (
            "http://127.0.0.1:9",
            1,
            "A live run can begin, but may fail for: Scaleway (1 check)."
            " Fix what failed, or name the other providers with --provider.",
        ),
    ):
        monkeypatch.setenv("HWPRICES_SCALEWAY_URL", url)
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == exit_code
        assert result.output.rstrip().endswith(line)
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / "file")])
    last = "A live run cannot begin. Failed: Where releases go (1 check), Scaleway (1 check)."
    assert result.output.rstrip().endswith(last)


def test_an_unknown_provider_is_said_before_anything_is_checked(tmp_path: Path) -> None:
    arguments = ["preflight", "--provider", "nope", "--root", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no provider 'nope'" in result.stderr


def test_a_root_that_was_not_there_is_not_there_afterwards(tmp_path: Path) -> None:
    checks = checks_of("Where releases go", tmp_path / "not" / "yet", "lambda")
    assert checks["write"].outcome == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    checks = checks_of("Where releases go", tmp_path / "file", "azure")
    assert checks["write"].outcome == "failed"


def test_a_bucket_that_is_not_there_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch, "preflight"):
        (check,) = preflight._check_root("s3://absent/data")
    assert check.detail.endswith(": there is no such bucket")
    assert check.remedy.startswith("Check the bucket's name, the credentials and")


def test_little_space_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "ROOM_BYTES", 10**18)
    check = checks_of("Where releases go", tmp_path, "azure")["space"]
    assert check.outcome == "absent"
    assert "1,000,000,000 GB" in check.detail
    monkeypatch.setattr(preflight, "MIN_BYTES", 10**17)
    assert checks_of("Where releases go", tmp_path, "azure")["space"].outcome == "failed"


@pytest.mark.parametrize("root", ["folder", "s3"])
def test_the_folder_for_temporary_files_is_looked_at(root, tmp_path, monkeypatch) -> None:
    """Pages and exports are made there, also where the root is an object store."""
    monkeypatch.setattr(preflight, "SCRATCH_BYTES", 10**18)
    with s3(monkeypatch, "preflight"):
        where = str(tmp_path) if root == "folder" else "s3://preflight/data"
        checks = {check.what: check for check in preflight._check_root(where)}
    check = checks["temporary files"]
    assert check.outcome == "absent"
    assert tempfile.gettempdir() in check.detail
    assert "TMPDIR" in check.remedy
    assert ("space" in checks) == (root == "folder")


def test_a_server_that_redirects_to_no_url_is_one_check(aws: StubServer, tmp_path: Path) -> None:
    aws.on("/*", Reply(status=302, headers={"Location": "javascript:x", "Set-Cookie": "a=\xff"}))
    assert checks_of("AWS", tmp_path, "aws")[aws.url].outcome == "failed"


def test_a_proxy_that_cannot_be_used_is_one_check(aws, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "ftp://proxy.example")
    (check,) = checks_of("AWS", tmp_path, "aws").values()
    assert (check.outcome, check.remedy) == ("failed", "Write http://host:port, or unset it.")
