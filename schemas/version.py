"""The version of the published tables."""

SCHEMA_VERSION = "1"
"""Rises when a published column is removed, renamed or changes its meaning or dtype; see
docs/compatibility.md. A reader refuses releases of a newer version than its own."""
