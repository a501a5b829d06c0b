"""What AWS bills beside machines: disks, gateways, addresses and data transfer."""

import csv
from decimal import Decimal

import pytest
from tests.helpers.aws_pages import ON_DEMAND, LandedPages, line, price_list
from tests.helpers.cases import cases
from tools.sample.aws import PARTS_FILE, SOURCES

with (SOURCES / PARTS_FILE).open(newline="") as file:
    PARTS = list(csv.DictReader(file))
"""Lines of us-east-1 as the lists have them, and what each becomes. SKUs, rates and
units: AWS's lists AmazonEC2, AWSDataTransfer and AmazonVPC of 2026-08-31; codes of tiers: a bill of
2024-09.
"""

TRANSFER_HEADER = [
    *("SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate"),
    *("StartingRange", "EndingRange", "Unit", "PricePerUnit", "Currency", "Product Family"),
    *("serviceCode", "Transfer Type", "From Location", "From Location Type", "To Location"),
    *("To Location Type", "usageType", "operation", "From Region Code", "serviceName"),
    "To Region Code",
]


def part(row: dict[str, str], **columns: str) -> dict[str, str]:
    """Make the line of a price list."""
    sku = columns.get("SKU", row["sku"])
    return line(
        row["price"],
        **{
            "SKU": sku,
            "RateCode": f"{sku}.{ON_DEMAND}.{row['rate']}",
            "Product Family": row["family"],
            "Instance Type": "",
            "usageType": row["usage_type"],
            "operation": row["operation"],
            "Unit": row["unit"],
            "StartingRange": row["from"],
            "EndingRange": row["to"],
            **columns,
        },
    )


@pytest.fixture
def landed(tmp_path):
    pages = LandedPages(tmp_path)
    for kind in ("prices", "public_ips", "data_transfer"):
        lines = [part(row) for row in PARTS if row["list"] == kind]
        header = {"header": TRANSFER_HEADER} if kind == "data_transfer" else {}
        pages.add(kind, "us-east-1", price_list(lines, **header))
    return pages


def test_each_line_is_a_row_with_its_rate_code_and_tier(landed):
    found = {row["sku_price_id"]: row for row in landed.table("component_prices").to_dicts()}
    assert landed.counts() == {}
    assert landed.refused().height == 0
    hours = {"hour": 1, "month": 730}
    for row in PARTS:
        given = found.pop(f"{row['sku']}.{ON_DEMAND}.{row['rate']}")
        price = Decimal(row["price"])
        hourly = price / hours[row["per"]] if row["per"] in hours else None
        expected = {
            "region": "us-east-1",
            "component": row["component"],
            "unit": row["our_unit"],
            "per": row["per"],
            "price": price,
            "hourly": hourly and round(hourly, 10),
            "tier_from": Decimal(row["from"]),
            "tier_to": None if row["to"] == "Inf" else Decimal(row["to"]),
            "sku_id": row["sku"],
        }
        assert {name: given[name] for name in expected} == expected
    assert not found


@cases("aws/parts")
def test_the_name_of_a_part_is_the_same_in_every_region(tmp_path, usage_type, component):
    body = price_list([part({**PARTS[0], "operation": "", "usage_type": usage_type})])
    pages = LandedPages(tmp_path).add("prices", "us-east-1", body)
    assert pages.table("component_prices")["component"].to_list() == [component]


def test_a_line_that_is_no_price_is_refused_with_its_reason(tmp_path):
    broken = [
        part({**PARTS[0], "price": "-1"}, SKU="A"),
        part({**PARTS[0], "usage_type": ""}, SKU="B"),
        part(PARTS[0], SKU="C", TermType="Reserved"),
        part(PARTS[0], SKU="D", Currency=""),
    ]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(broken))
    assert pages.unchecked("component_prices").height == 0
    assert sorted(pages.refused()["reason"]) == [
        *("no_currency", "unknown_product", "unknown_term", "unreadable_price")
    ]


def test_a_price_in_two_lists_is_one_row(tmp_path):
    lists = {kind: price_list([part(row) for row in PARTS]) for kind in ("prices", "public_ips")}
    pages = LandedPages(tmp_path)
    for kind, body in lists.items():
        pages.add(kind, "us-east-1", body)
    assert pages.table("component_prices").height == len(PARTS)


def test_a_line_of_another_list_is_a_row_or_is_counted(tmp_path):
    names = {"Product Family": "ML Instance", "Instance Type": "ml.m5.xlarge-Hosting"}
    hosting = {**PARTS[0], "usage_type": "USE1-Host:ml.m5.xlarge", "operation": "RunInstance"}
    pages = LandedPages(tmp_path)
    lines = []
    for region in ("us-east-1", "eu-west-1"):
        where = {"Region Code": region}
        pages.add("prices", region, price_list([line(**where)]))
        lines.append(part(hosting, **names, **where))
    pages.add("sagemaker", "us-east-1", price_list(lines))
    rows = pages.table("component_prices").select("region", "service", "component").rows()
    assert rows == [("us-east-1", "AmazonSageMaker", "usage:Host:ml.m5.xlarge/RunInstance")]
    assert pages.counts() == {"out_of_scope:region=another_file": 1}
