"""Verda, once DataCrunch: GPU and CPU machines in the Nordic countries, on demand and spot."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
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
