"""Declare which columns each format of a bill has, and what they mean.

Every reader works from these declarations: a format is data here and nothing elsewhere. Columns are
listed under the name that this package uses; of several, the first with a value counts. Sources:

- FOCUS 1.0 to 1.3: https://focus.finops.org/focus-specification/
- AWS CUR 2.0: https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html
- Azure: https://learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields
- Google: https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

AMOUNT = "DECIMAL(38,12)"
"""Money and quantities; digits after the twelfth decimal are rounded."""

TIME = "TIMESTAMPTZ"
TEXT = "VARCHAR"

COLUMNS = {
    "account": TEXT,
    "provider": TEXT,
    "service": TEXT,
    "category": TEXT,
    "charge_class": TEXT,
    "start": TIME,
    "end": TIME,
    "region": TEXT,
    "region_name": TEXT,
    "zone": TEXT,
    "resource": TEXT,
    "allocated": TEXT,
    "description": TEXT,
    "sku": TEXT,
    "rate": TEXT,
    "meter": TEXT,
    "usage_type": TEXT,
    "machine": TEXT,
    "details": TEXT,
    "option": TEXT,
    "commitment": TEXT,
    "commitment_kind": TEXT,
    "commitment_status": TEXT,
    "quantity": AMOUNT,
    "unit": TEXT,
    "list_price": AMOUNT,
    "list_cost": AMOUNT,
    "billed": AMOUNT,
    "effective": AMOUNT,
    "unused": AMOUNT,
    "currency": TEXT,
}
"""What a line of any format is read as; null where the format does not have it.

``quantity`` is in ``unit``, and ``list_price`` is for one of them. ``billed`` is on the invoice,
``effective`` has the fees of commitments spread over their use, and ``unused`` is the part of a
commitment's fee that nothing used.
"""

KIND = (
    *("provider", "service", "region", "region_name", "option", "sku", "rate", "meter"),
    *("usage_type", "machine", "details", "description", "unit"),
)
"""What tells what a line charges for. The column ``key`` is the hash of these."""

IDENTITY = (
    *("account", "resource", "allocated", "category", "sku", "rate", "meter", "usage_type"),
    *("description", "option", "commitment", "start", "end", "quantity", "unit", "list_cost"),
    *("billed", "effective"),
)
"""Two lines that are the same in all of these charge the same use of the same resource twice. The
column ``identity`` is their hash; null where a line names no resource or costs nothing."""

NEVER_EMPTY = ("category", "start", "billed", "currency")
"""Columns that every line needs, whatever it charges for."""


@dataclass(frozen=True)
class Format:
    """One format. ``signs`` are columns that only this format has all of, in lower case.

    ``columns``: name in this package: names in the file, of which the first with a value counts.
    ``sums``: name in this package: columns to add, or to subtract where a minus stands before the
    name. ``required`` columns have to be in the file. ``categories``, ``options`` and ``statuses``
    translate the vendor's words, in lower case; a word that is not in ``categories`` is an error.
    ``days``: dates are days, and a line covers one. ``structures``: columns that are nested in JSON
    lines and Parquet, with DuckDB's type.
    """

    name: str
    signs: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]
    categories: Mapping[str, str]
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    days: bool = False
    structures: Mapping[str, str] = field(default_factory=dict)


FOCUS = Format(
    name="FOCUS",
    signs=("chargecategory", "billedcost", "chargeperiodstart"),
    columns={
        "account": ("SubAccountId",),
        # 1.3 replaces ProviderName
        "provider": ("ServiceProviderName", "ProviderName"),
        "service": ("ServiceName",),
        "category": ("ChargeCategory",),
        "charge_class": ("ChargeClass",),
        "start": ("ChargePeriodStart",),
        "end": ("ChargePeriodEnd",),
        "region": ("RegionId", "Region"),
        "region_name": ("RegionName",),
        "zone": ("AvailabilityZone",),
        "resource": ("ResourceId",),
        "allocated": ("AllocatedResourceId",),
        "description": ("ChargeDescription",),
        "sku": ("SkuId",),
        "rate": ("SkuPriceId",),
        "meter": ("x_SkuMeterId",),
        "usage_type": ("x_UsageType",),
        "details": ("SkuPriceDetails", "x_SkuDetails"),
        "option": ("PricingCategory",),
        "commitment": ("CommitmentDiscountId",),
        "commitment_kind": ("CommitmentDiscountType",),
        "commitment_status": ("CommitmentDiscountStatus",),
        "quantity": ("PricingQuantity",),
        "unit": ("PricingUnit",),
        "list_price": ("ListUnitPrice",),
        "list_cost": ("ListCost",),
        "billed": ("BilledCost",),
        "effective": ("EffectiveCost",),
        "currency": ("BillingCurrency",),
    },
    required=(
        *("provider", "service", "category", "start", "end", "quantity", "unit"),
        *("list_cost", "billed", "effective", "currency"),
    ),
    categories={
        "usage": "usage",
        "purchase": "purchase",
        "tax": "tax",
        "credit": "credit",
        "adjustment": "adjustment",
    },
    options={
        "standard": "on_demand",
        "on-demand": "on_demand",  # a word of the preview of 1.0
        "dynamic": "spot",
        "committed": "committed",
        "commitment-based": "committed",
    },
    statuses={"used": "used", "unused": "unused"},
)

AWS = Format(
    name="AWS CUR 2.0",
    signs=("line_item_line_item_type", "line_item_usage_start_date"),
    columns={
        "account": ("line_item_usage_account_id",),
        "service": ("product_servicecode", "line_item_product_code"),
        "category": ("line_item_line_item_type",),
        "start": ("line_item_usage_start_date",),
        "end": ("line_item_usage_end_date",),
        "region": ("product_region_code", "product_region"),
        "zone": ("line_item_availability_zone",),
        "resource": ("line_item_resource_id",),
        "allocated": ("split_line_item_parent_resource_id",),
        "description": ("line_item_line_item_description",),
        "sku": ("product_sku",),
        "rate": ("pricing_rate_code",),
        "usage_type": ("line_item_usage_type",),
        "machine": ("product_instance_type",),
        "details": ("product",),
        "option": ("line_item_usage_type",),
        "commitment": (
            "reservation_reservation_a_r_n",
            "savings_plan_savings_plan_a_r_n",
        ),
        "commitment_kind": ("line_item_line_item_type",),
        "commitment_status": ("line_item_line_item_type",),
        "quantity": ("line_item_usage_amount",),
        "unit": ("pricing_unit",),
        "list_price": ("pricing_public_on_demand_rate",),
        "list_cost": ("pricing_public_on_demand_cost",),
        "billed": ("line_item_net_unblended_cost", "line_item_unblended_cost"),
        "currency": ("line_item_currency_code",),
    },
    sums={
        "effective": (
            "reservation_effective_cost",
            "savings_plan_savings_plan_effective_cost",
        ),
        "unused": (
            "reservation_unused_amortized_upfront_fee_for_billing_period",
            "reservation_unused_recurring_fee",
            "savings_plan_total_commitment_to_date",
            "-savings_plan_used_commitment",
        ),
    },
    required=(
        *("service", "category", "start", "end", "usage_type", "quantity", "unit", "rate"),
        *("billed", "list_cost", "currency"),
    ),
    categories={
        "usage": "usage",
        "discountedusage": "usage",
        "savingsplancoveredusage": "usage",
        "savingsplannegation": "adjustment",
        "savingsplanrecurringfee": "purchase",
        "savingsplanupfrontfee": "purchase",
        "rifee": "purchase",
        "fee": "purchase",
        "tax": "tax",
        "credit": "credit",
        "refund": "adjustment",
        "edpdiscount": "adjustment",
        "privateratediscount": "adjustment",
        "bundleddiscount": "adjustment",
        "discount": "adjustment",
    },
    statuses={"discountedusage": "used", "savingsplancoveredusage": "used"},
    provider="aws",
)

AZURE = Format(
    name="Azure cost export",
    signs=("metercategory", "chargetype", "pricingmodel"),
    columns={
        "account": ("SubscriptionId", "SubscriptionGuid"),
        "service": ("MeterCategory",),
        "category": ("ChargeType",),
        "start": ("Date", "UsageDateTime"),
        "region": ("ResourceLocation", "Location"),
        "region_name": ("MeterRegion",),
        "resource": ("ResourceId", "InstanceId", "InstanceName"),
        "description": ("MeterName",),
        "usage_type": ("MeterSubCategory",),
        "meter": ("MeterId",),
        "details": ("AdditionalInfo",),
        "option": ("PricingModel",),
        "commitment": ("BenefitId", "ReservationId"),
        "commitment_kind": ("PricingModel",),
        "commitment_status": ("ChargeType",),
        "quantity": ("Quantity",),
        "unit": ("UnitOfMeasure",),
        "list_price": ("PayGPrice",),
        "billed": ("CostInBillingCurrency", "Cost", "PreTaxCost"),
        "effective": ("CostInBillingCurrency", "Cost", "PreTaxCost"),
        "currency": ("BillingCurrency", "BillingCurrencyCode", "Currency"),
    },
    required=(
        *("service", "category", "start", "meter", "option", "quantity", "unit"),
        *("billed", "currency"),
    ),
    categories={
        "usage": "usage",
        "unusedreservation": "usage",
        "unusedsavingsplan": "usage",
        "purchase": "purchase",
        "refund": "adjustment",
        "roundingadjustment": "adjustment",
        "tax": "tax",
    },
    options={
        "ondemand": "on_demand",
        "spot": "spot",
        "reservation": "committed",
        "savingsplan": "committed",
    },
    statuses={"unusedreservation": "unused", "unusedsavingsplan": "unused"},
    provider="azure",
    days=True,
)

GOOGLE = Format(
    name="Google Cloud detailed export",
    signs=("usage_start_time", "usage_end_time", "cost", "cost_type"),
    columns={
        "account": ("project.id",),
        "service": ("service.description",),
        "category": ("cost_type",),
        "start": ("usage_start_time",),
        "end": ("usage_end_time",),
        "region": ("location.region",),
        "zone": ("location.zone",),
        "resource": ("resource.global_name", "resource.name"),
        "description": ("sku.description",),
        "sku": ("sku.id",),
        "quantity": ("usage.amount_in_pricing_units",),
        "unit": ("usage.pricing_unit",),
        "list_price": ("price.list_price",),
        "list_cost": ("cost_at_list",),
        "billed": ("cost",),
        "commitment": ("credits.id",),
        "commitment_kind": ("credits.type",),
        "currency": ("currency",),
    },
    sums={"effective": ("cost", "credits.amount")},
    required=(
        *("service", "category", "start", "end", "sku", "quantity", "unit", "billed"),
        "currency",
    ),
    categories={
        "regular": "usage",
        "tax": "tax",
        "adjustment": "adjustment",
        "rounding_error": "adjustment",
    },
    provider="gcp",
    structures={
        "project": "STRUCT(id VARCHAR)",
        "service": "STRUCT(id VARCHAR, description VARCHAR)",
        "sku": "STRUCT(id VARCHAR, description VARCHAR)",
        "location": "STRUCT(region VARCHAR, zone VARCHAR)",
        "resource": "STRUCT(name VARCHAR, global_name VARCHAR)",
        "usage": f"STRUCT(amount_in_pricing_units {AMOUNT}, pricing_unit VARCHAR)",
        "price": f"STRUCT(list_price {AMOUNT})",
        "credits": f"STRUCT(id VARCHAR, type VARCHAR, amount {AMOUNT})[]",
    },
)

FORMATS = (FOCUS, AWS, AZURE, GOOGLE)

PROVIDERS = {
    "aws": "aws",
    "amazon web services": "aws",
    "amazon": "aws",
    "microsoft": "azure",
    "microsoft azure": "azure",
    "azure": "azure",
    "google": "gcp",
    "google cloud": "gcp",
    "google cloud platform": "gcp",
    "gcp": "gcp",
    "oracle": "oracle",
    "oci": "oracle",
    "oracle cloud infrastructure": "oracle",
}
"""How bills name a provider, in lower case; others are their own name in lower case."""
