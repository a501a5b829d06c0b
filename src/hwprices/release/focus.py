"""Lay prices out as the draft of the FOCUS dataset "SKU Price" does.

FOCUS 1.5 (planned for December 2026) adds price lists to the specification. The draft is pull
request https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec/pull/2424; this follows its
state of 2026-09-22. It is a draft: names and rules may change with it, and so may this view.

What the draft asks for is kept:

- A price without a term is a Usage record. A commitment is a Purchase record with
  PurchaseDurationType and PurchasePaymentModel, which Usage records must not have; the fee at the
  start is a record of its own.
- SkuId and SkuPriceId are the vendor's. Where it has none they are null, never invented;
  ``x_PriceId`` is the dataset's own id, which the rows of prices have.
- Prices that are not known are left out, because a record must have a UnitPrice, and so are
  placeholders, which stand for no offer.
- Savings plans and flexible commitments are bought as an amount of money per hour, and the draft
  has no column for the price that a machine has under one
  (https://github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec/issues/2706). Their records have
  that price as UnitPrice.
- ContractId is null: these are public list prices. PricingServiceName is null: the dataset does
  not keep the vendor's name of the service.
"""

from collections.abc import Mapping

import polars as pl

DRAFT = "FOCUS_Spec pull request 2424, 2026-09-22"

VIEW = "focus_sku_prices"

DTYPES: Mapping[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "DECIMAL(20,10)": pl.Decimal(20, 10),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
}
"""What polars calls the types of the view's columns."""

COLUMNS = """
    {category} as ChargeCategory,
    case
        when term_months = 0 then null
        when commitment_plan in ('compute', 'ec2_instance', 'flexible') then 'Spend'
        else 'Usage'
    end as CommitmentDiscountCategory,
    cast(null as varchar) as ContractId,
    currency as PricingCurrency,
    'National' as PricingCurrencyCategory,
    region as PricingRegionId,
    cast(null as varchar) as PricingServiceName,
    {unit} as PricingUnit,
    case
        when term_months = 0 then null
        when term_months = 12 then '1 Year'
        when term_months % 12 = 0 then (term_months // 12) || ' Years'
        else term_months || ' Months'
    end as PurchaseDurationType,
    case
        when term_months = 0 then null
        when payment_option = 'all_upfront' then 'All Upfront'
        when payment_option = 'partial_upfront' then 'Partial Upfront'
        else 'No Upfront'
    end as PurchasePaymentModel,
    cast(null as varchar) as QuantityTierCategory,
    cast(null as decimal(20, 10)) as QuantityTierMinimum,
    cast(null as decimal(20, 10)) as QuantityTierMaximum,
    provider as ServiceProviderName,
    sku_id as SkuId,
    cast(null as timestamptz) as SkuPriceCreated,
    concat_ws(' ', instance_type, os, nullif(software, 'none'), nullif(license_model, 'included'),
        nullif(tenancy, 'shared'), purchase_option, commitment_plan,
        case when term_months > 0 then term_months || ' months' end,
        nullif(payment_option, 'none'), {part}) as SkuPriceDescription,
    effective_from as SkuPriceEffectiveStart,
    cast(null as timestamptz) as SkuPriceEffectiveEnd,
    cast(null as varchar) as SkuPriceEligibility,
    sku_price_id as SkuPriceId,
    observed_at as SkuPriceLastUpdated,
    {price} as UnitPrice,
    'List' as UnitPriceType,
    price_id as x_PriceId,
    instance_type as x_InstanceType,
    os as x_OperatingSystem,
    software as x_Software,
    license_model as x_LicenseModel,
    tenancy as x_Tenancy,
    zone as x_AvailabilityZone,
    purchase_option as x_PurchaseOption,
    commitment_plan as x_CommitmentPlan
"""


def view_sql() -> str:
    """Return the query of the view, over the table prices."""
    category = "case when term_months = 0 then 'Usage' else 'Purchase' end"
    in_parts = "payment_option = 'partial_upfront'"
    hourly_part = f"case when {in_parts} then 'hourly fee' end"
    upfront_part = f"case when {in_parts} then 'upfront fee' end"
    is_placeholder = "coalesce(list_contains(flags, 'placeholder'), false)"
    known = f"effective_hourly is not null and not {is_placeholder}"
    recurring = COLUMNS.format(category=category, unit="'Hours'", price="hourly", part=hourly_part)
    upfront = COLUMNS.format(
        category="'Purchase'", unit="'Units'", price="upfront", part=upfront_part
    )
    return (
        f"select {recurring} from prices where {known} and hourly > 0 "  # noqa: S608
        f"union all by name select {upfront} from prices where {known} and upfront is not null"
    )
