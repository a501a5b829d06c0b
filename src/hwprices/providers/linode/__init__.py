"""Akamai Cloud (Linode): virtual machines at one price in most regions, from public lists."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="Akamai (Linode)",
    without_account="all plans with their prices, regions, and where limited plans are available",
    with_credentials="nothing more",
    missing="the monthly cap of a price, backups, block storage, Kubernetes, distributed sites;"
    " not yet run live",
    price_kinds=("types",),
)


class Settings(settings.Settings):
    """The common settings and those of Akamai (Linode)."""

    linode_url: Endpoint = Field(default="https://api.linode.com/v4", description="Linode API.")
