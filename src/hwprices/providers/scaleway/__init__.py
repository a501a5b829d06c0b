"""Scaleway: virtual machines in Paris, Amsterdam, Warsaw and Milan, priced in euros."""

from hwprices.providers import About

ABOUT = About(
    title="Scaleway",
    without_account="all machines, their prices and their stock, zone by zone",
    with_credentials="nothing more",
    price_kinds=("servers",),
    missing="prices by the month, local disks and IP addresses, Elastic Metal, Kubernetes;"
    " no live run is on record",
)
