"""Azure: Retail Prices (no account needed), resource SKUs and locations (with an account).

Without an account sizes and locations come from the bundled table.
"""

from hwprices.providers import About

ABOUT = About(
    title="Azure",
    without_account="all retail prices, sizes from the bundled table",
    with_credentials="`AZURE_SUBSCRIPTION_ID` and `DefaultAzureCredential`: "
    "live sizes, zones, restrictions",
    missing="prices of managed disks, other storage and network, discounts of single accounts, "
    "SQL Server on SLES and Ubuntu, the network of sizes with InfiniBand or constrained vCPUs, "
    "what a dedicated host has, the memory of priced sizes that neither a list nor a page has; "
    "no live run is on record, and the list of licenses was built from documented fields",
    price_kinds=("retail_*", "licenses_*"),
)
