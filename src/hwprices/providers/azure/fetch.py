"""Plan and fetch Azure's units: prices need no account, sizes and locations do.

Without AZURE_SUBSCRIPTION_ID, sizes and locations come from the bundled table, with its date.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit, directory, land_pages, read_pages
from hwprices.providers import Check, Context, SkippedError, azure, check_regions
from hwprices.providers.azure import Settings, resource_manager, retail
from hwprices.providers.azure.regions import is_public_location
from hwprices.settings import Settings as CommonSettings


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units to fetch: locations, sizes, and prices by region, price type and currency.

    If ``regions`` is None, fetches the regions of the account (or of the bundled list) and the
    regions that have prices: a new region or a sovereign cloud is only in one of the two.

    Raises:
        FetchError: the list of regions with prices is unavailable.
        HwpricesError: Azure lacks one of ``regions``.
    """
    settings: Settings = context.settings
    listed_regions = _listed_regions(context)
    if regions is None:
        priced_regions = retail.read_regions(context.http, settings.azure_retail_url)
        chosen = sorted({*listed_regions, *priced_regions})
    else:
        chosen = sorted({region.strip().lower() for region in regions})
        if not set(chosen) <= set(listed_regions):
            priced_regions = retail.read_regions(context.http, settings.azure_retail_url)
            known = {*listed_regions, *priced_regions}
            known |= {
                region
                for region in set(chosen) - known
                if retail.has_prices(context.http, settings.azure_retail_url, region)
            }
            check_regions("azure", chosen, known)
    return [
        Unit("azure", azure.LOCATIONS),
        *_size_units(settings, [region for region in chosen if region in listed_regions]),
        *_price_units(settings, chosen),
    ]


def _listed_regions(context: Context) -> list[str]:
    """List the account's regions; the bundled ones without an account or if the login fails.

    A failed login must not prevent fetching prices, which need none: the units of sizes and
    locations fail later and give the reason.
    """
    if not context.settings.azure_subscription_id:
        return _bundled_regions()
    try:
        return resource_manager.read_regions(context)
    except FetchError:
        return _bundled_regions()


def _bundled_regions() -> list[str]:
    """List the public regions of the bundled locations, sorted."""
    locations = [
        location
        for page in read_pages("azure", azure.LOCATIONS)
        for location in json.loads(page.content)["value"]
    ]
    return sorted({v["name"].lower() for v in locations if is_public_location(v)})


def _size_units(settings: Settings, regions: Sequence[str]) -> list[Unit]:
    if not settings.azure_subscription_id:
        return [Unit("azure", azure.SKUS)]
    return [Unit("azure", azure.SKUS, region) for region in regions]


def _price_units(settings: Settings, regions: Sequence[str]) -> list[Unit]:
    return [
        Unit(
            "azure",
            azure.retail_kind(word, currency),
            region,
            {"price_type": price_type, "currency": currency},
        )
        for currency in settings.azure_currencies
        for word, price_type in azure.PRICE_TYPES.items()
        for region in regions
    ] + [
        Unit(
            "azure",
            azure.licenses_kind(currency),
            params={"price_type": "Consumption", "currency": currency},
        )
        for currency in settings.azure_currencies
    ]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Fetch and land one unit's pages."""
    if azure.is_retail(unit.kind) or azure.is_license(unit.kind):
        return retail.fetch(context, unit)
    if not context.settings.azure_subscription_id:
        return _land_bundled(context, unit)
    if unit.kind == azure.SKUS:
        return resource_manager.fetch_sizes(context, unit)
    return resource_manager.fetch_locations(context, unit)


def narrowed(unit: Unit, instance_type: str) -> Unit:
    """Narrow a unit of prices to one size, by which the retail list can be filtered."""
    if not azure.is_retail(unit.kind):
        return unit
    return replace(unit, params={**unit.params, "size": instance_type})


def _land_bundled(context: Context, unit: Unit) -> list[Page]:
    """Land the bundled pages of a unit with their date and address."""
    pages = land_pages(context.landing, unit)
    if not pages:
        raise SkippedError(
            "no subscription is set (AZURE_SUBSCRIPTION_ID) and"
            f" {directory('azure')} holds no {unit.kind}"
        )
    return pages


def units_at_once(_settings: CommonSettings) -> int:
    """Limit concurrent fetches.

    Others report 32 concurrent requests to Azure's prices without a 429. Half of that is safe, and
    a 429 is retried after a wait.
    """
    return 16


def check_access(context: Context) -> Iterator[Check]:
    """Check the login, and the permission to list the subscription's locations."""
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
