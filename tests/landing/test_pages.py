"""Landed pages: kept as the server sent them, named by content, checked on every read.

An altered page is known wrong number R4 (docs/known-wrong-numbers.md).
"""

import contextlib
import gzip
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from hwprices.errors import HwpricesError
from hwprices.landing import bodies, pages
from hwprices.landing.download import Downloaded
from hwprices.landing.pages import Landing, Run, Unit, UnitResult, carry_over
from hwprices.providers import Pages
from hwprices.storage.packed import Writer, pack

AT = datetime(2026, 7, 30, 12, tzinfo=UTC)
UNIT = Unit("aws", "prices", "us-east-1", {"version_url": "https://x.example/v1"})


def land(landing, content=b'{"price": 0.10}', unit=UNIT):
    return landing.land_bytes(unit, content, url="https://x.example/p", retrieved_at=AT)


def make_run(*results, run_id="r1"):
    return Run(run_id, "aws", "live", AT, "0.1.0", results)


def reader(landing):
    return Pages(make_run(), landing)


def test_a_page_is_named_by_its_checksum_and_read_back(tmp_path):
    landing = Landing(tmp_path)
    page = land(landing)
    stored = (tmp_path / page.key).read_bytes()
    assert page.key == f"aws/prices/us-east-1/{hashlib.sha256(stored).hexdigest()}.json.zst"
    unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(stored)
    assert unpacked == landing.read(page) == b'{"price": 0.10}'
    assert reader(landing).read_json(page) == {"price": Decimal("0.10")}


def test_the_same_content_is_stored_once(tmp_path):
    landing = Landing(tmp_path)
    assert land(landing) == land(landing)
    assert len(list(tmp_path.rglob("*.zst"))) == 1


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_body_is_landed_as_it_was_packed(tmp_path, packing):
    content = b"a,b\n1,2\n"
    arrived = gzip.compress(content, compresslevel=1) if packing == "gzip" else content
    with Writer(tmp_path / "body", packing) as writer:
        writer.write(arrived)
        file = writer.finish(len(content))
    body = Downloaded(file, "https://x.example/p", {}, 200, "text/csv", AT)
    landing = Landing(tmp_path / "raw")
    page = landing.land(UNIT, body, suffix="csv")
    stored = (tmp_path / "raw" / page.key).read_bytes()
    assert stored == (arrived if packing == "gzip" else pack(content))
    assert page.key.endswith(".csv.gz" if packing == "gzip" else ".csv.zst")
    assert (page.sha256, page.bytes) == (hashlib.sha256(stored).hexdigest(), len(stored))
    assert (landing.read(page), page.content_bytes) == (content, len(content))


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
    found = (carried.status, carried.pages, carried.carried_from, carried.reason)
    assert found == ("carried", old.results[0].pages, "r1", "dead")
    assert still_failed == fresh
    assert carry_over([failed], make_run(carried, run_id="r2"))[0].carried_from == "r1"


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


HOSTILE_JSON = {
    "nested 100,000 deep": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "an object nested 100,000 deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too deeply"),
    "an integer of 10,000 digits": (b'{"price": ' + b"9" * 10_000 + b"}", "10000 characters"),
    "a fraction of 10,000 digits": (b'{"price": 0.' + b"9" * 10_000 + b"}", "10002 characters"),
    "an exponent of a billion": (b'{"price": 1e999999999}', "1e999999999 is out of range"),
    "an exponent of 20 digits": (b'{"price": 1e-' + b"9" * 20 + b"}", "is out of range"),
    "NaN": (b'{"price": NaN}', "NaN is not a number"),
    "Infinity": (b'{"price": -Infinity}', "-Infinity is not a number"),
    "a name that comes twice": (b'{"price": 1, "price": 2}', "'price' comes twice"),
    "latin-1": ('{"name": "São Paulo"}'.encode("latin-1"), "utf-8"),
    "cut": (b'{"price": ', "Expecting value"),
    "nothing": (b"", "Expecting value"),
}


@pytest.mark.parametrize(("content", "words"), HOSTILE_JSON.values(), ids=HOSTILE_JSON.keys())
def test_hostile_json_is_one_line_that_names_the_page(tmp_path, content, words):
    landing = Landing(tmp_path)
    page = land(landing, content)
    with pytest.raises(HwpricesError, match=words) as raised:
        reader(landing).read_json(page)
    assert page.sha256 in str(raised.value)
    assert len(str(raised.value)) < 500 + len(str(tmp_path))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_parsing_json_gives_a_value_or_a_value_error(content):
    with contextlib.suppress(ValueError):
        value = bodies.loads(content)
        assert isinstance(value, dict | list | str | int | float | Decimal | None)


def test_a_page_too_large_for_memory_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "MAX_READ_BYTES", 1000)
    landing = Landing(tmp_path)
    assert landing.read(land(landing, bytes(1000))) == bytes(1000)
    page = land(landing, bytes(1001))
    with pytest.raises(HwpricesError, match="larger than 1000 bytes") as raised:
        landing.read(page)
    assert page.sha256 in str(raised.value)


BAD_NAMES = ["..", ".", "", " ", "a/b", "a\\b", "a\nb", "a\x00b", "x" * 201, "é" * 101]


@pytest.mark.parametrize("name", [*BAD_NAMES, "us\u202eeast", "a\u200bb"])
def test_a_region_or_kind_that_is_no_name_lands_nothing(tmp_path, name):
    landing = Landing(tmp_path)
    for unit in (replace(UNIT, region=name), replace(UNIT, kind=name)):
        with pytest.raises(HwpricesError, match="is not a name for a kind or region"):
            land(landing, unit=unit)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("name", ["us-east-1", "x" * 200, "São Paulo", "us-west-2-lax-1", "a.b"])
def test_a_region_may_be_any_printable_name(tmp_path, name):
    page = land(Landing(tmp_path), unit=replace(UNIT, region=name))
    assert (tmp_path / page.key).is_file()
