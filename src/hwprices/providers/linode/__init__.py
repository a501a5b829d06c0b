"""Akamai Cloud (Linode): virtual machines at one price in most regions, from public lists."""

from hwprices.providers import About

ABOUT = About(
    title="Akamai (Linode)",
    without_account="all plans with their prices, regions, and where limited plans are available",
    with_credentials="nothing more",
    missing="the monthly cap of a price, backups, block storage, Kubernetes, distributed sites;"
    " not yet run live",
    price_kinds=("types",),
)
