"""Azure: Retail Prices (no account needed), resource SKUs and locations (with an account).

Without an account sizes and locations come from the bundled table.
"""

from hwprices.providers import About

ABOUT = About(
    title="Azure",
    without_account="all retail prices, sizes from the bundled table",
    with_credentials="`AZURE_SUBSCRIPTION_ID` and `DefaultAzureCredential`: "
    "live sizes, zones, restrictions",
    missing="prices of storage and network, discounts of single accounts, "
    "SQL Server on Linux, the license list from a live run (built from documented fields), "
    "the network of sizes with InfiniBand or constrained vCPUs",
    price_kinds=("retail_*", "licenses_*"),
)
