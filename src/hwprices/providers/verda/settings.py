"""Settings of Verda."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Verda."""

    verda_url: Endpoint = Field(default="https://api.verda.com/v1", description="Verda API.")
