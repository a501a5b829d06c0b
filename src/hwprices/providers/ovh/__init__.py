"""OVHcloud: prices and machines from the public order catalog, in its own currency."""

from hwprices.providers import About

ABOUT = About(
    title="OVHcloud",
    without_account="all hourly prices of one subsidiary, and the machines",
    with_credentials="nothing more",
    missing="where flavors are offered, prices by the month, savings plans, other subsidiaries at"
    " the same time; no live run is on record",
)
