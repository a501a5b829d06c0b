"""Vultr: virtual machines, cloud GPUs and bare metal, on demand and preemptible."""

from hwprices.providers import About

ABOUT = About(
    title="Vultr",
    without_account="plans of virtual machines and bare metal with their prices, and regions",
    with_credentials="nothing more",
    missing="the monthly cap of a price, plans that no region has, block storage, Kubernetes,"
    " databases; not yet run live",
    price_kinds=("plans", "plans_metal"),
)
