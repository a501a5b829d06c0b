"""Land Verda's list of machine types: one request, no account.

The page is a list of objects: https://api.verda.com/v1/docs
"""

from collections.abc import Sequence
from typing import Final

from hwprices.landing.json_bodies import read_list
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context

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
