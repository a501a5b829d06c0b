"""Voltage Park: machines with H100 GPUs, virtual and bare metal, from two public lists."""

from hwprices.providers import About

ABOUT = About(
    title="Voltage Park",
    without_account="virtual machines by preset, and bare metal by location, with prices and stock",
    with_credentials="nothing more",
    missing="reserved clusters, shared storage; not yet run live",
)
