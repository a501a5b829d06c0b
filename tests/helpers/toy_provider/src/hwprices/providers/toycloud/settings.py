"""Settings of Toy Cloud."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of Toy Cloud."""

    toycloud_url: Endpoint = Field(
        default="https://api.toycloud.example/v1", description="Toy Cloud API."
    )
