"""Price what no price list has: GCP's custom machines, and the discounts that are rules.

Needs nothing but polars and the tables of a release.
"""

from hwprices.read.gcp.custom_machine import Line, Quote, quote_custom_machine
from hwprices.read.gcp.discounts import (
    PROVIDER,
    flexible_commitment,
    sustained_use,
    sustained_use_costs,
)

__all__ = [
    "PROVIDER",
    "Line",
    "Quote",
    "flexible_commitment",
    "quote_custom_machine",
    "sustained_use",
    "sustained_use_costs",
]
