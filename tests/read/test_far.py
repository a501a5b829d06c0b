"""What questions fetch from an object store: no more than twice what they did (in requests, kB)."""

import json
import shutil

import polars as pl
import pytest
from tests.helpers.releases import machine, price, publish, tables
from tests.helpers.terminal import run
from tools import object_store

import hwprices
from hwprices.release import release
from hwprices.release.versions import sample_root
from hwprices.rows import frames, parquet
from hwprices.schemas.tables import TABLES
from hwprices.storage.store import Store

RECORDED = {
    "open": (2, 157),
    "price": (5, 580),
    "history": (5, 551),
    "explain": (8, 879),
    "find": (6, 1080),
    "recommend": (4, 964),
}


@pytest.fixture
def far(monkeypatch):
    """Serve the sample; return the counter."""
    with object_store.served(Store(sample_root()).path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        yield store.counter


def ask(data: hwprices.Dataset, question: str) -> int:
    """Return how many rows answer a question."""
    if question == "price":
        return data.price("p5.48xlarge").height
    if question == "history":
        return data.history("m5.large").height
    if question == "explain":
        one = data.explain("p5.48xlarge", os="linux", purchase_option="on_demand")
        return len(one.price)
    if question == "find":
        return data.find("8xH100").height
    return data.recommend("llama-3.3-70b").height


@pytest.mark.parametrize("question", RECORDED)
def test_a_question_fetches_little_and_is_answered_as_in_a_folder(far, question):
    data = hwprices.open(object_store.ROOT)
    if question != "open":
        assert ask(data, question) == ask(hwprices.open("sample"), question) > 0
    requests, kilobytes = RECORDED[question]
    assert len(far.requests) < 2 * requests, far.requests
    assert far.bytes < 2000 * kilobytes, far.requests


def test_with_a_cache_a_second_process_fetches_pointer_and_manifest(far, tmp_path, monkeypatch):
    monkeypatch.setenv("HWPRICES_CACHE", str(tmp_path))
    expected = hwprices.open("sample").price("p5.48xlarge")
    first = hwprices.open(object_store.ROOT).price("p5.48xlarge")
    copies = sorted(path.name for path in tmp_path.iterdir())
    far.reset()
    second = hwprices.open(object_store.ROOT).price("p5.48xlarge")
    assert [key.rpartition("/")[2] for _, key, _ in far.requests] == [
        "latest.json",
        "manifest.json",
    ]
    (tmp_path / copies[0]).write_bytes(b"damaged")
    far.reset()
    third = hwprices.open(object_store.ROOT).price("p5.48xlarge")
    assert len(far.requests) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == copies
    for answer in (first, second, third):
        assert answer.equals(expected)


@pytest.mark.parametrize("between", [0, 100], ids=["without-others", "with-some-others"])
def test_prices_of_types_that_stand_together_are_read_in_one_piece(
    tmp_path, monkeypatch, between
) -> None:
    """400 regions of each type are twenty row groups, also of types with names around it."""
    types = {"a2": "m5", "b8": "m4", "c4": "m4", "d6": "m5"}
    devices = {"m4": "nvidia-l4", "m5": "nvidia-t4"}
    rows = [price("aws", f"r-{n}", name, f"{n + 1}.0") for name in types for n in range(400)]
    machines = [
        machine("aws", name, device=devices[kind], count=1, gib=24) for name, kind in types.items()
    ]
    monkeypatch.setattr(parquet, "DEVICE_GROUP", 20)
    publish(tmp_path, tables(rows, machines))
    monkeypatch.setattr(release, "MOST_BETWEEN", between)
    monkeypatch.setattr(release, "WHOLE_FOR_TYPES", 0)
    with object_store.served(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        data = hwprices.open(object_store.ROOT)
        for asked in (["b8"], ["b8", "c4"], ["a2", "c4"], ["a2", "b8", "d6", "none"]):
            found = data.scan_types("prices", frozenset(asked)).collect()
            expected = hwprices.open(str(tmp_path)).scan_types("prices", frozenset(asked))
            assert found.equals(expected.collect()), asked
            assert found.height == 400 * len({*asked} & {*types})


def test_recommend_of_three_clouds_at_full_size_fetches_2_mb(tmp_path, monkeypatch):
    """In the terminal, where machines for one user and the ages of prices are shown too."""
    shutil.copytree(Store(sample_root()).path, tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.glob("releases/*/offers.parquet")
    offers = pl.read_parquet(file)
    plain = offers.filter(pl.col("accelerator_count").fill_null(0) == 0)
    ids = pl.col("on_demand_price_id", "spot_price_id")
    copies = [
        plain.with_columns(ids.hash(copy).cast(pl.String), pl.col("instance_type") + f".{copy}")
        for copy in range(18)
    ]
    order = ["accelerator_id", "instance_type"]
    offers = pl.concat([offers, *copies]).sort(order, nulls_last=True, maintain_order=True)
    assert offers.height > 100_000
    file.write_bytes(
        parquet.encode("offers", frames.conform(offers.lazy(), TABLES["offers"]).collect())
    )
    manifest = file.with_name("manifest.json")
    values = json.loads(manifest.read_bytes())
    values["tables"]["offers"]["bytes"] = file.stat().st_size
    manifest.write_text(json.dumps(values))
    with object_store.served(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        answer = hwprices.open(object_store.ROOT).recommend("llama-3.3-70b")
        store.counter.reset()
        drawn = run("recommend", "llama-3.3-70b", root=object_store.ROOT)
        assert len(store.counter.requests) <= 10, store.counter.requests
        assert store.counter.bytes <= 2_000_000, store.counter.requests
    ranked = pl.col("rank").is_not_null()
    expected = hwprices.open("sample").recommend("llama-3.3-70b")
    assert answer.filter(ranked).equals(expected.filter(ranked))
    assert drawn.exit_code == 0, drawn.output
