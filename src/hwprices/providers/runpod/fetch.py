"""Land RunPod's list of GPU types, the one page there is."""

from collections.abc import Sequence

from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.runpod import kinds
from hwprices.providers.runpod.api.graphql import land_gpu_types


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the one unit; both clouds are in it."""
    return [Unit("runpod", kinds.GPU_TYPES)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the list.

    Raises:
        FetchError: it cannot be had, or is another thing.
    """
    return [land_gpu_types(context, unit)]
