"""The version of the published tables."""

SCHEMA_VERSION = "1"
"""Raised when a published column is removed, renamed or changes its meaning or dtype; see
docs/compatibility.md. A reader refuses releases of a newer version than its own. The columns of
each version are pinned in tests/schemas/published_columns (``python -m tools.published_columns``).
"""
