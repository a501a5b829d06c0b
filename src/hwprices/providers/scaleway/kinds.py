"""Name the one kind of unit: the products of a zone."""

from typing import Final

SERVERS: Final = "servers"
"""The machine types of a zone, each with its price."""
