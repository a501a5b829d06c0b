"""Azure: Retail Prices (no account needed), resource SKUs and locations (with an account).

Without an account, sizes and locations come from the bundled table.
"""

from typing import Annotated

from pydantic import AfterValidator, AliasChoices, Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import ONLY_WITH, Endpoint, Names

ABOUT = About(
    title="Azure",
    without_account="all retail prices, sizes from the bundled table",
    with_credentials="`AZURE_SUBSCRIPTION_ID` and `DefaultAzureCredential`: "
    "live sizes, zones, restrictions",
    missing="prices of managed disks, other storage and network, discounts of single accounts, "
    "SQL Server on SLES and Ubuntu, the network of sizes with InfiniBand or constrained vCPUs, "
    "what a dedicated host has, the memory of priced sizes that neither a list nor a page has; "
    "no live run is on record, and the list of licenses was built from documented fields",
    price_kinds=("retail_*", "licenses_*"),
)


class Settings(settings.Settings):
    """The common settings and those of Azure."""

    azure_retail_url: Endpoint = Field(
        default="https://prices.azure.com/api/retail/prices", description="Azure Retail Prices."
    )
    azure_arm_url: Endpoint = Field(
        default="https://management.azure.com",
        description="Azure Resource Manager.",
        json_schema_extra={ONLY_WITH: "azure_subscription_id"},
    )
    azure_subscription_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_SUBSCRIPTION_ID", "azure_subscription_id"),
        description="Azure subscription whose sizes are listed.",
    )
    azure_currencies: Annotated[
        Names, AfterValidator(lambda names: tuple(map(str.upper, names)))
    ] = Field(default=("USD",), description="Currencies to fetch Azure prices in, comma separated.")


SKUS = "skus"
"""Compute's resource SKUs: sizes with capabilities, zones and restrictions. One unit per region."""

LOCATIONS = "locations"
"""The subscription's locations, with coordinates and zone mappings. One unit."""

PRICE_TYPES = {
    "consumption": "Consumption",
    "devtest": "DevTestConsumption",
    "reservation": "Reservation",
}
"""Our word for a price type → the ``priceType`` of Retail Prices.

Consumption includes spot, low priority and savings plans.
"""

BUNDLED = "bundled"
"""The page parameter that marks the bundled table of sizes; its value is the day of the table."""

MACHINES = "Virtual Machines"
LICENSES = "Virtual Machines Licenses"
"""serviceName of the services that are read."""

_RETAIL = "retail_"
_LICENSES = "licenses_"


def retail_kind(price_type: str, currency: str) -> str:
    """Return the kind of unit of a price type in a currency: ``retail_consumption_usd``."""
    return f"{_RETAIL}{price_type}_{currency.lower()}"


def is_retail(kind: str) -> bool:
    """Check whether a kind's pages are prices of machines."""
    return kind.startswith(_RETAIL)


def licenses_kind(currency: str) -> str:
    """Return the kind of unit of the machines' licenses in a currency: ``licenses_usd``."""
    return f"{_LICENSES}{currency.lower()}"


def is_license(kind: str) -> bool:
    """Check whether a kind's pages are licenses of machines."""
    return kind.startswith(_LICENSES)
