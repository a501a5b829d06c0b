"""Vast.ai's offers as quantiles of a day; the other traps are in tests/cases/vast/answers.yaml."""

import pytest
from tests.helpers.expected import assert_rows
from tests.helpers.stub_server import Reply
from tests.helpers.vendor_tables import json_unit, read_units, record_of

from hwprices.providers import vast

OFFER = record_of("vast", "listed")
QUANTILES = ("min_usd", "p10_usd", "p25_usd", "median_usd", "p75_usd", "p90_usd")


@pytest.mark.parametrize(
    ("count", "expected", "is_complete"),
    [
        (8, (1, 1, 2, 4, 6, 8), True),
        (40, (1, 4, 10, 20, 30, 36), True),
        (64, (1, None, None, None, None, None), False),
    ],
)
def test_quantiles_are_of_offers(tmp_path, count, expected, is_complete) -> None:
    offers = [OFFER | {"id": n, "dph_base": n} for n in range(count, 0, -1)]
    tables = read_units("vast", tmp_path, [json_unit("vast", "offers", {"offers": offers})])
    row = {"offers": count, "is_complete": is_complete}
    row |= dict(zip(QUANTILES, expected, strict=True))
    assert_rows(tables["market_quantiles"], [row])


def test_a_gpu_may_have_no_offer_and_not_all_of_them(live, fetch, monkeypatch) -> None:
    monkeypatch.setattr(vast, "searches", lambda: ["{}"] * 3)
    some, none = Reply.json({"offers": [OFFER]}), Reply.json({"offers": []})
    server = live(vast_url="").on("/bundles/", [some, none])
    assert len(fetch("vast", "offers").pages) == 3
    server.on("/bundles/", none)
    assert "has no offer of any GPU" in fetch("vast", "offers").reason
