"""OVHcloud: prices and machines from the public order catalog, which needs no account.

The catalog is one page with every plan of one subsidiary, in the subsidiary's currency.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from hwprices import settings
from hwprices.landing.bodies import other_format, read_object
from hwprices.landing.download import Downloaded, redact
from hwprices.landing.pages import Page, Unit
from hwprices.providers import About, Context
from hwprices.settings import Endpoint

ABOUT = About(
    title="OVHcloud",
    without_account="all hourly prices of one subsidiary, and the machines",
    with_credentials="nothing more",
    missing="where flavors are offered, prices by the month, savings plans, other subsidiaries at"
    " the same time; no live run is on record",
)


class Settings(settings.Settings):
    """The common settings and those of OVHcloud."""

    ovh_api_url: Endpoint = Field(
        default="https://eu.api.ovh.com/v1",
        description="OVHcloud API; that of the US is https://api.us.ovhcloud.com/v1.",
    )
    ovh_subsidiary: str = Field(
        default="FR",
        pattern="^[A-Z]{2}$",
        description="OVHcloud company whose catalog is read: it decides currency and prices.",
    )


CATALOG: Final = "catalog"
"""Kind of unit: the order catalog of Public Cloud, every plan with its price and its machine."""

BUNDLED: Final = "bundled"
"""Value of a page's parameter ``source`` if its machines were collected by hand."""

PATH = "/order/catalog/public/cloud"


def plan(_context: Context, _regions: Sequence[str] | None) -> list[Unit]:
    """List the one unit. The catalog covers all regions."""
    return [Unit("ovh", CATALOG)]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the catalog of the subsidiary that the settings name.

    Raises:
        FetchError: it is unavailable, is not a catalog, or is that of another subsidiary.
    """
    subsidiary = context.settings.ovh_subsidiary

    def check(body: Downloaded) -> None:
        locale = read_object(body, "addons").get("locale")
        named = locale.get("subsidiary") if isinstance(locale, dict) else None
        if named != subsidiary:
            problem = f"is the catalog of {redact(str(named))[:20]}, not of {subsidiary}"
            raise other_format(body, problem)

    url = context.settings.ovh_api_url + PATH
    return [context.land_json(unit, url, check, params={"ovhSubsidiary": subsidiary})]
