"""Prices traced back to the vendor's line, on a dataset with its raw pages."""

import gzip
import hashlib
import shutil
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.releases import AT, fleet, prices, publish, rows, stage
from tests.helpers.terminal import run

import hwprices
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit
from hwprices.read import explain
from hwprices.release import landed
from hwprices.storage import layout, packed
from hwprices.storage.store import Store

PRICE_LIST = b""""SKU","RateCode","PricePerUnit"
"OTHER","OTHER.1.2","9.9"
"ABC","ABC.JRTC.6YS6","0.0960000000"
"ABC","ABC.8V8V.2TG2","876"
"""
CORE = (
    '{"skuId": "CORE-1", "description": "N2 Instance Core", "pricingInfo": [{"nanos": 31611000}]}'
)
RAM = '{"skuId": "RAM-1", "description": "N2 Instance Ram"}'
SKUS = f'{{"skus": [{CORE}, {RAM}]}}'.encode()


def aws_prices(raw_sha256: str) -> pl.DataFrame:
    """A listed price, a reservation paid upfront, and a price that is not known."""
    sku = {
        "instance_type": "m5.large",
        "sku_id": "ABC",
        "sku_price_id": "ABC.JRTC.6YS6",
        "raw_sha256": raw_sha256,
    }
    reservation = {
        "sku_price_id": "ABC.8V8V.2TG2",
        "purchase_option": "reserved",
        "commitment_plan": "standard",
        "term_months": 12,
        "payment_option": "all_upfront",
        "hourly": Decimal(0),
        "upfront": Decimal(876),
        "effective_hourly": Decimal("0.1"),
    }
    unknown = {"os": "windows", "hourly": None, "price_reason": "core_sku_missing"}
    return prices(sku, sku | reservation, sku | unknown)


def gcp_tables(raw_sha256: str) -> dict[str, pl.DataFrame]:
    """A price composed of one component."""
    machine = {"provider": "gcp", "instance_type": "n2-standard-2", "raw_sha256": raw_sha256}
    composed = prices(machine | {"basis": "composed", "hourly": "0.063222"})
    component = machine | {
        **composed.select("price_id", "region", "purchase_option", "currency").row(0, named=True),
        **{"component": "core", "unit": "vcpu", "quantity": 2, "unit_price": "0.031611"},
        "sku_id": "CORE-1",
    }
    parts = rows("price_components", component)
    return fleet(1, provider="gcp") | {"prices": composed, "price_components": parts}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a release with prices of AWS and GCP, and the pages they were read from."""
    root = tmp_path_factory.mktemp("explained")
    landing = Landing(root / "raw")
    price_list = landing.land_bytes(
        Unit("aws", "prices", "us-east-1"),
        PRICE_LIST,
        url="https://aws.example/index.csv",
        retrieved_at=AT,
        suffix="csv",
    )
    skus = landing.land_bytes(
        Unit("gcp", "skus"), SKUS, url="https://gcp.example/skus", retrieved_at=AT
    )
    store = Store(root)
    stage(store, "r1", gcp_tables(skus.sha256))
    publish(store, fleet(5) | {"prices": aws_prices(price_list.sha256)})
    return root


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> hwprices.Dataset:
    """A copy, whose pages a test may change."""
    return hwprices.open(shutil.copytree(made, tmp_path / "data"))


def explained(dataset: hwprices.Dataset, name: str, **filters: str) -> explain.Explanation:
    """The explanation of the first price that matches."""
    prices = explain.find_prices(dataset, name, **filters)
    return explain.explain(dataset, prices.row(0, named=True))


def test_a_listed_price_is_traced_to_its_line(dataset: hwprices.Dataset) -> None:
    explanation = explained(dataset, "m5.large", os="linux", purchase_option="on_demand")
    assert explanation.arithmetic == "0.096 USD/h, as the vendor states it"
    (trace,) = explanation.traces
    assert (trace.state, trace.line) == ("whole", '"ABC","ABC.JRTC.6YS6","0.0960000000"')
    assert Path(trace.page).name.startswith(explanation.price["raw_sha256"])


def test_a_page_answers_for_all_its_skus_and_a_large_one_is_not_read(dataset) -> None:
    (page,) = dataset.scan("price_components").collect()["raw_sha256"].unique()
    sources = [("CORE-1", page), ("RAM-1", page), ("NONE", page)]
    core, ram, none = landed.traces(dataset.store, "gcp", sources)
    assert (core.line, ram.line, none.line) == (CORE, RAM, "")
    whole, too_short = len(SKUS), len(SKUS) - 1  # bytes decompressed, not stored
    assert {t.state for t in landed.traces(dataset.store, "gcp", sources, whole)} == {"whole"}
    assert {t.state for t in landed.traces(dataset.store, "gcp", sources, too_short)} == {"large"}


def test_a_page_that_unpacks_to_too_much_is_not_parsed(dataset, monkeypatch) -> None:
    """The limit is of its unpacked bytes: a page of just so many is parsed, a longer one is not."""
    (sha256,) = dataset.scan("price_components").collect()["raw_sha256"].unique()
    source = [("CORE-1", sha256)]
    monkeypatch.setattr(landed, "MOST_JSON_BYTES", len(SKUS))
    (core,) = landed.traces(dataset.store, "gcp", source)
    assert (core.state, core.line) == ("whole", CORE)
    monkeypatch.setattr(landed, "MOST_JSON_BYTES", len(SKUS) - 1)
    (core,) = landed.traces(dataset.store, "gcp", source)
    assert (core.state, core.line) == ("large", "")


def test_a_line_that_is_too_long_is_not_held_whole(dataset, monkeypatch) -> None:
    (sha256,) = dataset.prices.filter(provider="aws").collect()["raw_sha256"].unique()
    monkeypatch.setattr(landed, "MOST_LINE_CHARACTERS", 20)
    (trace,) = landed.traces(dataset.store, "aws", [("ABC", sha256)])
    assert trace.line == '"ABC","ABC.JRTC.6YS6'


def test_an_upfront_fee_is_divided_by_the_hours_of_the_term(dataset: hwprices.Dataset) -> None:
    explanation = explained(dataset, "m5.large", purchase_option="reserved")
    assert explanation.arithmetic == "0 + 876 / 8760 h = 0.1 USD/h"


def test_an_unknown_price_gives_the_reason(dataset: hwprices.Dataset) -> None:
    explanation = explained(dataset, "m5.large", os="windows")
    assert explanation.arithmetic == "not known: the vendor has no SKU for core in the region"


def test_a_composed_price_shows_its_components_and_their_skus(dataset: hwprices.Dataset) -> None:
    explanation = explained(dataset, "n2-standard-2")
    assert explanation.arithmetic == "2 vcpu × 0.031611 = 0.063222 USD/h"
    assert [(trace.sku, trace.line) for trace in explanation.traces] == [("CORE-1", CORE)]


def test_an_altered_page_is_reported_and_not_quoted(dataset: hwprices.Dataset) -> None:
    page = Path(explained(dataset, "n2-standard-2").traces[0].page)
    page.write_bytes(page.read_bytes()[:-1])
    (trace,) = explained(dataset, "n2-standard-2").traces
    assert (trace.state, trace.line) == ("altered", "")


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("json.gz", b"no gzip"),
        ("csv.gz", gzip.compress(PRICE_LIST, mtime=0)[:-9]),
        ("json.zst", b"no zstd"),
        ("csv.zst", b"no zstd"),
        ("json.zst", packed.pack(b"no JSON")),
        ("json.zst", packed.pack(b"[" * 100_000)),
        ("json.zst", packed.pack(b"[%s]" % (b"9" * 5000))),
        ("json.zst", packed.pack(b'{"skuId": "\xff"}')),
        ("json.zst", packed.pack(b'{"skuId": "CORE-1", "description": "\\ud800"}')),
    ],
)
def test_a_page_that_is_not_what_its_name_says_is_reported(dataset, suffix, content) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    dataset.store.put(f"{layout.raw('gcp')}/skus/global/{sha256}.{suffix}", content)
    (trace,) = landed.traces(dataset.store, "gcp", [("CORE-1", sha256)])
    assert (trace.state, trace.line) == ("unreadable", "")


def test_a_missing_page_is_reported(dataset: hwprices.Dataset) -> None:
    Path(explained(dataset, "n2-standard-2").traces[0].page).unlink()
    (trace,) = explained(dataset, "n2-standard-2").traces
    assert (trace.state, trace.page) == ("missing", "")


def test_a_price_that_does_not_exist_suggests_where_to_look(dataset: hwprices.Dataset) -> None:
    with pytest.raises(HwpricesError, match=r"no price of m5\.large with .*mars.*in us-east-1"):
        explain.find_prices(dataset, "m5.large", region="mars")
    with pytest.raises(HwpricesError, match=r"with provider gcp\. It has prices in us-east-1"):
        explain.find_prices(dataset, "m5.large", "GCP")
    with pytest.raises(HwpricesError, match="hwprices show coverage"):
        explain.find_prices(dataset, "z9.none")


def test_the_command_lists_several_prices_and_explains_one(dataset: hwprices.Dataset) -> None:
    def printed(*arguments: str) -> str:
        return run("explain", *arguments, root=dataset.store.root).stdout

    price_id = explain.find_prices(dataset, "m5.large", purchase_option="reserved")["price_id"][0]
    assert "3 prices" in printed("m5.large")
    assert price_id in printed("m5.large")
    assert "876 / 8760 h" in printed(price_id)
    for flag in ("--purchase-option", "--option"):
        assert "876 / 8760 h" in printed("m5.large", flag, "reserved"), "the former flag works too"


def test_a_price_is_as_stale_as_find_says(dataset: hwprices.Dataset) -> None:
    found = dict(dataset.find("m5.large").select("price_id", "stale").iter_rows())
    assert found
    is_stale = {name: dataset.explain(name).to_dict()["stale"] for name in found}
    assert is_stale == found


def test_a_name_of_several_prices_says_how_to_tell_them_apart(dataset: hwprices.Dataset) -> None:
    with pytest.raises(HwpricesError) as raised:
        dataset.explain("M5.LARGE")
    assert raised.value.message == "3 prices of M5.LARGE fit"
    assert raised.value.remedy == (
        "Name os, purchase_option, or give a price_id: find and price have them."
    )
    explanation = dataset.explain("M5.LARGE", provider="AWS", purchase_option="reserved")
    assert explanation.arithmetic == "0 + 876 / 8760 h = 0.1 USD/h"
    assert dataset.explain(explanation.price["price_id"]).price == explanation.price
