"""What to fetch of Azure, and from where: prices need no account, sizes and locations do.

Without AZURE_SUBSCRIPTION_ID the sizes and locations are those bundled with the sample, with their own date.
"""

from collections.abc import Sequence

from hwprices.landing.pages import Landing, Page, Unit
from hwprices.providers import Context, SkippedError
from hwprices.providers.azure.api import resource_manager, retail
from hwprices.providers.azure.inventory.size_names import is_public_location
from hwprices.providers.azure.settings import Settings

SKUS = "skus"
LOCATIONS = "locations"
GLOBAL = "global"


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """Locations, sizes, and prices by region × price type × currency.

    Regions are those given, else those of the account or the bundled list together with those that have prices (a new region,
    or a sovereign cloud, is in the one and not in the other).

    Raises:
        FetchError: neither list can be had.
    """
    settings = context.settings
    listed = (
        resource_manager.regions(settings)
        if settings.azure_subscription_id
        else _bundled_regions(settings)
    )
    asked = (
        sorted({r.strip().lower() for r in regions})
        if regions is not None
        else sorted({*listed, *retail.regions(context.http, settings.azure_retail_url)})
    )
    sized = (
        [Unit("azure", SKUS, region) for region in asked if region in listed]
        if settings.azure_subscription_id
        else [Unit("azure", SKUS, GLOBAL)]
    )
    priced = [
        Unit(
            "azure",
            retail.kind(word, currency),
            region,
            {"price_type": price_type, "currency": currency},
        )
        for currency in settings.azure_currencies
        for word, price_type in retail.PRICE_TYPES.items()
        for region in asked
    ]
    return [Unit("azure", LOCATIONS, GLOBAL), *sized, *priced]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one unit.

    Raises:
        FetchError: it cannot be had whole.
        SkippedError: there is nothing to have.
    """
    if unit.kind.startswith("retail-"):
        return retail.fetch(context, unit)
    if not context.settings.azure_subscription_id:
        return _bundled(context, unit)
    return (
        resource_manager.fetch_sizes(context, unit)
        if unit.kind == SKUS
        else resource_manager.fetch_locations(context, unit)
    )


def _bundled(context: Context, unit: Unit) -> list[Page]:
    """Land the sample's pages of the unit again, with the date and address they have there."""
    sample = Landing(context.settings.sample)
    run = sample.latest_run("azure")
    pages = run.of(unit.kind, unit.region) if run else []
    if not pages:
        raise SkippedError(
            f"no subscription is set (AZURE_SUBSCRIPTION_ID) and {context.settings.sample} bundles no {unit.kind} of Azure"
        )
    return [
        context.landing.land_bytes(
            unit,
            sample.read(page),
            url=page.url,
            retrieved_at=page.retrieved_at,
            suffix="json",
            params=page.params,
            status=page.status,
        )
        for page in pages
    ]


def _bundled_regions(settings: Settings) -> list[str]:
    """Public locations of the sample, sorted; none where there is no sample."""
    sample = Landing(settings.sample)
    run = sample.latest_run("azure")
    values = [
        value
        for page in (run.of(LOCATIONS, GLOBAL) if run else [])
        for value in sample.read_json(page)["value"]
    ]
    return sorted({v["name"].lower() for v in values if is_public_location(v)})


def units_at_once(_settings: Settings) -> int:
    """How many units are fetched side by side.

    Collectors report 32 without throttling; half of it leaves room, and a 429 is waited out.
    """
    return 16
