"""Settings of RunPod."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of RunPod."""

    runpod_url: Endpoint = Field(
        default="https://api.runpod.io/graphql", description="RunPod's GraphQL API."
    )
