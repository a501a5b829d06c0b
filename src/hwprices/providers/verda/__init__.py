"""Verda, once DataCrunch: GPU and CPU machines in the Nordic countries, on demand and spot.

The page is a list of objects: https://api.verda.com/v1/docs
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.landing.bodies import read_list
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint

ABOUT = About(
    title="Verda",
    without_account="all machine types with their prices on demand, spot and serverless",
    with_credentials="nothing more",
    missing="where a machine is in stock, long-term contracts, clusters, serverless spot,"
    " volumes; not yet run live",
)


class Settings(settings.Settings):
    """The common settings and those of Verda."""

    verda_url: Endpoint = Field(default="https://api.verda.com/v1", description="Verda API.")


TYPES: Final = "instance_types"
"""Kind of unit: the machine types, each with its prices."""


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the one unit. Prices are the same in every location."""
    return [Unit("verda", TYPES)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the list.

    Raises:
        FetchError: it is unavailable or not a list.
    """
    return [context.land_json(unit, f"{context.settings.verda_url}/instance-types", read_list)]
