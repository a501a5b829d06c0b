"""Manifests: what is written is read back, damaged ones are named."""

import json
from datetime import UTC, datetime

import pytest
from tests.helpers.manifests import inputs

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page, Run, Unit, UnitResult
from hwprices.release.manifest import (
    CheckResult,
    CollectionReport,
    LatestRelease,
    ProviderEntry,
    ReleaseManifest,
    TableEntry,
    TableFile,
    Trouble,
    UnmatchedAccelerator,
)
from hwprices.stage import Staged
from hwprices.storage import manifests

AT = datetime(2026, 8, 1, 4, 17, tzinfo=UTC)
SHA = "0" * 64

FILE = TableFile(
    table="prices",
    key="prices/aws/us-east-1.parquet",
    rows=300,
    bytes=4096,
    sha256=SHA,
    content_sha256="1" * 64,
    observed_from="2026-07-30T12:00:00+00:00",
    observed_to="2026-07-30T12:00:00+00:00",
    provider="aws",
)

INPUTS = inputs("r1")

TROUBLE = Trouble("aws/prices/me-south-1", "skipped", "not enabled")

RELEASE = ReleaseManifest(
    schema_version="1",
    version="20260801T041700Z",
    created_at=AT.isoformat(),
    code_version="0.1.0",
    previous=None,
    content_sha256="2" * 64,
    tables={"prices": TableEntry(300, 4096, (FILE,))},
    providers={
        "aws": ProviderEntry(
            status="fresh",
            origin="live",
            run_id="r1",
            observed_from=FILE.observed_from,
            observed_to=FILE.observed_to,
            rows={"prices": 300},
            report=CollectionReport({"ok": 1, "skipped": 1}, (TROUBLE,), {"duplicate_key": 2}),
            gate=(CheckResult("aws", "baseline", "pass", "first release of this provider"),),
            inputs=INPUTS,
        )
    },
    unmatched_accelerators=(UnmatchedAccelerator("aws", "Zürich X1", None, ("x1.large",)),),
)

PAGE = Page("aws/prices/us-east-1/0.csv.gz", SHA, 10, 20, "https://x.example", {}, 200, "", AT)

RUN = Run(
    run_id="r1",
    provider="aws",
    origin="live",
    started_at=AT,
    code_version="0.1.0",
    results=(
        UnitResult(Unit("aws", "prices", "us-east-1", {"version": "2"}), "ok", (PAGE,)),
        UnitResult(Unit("aws", "spot"), "failed", reason="timed out", cause="timeout"),
    ),
)

STAGED = Staged(
    "aws", "r1", "live", (FILE,), {"duplicate_key": 2}, {}, {"ok": 1}, (TROUBLE,), inputs=INPUTS
)

LATEST = LatestRelease(
    "20260801T041700Z", AT.isoformat(), "releases/20260801T041700Z/manifest.json", "1"
)


def decode(data, kind):
    return manifests.decode(data, kind, file="manifest.json", remedy="Write it again.")


@pytest.mark.parametrize("manifest", [RELEASE, RUN, STAGED, LATEST], ids=lambda m: type(m).__name__)
def test_a_manifest_is_read_back_as_it_was_written(manifest):
    assert decode(manifests.encode(manifest), type(manifest)) == manifest


def test_a_mapping_is_what_json_would_give():
    assert manifests.to_mapping(RELEASE) == json.loads(manifests.encode(RELEASE))


RELEASE_FIELDS = (
    "schema_version version created_at code_version previous content_sha256 tables providers"
    " unmatched_accelerators derived notes"
)
PROVIDER_FIELDS = (
    "title status kept_from origin run_id observed_from observed_to rows report gate inputs"
    " price_sheet newest_price content_sha256"
)


def test_the_json_of_a_release_keeps_its_fields():
    """Programs in other languages read this file; fields may be added at the end."""
    release = json.loads(manifests.encode(RELEASE))
    assert list(release) == RELEASE_FIELDS.split()
    assert list(release["providers"]["aws"]) == PROVIDER_FIELDS.split()
    assert list(release["tables"]["prices"]) == ["rows", "bytes", "files"]
    assert release["created_at"] == "2026-08-01T04:17:00+00:00"
    assert release["providers"]["aws"]["report"]["troubles"] == [
        {
            "unit": "aws/prices/me-south-1",
            **{"status": "skipped", "reason": "not enabled", "requested": True},
            **{"carried_from": "", "holds_prices": True},
        }
    ]


def test_fields_of_a_later_version_are_ignored():
    later = {**json.loads(manifests.encode(LATEST)), "signature": "abc"}
    assert decode(json.dumps(later).encode(), LatestRelease) == LATEST


def test_a_manifest_that_is_too_large_or_too_deep_is_not_parsed():
    deep = b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(HwpricesError, match=r"is damaged \(nested too deeply\)\. Write it again"):
        decode(deep, LatestRelease)
    with pytest.raises(HwpricesError, match=r"is damaged \(67,108,865 bytes, at most 67,108,864"):
        decode(b" " * (manifests.MAX_BYTES + 1), LatestRelease)
