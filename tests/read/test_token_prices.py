"""Prices of tokens beside machines: vendors' own figures, and the load at which they cross."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from hwprices.read.recommend.job import make_job
from hwprices.read.recommend.question import Question
from hwprices.read.token_prices import TokenPrice, crossing, token_prices

AFTER, BEFORE = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)


def test_novitas_price_of_llama_3_3_fell_on_2026_10_18() -> None:
    """0.39 USD for a million tokens before; 0.135 of input and 0.40 of output from that day."""
    job = make_job(Question("llama-3.3-70b"))  # 1,024 tokens in, 256 out
    now, then = (
        {price.vendor: price for price in token_prices(job, day)}["Novita"]
        for day in (AFTER, BEFORE)
    )
    assert (now.input, now.output, now.blended) == tuple(map(Decimal, ("0.135", "0.4", "0.188")))
    assert (then.input, then.output, then.blended) == (Decimal("0.39"),) * 3


def test_a_vendor_is_listed_once_and_not_with_what_it_gives_away_or_no_longer_sells() -> None:
    """Cerebras sells gpt-oss-120b, and no longer Llama 3.3 70B; OpenAI sells neither."""
    listed = {
        model: [price.vendor for price in token_prices(make_job(Question(model)), AFTER)]
        for model in ("llama-3.3-70b", "gpt-oss-120b", "llama-2-7b")
    }
    assert "Cerebras" in listed["gpt-oss-120b"]
    assert "Cerebras" not in listed["llama-3.3-70b"]
    assert "OpenAI" not in listed["gpt-oss-120b"]
    assert all(len(vendors) == len(set(vendors)) for vendors in listed.values())
    assert all(price.blended > 0 for price in token_prices(make_job(Question("qwen3-32b")), AFTER))


@pytest.mark.parametrize(
    ("tokens_per_second", "requests"),
    [(1000.0, 2.6434), (700.0, 2.6434), (600.0, None)],
    ids=["half full", "nearly full", "dearer even when full"],
)
def test_renting_costs_less_above_a_load(tokens_per_second: float, requests: float | None) -> None:
    """2.29 USD/h ÷ 3,600 s ÷ (1,280 tokens × 0.188 USD per million) are 2.64 requests a second.

    Each generates 256 tokens: a machine of 600 tokens/s answers 2.34.
    """
    job = make_job(Question("llama-3.3-70b", input_tokens=1024, output_tokens=256))
    price = TokenPrice("a vendor", Decimal("0.135"), Decimal("0.4"), blended=Decimal("0.188"))
    found = crossing(job, price, Decimal("2.29"), tokens_per_second)
    assert found == (requests and pytest.approx(requests, abs=1e-4))
