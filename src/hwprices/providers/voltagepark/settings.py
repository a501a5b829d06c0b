"""Settings of Voltage Park."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Voltage Park."""

    voltagepark_url: Endpoint = Field(
        default="https://cloud-api.voltagepark.com/api/v1", description="Voltage Park API."
    )
