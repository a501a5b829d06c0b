"""OVHcloud: prices and machines from the public order catalog, in its own currency."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
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
