"""Voltage Park: machines with H100 GPUs, virtual and bare metal, from two public lists."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
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
