"""Amazon Web Services: EC2, and what is billed beside its machines.

Prices come from the Price List bulk files and the savings-plan files, which need no account.
Specifications, zones, offers by zone, spot prices and capacity blocks come from the EC2 API, where
boto3 finds credentials.
"""

from hwprices.providers import About

ABOUT = About(
    title="AWS",
    without_account="all list prices, savings plans, disks, gateways, data transfer, "
    "specs as the price list states them, spot interruption bands",
    with_credentials="exact specs, zones, live spot, capacity blocks",
    missing="storage that is not of machines, databases and other services but SageMaker, "
    "discounts of single accounts; no live run is on record",
    price_kinds=("prices", "savings_plans", "spot", "capacity_blocks"),
)
