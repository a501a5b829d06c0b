"""Write OVHcloud's order catalog for tests, land it and normalise it."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Unit
from hwprices.providers.ovh import CATALOG
from tests.helpers.vendor_tables import Tables, landed_units


def plan(code: str = "h100-380.consumption", price: int = 280000000, **more: Any) -> dict[str, Any]:
    """Make a plan of the catalog, by default one hour of h100-380.

    ``technical``, ``tags``, ``pricings`` and ``product`` replace its members.
    """
    gpu = {"model": "H100", "number": 1, "memory": {"size": 80}}
    technical = {"cpu": {"cores": 30, "type": "vCore"}, "memory": {"size": 380}, "gpu": gpu}
    pricing = {"price": price, "interval": 1, "intervalUnit": "hour", "type": "consumption"}
    return {
        "planCode": code,
        "invoiceName": code.split(".", maxsplit=1)[0],
        "product": more.get("product", "publiccloud-instance"),
        "pricings": more.get("pricings", [pricing]),
        "blobs": {
            "tags": more.get("tags", ["active"]),
            "technical": more.get("technical", technical),
        },
    }


B3_8 = {"cpu": {"cores": 2, "type": "vCore"}, "memory": {"size": 8}}
"""What b3-8 is."""


def read(*plans: dict[str, Any], currency: str = "EUR") -> Tables:
    """Normalise a catalog."""
    unit = (Unit("ovh", CATALOG), body(*plans, currency=currency))
    with tempfile.TemporaryDirectory() as folder:
        return Tables("ovh", landed_units("ovh", Path(folder), [unit]))


def body(*plans: dict[str, Any], currency: str = "EUR", subsidiary: str = "FR") -> bytes:
    """Write a catalog."""
    locale = {"currencyCode": currency, "subsidiary": subsidiary, "taxRate": 20}
    return json.dumps({"locale": locale, "plans": [], "addons": plans}).encode()
