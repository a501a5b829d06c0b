"""A sample of prices is looked for on the landed pages that the prices name."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.releases import AT, fleet, rows, stage

import hwprices
from hwprices.landing.pages import Landing, Unit
from hwprices.publish import choose, gate, release
from hwprices.publish.gate import compare, pages
from hwprices.release.versions import latest_version, read_manifest
from hwprices.schemas.tables import PriceComponents
from hwprices.storage.store import Store
from hwprices.units import Money

SKUS = tuple(f"SKU-{number:02}" for number in range(5 * compare.TRACED))
"""Most of them are not in the sample: a provider of which most prices are held is stopped."""


def land(store: Store, skus: Sequence[str], rate: str) -> str:
    """Land a price list with one price for some SKUs, and return its SHA-256."""
    lines = "".join(f"{sku},{rate}\n" for sku in skus)
    page = Landing(store.path / "raw").land_bytes(
        Unit("aws", "prices", "us-east-1"),
        f"SKU,Price\n{lines}".encode(),
        url="https://aws.example/list.csv",
        retrieved_at=AT,
        suffix="csv",
    )
    return page.sha256


def tables(
    page: str, hourly: float = 0.1, skus: Sequence[str | None] = SKUS
) -> dict[str, pl.DataFrame]:
    """Return the tables of a cloud with one machine type for each SKU, all read from one page."""
    world = fleet(len(SKUS))
    of_page = world["prices"].with_columns(
        pl.lit(hourly).cast(Money).alias("hourly"),
        pl.lit(hourly).cast(Money).alias("effective_hourly"),
        sku_id=pl.Series(skus, dtype=pl.String),
        raw_sha256=pl.lit(page),
    )
    return {**world, "prices": of_page}


def a_pipe(page: Path) -> None:
    """Put what cannot be read in the place of a page."""
    page.unlink()
    os.mkfifo(page)


def traced(store: Store) -> str:
    """Publish what is staged, and return the result of the trace."""
    (text,) = (r.detail for r in release.publish(store).results if r.check == "traced")
    return text


def held(store: Store) -> int:
    """Count the prices that are held because of their page: each with its old value, flagged."""
    dataset = hwprices.open(store.path)
    rows = dataset.scan("held").filter(reason="page", field="*").select("row").collect()
    flagged = dataset.prices.filter(
        pl.col("flags").list.contains("held_back"), effective_hourly=0.1
    )
    assert set(flagged.select("price_id").collect()["price_id"]) == set(rows["row"])
    return rows.height


def said(count: int, why: str = "") -> str:
    return f"{count} of 20 sampled prices were traced to the vendor's lines{why}"


@pytest.fixture(scope="module")
def first_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first")
    store = Store(root)
    stage(store, "r1", tables(land(store, SKUS, "0.1")))
    assert traced(store) == said(20)
    return root


@pytest.fixture
def listed(first_root: Path, tmp_path: Path) -> Store:
    """A release of all SKUs at 0.1, each on its page."""
    return Store(shutil.copytree(first_root, tmp_path, dirs_exist_ok=True))


@pytest.mark.parametrize(
    ("skus", "rate", "count"),
    [
        (SKUS, "0.12", 20),
        (SKUS, "0.1", 0),  # the price is on another page
        (("OTHER",), "0.12", 0),
        (SKUS[:60], "0.12", None),
    ],
    ids=["right", "another-price", "swapped", "some"],
)
def test_a_price_that_its_page_does_not_state_is_held(listed, skus, rate, count):
    stage(listed, "r2", tables(land(listed, skus, rate), 0.12))
    assert traced(listed) == said(20 - held(listed))
    assert held(listed) in (range(1, 20) if count is None else [20 - count])


def test_a_free_part_is_traced_too(store):
    paid, free = land(store, SKUS, "0.1"), land(store, ["FREE"], "0")
    world = tables(paid)
    part = world["prices"].with_columns(quantity=1, unit=pl.lit("vcpu"))
    parts = [
        part.with_columns(component=pl.lit("core"), unit_price="hourly"),
        part.with_columns(
            component=pl.lit("ram"), unit_price=0, sku_id=pl.lit("FREE"), raw_sha256=pl.lit(free)
        ),
    ]
    columns = [name for name in PriceComponents.dtypes if name in parts[0].columns]
    priced = [row for part in parts for row in part.select(columns).to_dicts()]
    components = rows("price_components", *priced)
    stage(store, "r1", {**world, "price_components": components})
    assert traced(store) == said(20)


@pytest.mark.parametrize(
    ("damage", "skus", "text", "count"),
    [
        (lambda page: page.unlink(), SKUS, said(0, "; not traced, the page is missing: 20"), 0),
        (a_pipe, SKUS, said(0, "; not traced, the page cannot be read: 20"), 0),
        (lambda page: page.write_bytes(b"altered"), SKUS, said(0), 20),
        (lambda page: page.write_bytes(b"altered"), [None] * len(SKUS), said(0), 20),
    ],
    ids=["pruned", "pipe", "altered", "altered-no-sku"],
)
def test_a_page_that_is_not_read_is_said_and_one_that_was_altered_holds(
    listed, damage, skus, text, count
):
    page = land(listed, SKUS, "0.12")
    stage(listed, "r2", tables(page, 0.12, skus))
    damage(next(listed.path.rglob(f"{page}.csv.zst")))
    assert traced(listed) == text
    assert held(listed) == count


@pytest.mark.parametrize("limit", ["TRACED_BYTES", "TRACED_CONTENT"])
def test_pages_that_are_too_large_are_not_read(store, monkeypatch, limit):
    stage(store, "r1", tables(land(store, SKUS, "0.1")))
    monkeypatch.setattr(compare, limit, 100)
    assert traced(store) == said(0, "; not traced, the pages are too large: 20")


def test_every_sampled_price_of_the_sample_is_traced(sample_root: Path, monkeypatch):
    monkeypatch.setattr(compare, "TRACED", 500)
    store = Store(sample_root)
    manifest = read_manifest(store, latest_version(store) or "")
    for name in manifest.providers:
        source = choose.from_release(store, name, manifest)
        assert source is not None
        candidate = gate.Candidate(name, source.origin, choose.scan(store, [source]))
        failed, text = pages.trace(store, candidate)
        assert failed.is_empty(), name
        # the preemptible price of a shape is half of another one, by Oracle's rule
        assert text.partition("; not traced, ")[2].partition(":")[0] == (
            "no SKU" if name == "oracle" else ""
        )
