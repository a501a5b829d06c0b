"""RunPod: GPUs by the hour, from its own data centers (secure) and from hosts (community).

GraphQL answers a refused query with status 200 and a list of errors. Stock is a separate unit, so
that an unknown field in its query costs no price.
"""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from hwprices import settings
from hwprices.errors import FetchError
from hwprices.landing.bodies import other_format, read_json
from hwprices.landing.download import Downloaded, public_url, redact
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
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


GPU_TYPES: Final = "gpu_types"
"""Kind of unit: all GPU types with their prices."""

STOCK: Final = "stock"
"""Kind of unit: all GPU types with a word for their stock in each cloud."""

_STOCK = "lowestPrice(input: {gpuCount: 1, secureCloud: %s}) { stockStatus availableGpuCounts }"
QUERIES = {
    GPU_TYPES: "query GpuTypes { gpuTypes { id displayName manufacturer memoryInGb maxGpuCount"
    " secureCloud communityCloud securePrice communityPrice secureSpotPrice communitySpotPrice } }",
    STOCK: "query Stock { gpuTypes { id maxGpuCount"
    f" secure: {_STOCK % 'true'} community: {_STOCK % 'false'} }} }}",
}
"""The fields that are read: https://docs.runpod.io/sdks/graphql/manage-pods"""


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the two units. Each covers both clouds."""
    return [Unit("runpod", kind) for kind in QUERIES]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land a list of GPU types.

    Raises:
        FetchError: it is unavailable, refused, or has no GPU type.
    """
    return [context.land_json(unit, context.settings.runpod_url, _check, query=QUERIES[unit.kind])]


def _check(body: Downloaded) -> None:
    content = read_json(body)
    if not isinstance(content, dict):
        raise other_format(body, "is not an object")
    if errors := content.get("errors"):
        raise FetchError(
            f"{public_url(body.url)} refuses the query: {redact(str(errors))[:200]}",
            "RunPod may ask for an account now, or have renamed a field.",
        )
    data: Any = content.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("gpuTypes"), list):
        raise other_format(body, "has no list data.gpuTypes")
    if not data["gpuTypes"]:
        raise other_format(body, "lists no GPU type")
