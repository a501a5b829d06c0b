"""Vast.ai's offers as quantiles of a day, and each trap of the list."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.vendor_tables import Tables, json_unit, read_units

OFFER: dict[str, Any] = {
    "id": 40024072,
    "gpu_name": "H100 SXM",
    "num_gpus": 1,
    "gpu_ram": 81559,
    "dph_base": 2.0,
    "verification": "unverified",
    "is_bid": False,
}

QUANTILES = ("min_usd", "p10_usd", "p25_usd", "median_usd", "p75_usd", "p90_usd")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Tables]:
    def make(offers: Sequence[Any]) -> Tables:
        return read_units("vast", tmp_path, [json_unit("vast", "offers", {"offers": offers})])

    return make


@cases("vast/prices", gpus=int, offers=int)
def test_a_price_is_that_of_one_gpu(sample, device, gpus, verification, offers, least) -> None:
    row = sample.one(
        "market_quantiles", accelerator_id=device, gpus=gpus, verification=verification
    )
    found = (row["offers"], row["min_usd"], row["day"])
    assert found == (offers, Decimal(least), date(2026, 8, 22))
    assert row["median_usd"] is None  # fewer than eight offers


def test_the_market_makes_no_other_table(sample: Tables) -> None:
    assert set(sample.rows) == {"market_quantiles"}


@pytest.mark.parametrize(
    ("count", "expected", "is_complete"),
    [
        (8, ["1", "1", "2", "4", "6", "8"], True),
        (40, ["1", "4", "10", "20", "30", "36"], True),
        (64, ["1", None, None, None, None, None], False),
    ],
)
def test_quantiles_are_of_offers(read, count, expected, is_complete) -> None:
    offers = [OFFER | {"id": n, "dph_base": n} for n in range(count, 0, -1)]
    row = read(offers).one("market_quantiles")
    assert [None if row[n] is None else str(row[n].normalize()) for n in QUANTILES] == [
        None if one is None else str(Decimal(one).normalize()) for one in expected
    ]
    assert (row["offers"], row["is_complete"]) == (count, is_complete)


def test_memory_tells_two_gpus_of_one_name_apart(read: Callable[..., Tables]) -> None:
    offers = [
        OFFER | {"gpu_name": "A100 SXM4", "gpu_ram": memory} for memory in (40960, 81920, 81251)
    ]
    rows = read(offers)["market_quantiles"].select("accelerator_id", "offers").rows()
    assert sorted(rows) == [("nvidia-a100-sxm4-40gb", 1), ("nvidia-a100-sxm4-80gb", 2)]


@cases("vast/refused", change=yaml.safe_load)
def test_what_is_not_understood_is_refused(read, change, reason) -> None:
    tables = read([OFFER | change, OFFER, OFFER | {"is_bid": True}])
    assert tables.refused.select("table", "reason").rows() == [("market_quantiles", reason)]
    assert tables.one("market_quantiles")["offers"] == 1
    assert tables.counts == {"out_of_scope:interruptible": 1}
