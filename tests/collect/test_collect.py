"""Collect a provider: which units fail, are carried over, replayed or not requested."""

import os
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from tests.helpers.aws_pages import bulk_server
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply
from typer.testing import CliRunner

from hwprices.cli import app
from hwprices.collect import Collector, check_requested, record, run_id
from hwprices.collect.preflight import unknown_variables
from hwprices.errors import HwpricesError
from hwprices.landing.pages import NO_ANSWER, Landing, Unit, UnitResult
from hwprices.providers import SkippedError
from hwprices.settings import Settings, load

T0 = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)
DAY = timedelta(days=1)
EAST, WEST = Unit("aws", "prices", "us-east-1"), Unit("aws", "prices", "us-west-2")


@pytest.fixture
def settings(tmp_path):
    return load(root=str(tmp_path), source="live")


def ok(settings, unit, content=b"x"):
    landing = Landing(f"{settings.root}/raw")
    page = landing.land_bytes(unit, content, url="https://x.example", retrieved_at=T0)
    return UnitResult(unit, "ok", (page,))


def record_run(settings, provider, *arguments, **options):
    return record(Landing(f"{settings.root}/raw"), provider, settings.source, *arguments, **options)


def status(run):
    return {r.unit.region: (r.status, bool(r.pages)) for r in run.results}


@pytest.mark.parametrize(
    ("west", "expected"),
    [
        (UnitResult(WEST, "failed", reason="timed out"), ("carried", True)),
        (UnitResult(WEST, "skipped", reason="not enabled"), ("skipped", False)),
        (UnitResult(WEST, "skipped", reason="silent", cause=NO_ANSWER), ("carried", True)),
    ],
)
def test_a_region_that_fails_or_does_not_answer_keeps_its_last_pages(settings, west, expected):
    record_run(settings, "aws", T0, [ok(settings, EAST), ok(settings, WEST)])
    run = record_run(settings, "aws", T0 + DAY, [ok(settings, EAST, b"new"), west])
    assert status(run) == {"us-east-1": ("ok", True), "us-west-2": expected}
    assert run.results[1].reason == west.reason
    has_pages = expected[1]
    assert [page.retrieved_at for page in run.results[1].pages] == ([T0] if has_pages else [])


def test_a_run_for_some_regions_leaves_the_others_as_they_were(settings):
    record_run(settings, "aws", T0, [ok(settings, EAST), ok(settings, WEST)])
    run = record_run(settings, "aws", T0 + DAY, [ok(settings, EAST, b"new")], narrowed=True)
    assert status(run) == {"us-east-1": ("ok", True), "us-west-2": ("ok", True)}
    assert run.results[1].carried_from == run_id(T0)
    assert [result.requested for result in run.results] == [True, False]


def test_some_kinds_alone_are_not_recorded_before_a_full_run(settings):
    """Hourly spot prices may be collected first: a release of them alone would look complete."""
    spot, alone = Unit("aws", "spot", "us-east-1"), {"narrowed": True, "kinds": ["spot"]}
    with pytest.raises(HwpricesError, match="no live run to add spot to"):
        record_run(settings, "aws", T0, [ok(settings, spot)], **alone)
    assert Landing(f"{settings.root}/raw").runs("aws") == []
    record_run(settings, "aws", T0, [ok(settings, EAST)])
    run = record_run(settings, "aws", T0 + DAY, [ok(settings, spot)], **alone)
    assert {r.unit.kind for r in run.results} == {"spot", "prices"}


def test_a_full_run_drops_units_that_are_no_longer_planned(settings):
    record_run(settings, "aws", T0, [ok(settings, EAST), ok(settings, WEST)])
    run = record_run(settings, "aws", T0 + DAY, [ok(settings, EAST)])
    assert status(run) == {"us-east-1": ("ok", True)}


def test_a_run_recorded_last_is_the_one_that_the_next_adds_to(settings):
    """A full run waited for its place, or the clock was set back; a spot run has a later time."""
    spot = Unit("aws", "spot", "us-east-1")
    alone = {"narrowed": True, "kinds": ["spot"]}
    record_run(settings, "aws", T0, [ok(settings, EAST, b"old"), ok(settings, spot)])
    record_run(settings, "aws", T0 + timedelta(minutes=70), [ok(settings, spot, b"1:10")], **alone)
    full = [ok(settings, EAST, b"new"), ok(settings, spot)]
    late = record_run(settings, "aws", T0 + timedelta(minutes=60), full)
    assert late.run_id == run_id(late.started_at) == "20260801T052700.000001Z"
    run = record_run(settings, "aws", T0 + timedelta(hours=2), [ok(settings, spot)], **alone)
    assert [page.sha256 for page in run.of("prices")] == [full[0].pages[0].sha256]


def test_a_run_in_which_all_units_failed_is_not_recorded(settings):
    failed = [UnitResult(unit, "failed", reason="timed out") for unit in (EAST, WEST)]
    with pytest.raises(HwpricesError, match=r"none of 2 units.*aws/prices/us-east-1: timed out"):
        record_run(settings, "aws", T0, failed)
    assert Landing(f"{settings.root}/raw").runs("aws") == []


def test_a_failed_live_unit_never_gets_pages_of_the_sample(settings):
    sample = settings.model_copy(update={"source": "sample"})
    record_run(sample, "aws", T0, [ok(settings, EAST), ok(settings, WEST)])
    failed = UnitResult(WEST, "failed", reason="timed out")
    run = record_run(settings, "aws", T0 + DAY, [ok(settings, EAST), failed])
    assert status(run)["us-west-2"] == ("failed", False)


def test_a_unit_of_the_sample_is_copied_to_the_landing_root(tmp_path):
    settings = load(root=str(tmp_path), source="sample")
    units = Collector("aws", settings).plan(regions=["us-east-1"])
    assert {u.region for u in units} <= {"us-east-1", "global"}
    result = Collector("aws", settings).fetch(units[0])
    assert result.status == "ok"
    assert all(Landing(tmp_path / "raw").read(page) for page in result.pages)


def test_a_sample_page_that_was_altered_fails_its_unit(tmp_path, project):
    shutil.copytree(project / "data/sample/aws", tmp_path / "sample/aws")
    settings = load(root=str(tmp_path / "root"), source="sample", sample=str(tmp_path / "sample"))
    unit = Collector("aws", settings).plan()[0]
    for page in (tmp_path / "sample/aws" / unit.kind / unit.region).glob("*.csv.*"):
        page.write_bytes(b"altered")
    result = Collector("aws", settings).fetch(unit)
    assert (result.status, "checksum" in result.reason) == ("failed", True)


@pytest.fixture
def without_account(stub, monkeypatch, tmp_path):
    """Let AWS's indexes be on this machine, and leave the SDKs without credentials.

    Google has an API key, and no project.
    """
    for name in [each for each in os.environ if each.startswith(("AWS_", "GOOGLE_", "HWPRICES_"))]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HWPRICES_GCP_API_KEY", "a-key")
    server = bulk_server(stub(), {"us-east-1": b""})
    bulk_server(server, {"cn-north-1": b""}, partition="cn")
    for name in ("PRICE_LIST", "CHINA_PRICE_LIST", "SPOT_ADVISOR"):
        monkeypatch.setenv(f"HWPRICES_AWS_{name}_URL", server.url)


@pytest.mark.usefixtures("without_account")
@pytest.mark.parametrize(
    ("provider", "regions", "kinds"),
    [
        ("aws", None, ["spot"]),
        ("aws", ["us-east-1"], ["spot", "zones"]),
        ("gcp", None, ["tpu_types"]),
    ],
)
def test_kinds_that_need_an_account_are_skipped_without_one(settings, provider, regions, kinds):
    """The hourly deployment of AWS's spot prices asks so, also where there is no account."""
    with Collector(provider, settings) as collector, pytest.raises(SkippedError) as skipped:
        collector.plan(regions, kinds)
    assert f"{provider}: nothing to collect, no credentials for {', '.join(kinds)}" in str(
        skipped.value
    )
    assert f"hwprices admin preflight --provider {provider}" in str(skipped.value)


@pytest.mark.usefixtures("without_account")
@cases("collect/google_credentials", variables=yaml.safe_load, is_skipped=yaml.safe_load)
def test_google_is_skipped_where_no_credentials_are_configured(
    settings, monkeypatch, tmp_path, variables, is_skipped
) -> None:
    """Wrong credentials are configured: its units are planned, and fail."""
    monkeypatch.delenv("HWPRICES_GCP_API_KEY")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Collector("gcp", settings) as collector:
        if is_skipped:
            with pytest.raises(SkippedError, match="Set HWPRICES_GCP_API_KEY"):
                collector.plan()
        else:
            assert "skus" in [unit.kind for unit in collector.plan()]


@pytest.mark.usefixtures("without_account")
@pytest.mark.parametrize("kinds", [["spots"], ["spot", "spots"]])
def test_a_kind_that_is_unknown_is_an_error_without_an_account_too(settings, kinds):
    with (
        Collector("aws", settings) as collector,
        pytest.raises(HwpricesError, match="Check the spelling") as error,
    ):
        collector.plan(None, kinds)
    assert not isinstance(error.value, SkippedError)


def test_the_error_for_a_missing_sample_names_the_setting(tmp_path):
    settings = load(root=str(tmp_path), source="sample", sample=str(tmp_path / "none"))
    with pytest.raises(HwpricesError, match="HWPRICES_SAMPLE"):
        Collector("aws", settings).plan()


def test_the_name_of_a_unit_does_not_depend_on_its_params(settings):
    assert EAST.name == replace(EAST, params={"version": "2"}).name == "aws/prices/us-east-1"


def test_a_region_that_is_no_name_fails_its_own_unit(tmp_path):
    """A file name of 5,000 letters cannot be written; the other units go on."""
    collector = Collector("aws", load(root=str(tmp_path), source="live"))
    result = collector.fetch(Unit("aws", "prices", "x" * 5000))
    assert result.status == "failed"
    assert "is not a name for a kind or region" in result.reason
    assert len(result.reason) < 300


def test_each_unit_has_limits_of_its_own(stub, tmp_path):
    server = stub().on("/*", Reply(b"a,b\n" * 200, content_type="text/csv"))
    collector = Collector("aws", load(root=str(tmp_path), source="live", max_unit_bytes=1000))
    units = [Unit("aws", "prices", region, {"url": f"{server.url}/{region}"}) for region in "abc"]
    assert [collector.fetch(unit).status for unit in units] == ["ok", "ok", "ok"]


def test_a_unit_beyond_its_limits_fails_with_a_line(stub, tmp_path):
    server = stub().on("/*", Reply(content_type="text/csv", endless=b"a,b\n" * 5000))
    collector = Collector("aws", load(root=str(tmp_path), source="live", max_unit_bytes=1000))
    result = collector.fetch(Unit("aws", "prices", "eu-west-1", {"url": f"{server.url}/x"}))
    assert result.status == "failed"
    assert "aws/prices/eu-west-1 has more than 1000 bytes" in result.reason


@pytest.fixture
def live() -> Settings:
    return load(source="live")


@pytest.fixture
def sample() -> Settings:
    return load(source="sample")


def test_a_region_that_no_provider_of_the_sample_has_is_refused(sample: Settings) -> None:
    with pytest.raises(HwpricesError) as refused:
        check_requested(sample, ["aws", "azure"], ["eastus", "eastsu"])
    assert str(refused.value) == "the sample has no region eastsu. Did you mean eastus?"
    with pytest.raises(HwpricesError, match="the sample of azure has no region nowhere"):
        check_requested(sample, ["azure"], ["nowhere"])


def test_a_region_of_one_of_the_providers_will_do(sample: Settings) -> None:
    assert check_requested(sample, ["aws", "azure"], ["eastus"]) == []


def test_providers_with_one_price_everywhere_have_no_regions_to_misspell(sample, live) -> None:
    assert check_requested(sample, ["oracle", "lambda"], ["eastsu"]) == []
    assert check_requested(live, ["lambda"], ["eastsu"]) == []


def test_a_region_of_a_vendor_that_is_not_known_is_a_warning(live: Settings) -> None:
    [warning] = check_requested(live, ["azure"], ["eastsu", "eastus", "EastUS2"])
    assert warning == (
        "eastsu is not known as a region of azure; it may be new, and is requested."
        " Did you mean eastus, eastus3, eastus2?"
    )
    [warning] = check_requested(live, ["aws", "gcp"], ["nowhere-1", "us-east-1", "us-east1"])
    assert warning.startswith("nowhere-1 is not known as a region of any requested provider; ")


def test_local_zones_and_china_are_known(live: Settings) -> None:
    assert check_requested(live, ["aws"], ["us-east-1-atl-1", "cn-north-1"]) == []


def test_without_a_sample_the_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWPRICES_SAMPLE", str(tmp_path))
    assert check_requested(load(source="sample"), ["azure"], ["eastsu"]) == []


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
