"""Voltage Park: machines with H100 GPUs, virtual and bare metal, from two public lists.

Both are one page: https://cloud-api.voltagepark.com/api/v1/redoc
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.landing.bodies import other_format, read_list, read_object
from hwprices.landing.download import Downloaded
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint

ABOUT = About(
    title="Voltage Park",
    without_account="virtual machines by preset, and bare metal by location, with prices and stock",
    with_credentials="nothing more",
    missing="reserved clusters, shared storage; not yet run live",
)


class Settings(settings.Settings):
    """The common settings and those of Voltage Park."""

    voltagepark_url: Endpoint = Field(
        default="https://cloud-api.voltagepark.com/api/v1", description="Voltage Park API."
    )


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
    """Refuse a list of several pages, because how to request the next page is undocumented."""
    content = read_object(body, "results")
    if content.get("has_next") is not False:
        raise other_format(body, "is not all of the locations")
