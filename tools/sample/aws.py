"""Write the AWS part of the sample: a landing directory of real figures in the vendor's wire shapes.

    python -m tools.sample.aws ../shared

The argument is the folder of collected figures and recordings. What each page holds and where its figures come from is told in
README.md beside this file. No figure is made up; where a vendor's id is not known it begins with SAMPLE.
"""

import csv
import gzip
import hashlib
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult

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

PRICE_LIST = (
    "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
)
CHINA_PRICE_LIST = "https://pricing.cn-north-1.amazonaws.com.cn/offers/v1.0/cn/AmazonEC2/current/{region}/index.csv"

HEADER = [
    *(
        "SKU",
        "OfferTermCode",
        "RateCode",
        "TermType",
        "PriceDescription",
        "EffectiveDate",
        "StartingRange",
        "EndingRange",
        "Unit",
        "PricePerUnit",
    ),
    *(
        "Currency",
        "RelatedTo",
        "LeaseContractLength",
        "PurchaseOption",
        "OfferingClass",
        "Product Family",
        "serviceCode",
        "Location",
        "Location Type",
    ),
    *(
        "Instance Type",
        "Current Generation",
        "Instance Family",
        "vCPU",
        "Physical Processor",
        "Clock Speed",
        "Memory",
        "Storage",
        "Network Performance",
    ),
    *(
        "Processor Architecture",
        "Tenancy",
        "Operating System",
        "License Model",
        "usageType",
        "operation",
        "CapacityStatus",
        "GPU",
        "MarketOption",
    ),
    *("Pre Installed S/W", "serviceName", "Region Code"),
]

# Codes of terms and of their two dimensions are the same for every SKU: read off the recorded m5.large.
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
}  # Linux, shared, us-east-1: recorded

# Key of the collected x2iedn figures: tenancy, Operating System, Pre Installed S/W, operation.
PLATFORMS = {
    "dedicated": ("Dedicated", "Linux", "NA", "RunInstances"),
    "linux": ("Shared", "Linux", "NA", "RunInstances"),
    "linuxSQL": ("Shared", "Linux", "SQL Std", "RunInstances:0004"),
    "linuxSQLWeb": ("Shared", "Linux", "SQL Web", "RunInstances:0200"),
    "linuxSQLEnterprise": ("Shared", "Linux", "SQL Ent", "RunInstances:0100"),
    "mswin": ("Shared", "Windows", "NA", "RunInstances:0002"),
    "mswinSQL": ("Shared", "Windows", "SQL Std", "RunInstances:0006"),
    "mswinSQLWeb": ("Shared", "Windows", "SQL Web", "RunInstances:0202"),
    "mswinSQLEnterprise": ("Shared", "Windows", "SQL Ent", "RunInstances:0102"),
    "rhel": ("Shared", "RHEL", "NA", "RunInstances:0010"),
    "rhelSQL": ("Shared", "RHEL", "SQL Std", "RunInstances:0014"),
    "rhelSQLWeb": ("Shared", "RHEL", "SQL Web", "RunInstances:0210"),
    "rhelSQLEnterprise": ("Shared", "RHEL", "SQL Ent", "RunInstances:0110"),
    "sles": ("Shared", "SUSE", "NA", "RunInstances:000g"),
    "ubuntu": ("Shared", "Ubuntu Pro", "NA", "RunInstances:0g00"),
}


class Builder:
    """Collects pages and writes the run's manifest."""

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.landing = Landing(SAMPLE)
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
        unit = Unit("aws", kind, region)
        page = self.landing.land_bytes(
            unit, content, url=url, retrieved_at=at, suffix=suffix, params=params
        )
        self.pages.setdefault(unit.name, (unit, []))[1].append(page)

    def finish(self) -> None:
        results = tuple(
            UnitResult(unit, "ok", tuple(pages)) for _, (unit, pages) in sorted(self.pages.items())
        )
        self.landing.write_run(
            Run(
                TYPES_AS_OF.strftime("%Y%m%dT%H%M%S.%fZ"),
                "aws",
                "sample",
                TYPES_AS_OF,
                "sample",
                results,
            )
        )


def sku(*parts: str) -> str:
    """A stand-in for an unknown SKU: SAMPLE and ten letters that are always the same for the same thing."""
    return "SAMPLE" + hashlib.sha256("/".join(parts).encode()).hexdigest()[:10].upper()


def price_list(rows: list[dict[str, str]], offer: str, published: datetime) -> bytes:
    """A price list file: lines about the file, the header, a line a price dimension; every field that is not empty is quoted."""
    out = io.StringIO()
    about = {
        "FormatVersion": "v1.0",
        "Disclaimer": "Sample of the hwprices project",
        "Publication Date": published.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    for name, value in {
        **about,
        "Version": published.strftime("%Y%m%d%H%M%S"),
        "OfferCode": offer,
    }.items():
        out.write(f'"{name}","{value}"\n')
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(HEADER)
    writer = csv.DictWriter(
        out,
        HEADER,
        quoting=csv.QUOTE_NOTNULL if hasattr(csv, "QUOTE_NOTNULL") else csv.QUOTE_ALL,
        lineterminator="\n",
        restval="",
    )
    writer.writerows(rows)
    return out.getvalue().encode()


def machine(
    name: str, region: str, location: str, attributes: dict[str, str], **more: str
) -> dict[str, str]:
    """The columns that say what is sold."""
    metal = ".metal" in name
    return {
        "Product Family": "Compute Instance (bare metal)" if metal else "Compute Instance",
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
    """The one or two dimensions of a reserved term."""
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
    """The upfront fee behind an all-upfront price that was amortised and rounded: a whole number, if just one rounds to it."""
    hours, half = years * 8760, Decimal("0.0000005")
    low, high = (Decimal(amortised) - half) * hours, (Decimal(amortised) + half) * hours
    whole = [n for n in range(int(low), int(high) + 2) if low <= n <= high]
    return str(whole[0]) if len(whole) == 1 else None


def special_rows(figures: dict[str, Any], attributes: dict[str, str]) -> Iterator[dict[str, str]]:
    """Every platform of one type, on demand and reserved without upfront or all upfront.

    Partial upfront is left out: the figures are hourly rate and fee in one number, from which neither can be told.
    """
    name, region = figures["instance_type"], figures["region"]
    for key, (tenancy, system, software, operation) in PLATFORMS.items():
        product = machine(name, region, "US East (N. Virginia)", attributes)
        product |= {
            "Tenancy": tenancy,
            "Operating System": system,
            "Pre Installed S/W": software,
            "operation": operation,
        }
        code = sku(region, name, tenancy, system, software)
        prices = figures["pricing"][key]
        yield on_demand(product, code, prices["ondemand"])
        for term in TERM_CODES:
            lease, offering_class, payment = term
            amortised = prices.get("reserved", {}).get(
                f"yrTerm{lease[0]}{offering_class.title()}.{payment[0].lower()}{payment[1:].replace(' ', '')}"
            )
            if amortised is None:
                continue
            if payment == "No Upfront":
                yield from reserved(product, code, term, amortised, None)
            elif fee := fee_of(amortised, int(lease[0])):
                yield from reserved(product, code, term, "0", fee)


def attributes_of(types: dict[str, Any]) -> dict[str, dict[str, str]]:
    """vCPU and Memory as the price list writes them, from the EC2 API's answers."""
    return {
        name: {
            "vCPU": str(t["VCpuInfo"]["DefaultVCpus"]),
            "Memory": f"{t['MemoryInfo']['SizeInMiB'] / 1024:g} GiB",
        }
        for name, t in types.items()
    }


def recorded_attributes(path: Path, names: set[str]) -> dict[str, dict[str, str]]:
    """Attributes of types that the EC2 API no longer tells of, from a recorded price list."""
    wanted = (
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
    with path.open(newline="") as file:
        lines = list(csv.reader(file))
    header = next(line for line in lines if line[:1] == ["SKU"])
    rows = [
        dict(zip(header, line, strict=False)) for line in lines if len(line) > 10 and line != header
    ]
    return {
        row["Instance Type"]: {k: row[k].strip() for k in wanted}
        for row in rows
        if row["Instance Type"] in names
    }


def price_lists(build: Builder, types: dict[str, Any]) -> None:
    attributes = attributes_of(types)
    truth = json.loads(
        (build.shared / "truth/aws_ondemand_us-east-1_2026-07.json").read_text(), parse_float=str
    )["us-east-1"]
    old = build.shared / "recordings/aws/bulk/offers/v1.0/aws/AmazonEC2/current/eu-west-1/index.csv"
    attributes |= recorded_attributes(old, set(truth) - set(attributes))
    figures = json.loads(
        (build.shared / "truth/aws_reserved_x2iedn.32xlarge_us-east-1_2026-07.json").read_text()
    )
    virginia = "US East (N. Virginia)"
    rows = [
        on_demand(
            machine(name, "us-east-1", virginia, attributes.get(name, {})),
            KNOWN_SKUS.get(name) or sku("us-east-1", name, "Shared", "Linux", "NA"),
            price,
        )
        for name, price in sorted(truth.items())
        if name != figures["instance_type"]
    ]
    rows += special_rows(figures, attributes[figures["instance_type"]])
    # Recorded: what a capacity block costs is not in the price list, which shows it at nothing.
    block = machine(
        "p4d.24xlarge",
        "us-east-1",
        virginia,
        attributes["p4d.24xlarge"],
        operation="RunInstances:CB",
        MarketOption="CapacityBlock",
    )
    rows.append(on_demand(block, "YSXJGN78QTXNVGDQ", "0"))
    build.land(
        "prices",
        "us-east-1",
        price_list(rows, "AmazonEC2", PRICES_AS_OF),
        url=PRICE_LIST.format(region="us-east-1"),
        at=PRICES_AS_OF,
        suffix="csv",
    )
    elsewhere = [
        (
            "us-gov-west-1",
            "AWS GovCloud (US-West)",
            "aws_ondemand_us-gov-west-1_2026-07.csv",
            "USD",
            GOV_AS_OF,
            PRICE_LIST,
        ),
        (
            "cn-north-1",
            "China (Beijing)",
            "aws_ondemand_cn-north-1_2024-11.csv",
            "CNY",
            CHINA_AS_OF,
            CHINA_PRICE_LIST,
        ),
    ]
    for region, location, file, currency, at, url in elsewhere:
        with (SOURCES / file).open(newline="") as source:
            found = list(csv.DictReader(source))
        rows = [
            on_demand(
                machine(
                    r["instance_type"], region, location, attributes.get(r["instance_type"], {})
                ),
                sku(region, r["instance_type"]),
                r["hourly"],
                currency,
            )
            for r in found
        ]
        build.land(
            "prices",
            region,
            price_list(rows, "AmazonEC2", at),
            url=url.format(region=region),
            at=at,
            suffix="csv",
        )


def answers(
    operation: str, region: str, calls: list[dict[str, Any]], types: dict[str, Any] | None = None
) -> list[bytes]:
    """Bodies in EC2's own XML, made by moto, which ships recorded answers; the random request id is taken out."""
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
    def url(region: str) -> str:
        return f"https://ec2.{region}.amazonaws.com/"

    offered, anywhere = offers()
    by_region: dict[str, list[str]] = {}
    for name in sorted(types):
        by_region.setdefault(
            "us-east-1" if name in offered else anywhere.get(name, "us-east-1"), []
        ).append(name)
    for region, names in sorted(by_region.items()):
        calls = [
            {"InstanceTypes": names[i : i + 100]} for i in range(0, len(names), 100)
        ]  # 100 is the API's largest page
        for body in answers("describe_instance_types", region, calls):
            build.land(
                "instance_types",
                region,
                body,
                url=url(region),
                at=TYPES_AS_OF,
                suffix="xml",
                Action="DescribeInstanceTypes",
            )
    for body in answers(
        "describe_instance_types", "us-east-1", [{"InstanceTypes": sorted(old)}], old
    ):
        build.land(
            "instance_types",
            "us-east-1",
            body,
            url=url("us-east-1"),
            at=OLD_TYPES_AS_OF,
            suffix="xml",
            Action="DescribeInstanceTypes",
        )
    east = "us-east-1"
    for kind, operation, action, parameters in [
        (
            "offerings",
            "describe_instance_type_offerings",
            "DescribeInstanceTypeOfferings",
            {"LocationType": "availability-zone"},
        ),
        ("zones", "describe_availability_zones", "DescribeAvailabilityZones", {}),
        ("regions", "describe_regions", "DescribeRegions", {"AllRegions": True}),
    ]:
        where = "global" if kind == "regions" else east
        for body in answers(operation, east, [parameters]):
            build.land(
                kind, where, body, url=url(east), at=TYPES_AS_OF, suffix="xml", Action=action
            )


def offers() -> tuple[set[str], dict[str, str]]:
    """Types offered in us-east-1, and for every type the first region that offers it."""
    import moto

    folder = Path(moto.__file__).parent / "ec2/resources/instance_type_offerings/region"
    by_region = {
        f.name.split(".")[0]: {
            o["InstanceType"] for o in json.loads(gzip.decompress(f.read_bytes()))
        }
        for f in sorted(folder.glob("*.json.gz"))
    }
    anywhere: dict[str, str] = {}
    for region, names in by_region.items():
        for name in names:
            anywhere.setdefault(name, region)
    return by_region["us-east-1"], anywhere


def spot_pages(build: Builder) -> None:
    recorded = json.loads(
        (build.shared / "recordings/aws/sdk/describe_spot_price_history_m5.large.json").read_text()
    )["SpotPriceHistory"]
    order = ("AvailabilityZone", "InstanceType", "ProductDescription", "SpotPrice", "Timestamp")
    quotes = "".join(
        "<item>"
        + "".join(f"<{k[0].lower()}{k[1:]}>{escape(q[k])}</{k[0].lower()}{k[1:]}>" for k in order)
        + "</item>\n"
        for q in recorded
    )
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<DescribeSpotPriceHistoryResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">\n'
        f"<requestId>SAMPLE</requestId>\n<spotPriceHistorySet>\n{quotes}</spotPriceHistorySet>\n<nextToken/>\n</DescribeSpotPriceHistoryResponse>\n"
    )
    build.land(
        "spot",
        "us-east-1",
        body.encode(),
        url="https://ec2.us-east-1.amazonaws.com/",
        at=SPOT_AS_OF,
        suffix="xml",
        Action="DescribeSpotPriceHistory",
    )
    advisor = gzip.decompress(
        (build.shared / "recordings/aws/spot-advisor-data.json.gz").read_bytes()
    )
    url = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
    build.land("spot_advisor", "global", advisor, url=url, at=ADVISOR_AS_OF, suffix="json")


def main(shared: Path) -> None:
    import moto

    shutil.rmtree(SAMPLE / "aws", ignore_errors=True)
    build = Builder(shared)
    types = json.loads(
        gzip.decompress(
            (Path(moto.__file__).parent / "ec2/resources/instance_types.json.gz").read_bytes()
        )
    )
    old = json.loads((SOURCES / "aws_instance_types_2024-11.json").read_text())
    price_lists(build, {**old, **types})
    ec2_pages(build, types, old)
    spot_pages(build)
    build.finish()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
