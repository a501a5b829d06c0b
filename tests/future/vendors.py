"""What of each vendor's sample is tried; its words are in ``vendors.yaml``, one row a mutation."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from hwprices.landing.pages import Unit
from tests.future.mutations import Change, Copy, CopyPages, Vendor
from tests.future.pages import Record, World, document_of
from tests.helpers.aws_pages import savings_plans

AWS_TYPES = ("x2iedn.32xlarge", "p4d.24xlarge", "m5.")
AWS_DESCRIBED = ("x2iedn.32xlarge", "p4d.24xlarge", "m5.large")
AWS_REGIONS = ("us-east-1", "us-gov-west-1")

AZURE_SIZES = re.compile(r"(Standard_)?(D\d+s_v[35]|D2als_v7|B1s|Dsv[35]_Type1)")
AZURE_REGIONS = ("eastus", "westeurope", "israelcentral", "qatarcentral")

GCP_TYPES = (
    *("n2-standard-2", "n2-highmem-8", "e2-standard-2", "a2-highgpu-1g", "a2-highgpu-8g"),
    "ct5lp-hightpu-1t",
)
GCP_WORDS = ("N2 ", "A2 ", "A100", "TpuV5e", "Licensing", "E2 ", "SSD backed")
GCP_ZONES = ("zones/us-central1-a", "zones/europe-west4-b")

ORACLE_SHAPES = ("Standard.E4", "Standard3.64", "GPU.A10", "GPU.H100")

SHEETS = "coreweave"
"""The price sheet that stands for all of them."""


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
            document.content["items"] = {name: items[name] for name in GCP_ZONES}


def _oracle(kind: str, record: Record) -> bool:
    if kind == "products":
        return "Compute" in record["serviceCategory"]
    return any(word in record["name"] for word in ORACLE_SHAPES)


KEEP = {"aws": _aws, "azure": _azure, "gcp": _gcp, "oracle": _oracle}
MORE: dict[str, Callable[[World], None]] = {"aws": _aws_savings_plans, "gcp": _gcp_zones}


def _read(name: str, row: dict[str, Any]) -> Vendor:
    own = {"keep": KEEP.get(name), "more": MORE.get(name)}
    row |= {key: function for key, function in own.items() if function}
    for member in {"amounts", "ids", "members"} & row.keys():
        row[member] = tuple(row[member])
    for mutations, kind in (("added", Copy), ("changed", Change)):
        row[mutations] = {
            mutation: [CopyPages(**step) if "kinds" in step else kind(**step) for step in steps]
            for mutation, steps in row.get(mutations, {}).items()
        }
    return Vendor(**row)


VENDORS = {
    name: _read(name, row)
    for name, row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()).items()
}
