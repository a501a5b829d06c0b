"""Scaleway: virtual machines in Paris, Amsterdam, Warsaw and Milan, priced in euros."""

from hwprices.providers import About

ABOUT = About(
    title="Scaleway",
    without_account="all machines and their prices, zone by zone",
    with_credentials="nothing more",
    missing="stock, prices by the month, local disks and IP addresses, Elastic Metal, Kubernetes",
)
