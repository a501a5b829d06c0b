"""Ask Azure Resource Manager for the lists that a run reads with an account."""

from collections.abc import Iterator

from hwprices.errors import HwpricesError
from hwprices.providers import Check, Context
from hwprices.providers.azure import Settings
from hwprices.providers.azure.api import resource_manager


def check_access(context: Context) -> Iterator[Check]:
    """Check the login, and the right to list the subscription's locations.

    Prices need no account; without one sizes, zones and locations come from the bundled table.
    """
    settings: Settings = context.settings
    if not settings.azure_subscription_id:
        yield Check(
            "subscription",
            "absent",
            "AZURE_SUBSCRIPTION_ID is not set: sizes and zones come from the bundled table",
            "Set it, and log in (az login, or a service principal) with the role Reader, or the"
            " least rights, docs/azure-role.json.",
        )
        return
    try:
        regions = resource_manager.read_regions(context)
    except HwpricesError as error:
        yield Check("subscription", "failed", error.message, error.remedy)
        return
    yield Check("subscription", "ok", f"lists {len(regions)} regions: live sizes and zones")
