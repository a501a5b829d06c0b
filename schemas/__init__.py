"""Pandera models, one class a table: the only declaration of the data.

Columns, dtypes, units, descriptions, checks and keys are read from here by validation, by the
Parquet files and by the data dictionary. ``tables.TABLES`` maps a table's name to its model.

This module imports nothing: it and ``vocabulary`` can be used without pandera.
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
