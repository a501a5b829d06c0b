    zone as AvailabilityZone,
    {category} as ChargeCategory,
    concat_ws(' ', instance_type, os, nullif(software, 'none'), nullif(license_model, 'included'),
        nullif(tenancy, 'shared'), purchase_option, commitment_plan,
        case when term_months > 0 then term_months || ' months' end,
        nullif(payment_option, 'none'), {part}) as ChargeDescription,
    {frequency} as ChargeFrequency,
    case
        when term_months = 0 then null
        when commitment_plan in ('compute', 'ec2_instance', 'flexible') then 'Spend'
        else 'Usage'
    end as CommitmentDiscountCategory,
    case when term_months > 0 then purchase_option end as CommitmentDiscountType,
    {price} as ListUnitPrice,
    case
        when purchase_option in ('spot', 'low_priority') then 'Dynamic' else 'Standard'
    end as PricingCategory,
    currency as PricingCurrency,
    {price} as PricingCurrencyListUnitPrice,
    {unit} as PricingUnit,
    {provider} as ProviderName,
    region as RegionId,
    'Compute' as ServiceCategory,
    {provider} as ServiceProviderName,
    'Virtual Machines' as ServiceSubcategory,
    sku_id as SkuId,
    sku_price_id as SkuPriceId,
    commitment_plan as x_CommitmentPlan,
    effective_from as x_EffectiveFrom,
    instance_type as x_InstanceType,
    license_model as x_LicenseModel,
    observed_at as x_ObservedAt,
    os as x_OperatingSystem,
    payment_option as x_PaymentOption,
    price_id as x_PriceId,
    purchase_option as x_PurchaseOption,
    software as x_Software,
    tenancy as x_Tenancy,
    term_months as x_TermMonths
