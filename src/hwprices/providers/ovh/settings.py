"""Settings of OVHcloud."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of OVHcloud."""

    ovh_api_url: Endpoint = Field(
        default="https://eu.api.ovh.com/v1",
        description="OVHcloud API; that of the US is https://api.us.ovhcloud.com/v1.",
    )
    ovh_subsidiary: str = Field(
        default="FR",
        pattern="^[A-Z]{2}$",
        description="OVHcloud company whose catalog is read: it decides currency and prices.",
    )
