"""Landed pages: kept as the server sent them, named by content, checked on every read.

An altered page is known wrong number R4 (docs/known-wrong-numbers.md).
"""

import gzip
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwprices.errors import HwpricesError
from hwprices.landing.download import Downloaded
from hwprices.landing.pages import Landing, Run, Unit, UnitResult, carry_over

AT = datetime(2026, 7, 30, 12, tzinfo=UTC)
UNIT = Unit("aws", "prices", "us-east-1", {"version_url": "https://x.example/v1"})


def land(landing, content=b'{"price": 0.10}', unit=UNIT):
    return landing.land_bytes(unit, content, url="https://x.example/p", retrieved_at=AT)


def make_run(*results, run_id="r1"):
    return Run(run_id, "aws", "live", AT, "0.1.0", results)


def test_a_page_is_named_by_its_checksum_and_read_back(tmp_path):
    landing = Landing(tmp_path)
    page = land(landing)
    stored = (tmp_path / page.key).read_bytes()
    assert page.key == f"aws/prices/us-east-1/{hashlib.sha256(stored).hexdigest()}.json.gz"
    assert gzip.decompress(stored) == landing.read(page) == b'{"price": 0.10}'
    assert landing.read_json(page) == {"price": Decimal("0.10")}


def test_the_same_content_is_stored_once(tmp_path):
    landing = Landing(tmp_path)
    assert land(landing) == land(landing)
    assert len(list(tmp_path.rglob("*.gz"))) == 1


def test_a_gzip_body_is_not_compressed_again(tmp_path):
    packed = gzip.compress(b"a,b\n1,2\n", compresslevel=1)
    (tmp_path / "body").write_bytes(packed)
    body = Downloaded(tmp_path / "body", "gzip", "https://x.example/p", {}, 200, "text/csv", AT)
    landing = Landing(tmp_path / "raw")
    page = landing.land(UNIT, body, suffix="csv")
    assert (tmp_path / "raw" / page.key).read_bytes() == packed
    assert page.content_bytes == 8


@pytest.mark.parametrize(
    "alter",
    [lambda d: d[:-1], lambda d: d[:20] + b"x" + d[21:], lambda d: b""],
    ids=["cut", "one byte", "emptied"],
)
def test_an_altered_page_is_named(tmp_path, alter):
    landing = Landing(tmp_path)
    page = land(landing)
    path = tmp_path / page.key
    path.write_bytes(alter(path.read_bytes()))
    with pytest.raises(HwpricesError, match=page.sha256) as raised:
        landing.read(page)
    assert "checksum" in str(raised.value)


def test_a_missing_page_is_named(tmp_path):
    landing = Landing(tmp_path)
    page = land(landing)
    (tmp_path / page.key).unlink()
    with pytest.raises(HwpricesError, match="is missing"):
        landing.read(page)


def test_the_manifest_of_a_run_is_read_back(tmp_path):
    landing = Landing(tmp_path)
    run = make_run(
        UnitResult(UNIT, "ok", (land(landing),)),
        UnitResult(Unit("aws", "spot", "me-south-1"), "skipped", reason="not enabled"),
    )
    landing.write_run(run)
    assert landing.latest_run("aws") == run
    assert run.regions("prices") == ["us-east-1"]
    assert landing.runs("gcp") == []


def test_a_damaged_manifest_is_named(tmp_path):
    landing = Landing(tmp_path)
    key = landing.write_run(make_run())
    (tmp_path / key).write_text('{"run_id": "r1"')
    with pytest.raises(HwpricesError, match=key):
        landing.latest_run("aws")


def test_a_failed_unit_keeps_its_last_good_pages(tmp_path):
    old = make_run(UnitResult(UNIT, "ok", (land(Landing(tmp_path)),)))
    failed = UnitResult(UNIT, "failed", reason="dead")
    fresh = UnitResult(Unit("aws", "prices", "eu-west-1"), "failed", reason="dead")
    carried, still_failed = carry_over([failed, fresh], old)
    assert (carried.status, carried.pages, carried.carried_from, carried.reason) == (
        "carried",
        old.results[0].pages,
        "r1",
        "dead",
    )
    assert still_failed == fresh
    again = carry_over([failed], make_run(carried, run_id="r2"))[0]
    assert again.carried_from == "r1"


@given(content=st.binary(max_size=4096))
def test_any_bytes_are_read_back(tmp_path_factory, content):
    landing = Landing(tmp_path_factory.mktemp("raw"))
    page = land(landing, content)
    assert landing.read(page) == content
    assert page.content_bytes == len(content)


def test_an_unwritable_landing_root_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HwpricesError, match="cannot write"):
        land(Landing(tmp_path / "file" / "raw"))


def test_pages_of_two_regions_do_not_mix(tmp_path):
    landing = Landing(tmp_path)
    a, b = land(landing), land(landing, unit=replace(UNIT, region="eu-west-1"))
    run = make_run(
        UnitResult(UNIT, "ok", (a,)), UnitResult(replace(UNIT, region="eu-west-1"), "ok", (b,))
    )
    assert run.of("prices", "eu-west-1") == [b]
    assert run.of("prices") == [a, b]
