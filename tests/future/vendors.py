"""What of each vendor's sample is tried, and its words as data: one row a mutation.

A provider that is not in the table gets every mutation that needs no word of the vendor's.
"""

import re
from collections.abc import Mapping

from hwprices.landing.pages import Unit
from tests.future.mutations import Change, Copy, CopyPages, Vendor
from tests.future.pages import Record, World, document_of
from tests.helpers.aws_pages import savings_plans

AWS_TYPES = ("x2iedn.32xlarge", "p4d.24xlarge", "m5.")
AWS_DESCRIBED = ("x2iedn.32xlarge", "p4d.24xlarge", "m5.large")
AWS_REGIONS = ("us-east-1", "us-gov-west-1")


def _aws(kind: str, record: Record) -> bool:
    if kind == "prices":
        is_tried = record["Region Code"] in AWS_REGIONS
        return is_tried and record["Instance Type"].startswith(AWS_TYPES)
    if kind == "spot":
        return record["timestamp"].startswith("2021-02-08T2")
    return kind == "instance_types" and record["instanceType"] in AWS_DESCRIBED


def _aws_savings_plans(world: World) -> None:
    """Add the savings plans that the sample lacks: its SKUs at 0.72 of their price on demand."""
    listed = next(d for d in world.documents if d.unit.name == "aws/prices/us-east-1")
    rates = [
        (line["SKU"], f"{float(line['PricePerUnit']) * 0.72:.7f}")
        for line in listed.content["lines"]
        if line["TermType"] == "OnDemand" and line["MarketOption"] == "OnDemand"
    ]
    plans = [
        (f"PLAN{term}", "ComputeSavingsPlans", term, "No Upfront", rates) for term in ("1yr", "3yr")
    ]
    unit = Unit("aws", "savings_plans", "us-east-1")
    body = savings_plans("us-east-1", *plans)
    world.documents.append(document_of(unit, listed.page, "json", body))


AWS = Vendor(
    prices="prices",
    amounts=("PricePerUnit", "price", "spotPrice"),
    ids=("SKU", "sku"),
    followers={"savings_plans/rates": "discountedSku"},
    members=("PricePerUnit", "Unit", "Instance Type", "Operating System", "Currency", "Tenancy"),
    keep=_aws,
    more=_aws_savings_plans,
    added={
        "new_family": [
            Copy("prices", {"Instance Type": ("x2iedn.", "x9zzz.")}),
            Copy("instance_types", {"instanceType": ("x2iedn.", "x9zzz.")}),
        ],
        "new_os": [
            Copy(
                "prices",
                {
                    "Operating System": ("Windows", "Haiku"),
                    "operation": ("RunInstances:", "RunInstances:9"),
                },
            )
        ],
        "new_license": [
            Copy(
                "prices",
                {
                    "operation": ("RunInstances:0002", "RunInstances:0002:crate"),
                    "License Model": (
                        "No License required",
                        "License Included - Partial",
                    ),
                },
            )
        ],
        "new_software": [Copy("prices", {"Pre Installed S/W": ("SQL Std", "Oracle Std")})],
        "new_option": [Copy("prices", {"MarketOption": ("OnDemand", "Fractional")})],
        "new_tenancy": [Copy("prices", {"Tenancy": ("Shared", "Quantum")})],
        "new_term": [
            Copy("prices", {"LeaseContractLength": ("3yr", "5yr")}, ids=("OfferTermCode",)),
            Copy("savings_plans", {"attributes.purchaseTerm": ("3yr", "5yr")}),
            Copy("savings_plans", {"leaseContractLength.duration": (3, 5)}),
        ],
        "new_payment": [
            Copy(
                "prices",
                {"PurchaseOption": ("All Upfront", "Quarterly Upfront")},
                ids=("OfferTermCode",),
            )
        ],
        "new_currency": [Copy("prices", {"Currency": ("USD", "XQU")}, ids=("RateCode",))],
        "new_unit": [Copy("prices", {"Unit": ("Hrs", "Cycles")})],
        "new_region": [
            CopyPages(
                ("prices", "savings_plans"),
                {"us-east-1": "xx-east-9", "US East (N. Virginia)": "Atlantis"},
            )
        ],
        "new_place_in_page": [
            Copy(
                "prices",
                {
                    "Region Code": ("us-east-1", "us-east-1-atl-9"),
                    "Location": ("US East (N. Virginia)", "US East (Atlantis)"),
                    "Location Type": ("AWS Region", "AWS Local Zone"),
                },
            )
        ],
    },
    changed={
        "unit_plural": [Change("prices", "Unit", "^Hrs$", "Hours")],
        "unit_case": [Change("prices", "Unit", "^Hrs$", "hrs")],
        "word_case": [Change("prices", "Operating System", "^(Linux|Windows)$", r"\1 OS")],
        "grammar": [Change("prices", "operation", "^RunInstances", "RunInstance")],
    },
)

AZURE_SIZES = re.compile(r"(Standard_)?(D\d+s_v[35]|D2als_v7|B1s|Dsv[35]_Type1)")
AZURE_REGIONS = ("eastus", "westeurope", "israelcentral", "qatarcentral")


def _azure(kind: str, record: Record) -> bool:
    if kind == "skus":
        return AZURE_SIZES.fullmatch(record["name"]) is not None
    if not kind.startswith("retail"):
        return False
    in_region = record["armRegionName"] in AZURE_REGIONS
    return in_region and (
        kind == "retail_reservation_usd"
        or AZURE_SIZES.fullmatch(record.get("armSkuName", "")) is not None
    )


AZURE_ZQ = {"armSkuName": ("D", "Z"), "meterName": ("D", "Z"), "skuName": ("D", "Z")}
AZURE = Vendor(
    prices="retail_*",
    amounts=("retailPrice", "unitPrice"),
    ids=("meterId", "skuId"),
    members=("retailPrice", "unitOfMeasure", "armSkuName", "productName", "type", "currencyCode"),
    keep=_azure,
    added={
        "new_family": [
            Copy("retail_*", {"productName": ("Dsv5 Series", "Zsv9 Series"), **AZURE_ZQ}),
            Copy(
                "skus",
                {
                    "family": ("standardDSv5Family", "standardZSv9Family"),
                    "name": ("Standard_D", "Standard_Z"),
                },
            ),
        ],
        "new_os": [Copy("retail_*", {"productName": ("Series Windows", "Series Haiku")})],
        "new_option": [
            Copy("retail_consumption_usd", {"type": ("Consumption", "FlexConsumption")})
        ],
        "new_market": [
            Copy(
                "retail_consumption_usd",
                {"meterName": (" Spot", " Flash"), "skuName": (" Spot", " Flash")},
            )
        ],
        "new_license": [
            Copy(
                "retail_consumption_usd",
                {"productName": ("Series Windows", "Series Windows Box License")},
            )
        ],
        "new_term": [
            Copy("retail_reservation_usd", {"reservationTerm": ("3 Years", "5 Years")}),
            Copy("retail_*/savingsPlan", {"term": ("3 Years", "5 Years")}),
        ],
        "new_currency": [Copy("retail_*", {"currencyCode": ("USD", "XQU")})],
        "new_unit": [Copy("retail_consumption_usd", {"unitOfMeasure": ("1 Hour", "1 Cycle")})],
        "new_region": [
            CopyPages(
                ("retail_consumption_usd", "retail_devtest_usd", "retail_reservation_usd"),
                {"eastus": "atlantiseast", "US East": "AQ East"},
            )
        ],
    },
    changed={
        "unit_plural": [Change("retail_*", "unitOfMeasure", "^1 Hour$", "1 Hours")],
        "unit_case": [Change("retail_*", "unitOfMeasure", "^1 Hour$", "1 hour")],
        "word_case": [Change("retail_*", "productName", "Windows$", "windows")],
        "grammar": [
            Change("retail_*", "productName", r"^Virtual Machines (\w+) Series", r"\1-series VMs")
        ],
    },
)

GCP_TYPES = (
    *("n2-standard-2", "n2-highmem-8", "e2-standard-2", "a2-highgpu-1g", "a2-highgpu-8g"),
    "ct5lp-hightpu-1t",
)
GCP_WORDS = ("N2 ", "A2 ", "A100", "TpuV5e", "Licensing", "E2 ", "SSD backed")
GCP_MONEY = "pricingInfo.0.pricingExpression.tieredRates.0.unitPrice"
GCP_UNIT = "pricingInfo.0.pricingExpression.usageUnit"


def _gcp(kind: str, record: Record) -> bool:
    if kind == "machine_types":
        return record["name"] in GCP_TYPES
    if kind == "skus":
        return any(word in record["description"] for word in GCP_WORDS)
    return True


def _gcp_zones(world: World) -> None:
    """Keep one zone of two regions."""
    for document in world.documents:
        if document.unit.kind == "machine_types":
            items = document.content["items"]
            names = ("zones/us-central1-a", "zones/europe-west4-b")
            document.content["items"] = {name: items[name] for name in names}


IOWA = {
    "description": ("Iowa", "Atlantis"),
    "serviceRegions.0": ("us-central1", "us-atlantis1"),
    "geoTaxonomy.regions.0": ("us-central1", "us-atlantis1"),
}

GCP = Vendor(
    prices="skus",
    amounts=("unitPrice",),
    ids=("skuId",),
    members=(GCP_MONEY, GCP_UNIT, "description", "category.usageType", "serviceRegions"),
    keep=_gcp,
    more=_gcp_zones,
    added={
        "new_family": [
            Copy("skus", {"description": ("N2 ", "N9 ")}),
            Copy("machine_types", {"name": ("n2-", "n9-")}),
        ],
        "new_os": [Copy("skus", {"description": ("for Windows Server", "for Haiku Server")})],
        "new_license": [
            Copy("skus", {"description": ("Licensing Fee for", "Box Licensing Fee for")})
        ],
        "new_option": [
            Copy(
                "skus",
                {
                    "category.usageType": ("Preemptible", "Flash"),
                    "description": ("Spot Preemptible", "Flash Preemptible"),
                },
            )
        ],
        "new_market": [Copy("skus", {"description": ("N2 Instance", "Fractional N2 Instance")})],
        "new_term": [
            Copy(
                "skus",
                {
                    "description": ("for 3 Years", "for 5 Years"),
                    "category.usageType": ("Commit3Yr", "Commit5Yr"),
                },
            )
        ],
        "new_currency": [Copy("skus", {f"{GCP_MONEY}.currencyCode": ("USD", "XQU")})],
        "new_unit": [Copy("skus", {GCP_UNIT: ("h", "cycle")})],
        "new_region": [
            Copy("skus", IOWA),
            CopyPages(("machine_types",), {"us-central1": "us-atlantis1"}, inside="items"),
        ],
        "new_accelerator": [
            Copy("skus", {"description": ("Nvidia Tesla A100 GPU", "Nvidia Tesla Z900 GPU")})
        ],
    },
    changed={
        "unit_plural": [Change("skus", GCP_UNIT, "^h$", "hours")],
        "unit_case": [Change("skus", GCP_UNIT, "GiBy", "giby")],
        "word_case": [Change("skus", "description", "Instance Core", "instance core")],
        "grammar": [Change("skus", "description", r"^(\w+) Instance (Core|Ram)", r"\1 VM \2")],
    },
)


ORACLE_SHAPES = ("Standard.E4", "Standard3.64", "GPU.A10", "GPU.H100")


def _oracle(kind: str, record: Record) -> bool:
    if kind == "products":
        return "Compute" in record["serviceCategory"]
    return any(word in record["name"] for word in ORACLE_SHAPES)


ORACLE_PRICE = "currencyCodeLocalizations.0"
ORACLE = Vendor(
    prices="products",
    amounts=("value",),
    ids=("partNumber",),
    members=(f"{ORACLE_PRICE}.prices.0.value", "metricName", "partNumber", "displayName"),
    keep=_oracle,
    added={
        "new_family": [
            Copy("products", {"displayName": ("Standard - E4", "Standard - E9")}),
            Copy("shapes", {"name": ("Standard.E4.", "Standard.E9.")}),
        ],
        "new_os": [Copy("products", {"displayName": ("Windows OS", "Haiku OS")})],
        "new_option": [
            Copy("products", {f"{ORACLE_PRICE}.prices.0.model": ("PAY_AS_YOU_GO", "FLEX_COMMIT")})
        ],
        "new_currency": [Copy("products", {f"{ORACLE_PRICE}.currencyCode": ("USD", "XQU")})],
        "new_unit": [Copy("products", {"metricName": ("OCPU Per Hour", "Cycle Per Hour")})],
    },
    changed={
        "unit_plural": [Change("products", "metricName", r"^(\w+) Per", r"\1s Per")],
        "unit_case": [Change("products", "metricName", "Per Hour", "per hour")],
        "word_case": [Change("shapes", "products.0.type.value", "ocpu", "OCPU")],
        "grammar": [
            Change("products", "displayName", "^Compute - (.*) - (OCPU|Memory)$", r"OCI \1 (\2)"),
            Change("shapes", "name", "^(.*)$", r"\1 (New)"),
        ],
    },
)

OVH = Vendor(
    prices="catalog",
    amounts=("price",),
    words={"atlantis": "standard"},
    members=(
        "pricings.0.price",
        "pricings.0.intervalUnit",
        "pricings.0.type",
        "planCode",
        "product",
    ),
    added={
        "new_family": [
            Copy(
                "catalog",
                {
                    "planCode": ("b3-", "z9-"),
                    "invoiceName": ("b3-", "z9-"),
                    "blobs.commercial.name": ("b3-", "z9-"),
                },
            )
        ],
        "new_option": [
            Copy(
                "catalog",
                {
                    "planCode": (".consumption", ".flash"),
                    "pricings.0.type": ("consumption", "flash"),
                },
            )
        ],
        "new_license": [
            Copy(
                "catalog",
                {
                    "product": ("publiccloud-instance", "publiccloud-instance-box"),
                    "planCode": ("b3-", "box-b3-"),
                },
            )
        ],
        "new_term": [
            Copy(
                "catalog",
                {
                    "planCode": (".consumption", ".5years"),
                    "pricings.0.intervalUnit": ("hour", "year"),
                    "pricings.0.interval": (1, 5),
                },
            )
        ],
        "new_unit": [Copy("catalog", {"pricings.0.intervalUnit": ("hour", "cycle")})],
        "new_region": [Copy("catalog", {"planCode": (".consumption", ".consumption.atlantis")})],
    },
    changed={
        "unit_plural": [Change("catalog", "pricings.0.intervalUnit", "^hour$", "hours")],
        "unit_case": [Change("catalog", "pricings.0.intervalUnit", "^hour$", "Hour")],
        "word_case": [Change("catalog", "blobs.tags.0", "^active$", "Active")],
        "grammar": [Change("catalog", "planCode", r"\.consumption$", ".consumption.v2")],
    },
)

RUNPOD = Vendor(
    prices="gpu_types",
    amounts=("securePrice", "communityPrice", "secureSpotPrice", "communitySpotPrice"),
    members=("securePrice", "communityPrice", "id", "memoryInGb"),
    added={
        "new_family": [
            Copy("gpu_types", {"id": ("NVIDIA H", "NVIDIA Z9"), "displayName": ("H", "Z9")})
        ],
    },
    changed={
        "word_case": [Change("gpu_types", "id", "^NVIDIA", "Nvidia")],
        "grammar": [Change("gpu_types", "id", "^NVIDIA (.*)$", r"\1 (NVIDIA)")],
    },
)

SCALEWAY = Vendor(
    prices="servers",
    amounts=("hourly_price", "monthly_price"),
    members=("hourly_price", "ncpus", "ram", "arch", "monthly_price", "gpu"),
    added={
        "new_family": [Copy("servers", {"$name": ("POP2-", "POP9-")})],
        "new_arch": [Copy("servers", {"$name": ("POP2-", "POP9-"), "arch": ("x86_64", "riscv64")})],
        "new_region": [CopyPages(("servers",), {"fr-par-2": "xx-atl-9"})],
    },
    changed={
        "word_case": [Change("servers", "arch", "x86_64", "X86_64")],
        "grammar": [Change("servers", "gpu_info.gpu_name", "^(.+)$", r"NVIDIA \1 GPU")],
    },
)

LINODE = Vendor(
    prices="types",
    amounts=("hourly", "monthly"),
    members=("price.hourly", "vcpus", "memory", "gpus", "region_prices"),
    added={"new_family": [Copy("types", {"id": ("g6-standard", "g9-standard")})]},
    changed={"word_case": [Change("types", "class", "^s", "S")]},
)

VERDA = Vendor(
    prices="instance_types",
    amounts=("price_per_hour", "spot_price"),
    members=("price_per_hour", "spot_price", "currency", "cpu.number_of_cores", "name"),
    added={
        "new_family": [
            Copy("instance_types", {"instance_type": ("1B300", "1Z900"), "name": ("B300", "Z900")})
        ],
        "new_currency": [
            Copy("instance_types", {"instance_type": ("1B300", "1Z9"), "currency": ("usd", "xqu")})
        ],
    },
    changed={"word_case": [Change("instance_types", "currency", "usd", "USD")]},
)

VOLTAGEPARK = Vendor(
    prices="presets",
    amounts=("compute_rate_hourly", "storage_rate_hourly"),
    members=("compute_rate_hourly", "storage_rate_hourly", "operating_system"),
    added={
        "new_os": [Copy("presets", {"operating_system": ("TensorML", "Haiku")}, ids=("id",))],
    },
)

VULTR = Vendor(
    prices="plans",
    amounts=("hourly_cost", "hourly_cost_preemptible", "monthly_cost"),
    members=("hourly_cost", "vcpu_count", "ram", "deploy_ondemand", "locations", "gpu_type"),
    added={"new_family": [Copy("plans", {"id": ("vc2-", "vc9-")})]},
    changed={"word_case": [Change("plans", "gpu_brand", "NVIDIA", "Nvidia")]},
)

SHEET = Vendor(
    is_own_format=True,
    prices="sheet",
    amounts=("price",),
    ids=("id",),
    members=("price", "unit", "gpus", "currency"),
    added={
        "new_family": [
            Copy(
                "sheet",
                {
                    "instance_type": ("NVIDIA H", "NVIDIA Z9"),
                    "page_label": ("NVIDIA H", "NVIDIA Z9"),
                },
            )
        ],
        "new_option": [Copy("sheet", {"purchase_option": ("on_demand", "flash")})],
        "new_currency": [Copy("sheet", {"currency": ("USD", "XQU")})],
        "new_unit": [Copy("sheet", {"unit": ("machine", "cycle")})],
        "new_region": [Copy("sheet", {"region": ("north-america", "atlantis")})],
    },
    changed={
        "unit_plural": [Change("sheet", "unit", "$", "s")],
        "unit_case": [Change("sheet", "unit", "^(m|g)", r"M")],
        "word_case": [Change("sheet", "purchase_option", "on_demand", "On_Demand")],
    },
)

SHEETS = "coreweave"
"""The price sheet that stands for all of them."""

VENDORS: Mapping[str, Vendor] = {
    "aws": AWS,
    "azure": AZURE,
    "gcp": GCP,
    "linode": LINODE,
    "oracle": ORACLE,
    "ovh": OVH,
    "runpod": RUNPOD,
    "scaleway": SCALEWAY,
    "verda": VERDA,
    "voltagepark": VOLTAGEPARK,
    "vultr": VULTR,
    SHEETS: SHEET,
}
