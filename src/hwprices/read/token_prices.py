"""Prices of model APIs per token, to compare with renting and owning machines.

Source: the package genai-prices (https://github.com/pydantic/genai-prices, MIT), which states that
its prices "will not be 100 % accurate". Therefore they are not part of a release.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from typing import TYPE_CHECKING

from hwprices.read.recommend.job import Job
from hwprices.read.recommend.model_shape import of_repository, squeeze

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

SOURCE = "genai-prices"

MILLION = 1_000_000

NOT_SOLD = (":free", ":batch")
"""Ends of the names of models that are unreliable, or not for a service."""

SPEEDS = re.compile(r"([-_](turbo|versatile|fast|fp8|bf16|maas))+$", re.IGNORECASE)
"""Endings that describe how a vendor runs a model."""


@dataclass(frozen=True)
class TokenPrice:
    """A vendor's price of a model, in USD per million tokens.

    ``blended``: input and output tokens, mixed as in the question.
    """

    vendor: str
    input: Decimal
    output: Decimal
    blended: Decimal


def source() -> str | None:
    """Return the name and version of the package with the prices; None if not installed."""
    try:
        import genai_prices  # noqa: F401
    except ModuleNotFoundError:
        return None
    return f"{SOURCE} {version(SOURCE)}"


def token_prices(job: Job, now: datetime) -> list[TokenPrice]:
    """List the vendors' prices of a model at a time, the cheapest first.

    Empty if nobody sells the model, or if the package is not installed.
    """
    if job.has_end or source() is None:
        return []
    from genai_prices import data

    wanted = squeeze(job.model.name)
    cheapest: list[TokenPrice] = []
    for provider in data.providers:
        prices = [
            _price(job, provider, model, now)
            for model in provider.models
            if _is_sold(model) and squeeze(of_repository(SPEEDS.sub("", model.id))) == wanted
        ]
        cheapest += sorted(filter(None, prices), key=lambda price: price.blended)[:1]
    return sorted(cheapest, key=lambda price: (price.blended, price.vendor))


def _price(job: Job, provider: "Provider", model: "ModelInfo", now: datetime) -> TokenPrice | None:
    from genai_prices import Usage

    inputs, outputs = (max(1, round(n)) for n in (job.input_tokens, job.output_tokens))
    usage = Usage(input_tokens=inputs, output_tokens=outputs)
    price = model.calc_price(usage, provider, genai_request_timestamp=now)
    if not price.total_price:
        return None
    return TokenPrice(
        provider.name,
        input=price.input_price * MILLION / inputs,
        output=price.output_price * MILLION / outputs,
        blended=price.total_price * MILLION / (inputs + outputs),
    )


def _is_sold(model: "ModelInfo") -> bool:
    """Check whether a model is on the vendor's list, with the vendor's own price."""
    imported = (model.price_comments or "").startswith("Imported from")
    return not (model.deprecated or imported or model.id.endswith(NOT_SOLD))


def crossing(
    job: Job, price: TokenPrice, usd_per_hour: Decimal, tokens_per_second: float
) -> float | None:
    """Return the requests per second above which renting costs less than buying tokens.

    ``tokens_per_second``: the machine's output at full load. None if renting costs more even then.
    """
    tokens = Decimal(repr(job.input_tokens + job.output_tokens))
    per_request = price.blended * tokens / MILLION
    requests = float(usd_per_hour / 3600 / per_request)
    return requests if requests <= tokens_per_second / job.output_tokens else None
