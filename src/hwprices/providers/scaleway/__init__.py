"""Scaleway: virtual machines in Paris, Amsterdam, Warsaw and Milan, priced in euros."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint, Names

ABOUT = About(
    title="Scaleway",
    without_account="all machines, their prices and their stock, zone by zone",
    with_credentials="nothing more",
    price_kinds=("servers",),
    missing="prices by the month, local disks and IP addresses, Elastic Metal, Kubernetes;"
    " no live run is on record",
)

ZONES = (
    *("fr-par-1", "fr-par-2", "fr-par-3", "it-mil-1", "nl-ams-1", "nl-ams-2", "nl-ams-3"),
    *("pl-waw-1", "pl-waw-2", "pl-waw-3"),
)
"""The zones of Instances; no API lists them without an account.
https://www.scaleway.com/en/developers/api/instances/"""


class Settings(settings.Settings):
    """The common settings and those of Scaleway."""

    scaleway_url: Endpoint = Field(
        default="https://api.scaleway.com/instance/v1", description="Scaleway's Instances API."
    )
    scaleway_zones: Names = Field(
        default=ZONES, description="Zones whose products are collected, with commas between them."
    )
