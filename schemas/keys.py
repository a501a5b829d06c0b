"""List the columns that identify a price. It imports nothing: readers use it too."""

PLACE_KEY = ["provider", "region", "zone"]

PURCHASE_KEY = [
    "os",
    "software",
    "license_model",
    "tenancy",
    "purchase_option",
    "commitment_plan",
    "term_months",
    "payment_option",
    "currency",
]
"""How a machine is bought, and with what in the price."""

PRICE_KEY = [*PLACE_KEY, "instance_type", *PURCHASE_KEY]
"""The key of the table prices, of which price_id is the hash: in this order."""

PAST = "past_"  # How ``collection_unit`` of a backfilled interval begins: past_prices/us-east-1
