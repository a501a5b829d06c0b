"""Price what no price list has: GCP's custom machines, and the discounts that are rules.

Needs nothing but polars and the tables of a release.
"""

from hwprices.read.gcp.custom_machine import PartPrice, Quote, quote_custom_machine
from hwprices.read.gcp.discounts import (
    PROVIDER,
    flexible_commitment,
    read_discount_rules,
    sustained_use,
    sustained_use_costs,
)
from hwprices.specs.gcp_discounts import DiscountRule

__all__ = [
    "PROVIDER",
    "DiscountRule",
    "PartPrice",
    "Quote",
    "flexible_commitment",
    "quote_custom_machine",
    "read_discount_rules",
    "sustained_use",
    "sustained_use_costs",
]
