"""List the kinds of units: what is fetched for a region, and the folder it is landed in."""

SKUS = "skus"
"""Compute's resource SKUs: sizes with capabilities, zones and restrictions. One unit a region."""

LOCATIONS = "locations"
"""The subscription's locations, with coordinates and zone mappings. One unit."""

PRICE_TYPES = {
    "consumption": "Consumption",
    "devtest": "DevTestConsumption",
    "reservation": "Reservation",
}
"""Our word for a price type → the ``priceType`` of Retail Prices.

Spot, low priority and savings plans are inside Consumption.
"""

BUNDLED = "bundled"
"""The page parameter that marks the project's own table of sizes; its value is the table's day."""

MACHINES = "Virtual Machines"
LICENSES = "Virtual Machines Licenses"
"""The services of Retail Prices that are read, by serviceName."""

_RETAIL = "retail_"
_LICENSES = "licenses_"


def retail(price_type: str, currency: str) -> str:
    """Return the kind of a price type in a currency: ``retail_consumption_usd``."""
    return f"{_RETAIL}{price_type}_{currency.lower()}"


def is_retail(kind: str) -> bool:
    """Return whether a kind's pages are answers of Retail Prices."""
    return kind.startswith(_RETAIL)


def licenses(currency: str) -> str:
    """Return the kind of the licenses of machines in a currency: ``licenses_usd``."""
    return f"{_LICENSES}{currency.lower()}"


def is_license(kind: str) -> bool:
    """Return whether a kind's pages are licenses of machines."""
    return kind.startswith(_LICENSES)
