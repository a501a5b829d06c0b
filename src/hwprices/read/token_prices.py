"""Prices of tokens to buy, beside machines to rent and to own.

They are those of the package genai-prices (https://github.com/pydantic/genai-prices, MIT), which
says of itself that they "will not be 100 % accurate": none of them is in a release of ours.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from typing import TYPE_CHECKING

from hwprices.read.recommend.model_shape import of_repository, squeeze
from hwprices.read.recommend.question import Job

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

SOURCE = "genai-prices"

MILLION = 1_000_000

NOT_SOLD = (":free", ":batch")
"""Ends of names of offers that cannot be relied on, or are not for a service."""

SPEEDS = re.compile(r"([-_](turbo|versatile|fast|fp8|bf16|maas))+$", re.IGNORECASE)
"""What vendors add to the name of a model for how they run it."""


@dataclass(frozen=True)
class TokenPrice:
    """What a vendor asks for a model's tokens, in USD per million.

    ``blended``: a million tokens of input and output in the lengths of the question.
    """

    vendor: str
    input: Decimal
    output: Decimal
    blended: Decimal


def source() -> str | None:
    """Return the package that has the prices, with its version; None where it is not installed."""
    try:
        import genai_prices  # noqa: F401
    except ModuleNotFoundError:
        return None
    return f"{SOURCE} {version(SOURCE)}"


def token_prices(job: Job, now: datetime) -> list[TokenPrice]:
    """List what vendors ask for the model of a service at that time, the cheapest first.

    Empty for a model that nobody sells, and where the package is not installed.
    """
    if job.has_end or source() is None:
        return []
    from genai_prices import data

    wanted, found = squeeze(job.model.name), []
    for provider in data.providers:
        prices = [
            _price(job, provider, model, now)
            for model in provider.models
            if _is_sold(model) and squeeze(of_repository(SPEEDS.sub("", model.id))) == wanted
        ]
        found += sorted(filter(None, prices), key=lambda price: price.blended)[:1]
    return sorted(found, key=lambda price: (price.blended, price.vendor))


def _price(job: Job, provider: "Provider", model: "ModelInfo", now: datetime) -> TokenPrice | None:
    from genai_prices import Usage

    inputs, outputs = (max(1, round(n)) for n in (job.input_tokens, job.output_tokens))
    usage = Usage(input_tokens=inputs, output_tokens=outputs)
    asked = model.calc_price(usage, provider, genai_request_timestamp=now)
    if not asked.total_price:
        return None
    return TokenPrice(
        provider.name,
        input=asked.input_price * MILLION / inputs,
        output=asked.output_price * MILLION / outputs,
        blended=asked.total_price * MILLION / (inputs + outputs),
    )


def _is_sold(model: "ModelInfo") -> bool:
    """Return whether a model is on the vendor's list, and the price is the vendor's own."""
    imported = (model.price_comments or "").startswith("Imported from")
    return not (model.deprecated or imported or model.id.endswith(NOT_SOLD))


def crossing(
    job: Job, price: TokenPrice, usd_per_hour: Decimal, tokens_per_second: float
) -> float | None:
    """Return the requests a second above which renting costs less than buying tokens.

    ``tokens_per_second``: of output, what the machine promises. None where it costs more even
    when it is full.
    """
    tokens = Decimal(repr(job.input_tokens + job.output_tokens))
    per_request = price.blended * tokens / MILLION
    requests = float(usd_per_hour / 3600 / per_request)
    return requests if requests <= tokens_per_second / job.output_tokens else None
