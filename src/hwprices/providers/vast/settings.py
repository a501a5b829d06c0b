"""Settings of Vast.ai."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Vast.ai."""

    vast_url: Endpoint = Field(default="https://console.vast.ai/api/v0", description="Vast.ai API.")
