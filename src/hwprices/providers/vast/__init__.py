"""Vast.ai: a marketplace of GPU hosts, kept as daily quantiles.

https://docs.vast.ai/api-reference/search/search-offers documents the query. Searching needs no
account. A search returns at most 64 offers, so each one is for one number of GPUs, cheapest first.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.landing.bodies import other_format, read_json
from hwprices.landing.download import Downloaded
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint
from hwprices.specs.sheets import read_csv
from hwprices.storage.scratch import scratch_directory

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


OFFERS: Final = "offers"
"""Kind of unit: all searches. Also the name of the list in a response."""

GPUS: Final = (1, 2, 4, 8)
"""Numbers of GPUs that are searched for."""

MOST_OFFERS: Final = 64
"""Offers in one response, whatever limit is requested."""


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the one unit. Offers are worldwide."""
    return [Unit("vast", OFFERS)]


def units_at_once(_settings: settings.Settings) -> int:
    """Fetch one after another: the API answers about five requests in a row with 429."""
    return 1


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the responses once all searches have succeeded.

    Raises:
        FetchError: a response is unavailable or has no list, or no response has an offer.
    """
    url = f"{context.settings.vast_url}/bundles/"
    with scratch_directory() as folder:
        bodies, offers = [], 0
        for number, query in enumerate(searches()):
            file = Path(folder) / str(number)
            body = context.http.download(url, file, max_bytes=MAX_READ_BYTES, params={"q": query})
            offers += _offers(body)  # fails before the remaining requests
            bodies.append(body)
        if not offers:
            raise other_format(bodies[0], "has no offer of any GPU")
        return [context.landing.land(unit, body, suffix="json") for body in bodies]


def _offers(body: Downloaded) -> int:
    """Return how many offers a response has; a GPU may have none."""
    content = read_json(body)
    listed = content.get(OFFERS) if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise other_format(body, f"has no list of {OFFERS}")
    return len(listed)


def searches() -> Iterator[str]:
    """Yield a query per GPU and number of GPUs. Names have blanks, not underscores."""
    for name in read_csv("accelerator_names/vast.csv", None)["vendor_name"].unique(
        maintain_order=True
    ):
        for count in GPUS:
            query = {
                "gpu_name": {"eq": name},
                "num_gpus": {"eq": count},
                "rentable": {"eq": True},
                "external": {"eq": False},
                "type": "on-demand",
                "order": [["dph_base", "asc"]],
                "limit": MOST_OFFERS,
            }
            yield json.dumps(query)
