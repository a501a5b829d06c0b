"""A price back to the vendor's line, on a dataset with its raw pages."""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.helpers import make

import hwprices
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit
from hwprices.publish import release
from hwprices.read import explain
from hwprices.rows import frames
from hwprices.schemas.price import PriceComponents
from hwprices.storage.store import Store

CSV = b'"SKU","RateCode","PricePerUnit"\n"OTHER","OTHER.1.2","9.9"\n"ABC","ABC.JRTC.6YS6","0.0960000000"\n'
JSON = b'{"skus":[{"skuId":"CORE-1","description":"N2 Instance Core","pricingInfo":[{"nanos":31611000}]},{"skuId":"RAM-1","description":"N2 Instance Ram"}]}'


@pytest.fixture
def dataset(tmp_path):
    landing = Landing(tmp_path / "raw")
    csv = landing.land_bytes(
        Unit("aws", "prices", "us-east-1"),
        CSV,
        url="https://aws.example/index.csv",
        retrieved_at=make.AT,
        suffix="csv",
    )
    skus = landing.land_bytes(
        Unit("gcp", "skus"), JSON, url="https://gcp.example/skus", retrieved_at=make.AT
    )
    aws = make.world(5)
    own = {
        "instance_type": "m5.large",
        "sku_id": "ABC",
        "sku_price_id": "ABC.JRTC.6YS6",
        "raw_sha256": csv.sha256,
    }
    term = {
        "purchase_option": "reserved",
        "commitment_plan": "standard",
        "term_months": 12,
        "payment_option": "all_upfront",
    }
    paid = {"hourly": Decimal(0), "upfront": Decimal(876), "effective_hourly": Decimal("0.1")}
    aws["prices"] = make.prices(
        own,
        {**own, **term, **paid},
        {**own, "os": "windows", "hourly": None, "price_reason": "sku_missing"},
    )
    composed = make.prices(
        {
            "provider": "gcp",
            "instance_type": "n2-standard-2",
            "basis": "composed",
            "hourly": Decimal("0.0632220000"),
            "raw_sha256": skus.sha256,
        }
    )
    part = {
        "price_id": composed["price_id"][0],
        "component": "core",
        "provider": "gcp",
        "region": "us-east-1",
        "instance_type": "n2-standard-2",
    }
    rate = {
        "purchase_option": "on_demand",
        "quantity": Decimal(2),
        "unit": "vcpu",
        "unit_price": Decimal("0.031611"),
        "currency": "USD",
    }
    parts = make.table(
        "price_components",
        [{**part, **rate, "sku_id": "CORE-1", "observed_at": make.AT, "raw_sha256": skus.sha256}],
    )
    assert list(parts.columns) == list(frames.dtypes(PriceComponents))
    store = Store(tmp_path)
    make.stage_frames(store, "r1", aws)
    make.stage_frames(
        store,
        "r1",
        {**make.world(1, provider="gcp"), "prices": composed, "price_components": parts},
        provider="gcp",
    )
    release.publish(store, now=lambda: datetime(2026, 8, 1, tzinfo=UTC))
    return hwprices.open(tmp_path)


def one(dataset, what, **where):
    return explain.explain(dataset, explain.find(dataset, what, **where)["price_id"][0])


def test_a_listed_price_leads_to_its_line(dataset):
    found = one(dataset, "m5.large", os="linux", purchase_option="on_demand")
    assert explain.arithmetic(found) == "0.096 USD/h, as the vendor states it"
    (trace,) = found.traces
    assert (trace.state, trace.line) == ("whole", '"ABC","ABC.JRTC.6YS6","0.0960000000"')
    assert Path(trace.page).name.startswith(found.price["raw_sha256"])


def test_an_upfront_fee_is_spread_before_ones_eyes(dataset):
    assert (
        explain.arithmetic(one(dataset, "m5.large", purchase_option="reserved"))
        == "0 + 876 / 8760 h = 0.1 USD/h"
    )


def test_an_unknown_price_says_why(dataset):
    assert explain.arithmetic(one(dataset, "m5.large", os="windows")) == "not known: sku_missing"


def test_a_composed_price_shows_its_parts_and_their_skus(dataset):
    found = one(dataset, "n2-standard-2")
    assert explain.arithmetic(found) == "2 vcpu × 0.031611 = 0.063222 USD/h"
    assert [t.sku for t in found.traces] == ["CORE-1"]
    assert (
        found.traces[0].line
        == '{"skuId": "CORE-1", "description": "N2 Instance Core", "pricingInfo": [{"nanos": 31611000}]}'
    )


def test_an_altered_or_missing_page_is_not_believed(dataset):
    found = one(dataset, "n2-standard-2")
    page = Path(found.traces[0].page)
    page.write_bytes(page.read_bytes()[:-1])
    assert one(dataset, "n2-standard-2").traces[0].state == "altered"
    page.unlink()
    assert one(dataset, "n2-standard-2").traces[0].state == "missing"


def test_what_is_not_there_says_what_is(dataset):
    with pytest.raises(
        HwpricesError, match=r"no price of m5\.large with .*mars.*prices in us-east-1"
    ):
        explain.find(dataset, "m5.large", region="mars")
    with pytest.raises(HwpricesError, match="select distinct instance_type"):
        explain.find(dataset, "z9.none")


def test_the_command_lists_several_and_explains_one(dataset):
    def call(*arguments: str) -> str:
        command = [
            Path(sys.executable).with_name("hwprices"),
            "explain",
            *arguments,
            "--root",
            dataset.store.root,
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    several = call("m5.large")
    assert "3 prices" in several
    price_id = explain.find(dataset, "m5.large", purchase_option="reserved")["price_id"][0]
    assert price_id in several
    assert "876 / 8760 h" in call(price_id)
