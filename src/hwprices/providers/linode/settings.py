"""Settings of Akamai (Linode)."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Akamai (Linode)."""

    linode_url: Endpoint = Field(default="https://api.linode.com/v4", description="Linode API.")
