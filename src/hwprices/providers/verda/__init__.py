"""Verda, once DataCrunch: GPU and CPU machines in the Nordic countries, on demand and spot."""

from hwprices.providers import About

ABOUT = About(
    title="Verda",
    without_account="all machine types with their prices on demand, spot and serverless",
    with_credentials="nothing more",
    missing="where a machine is in stock, long-term contracts, clusters, serverless spot,"
    " volumes; not yet run live",
)
