"""Write the AWS part of the sample: a landing directory of real figures in the vendor's formats.

    python -m tools.sample.aws ../shared [--into data/sample]

The first argument is the folder of collected figures and recordings. data/sample/README.md says
what each page holds and where its figures come from. No figure is made up; a vendor's id that is
not known is replaced by one that begins with SAMPLE.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult
from hwprices.providers.aws import EC2, PART_LISTS, SAGEMAKER
from hwprices.providers.aws import PRICE_LIST as PRICES

PROJECT = Path(__file__).resolve().parents[2]
SAMPLE = PROJECT / "data" / "sample"
SOURCES = Path(__file__).resolve().parent / "sources"

PRICES_AS_OF = datetime(2026, 7, 20, 13, 44, 30, tzinfo=UTC)
GOV_AS_OF = datetime(2026, 7, 20, 13, 44, 38, tzinfo=UTC)
CHINA_AS_OF = datetime(2024, 11, 6, 1, 0, 11, tzinfo=UTC)
TYPES_AS_OF = datetime(2026, 10, 27, 22, 45, tzinfo=UTC)
OLD_TYPES_AS_OF = datetime(2024, 11, 4, 17, 14, tzinfo=UTC)
ADVISOR_AS_OF = datetime(2025, 6, 1, tzinfo=UTC)
SPOT_AS_OF = datetime(2021, 2, 9, 1, 40, 10, tzinfo=UTC)

OPT_IN_REGIONS = ("af-south-1", "ap-southeast-3", "eu-south-1")
"""Regions that an account must enable first, and moto says it need not: AWS has kept every region
since 2019-03-20 so. https://docs.aws.amazon.com/accounts/latest/reference/manage-acct-regions.html"""

PRICE_LIST = (
    "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
)
PARTS_FILE = "aws_parts_us-east-1_2026-08.csv"
"""What is billed beside machines: lines of three price lists, and (last columns) what they mean."""

PARTS_AS_OF = datetime(2026, 8, 31, 18, 13, 31, tzinfo=UTC)
SAGEMAKER_AS_OF = datetime(2026, 5, 20, tzinfo=UTC)

CHINA_PRICE_LIST = "https://pricing.cn-north-1.amazonaws.com.cn/offers/v1.0/cn/AmazonEC2/current/{region}/index.csv"

HEADER = (
    """
SKU,OfferTermCode,RateCode,TermType,PriceDescription,EffectiveDate,StartingRange,EndingRange,Unit
PricePerUnit,Currency,RelatedTo,LeaseContractLength,PurchaseOption,OfferingClass,Product Family
serviceCode,Location,Location Type,Instance Type,Current Generation,Instance Family,vCPU
Physical Processor,Clock Speed,Memory,Storage,Network Performance,Processor Architecture,Tenancy
Operating System,License Model,usageType,operation,CapacityStatus,GPU,MarketOption
Pre Installed S/W,serviceName,Region Code
""".strip()
    .replace("\n", ",")
    .split(",")
)
"""Columns of the price list, those that are read and some of the others, in the vendor's order."""

# Codes of terms and of their two dimensions are the same for every SKU. These are the recorded
# m5.large's.
ON_DEMAND, HOURLY, UPFRONT = "JRTCKXETXF", "6YS6EN2CT7", "2TG2D8R56U"
TERM_CODES = {
    ("1yr", "standard", "No Upfront"): "4NA7Y494T4",
    ("1yr", "standard", "All Upfront"): "6QCMYABX3D",
    ("1yr", "convertible", "No Upfront"): "7NE97W5U4E",
    ("1yr", "convertible", "All Upfront"): "VJWZNREJX2",
    ("3yr", "standard", "No Upfront"): "BPH4J8HBKS",
    ("3yr", "standard", "All Upfront"): "NQ3QZPMQV9",
    ("3yr", "convertible", "No Upfront"): "Z2E3P23VKM",
    ("3yr", "convertible", "All Upfront"): "MZU6U2429S",
}
KNOWN_SKUS = {
    "m5.large": "6C86BEPQVG73ZGGR",
    "p4d.24xlarge": "H7NGEAC6UEHNTKSJ",
    "ml.m5.xlarge": "JDZQJFUVUR8SUWHS",
}
"""SKUs of Linux, shared, and of hosting, in us-east-1, as recorded."""


@dataclass(frozen=True)
class Platform:
    """What the price list says of the software of one of the collected x2iedn prices."""

    tenancy: str
    system: str
    software: str
    operation: str

    def columns(self) -> dict[str, str]:
        """Return it under the price list's column names."""
        return {
            "Tenancy": self.tenancy,
            "Operating System": self.system,
            "Pre Installed S/W": self.software,
            "operation": self.operation,
        }


PLATFORMS = {
    "dedicated": Platform("Dedicated", "Linux", "NA", "RunInstances"),
    "linux": Platform("Shared", "Linux", "NA", "RunInstances"),
    "linuxSQL": Platform("Shared", "Linux", "SQL Std", "RunInstances:0004"),
    "linuxSQLWeb": Platform("Shared", "Linux", "SQL Web", "RunInstances:0200"),
    "linuxSQLEnterprise": Platform("Shared", "Linux", "SQL Ent", "RunInstances:0100"),
    "mswin": Platform("Shared", "Windows", "NA", "RunInstances:0002"),
    "mswinSQL": Platform("Shared", "Windows", "SQL Std", "RunInstances:0006"),
    "mswinSQLWeb": Platform("Shared", "Windows", "SQL Web", "RunInstances:0202"),
    "mswinSQLEnterprise": Platform("Shared", "Windows", "SQL Ent", "RunInstances:0102"),
    "rhel": Platform("Shared", "RHEL", "NA", "RunInstances:0010"),
    "rhelSQL": Platform("Shared", "RHEL", "SQL Std", "RunInstances:0014"),
    "rhelSQLWeb": Platform("Shared", "RHEL", "SQL Web", "RunInstances:0210"),
    "rhelSQLEnterprise": Platform("Shared", "RHEL", "SQL Ent", "RunInstances:0110"),
    "sles": Platform("Shared", "SUSE", "NA", "RunInstances:000g"),
    "ubuntu": Platform("Shared", "Ubuntu Pro", "NA", "RunInstances:0g00"),
}
"""Platforms by the key of the collected x2iedn figures."""


@dataclass(frozen=True)
class OtherRegion:
    """A region besides us-east-1: its on-demand prices are in a CSV file of sources/."""

    code: str
    location: str
    file: str
    currency: str
    as_of: datetime
    url: str


OTHER_REGIONS = [
    OtherRegion(
        "us-gov-west-1",
        "AWS GovCloud (US-West)",
        "aws_ondemand_us-gov-west-1_2026-07.csv",
        "USD",
        GOV_AS_OF,
        PRICE_LIST,
    ),
    OtherRegion(
        "cn-north-1",
        "China (Beijing)",
        "aws_ondemand_cn-north-1_2024-11.csv",
        "CNY",
        CHINA_AS_OF,
        CHINA_PRICE_LIST,
    ),
]


VIRGINIA = "US East (N. Virginia)"

RECORDED_ATTRIBUTES = (
    "Current Generation",
    "Instance Family",
    "vCPU",
    "Physical Processor",
    "Clock Speed",
    "Memory",
    "Storage",
    "Network Performance",
    "GPU",
)


class Builder:
    """Lands pages below a landing root, and writes the run's manifest."""

    def __init__(self, shared: Path, into: Path) -> None:
        self.shared = shared
        self.landing = Landing(into)
        self.pages: dict[str, tuple[Unit, list[Page]]] = {}

    def land(
        self,
        kind: str,
        region: str,
        content: bytes,
        *,
        url: str,
        at: datetime,
        suffix: str,
        **params: str,
    ) -> None:
        """Land one page of the unit of this kind and region."""
        unit = Unit("aws", kind, region)
        page = self.landing.land_bytes(
            unit, content, url=url, retrieved_at=at, suffix=suffix, params=params
        )
        self.pages.setdefault(unit.name, (unit, []))[1].append(page)

    def finish(self) -> None:
        """Write the manifest of all pages that were landed."""
        results = tuple(
            UnitResult(unit, "ok", tuple(pages)) for _, (unit, pages) in sorted(self.pages.items())
        )
        run_id = TYPES_AS_OF.strftime("%Y%m%dT%H%M%S.%fZ")
        self.landing.write_run(Run(run_id, "aws", "sample", TYPES_AS_OF, "sample", results))


def sku(*parts: str) -> str:
    """Make a stand-in for an unknown SKU: SAMPLE and ten letters, a hash of what it is of."""
    return "SAMPLE" + hashlib.sha256("/".join(parts).encode()).hexdigest()[:10].upper()


def price_list(rows: list[dict[str, str]], offer: str, published: datetime) -> bytes:
    """Write a price list: lines about the file, the header, a line for each price dimension.

    Every field that is not empty is quoted.
    """
    out = io.StringIO()
    about = {
        "FormatVersion": "v1.0",
        "Disclaimer": "Sample of the hwprices project",
        "Publication Date": published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Version": published.strftime("%Y%m%d%H%M%S"),
        "OfferCode": offer,
    }
    out.writelines(f'"{name}","{value}"\n' for name, value in about.items())
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(HEADER)
    # csv.QUOTE_NOTNULL came with Python 3.12; before, empty fields are quoted too.
    quoting: Any = getattr(csv, "QUOTE_NOTNULL", csv.QUOTE_ALL)
    writer = csv.DictWriter(out, HEADER, quoting=quoting, lineterminator="\n", restval="")
    writer.writerows(rows)
    return out.getvalue().encode()


def machine(
    name: str, region: str, location: str, attributes: dict[str, str], **more: str
) -> dict[str, str]:
    """Fill in the columns that say what is sold: Linux, shared, unless ``more`` says otherwise."""
    is_metal = ".metal" in name
    return {
        "Product Family": "Compute Instance (bare metal)" if is_metal else "Compute Instance",
        "serviceCode": "AmazonEC2",
        "Location": location,
        "Location Type": "AWS Region",
        "Instance Type": name,
        "Tenancy": "Shared",
        "Operating System": "Linux",
        "License Model": "No License required",
        "operation": "RunInstances",
        "CapacityStatus": "Used",
        "MarketOption": "OnDemand",
        "Pre Installed S/W": "NA",
        "serviceName": "Amazon Elastic Compute Cloud",
        "Region Code": region,
        **attributes,
        **more,
    }


def on_demand(
    product: dict[str, str], code: str, price: str, currency: str = "USD"
) -> dict[str, str]:
    """Make the line of an on-demand price."""
    return product | {
        "SKU": code,
        "OfferTermCode": ON_DEMAND,
        "RateCode": f"{code}.{ON_DEMAND}.{HOURLY}",
        "TermType": "OnDemand",
        "StartingRange": "0",
        "EndingRange": "Inf",
        "Unit": "Hrs",
        "PricePerUnit": f"{Decimal(price):.10f}",
        "Currency": currency,
    }


def reserved(
    product: dict[str, str], code: str, term: tuple[str, str, str], hourly: str, fee: str | None
) -> Iterator[dict[str, str]]:
    """Make the one or two lines of a reserved term."""
    lease, offering_class, payment = term
    base = product | {
        "SKU": code,
        "OfferTermCode": TERM_CODES[term],
        "TermType": "Reserved",
        "Currency": "USD",
    }
    base |= {
        "LeaseContractLength": lease,
        "PurchaseOption": payment,
        "OfferingClass": offering_class,
    }
    rate = f"{code}.{TERM_CODES[term]}"
    yield base | {
        "RateCode": f"{rate}.{HOURLY}",
        "StartingRange": "0",
        "EndingRange": "Inf",
        "Unit": "Hrs",
        "PricePerUnit": f"{Decimal(hourly):.10f}",
    }
    if fee is not None:
        yield base | {"RateCode": f"{rate}.{UPFRONT}", "Unit": "Quantity", "PricePerUnit": fee}


def fee_of(amortised: str, years: int) -> str | None:
    """Find the fee behind an all-upfront price that was amortised and rounded to six decimals.

    Fees are whole numbers: None unless exactly one rounds to the price.
    """
    hours, half = years * 8760, Decimal("0.0000005")
    low, high = (Decimal(amortised) - half) * hours, (Decimal(amortised) + half) * hours
    fees = [n for n in range(int(low), int(high) + 2) if low <= n <= high]
    return str(fees[0]) if len(fees) == 1 else None


def platform_rows(figures: dict[str, Any], attributes: dict[str, str]) -> Iterator[dict[str, str]]:
    """Make the lines of every platform of one type, on demand, and reserved with no or all upfront.

    Partial upfront is left out: the figures are hourly rate and fee in one number, from which
    neither can be told.
    """
    name, region = figures["instance_type"], figures["region"]
    for key, platform in PLATFORMS.items():
        product = machine(name, region, VIRGINIA, attributes, **platform.columns())
        code = sku(region, name, platform.tenancy, platform.system, platform.software)
        prices = figures["pricing"][key]
        yield on_demand(product, code, prices["ondemand"])
        for term in TERM_CODES:
            amortised = prices.get("reserved", {}).get(figures_key(term))
            if amortised is not None:
                yield from amortised_rows(product, code, term, amortised)


def figures_key(term: tuple[str, str, str]) -> str:
    """Return a term as the collected figures do: yrTerm1Standard.noUpfront."""
    lease, offering_class, payment = term
    words = payment[0].lower() + payment[1:].replace(" ", "")
    return f"yrTerm{lease[0]}{offering_class.title()}.{words}"


def amortised_rows(
    product: dict[str, str], code: str, term: tuple[str, str, str], amortised: str
) -> Iterator[dict[str, str]]:
    """Make the lines of a term whose amortised price is known; none where its fee is ambiguous."""
    lease, _, payment = term
    if payment == "No Upfront":
        yield from reserved(product, code, term, amortised, None)
    elif fee := fee_of(amortised, int(lease[0])):
        yield from reserved(product, code, term, "0", fee)


def attributes_of(types: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Write vCPU and Memory as the price list does, from the EC2 API's responses."""
    return {
        name: {
            "vCPU": str(t["VCpuInfo"]["DefaultVCpus"]),
            "Memory": f"{t['MemoryInfo']['SizeInMiB'] / 1024:g} GiB",
        }
        for name, t in types.items()
    }


def recorded_attributes(path: Path, names: set[str]) -> dict[str, dict[str, str]]:
    """Read attributes of types that the EC2 API no longer describes, from a recorded price list."""
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    header = next(line for line in lines if line[:1] == ["SKU"])
    # Shorter lines are those about the file, before the header.
    rows = [dict(zip(header, ln, strict=False)) for ln in lines if len(ln) > 10 and ln != header]
    return {
        row["Instance Type"]: {column: row[column].strip() for column in RECORDED_ATTRIBUTES}
        for row in rows
        if row["Instance Type"] in names
    }


def price_lists(build: Builder, types: dict[str, Any]) -> None:
    """Land the price lists of us-east-1 and of OTHER_REGIONS."""
    truth = json.loads(
        (build.shared / "truth/aws_ondemand_us-east-1_2026-07.json").read_text(), parse_float=str
    )["us-east-1"]
    attributes = attributes_of(types)
    recorded = build.shared / "recordings/aws/bulk/offers/v1.0/aws/AmazonEC2/current/eu-west-1"
    attributes |= recorded_attributes(recorded / "index.csv", set(truth) - set(attributes))
    rows = virginia_rows(build, truth, attributes) + part_lists(build)
    land_price_list(build, rows, "us-east-1", PRICES_AS_OF, PRICE_LIST)
    for region in OTHER_REGIONS:
        with (SOURCES / region.file).open(newline="") as source:
            prices = {row["instance_type"]: row["hourly"] for row in csv.DictReader(source)}
        rows = list(other_rows(region, prices, attributes))
        land_price_list(build, rows, region.code, region.as_of, region.url)


def land_price_list(
    build: Builder,
    rows: list[dict[str, str]],
    region: str,
    as_of: datetime,
    url: str,
    kind: str = PRICES,
) -> None:
    """Land one region's price list."""
    service = PART_LISTS.get(kind, EC2)
    content = price_list(rows, service, as_of)
    where = url.replace(EC2, service).format(region=region)
    build.land(kind, region, content, url=where, at=as_of, suffix="csv")


def part(row: Mapping[str, str]) -> dict[str, str]:
    """Make the line of something that is billed beside machines in us-east-1."""
    code = row["sku"]
    return {
        "SKU": code,
        "OfferTermCode": ON_DEMAND,
        "RateCode": f"{code}.{ON_DEMAND}.{row['rate']}",
        "TermType": "OnDemand",
        "StartingRange": row["from"],
        "EndingRange": row["to"],
        "Unit": row["unit"],
        "PricePerUnit": row["price"],
        "Currency": "USD",
        "Product Family": row["family"],
        "serviceCode": PART_LISTS.get(row["list"], EC2),
        "usageType": row["usage_type"],
        "operation": row["operation"],
        "Region Code": "us-east-1",
    }


def part_lists(build: Builder) -> list[dict[str, str]]:
    """Land the lists beside EC2's, and return the lines that EC2's has."""
    with (SOURCES / PARTS_FILE).open(newline="") as source:
        rows = list(csv.DictReader(source))
    with (build.shared / "truth/others/sagemaker.csv").open(newline="") as source:
        rows += [
            {
                "list": SAGEMAKER,
                "sku": KNOWN_SKUS.get(name) or sku("us-east-1", name),
                "rate": HOURLY,
                "family": "ML Instance",
                "usage_type": f"USE1-Host:{name}",
                "operation": "RunInstance",
                "unit": "Hrs",
                "price": f"{Decimal(row['usd_per_hour']):.10f}",
                "from": "0",
                "to": "Inf",
            }
            for row in csv.DictReader(source)
            if row["region"] == "us-east-1" and (name := row["instance_type"])
        ]
    for kind in PART_LISTS:
        lines = [part(row) for row in rows if row["list"] == kind]
        as_of = SAGEMAKER_AS_OF if kind == SAGEMAKER else PARTS_AS_OF
        land_price_list(build, lines, "us-east-1", as_of, PRICE_LIST, kind)
    return [part(row) for row in rows if row["list"] == PRICES]


def virginia_rows(
    build: Builder, truth: Mapping[str, str], attributes: dict[str, dict[str, str]]
) -> list[dict[str, str]]:
    """Make the lines of us-east-1."""
    figures = json.loads(
        (build.shared / "truth/aws_reserved_x2iedn.32xlarge_us-east-1_2026-07.json").read_text()
    )
    rows = [
        on_demand(
            machine(name, "us-east-1", VIRGINIA, attributes.get(name, {})),
            KNOWN_SKUS.get(name) or sku("us-east-1", name, "Shared", "Linux", "NA"),
            price,
        )
        for name, price in sorted(truth.items())
        if name != figures["instance_type"]
    ]
    rows += platform_rows(figures, attributes[figures["instance_type"]])
    # Recorded: the price list shows a capacity block at $0, and not what it costs.
    block = {"operation": "RunInstances:CB", "MarketOption": "CapacityBlock"}
    product = machine("p4d.24xlarge", "us-east-1", VIRGINIA, attributes["p4d.24xlarge"], **block)
    return [*rows, on_demand(product, "YSXJGN78QTXNVGDQ", "0")]


def other_rows(
    region: OtherRegion, prices: Mapping[str, str], attributes: dict[str, dict[str, str]]
) -> Iterator[dict[str, str]]:
    """Make the lines of another region, .metal types at a dedicated price as Dedicated."""
    vcpus = {name: stated["vCPU"] for name, stated in attributes.items() if "vCPU" in stated}
    for name, price in prices.items():
        product = machine(name, region.code, region.location, attributes.get(name, {}))
        if is_dedicated_price(name, prices, vcpus):
            product["Tenancy"] = "Dedicated"
        yield on_demand(product, sku(region.code, name), price, region.currency)


def is_dedicated_price(name: str, prices: Mapping[str, str], vcpus: Mapping[str, str]) -> bool:
    """Check whether a .metal type's price is the one of dedicated tenancy.

    The source asks for metal with Tenancy=Dedicated, which costs up to 10 % more. At shared tenancy
    a metal type costs what its twin costs, the virtual machine of the same family and vCPUs, so a
    price above the twin's is the dedicated one. 0.1 % is more than the source's rounding.
    """
    if ".metal" not in name:
        return False
    family = name.partition(".")[0]
    twins = [
        twin
        for twin in prices
        if twin.startswith(f"{family}.")
        and ".metal" not in twin
        and vcpus.get(twin) == vcpus.get(name)
    ]
    return any(Decimal(prices[name]) > Decimal(prices[twin]) * Decimal("1.001") for twin in twins)


def responses(
    operation: str, region: str, calls: list[dict[str, Any]], types: dict[str, Any] | None = None
) -> list[bytes]:
    """Make bodies in EC2's own XML with moto, which ships recorded responses.

    ``types`` replaces moto's instance types. The random request id is taken out.
    """
    import boto3
    import moto
    from moto.ec2.models import instance_types as recorded

    bodies: list[bytes] = []
    backend = recorded.InstanceTypeBackend
    before = backend.instance_types
    try:
        if types is not None:
            recorded.INSTANCE_TYPES.update(types)
            backend.instance_types = [recorded.InstanceType(name) for name in types]
        with moto.mock_aws():
            client = boto3.client(
                "ec2",
                region_name=region,
                aws_access_key_id="sample",
                aws_secret_access_key="sample",
            )
            client.meta.events.register(
                "before-parse.ec2.*",
                lambda response_dict, **_: bodies.append(bytes(response_dict["body"])),
            )
            call: Callable[..., Any] = getattr(client, operation)
            for parameters in calls:
                call(**parameters)
    finally:
        backend.instance_types = before
    return [
        re.sub(rb"<requestId>[^<]*</requestId>", b"<requestId>SAMPLE</requestId>", body)
        for body in bodies
    ]


def ec2_pages(build: Builder, types: dict[str, Any], old: dict[str, Any]) -> None:
    """Land what the EC2 API answers: types by region, offerings, zones and regions."""
    for region, names in sorted(types_by_region(types).items()):
        # 100 is the API's largest page.
        calls = [{"InstanceTypes": names[i : i + 100]} for i in range(0, len(names), 100)]
        for body in responses("describe_instance_types", region, calls):
            land_ec2(build, "instance_types", region, region, body, "DescribeInstanceTypes")
    east = "us-east-1"
    for body in responses("describe_instance_types", east, [{"InstanceTypes": sorted(old)}], old):
        land_ec2(
            build, "instance_types", east, east, body, "DescribeInstanceTypes", at=OLD_TYPES_AS_OF
        )
    by_zone = {"LocationType": "availability-zone"}
    for body in responses("describe_instance_type_offerings", east, [by_zone]):
        land_ec2(build, "offerings", east, east, body, "DescribeInstanceTypeOfferings")
    for body in responses("describe_availability_zones", east, [{}]):
        land_ec2(build, "zones", east, east, body, "DescribeAvailabilityZones")
    for body in responses("describe_regions", east, [{"AllRegions": True}]):
        land_ec2(build, "regions", "global", east, _with_opt_in(body), "DescribeRegions")


def _with_opt_in(regions: bytes) -> bytes:
    """Correct moto's answer of DescribeRegions, by which every account can use OPT_IN_REGIONS."""
    for region in OPT_IN_REGIONS:
        regions, changed = re.subn(
            b"<optInStatus>opt-in-not-required(</optInStatus><regionName>%s<)" % region.encode(),
            rb"<optInStatus>not-opted-in\1",
            regions,
        )
        assert changed == 1, f"moto's answer no longer has {region} so: remove it here"
    return regions


def land_ec2(
    build: Builder,
    kind: str,
    region: str,
    endpoint: str,
    body: bytes,
    action: str,
    *,
    at: datetime = TYPES_AS_OF,
) -> None:
    """Land one response of the EC2 API's endpoint in a region."""
    url = f"https://ec2.{endpoint}.amazonaws.com/"
    build.land(kind, region, body, url=url, at=at, suffix="xml", Action=action)


def types_by_region(types: dict[str, Any]) -> dict[str, list[str]]:
    """Place each type under us-east-1, or else under the first region that offers it."""
    import moto

    folder = Path(moto.__file__).parent / "ec2/resources/instance_type_offerings/region"
    offered = {
        file.name.split(".")[0]: {
            entry["InstanceType"] for entry in json.loads(gzip.decompress(file.read_bytes()))
        }
        for file in sorted(folder.glob("*.json.gz"))
    }
    by_region: dict[str, list[str]] = {}
    for name in sorted(types):
        regions = [region for region in ("us-east-1", *offered) if name in offered[region]]
        by_region.setdefault([*regions, "us-east-1"][0], []).append(name)
    return by_region


def spot_pages(build: Builder) -> None:
    """Land the recorded spot quotes of m5.large, and the spot advisor's file."""
    recorded = json.loads(
        (build.shared / "recordings/aws/sdk/describe_spot_price_history_m5.large.json").read_text()
    )["SpotPriceHistory"]
    quotes = "".join(f"<item>{quote_xml(quote)}</item>\n" for quote in recorded)
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<DescribeSpotPriceHistoryResponse"
        ' xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">\n'
        f"<requestId>SAMPLE</requestId>\n<spotPriceHistorySet>\n{quotes}</spotPriceHistorySet>\n"
        "<nextToken/>\n</DescribeSpotPriceHistoryResponse>\n"
    ).encode()
    east = "us-east-1"
    land_ec2(build, "spot", east, east, body, "DescribeSpotPriceHistory", at=SPOT_AS_OF)
    advisor = gzip.decompress(
        (build.shared / "recordings/aws/spot-advisor-data.json.gz").read_bytes()
    )
    url = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
    build.land("spot_advisor", "global", advisor, url=url, at=ADVISOR_AS_OF, suffix="json")


def quote_xml(quote: Mapping[str, str]) -> str:
    """Write one quote in EC2's XML, whose names begin with a small letter and the SDK's do not."""
    names = ("AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp")
    tags = {name: name[0].lower() + name[1:] for name in names}
    return "".join(f"<{tag}>{escape(quote[name])}</{tag}>" for name, tag in tags.items())


def main(arguments: list[str] | None = None) -> None:
    """Rebuild the AWS part of the sample."""
    import moto

    parser = argparse.ArgumentParser(description="Write the AWS part of the sample.")
    parser.add_argument("shared", type=Path, help="folder of collected figures and recordings")
    parser.add_argument("--into", type=Path, default=SAMPLE, help="landing directory to write to")
    options = parser.parse_args(arguments)
    shutil.rmtree(options.into / "aws", ignore_errors=True)
    build = Builder(options.shared, options.into)
    resources = Path(moto.__file__).parent / "ec2/resources"
    types = json.loads(gzip.decompress((resources / "instance_types.json.gz").read_bytes()))
    old = json.loads((SOURCES / "aws_instance_types_2024-11.json").read_text())
    price_lists(build, {**old, **types})
    ec2_pages(build, types, old)
    spot_pages(build)
    build.finish()


if __name__ == "__main__":
    main()
