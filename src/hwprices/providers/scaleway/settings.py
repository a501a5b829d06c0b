"""Settings of Scaleway."""

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from hwprices import settings
from hwprices.settings import Endpoint

ZONES = (
    "fr-par-1",
    "fr-par-2",
    "fr-par-3",
    "it-mil-1",
    "nl-ams-1",
    "nl-ams-2",
    "nl-ams-3",
    "pl-waw-1",
    "pl-waw-2",
    "pl-waw-3",
)
"""The zones of Instances; no API lists them without an account.
https://www.scaleway.com/en/developers/api/instances/"""


class Settings(settings.Settings):
    """The common settings and those of Scaleway."""

    scaleway_url: Endpoint = Field(
        default="https://api.scaleway.com/instance/v1", description="Scaleway's Instances API."
    )
    scaleway_zones: Annotated[tuple[str, ...], NoDecode] = Field(
        default=ZONES, description="Zones whose products are collected, with commas between them."
    )

    @field_validator("scaleway_zones", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())
