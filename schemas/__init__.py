"""The declared tables: README.md explains the sheets, and where to change what.

This module imports nothing: it and ``vocabulary`` can be used without polars. The sheets use its
constants by name.
"""

PLACE_KEY = ["provider", "region", "zone"]

PURCHASE_KEY = [
    *("os", "software", "license_model", "tenancy", "purchase_option", "commitment_plan"),
    *("term_months", "payment_option", "currency"),
]
"""How a machine is bought, and what the price includes."""

PRICE_KEY = [*PLACE_KEY, "instance_type", *PURCHASE_KEY]
"""The key of the table prices. price_id is the hash of these columns in this order."""

PAST = "past_"  # Prefix of the ``collection_unit`` of backfilled intervals: past_prices/us-east-1


SCHEMA_VERSION = "1"
"""Increased when a published column is removed, renamed or changes its meaning or dtype; see
docs/compatibility.md. A reader refuses releases of a newer version than its own. The columns of
each version are pinned in tests/schemas/published_columns (``python -m tools.published_columns``).
"""

TERMS_IN_MONTHS = [0, 12, 36, 60]
"""Terms of commitments that vendors sell; 0 without a commitment."""

PROVIDER_PATTERN = r"^[a-z][a-z0-9_]*$"
COUNTRY_PATTERN = r"^[A-Z]{2}$"
CURRENCY_PATTERN = r"^[A-Z]{3}$"
PLACE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$"
"""Regions and zones. Regions are parts of file names, so characters with a special meaning to file
systems or Parquet readers are excluded."""

NAME_PATTERN = r"^[^\W_][^/\\]*$"
"""Machine types. They begin with a letter or digit of any script, because spreadsheets read = + - @
as the start of a formula, and have no path separator. Hidden characters are refused everywhere."""

HIDDEN_CHARACTERS = r"[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]"
"""Control, format, private-use and separator characters of Unicode: they control a terminal, end a
line or reverse the writing direction. No vendor's name or description needs them."""

MAX_NAME_LENGTH = 200  # Characters of a region, zone or machine type. The longest real one has 37.
HASH_PATTERN = r"^[0-9a-f]{24}$"
ID_PATTERN = r"^[a-z0-9]+(-[a-z0-9.]+)*$"
MODEL_ID_PATTERN = r"^[a-z0-9.]+(-[a-z0-9.]+)*$"
URL_PATTERN = r"^https://\S+$"
