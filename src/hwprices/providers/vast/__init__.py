"""Vast.ai: a marketplace of GPU hosts, kept as daily quantiles."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="Vast.ai",
    without_account="daily quantiles of what hosts ask for a GPU, in the table `market_quantiles`; "
    "no list prices",
    with_credentials="nothing more",
    missing="single offers, interruptible offers, storage and traffic, serverless;"
    " not yet run live",
    price_kinds=(),
)


class Settings(settings.Settings):
    """The common settings and those of Vast.ai."""

    vast_url: Endpoint = Field(default="https://console.vast.ai/api/v0", description="Vast.ai API.")
