"""Settings of Vultr."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Vultr."""

    vultr_url: Endpoint = Field(default="https://api.vultr.com/v2", description="Vultr API.")
