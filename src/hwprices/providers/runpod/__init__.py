"""RunPod: GPUs by the hour, from its own data centers (secure) and from hosts (community)."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="RunPod",
    without_account="prices and stock of all GPU types in both clouds",
    with_credentials="nothing more",
    price_kinds=("gpu_types",),
    missing="vCPUs and memory, serverless (on a web page only), clusters, savings plans, storage;"
    " no live run is on record, and stock was built from documented fields",
)


class Settings(settings.Settings):
    """The common settings and those of RunPod."""

    runpod_url: Endpoint = Field(
        default="https://api.runpod.io/graphql", description="RunPod's GraphQL API."
    )
