"""Vultr: virtual machines, cloud GPUs and bare metal, on demand and preemptible."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="Vultr",
    without_account="plans of virtual machines and bare metal with their prices, and regions",
    with_credentials="nothing more",
    missing="the monthly cap of a price, plans that no region has, block storage, Kubernetes,"
    " databases; not yet run live",
    price_kinds=("plans", "plans_metal"),
)


class Settings(settings.Settings):
    """The common settings and those of Vultr."""

    vultr_url: Endpoint = Field(default="https://api.vultr.com/v2", description="Vultr API.")
