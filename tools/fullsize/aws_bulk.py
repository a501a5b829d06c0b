"""Serve what AWS publishes without an account: indexes, price lists, savings plans, the advisor."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from tools.fullsize.answers import Answer, Handler, Request, Stream, json_answer
from tools.fullsize.aws_world import (
    CHINA,
    GOVERNMENT,
    LICENSE_WORDS,
    MICRO,
    Machine,
    Sku,
    World,
)
from tools.fullsize.environment import AWS_SPOT_ADVISOR
from tools.sample.aws import HEADER, HOURLY, ON_DEMAND, TERM_CODES, UPFRONT

VERSION = "20261101000000"

MORE_COLUMNS = (
    """
Storage Media,Volume Type,Max Volume Size,Max IOPS/volume,Max IOPS Burst Performance
Max throughput/volume,Provisioned,EBS Optimized,Group,Group Description,Transfer Type,From Location
From Location Type,To Location,To Location Type,Availability Zone,ClassicNetworkingSupport
Dedicated EBS Throughput,ECU,Elastic Graphics Type,Enhanced Networking Supported,From Region Code
GPU Memory,Instance Capacity - 10xlarge,Instance Capacity - 12xlarge,Instance Capacity - 16xlarge
Instance Capacity - 18xlarge,Instance Capacity - 24xlarge,Instance Capacity - 2xlarge
Instance Capacity - 32xlarge,Instance Capacity - 4xlarge,Instance Capacity - 8xlarge
Instance Capacity - 9xlarge,Instance Capacity - large,Instance Capacity - medium
Instance Capacity - metal,Instance Capacity - xlarge,instanceSKU,Intel AVX2 Available
Intel AVX Available,Intel Turbo Available,Normalization Size Factor,Physical Cores
Processor Features,Product Type,Resource Type,SnapshotArchiveFeeType,To Region Code,Volume API Name
VPCnetworkingsupport
""".strip()
    .replace("\n", ",")
    .split(",")
)
"""Columns of the vendor's list that the sample leaves out."""

COLUMNS = [*HEADER, *MORE_COLUMNS]
PRODUCT_COLUMNS = COLUMNS[COLUMNS.index("Product Family") :]
"""The columns after those of the term, which are the same on all lines of a SKU."""

FIXED_COLUMNS = {
    "serviceCode": "AmazonEC2",
    "Location Type": "AWS Region",
    "Instance Family": "General purpose",
    "Processor Architecture": "64-bit",
    "MarketOption": "OnDemand",
    "serviceName": "Amazon Elastic Compute Cloud",
    "Availability Zone": "NA",
    "ClassicNetworkingSupport": "false",
    "Dedicated EBS Throughput": "Up to 4750 Mbps",
    "ECU": "NA",
    "Enhanced Networking Supported": "Yes",
    "Intel AVX2 Available": "Yes",
    "Intel AVX Available": "Yes",
    "Intel Turbo Available": "Yes",
    "Processor Features": "AVX; AVX2; AVX512; Intel AVX; Intel AVX2; Intel AVX512; Intel Turbo",
    "VPCnetworkingsupport": "true",
}
"""Columns that are the same on every line here."""

OF_SKU = (
    "Tenancy",
    "Operating System",
    "License Model",
    "usageType",
    "operation",
    "CapacityStatus",
    "Pre Installed S/W",
)
"""Columns that differ between the SKUs of a machine, in the list's order."""

PARTIAL_CODES = {
    ("1yr", "standard", "Partial Upfront"): "HU7G6KETJZ",
    ("1yr", "convertible", "Partial Upfront"): "CUZHX8X6JH",
    ("3yr", "standard", "Partial Upfront"): "38NPMPTW36",
    ("3yr", "convertible", "Partial Upfront"): "R5XV2EPZQZ",
}
LEASES = {
    ("1yr", "standard"): 66,
    ("1yr", "convertible"): 71,
    ("3yr", "standard"): 46,
    ("3yr", "convertible"): 53,
}
"""Percent of the on-demand price that an hour of a lease costs without upfront payment."""

PAYMENTS = {"No Upfront": (0, 0), "Partial Upfront": (2, 50), "All Upfront": (3, 100)}
"""Percent of the on-demand price that a payment saves, and percent that is paid upfront."""

RESERVED = [
    (
        TERM_CODES.get((*lease, payment)) or PARTIAL_CODES[*lease, payment],
        lease[0],
        payment,
        f',,"{lease[0]}","{payment}","{lease[1]}",',
        share - saved,
        upfront,
    )
    for lease, share in LEASES.items()
    for payment, (saved, upfront) in PAYMENTS.items()
]
"""Code, lease, payment, the columns RelatedTo to OfferingClass, percents of price and upfront."""

HOURS = {"1yr": 8760, "3yr": 26280}

PLANS = {
    (lease, payment): share - saved
    for lease, share in {"1yr": 73, "3yr": 50}.items()
    for payment, (saved, _) in PAYMENTS.items()
}
"""Percent of the on-demand price that an hour under a compute savings plan costs."""

FAMILY_DISCOUNT = 5
"""Percent less under a plan for one family."""

PAST_MONTHS = 24
"""Price lists of the past."""

IN_PLANS = ("Used", "UnusedCapacityReservation")
"""States of capacity that savings plans cover."""


def handlers(world: World) -> dict[str, Handler]:
    """Return what the bulk hosts of both partitions answer, by path."""
    advisor = _advice(world)
    return {
        **_partition(world, "aws", world.regions),
        **_partition(world, "cn", [CHINA]),
        AWS_SPOT_ADVISOR: lambda _: advisor,
    }


def _partition(world: World, partition: str, regions: list[str]) -> dict[str, Handler]:
    root = f"/offers/v1.0/{partition}/AmazonEC2"
    plans_root = f"/savingsPlan/v1.0/{partition}/AWSComputeSavingsPlan"
    with_plans = [region for region in regions if region not in (GOVERNMENT, CHINA)]
    offer = {
        "offerCode": "AmazonEC2",
        "currentRegionIndexUrl": f"{root}/current/region_index.json",
        "currentSavingsPlanIndexUrl": f"{plans_root}/current/region_index.json",
        "versionIndexUrl": f"{root}/index.json",
        "savingsPlanVersionIndexUrl": f"{plans_root}/current/index.json",
    }
    lists = {
        code: {"regionCode": code, "currentVersionUrl": f"{root}/{VERSION}/{code}/index.json"}
        for code in regions
    }
    plans = [
        {"regionCode": code, "versionUrl": f"{plans_root}/{VERSION}/{code}/index.json"}
        for code in with_plans
    ]
    fixed = {
        f"/offers/v1.0/{partition}/index.json": {"offers": {"AmazonEC2": offer}},
        offer["currentRegionIndexUrl"]: {"regions": lists},
        offer["currentSavingsPlanIndexUrl"]: {"regions": plans},
        **_past(root, offer, {"regions": lists}),
    }
    streams = {
        f"{root}/{VERSION}/{code}/index.csv": Stream(partial(price_list, world, code), "text/csv")
        for code in regions
    } | {
        f"{plans_root}/{VERSION}/{code}/index.json": Stream(
            partial(savings_plans, world, code), "application/json"
        )
        for code in with_plans
    }
    answers: dict[str, Answer | Stream] = {path: json_answer(body) for path, body in fixed.items()}
    return {path: partial(_fixed, answer) for path, answer in (answers | streams).items()}


def _past(root: str, offer: dict[str, str], lists: object) -> dict[str, object]:
    """Return the version indexes: PAST_MONTHS lists, whose files are those of today."""
    begins = [
        f"{2026 - month // 12}-{12 - month % 12:02}-01T00:00:00Z"
        for month in range(PAST_MONTHS + 1)
    ]
    versions = {
        f"{begin[:4]}{begin[5:7]}28000000": {
            "versionEffectiveBeginDate": begin,
            "versionEffectiveEndDate": end,
            "offerVersionUrl": f"{root}/{begin[:7]}/index.json",
        }
        for end, begin in pairwise(begins)
    }
    plans = {
        "publicationDate": begins[-1],
        "offerVersionUrl": offer["currentSavingsPlanIndexUrl"],
    }
    return {
        offer["versionIndexUrl"]: {"versions": versions},
        offer["savingsPlanVersionIndexUrl"]: {"versions": [plans]},
        **{f"{root}/{begin[:7]}/region_index.json": lists for begin in begins},
    }


def _fixed(answer: Answer | Stream, _request: Request) -> Answer | Stream:
    return answer


def _advice(world: World) -> Answer:
    """Answer the advisor's file, of the machines and regions that are served."""
    advice = world.advice
    of_regions = {
        region: {
            system: {name: value for name, value in types.items() if name in world.machines}
            for system, types in advice["spot_advisor"][region].items()
        }
        for region in world.ec2_regions
    }
    types = {n: value for n, value in advice["instance_types"].items() if n in world.machines}
    return json_answer(advice | {"spot_advisor": of_regions, "instance_types": types})


def price_list(world: World, region: str) -> Iterator[str]:
    """Yield the price list of a region, the lines of one SKU at a time."""
    about = ("FormatVersion", "v1.0"), ("Disclaimer", "Made up"), ("Publication Date", "2026-11-01")
    yield "".join(f'"{name}","{value}"\n' for name, value in about)
    yield f'"Version","{VERSION}"\n"OfferCode","AmazonEC2"\n'
    yield ",".join(f'"{name}"' for name in COLUMNS) + "\n"
    currency = "CNY" if region == CHINA else "USD"
    machine, tail = None, ""
    for sku in world.skus(region):
        if sku.machine is not machine:
            machine, tail = sku.machine, _tail(sku.machine, region)
        yield _lines(sku, currency, tail % _of_sku(sku))


def _lines(sku: Sku, currency: str, tail: str) -> str:
    """Write all lines of a SKU; ``tail`` has the columns of the product."""
    code, micro = sku.code, sku.micro
    what = f"{sku.platform.system} (Amazon VPC), {sku.machine.name}"
    lines = [
        f'"{code}","{ON_DEMAND}","{code}.{ON_DEMAND}.{HOURLY}","OnDemand",'
        f'"${_usd(micro)} per On Demand {what} Instance Hour","2026-11-01","0","Inf","Hrs",'
        f'"{_usd(micro)}0000","{currency}",,,,,{tail}\n'
    ]
    if sku.capacity != "Used" or sku.platform.license_model != LICENSE_WORDS["included"]:
        return lines[0]
    for offer, lease, payment, ending, share, upfront in RESERVED:
        hourly = micro * share // 100
        later = hourly * (100 - upfront) // 100
        start, end = f'"{code}","{offer}","{code}.{offer}.', f'"{currency}"{ending}{tail}\n'
        price = _usd(later)
        lines.append(
            f'{start}{HOURLY}","Reserved","USD {price} per {what} reserved instance applied",'
            f'"2026-11-01","0","Inf","Hrs","{price}0000",{end}'
        )
        if payment != "No Upfront":
            fee = (hourly - later) * HOURS[lease] // MICRO
            lines.append(
                f'{start}{UPFRONT}","Reserved","Upfront Fee","2026-11-01",,,"Quantity",'
                f'"{fee}",{end}'
            )
    return "".join(lines)


def _usd(micro: int) -> str:
    """Write millionths of a dollar with six decimals."""
    return f"{micro // MICRO}.{micro % MICRO:06d}"


def _tail(machine: Machine, region: str) -> str:
    """Write the columns of the product, with a place for each of OF_SKU; empty ones unquoted."""
    columns = {
        **machine.columns,
        **FIXED_COLUMNS,
        "Location": f"Region {region}",
        "Region Code": region,
        **dict.fromkeys(OF_SKU, "%s"),
    }
    values = (columns.get(name, "") for name in PRODUCT_COLUMNS)
    return ",".join(f'"{value}"' if value else "" for value in values)


def _of_sku(sku: Sku) -> tuple[str, ...]:
    """Return the columns OF_SKU."""
    platform = sku.platform
    return (
        sku.tenancy,
        platform.system,
        platform.license_model,
        f"{sku.usage}:{sku.machine.name}",
        platform.operation,
        sku.capacity,
        platform.software,
    )


def savings_plans(world: World, region: str) -> Iterator[str]:
    """Yield the savings-plan file of a region: plans for all families, and for each of them.

    It is written as AWS writes it: a member a line, and a blank before each colon.
    """
    families = sorted({machine.family for machine in world.offered[region]})
    plans = [("ComputeSavingsPlans", "", *plan) for plan in PLANS] + [
        ("EC2InstanceSavingsPlans", family, *plan) for family in families for plan in PLANS
    ]
    yield f'{{\n  "version" : "{VERSION}",\n  "publicationDate" : "2026-11-01T00:00:00Z",\n'
    yield f'  "regionCode" : "{region}",\n  "products" : [ '
    yield ", ".join(_plan(number, *plan) for number, plan in enumerate(plans))
    yield ' ],\n  "terms" : {\n    "savingsPlan" : [ '
    rates: dict[str, list[Rate]] = {family: [] for family in families}
    for sku in world.skus(region):
        if sku.capacity in IN_PLANS:
            rates[sku.machine.family].append(_rate(sku, region))
    for number, (_, family, lease, payment) in enumerate(plans):
        share = PLANS[lease, payment] - (FAMILY_DISCOUNT if family else 0)
        yield ", " if number else ""
        yield (
            f'{{\n      "sku" : "PLAN{number:012}",\n      "description" : "",\n'
            '      "effectiveDate" : "2026-11-01T00:00:00Z",\n      "leaseContractLength" : {\n'
            f'        "duration" : {lease[0]},\n        "unit" : "year"\n      }},\n'
            '      "rates" : [ '
        )
        for first, one in enumerate([family] if family else families):
            yield ", " if first else ""
            yield ", ".join(
                f"{start}{number:012}{middle}{_usd(micro * share // 100)}{end}"
                for start, middle, micro, end in rates[one]
            )
        yield " ]\n    }"
    yield " ]\n  }\n}\n"


Rate = tuple[str, str, int, str]
"""The text of a rate before the plan's number, between it and the price, the price on demand in
millionths of a dollar, and the text after it."""


def _rate(sku: Sku, region: str) -> Rate:
    code, machine = sku.code, sku.machine.name
    return (
        f'{{\n        "discountedSku" : "{code}",\n'
        f'        "discountedUsageType" : "{sku.usage}:{machine}",\n'
        f'        "discountedOperation" : "{sku.platform.operation}",\n'
        '        "discountedServiceCode" : "AmazonEC2",\n        "rateCode" : "PLAN',
        f'.{code}",\n        "unit" : "Hrs",\n        "discountedRate" : {{\n          "price" : "',
        sku.micro,
        '",\n          "currency" : "USD"\n        },\n'
        f'        "discountedRegionCode" : "{region}",\n'
        f'        "discountedInstanceType" : "{machine}"\n      }}',
    )


def _plan(number: int, product: str, family: str, lease: str, payment: str) -> str:
    kind = f'      "instanceType" : "{family}",\n' if family else ""
    return (
        f'{{\n    "sku" : "PLAN{number:012}",\n    "productFamily" : "{product}",\n'
        '    "serviceCode" : "ComputeSavingsPlans",\n'
        f'    "usageType" : "{product}:{lease}{payment.replace(" ", "")}",\n    "attributes" : {{\n'
        f'{kind}      "purchaseOption" : "{payment}",\n      "purchaseTerm" : "{lease}"\n'
        "    }\n  }"
    )
