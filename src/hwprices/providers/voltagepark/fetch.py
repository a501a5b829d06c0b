"""Land Voltage Park's two lists: presets of virtual machines, and locations of bare metal.

Both are one page: https://cloud-api.voltagepark.com/api/v1/redoc
"""

from collections.abc import Sequence
from typing import Final

from hwprices.landing.download import Downloaded
from hwprices.landing.json_bodies import other_format, read_list, read_object
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context

PRESETS: Final = "presets"  # Kind of unit: a list of virtual machines that can be started

LOCATIONS: Final = "locations"
"""Kind of unit: an object whose ``results`` are the locations of bare metal."""

PATHS = {PRESETS: "instant-deploy-presets/", LOCATIONS: "bare-metal/locations"}


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the two units."""
    return [Unit("voltagepark", kind) for kind in PATHS]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land a list.

    Raises:
        FetchError: it is unavailable, or is not a complete list.
    """
    check = read_list if unit.kind == PRESETS else _check_locations
    return [
        context.land_json(unit, f"{context.settings.voltagepark_url}/{PATHS[unit.kind]}", check)
    ]


def _check_locations(body: Downloaded) -> None:
    """Refuse the first of several pages: how to get the next one is not documented."""
    content = read_object(body, "results")
    if content.get("has_next") is not False:
        raise other_format(body, "is not all of the locations")
