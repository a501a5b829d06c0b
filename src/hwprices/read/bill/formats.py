"""Declare which columns each format of a bill has, and what they mean.

``columns.csv`` has a row for each column of this package and a column for each format: the names in
the file, of which the first with a value counts. With ``+`` or ``-`` they are added or subtracted.
``*`` marks a column that the file must have. Sources:

- FOCUS 1.0 to 1.3: https://focus.finops.org/focus-specification/
- AWS CUR 2.0: https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html
- Azure: https://learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields
- Google: https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

AMOUNT = "DECIMAL(38,12)"  # Money and quantities; digits after the twelfth decimal are rounded
TIME = "TIMESTAMPTZ"
TEXT = "VARCHAR"

with Path(__file__).with_name("columns.csv").open(encoding="utf-8", newline="") as _file:
    _TABLE = list(csv.DictReader(_file))

COLUMNS = {
    row["column"]: {"amount": AMOUNT, "time": TIME, "text": TEXT}[row["type"]] for row in _TABLE
} | {"category_word": TEXT}
"""What a line of any format is read as; null where the format does not have it.

``quantity`` is in ``unit``, and ``list_price`` is for one of them; ``tier`` is from how many a
month that price holds. ``billed`` is on the invoice, ``effective`` has the fees of commitments
spread over their use, and ``unused`` is the part of a commitment's fee that nothing used.
"""

KIND = (
    *("provider", "service", "region", "option", "sku", "rate", "meter", "tier"),
    *("usage_type", "machine", "details", "description", "unit"),
)
"""What tells what a line charges for. The column ``key`` is the hash of these."""

IDENTITY = (
    *("account", "resource", "allocated", "category_word", "sku", "rate", "meter", "usage_type"),
    *("description", "option", "commitment", "start", "end", "quantity", "unit", "list_cost"),
    *("billed", "effective"),
)
"""Two lines that are the same in all of these charge the same use of the same resource twice. The
column ``identity`` is their hash; null where a line is not usage, names no resource or is free."""

NEVER_EMPTY = ("category_word", "start", "billed", "currency")
"""Columns that every line needs, whatever it charges for; ``category_word`` is the vendor's own."""


@dataclass(frozen=True)
class Format:
    """One format. ``signs`` are columns that only this format has all of, in lower case.

    ``words``: column, meaning here, and the vendor's words for it in lower case; a word that is not
    in those of ``category`` is an error. ``days``: dates are days, and a line covers one.
    ``structures``: columns that are nested in JSON lines and Parquet, with DuckDB's type.
    """

    name: str
    signs: tuple[str, ...]
    words: Mapping[str, Mapping[str, str]]
    provider: str = ""
    days: bool = False
    structures: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, list[str]]:
        """Return the names in the file of each column, with their sign where they are added."""
        names = {row["column"]: row[self.name].lstrip("*").split() for row in _TABLE}
        return names | {"category_word": names["category"]}

    @property
    def required(self) -> list[str]:
        """List the columns that the file must have."""
        return [row["column"] for row in _TABLE if row[self.name].startswith("*")]


FORMATS = (
    Format(
        name="FOCUS",
        signs=("chargecategory", "billedcost", "chargeperiodstart"),
        words={
            "provider": {
                "aws": "aws|amazon web services|amazon",
                "azure": "microsoft|microsoft azure|azure",
                "gcp": "google|google cloud|google cloud platform|gcp",
                "oracle": "oracle|oci|oracle cloud infrastructure",
            },
            "category": {
                word: word for word in ("usage", "purchase", "tax", "credit", "adjustment")
            },
            "option": {
                "on_demand": "standard|on-demand",  # the second is of the preview of 1.0
                "spot": "dynamic",
                "committed": "committed|commitment-based",
            },
            "commitment_status": {"used": "used", "unused": "unused"},
        },
    ),
    Format(
        name="AWS CUR 2.0",
        signs=("line_item_line_item_type", "line_item_usage_start_date"),
        words={
            "category": {
                "usage": "usage|discountedusage|savingsplancoveredusage",
                "purchase": "savingsplanrecurringfee|savingsplanupfrontfee|rifee|fee",
                "tax": "tax",
                "credit": "credit",
                "adjustment": "savingsplannegation|refund|edpdiscount|privateratediscount"
                "|bundleddiscount|discount",
            },
            "commitment_status": {"used": "discountedusage|savingsplancoveredusage"},
        },
        provider="aws",
    ),
    Format(
        name="Azure cost export",
        signs=("metercategory", "chargetype", "pricingmodel"),
        words={
            "category": {
                "usage": "usage|unusedreservation|unusedsavingsplan",
                "purchase": "purchase",
                "adjustment": "refund|roundingadjustment",
                "tax": "tax",
            },
            "option": {
                "on_demand": "ondemand",
                "spot": "spot",
                "committed": "reservation|savingsplan",
            },
            "commitment_status": {"unused": "unusedreservation|unusedsavingsplan"},
        },
        provider="azure",
        days=True,
    ),
    Format(
        name="Google Cloud detailed export",
        signs=("usage_start_time", "usage_end_time", "cost", "cost_type"),
        words={
            "category": {
                "usage": "regular",
                "tax": "tax",
                "adjustment": "adjustment|rounding_error",
            }
        },
        provider="gcp",
        structures={
            "project": "STRUCT(id VARCHAR)",
            "service": "STRUCT(id VARCHAR, description VARCHAR)",
            "sku": "STRUCT(id VARCHAR, description VARCHAR)",
            "location": "STRUCT(region VARCHAR, zone VARCHAR)",
            "resource": "STRUCT(name VARCHAR, global_name VARCHAR)",
            "usage": f"STRUCT(amount_in_pricing_units {AMOUNT}, pricing_unit VARCHAR)",
            "price": f"STRUCT(list_price {AMOUNT}, tier_start_amount {AMOUNT})",
            "credits": f"STRUCT(id VARCHAR, type VARCHAR, amount {AMOUNT})[]",
        },
    ),
)
