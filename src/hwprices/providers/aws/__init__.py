"""Amazon Web Services: EC2.

Prices come from the Price List bulk files and the savings-plan files, which need no account.
Specifications, zones, offers by zone, spot prices and capacity blocks come from the EC2 API, where
boto3 finds credentials.
"""

from hwprices.providers import About

ABOUT = About(
    title="AWS",
    without_account="all list prices, savings plans, specs as the price list states them, "
    "spot interruption bands",
    with_credentials="exact specs, zones, live spot, capacity blocks",
    missing="prices of storage and network, discounts of single accounts",
    price_kinds=("prices", "savings_plans", "spot", "capacity_blocks"),
)
