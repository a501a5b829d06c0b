"""What is billed beside machines is matched to the lists of AWS and Google, line by line."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.conftest import SHARED
from tests.helpers.aws_pages import ON_DEMAND, LandedPages, line, price_list
from tests.helpers.gcp_pages import machine_type, normalise_skus, sku
from tests.providers.aws.prices.test_parts import PARTS, part

import hwprices
from hwprices.read.bill import Bill
from hwprices.read.dataset import Dataset
from hwprices.read.overlays.rules import parse

RECORDED = Path(__file__).parents[2] / "recordings" / "bills" / "focus_bill.csv"
WHOLE = SHARED / "bills" / "focus_1.0_aws_oci_a.csv"

UNITS = {
    "GB-Months": "GB-Mo",
    "Hours": "Hrs",
    "IOPS-Months": "IOPS-Mo",
    "GiB/Second-Months": "GiBps-mo",
}
"""PricingUnit of FOCUS → the unit in AWS's list."""


class WithParts(Dataset):
    """The sample with other component_prices."""

    parts: pl.DataFrame

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table."""
        return self.parts.lazy() if table == "component_prices" else super().scan(table)


def bill_of(path: Path, parts: pl.DataFrame) -> Bill:
    sample = hwprices.open("sample")
    dataset = WithParts(sample.store, sample.version)
    dataset.parts = parts
    return dataset.bill(path)


def aws_parts(folder: Path, path: Path) -> pl.DataFrame:
    """Return what AWS's lists become that have every rate code of a bill.

    The lines of rate codes that are not recorded are written as the list writes them, at the price
    that the bill states.
    """
    lists: dict[str, list[dict[str, str]]] = {"us-east-1": [part(row) for row in PARTS]}
    known = {f"{row['sku']}.{ON_DEMAND}.{row['rate']}" for row in PARTS}
    bill = pl.read_csv(path, infer_schema=False).filter(
        pl.col("ServiceName").str.contains("Elastic Compute Cloud|Virtual Private Cloud"),
        ~pl.col("ChargeDescription").str.contains("Instance Hour"),
        ~pl.col("SkuPriceId").is_in(known),
        ChargeCategory="Usage",
    )
    for row in bill.unique("SkuPriceId", maintain_order=True).iter_rows(named=True):
        names = {
            "SKU": row["SkuId"],
            "RateCode": row["SkuPriceId"],
            "OfferTermCode": row["SkuPriceId"].split(".")[1],
            "Product Family": "",
            "Instance Type": "",
            "usageType": row["SkuId"],
            "operation": "",
            "Unit": UNITS.get(row["PricingUnit"], row["PricingUnit"]),
            "StartingRange": "0",
            "EndingRange": "Inf",
            "Region Code": row["RegionId"],
        }
        lists.setdefault(row["RegionId"], []).append(line(row["ListUnitPrice"], **names))
    pages = LandedPages(folder)
    for region, lines in lists.items():
        pages.add("prices", region, price_list([line(), *lines]))
    return pages.unchecked("component_prices")


@pytest.mark.parametrize(
    ("path", "equal", "ec2_lines"),
    [(RECORDED, 10, (21, 25)), pytest.param(WHOLE, 349, (287, 291), marks=pytest.mark.shared)],
    ids=["recorded", "whole"],
)
def test_lists_with_every_rate_code_leave_no_kind_of_line(path, equal, ec2_lines, tmp_path) -> None:
    """What is left of EC2 are machine hours in regions that the sample lacks."""
    found = bill_of(path, aws_parts(tmp_path, path)).check(nearest=True)

    lines = found.lines.with_columns(pl.col("class").cast(str)).collect()
    by_id = lines.filter(matched_by="rate or meter id")
    assert dict(by_id.group_by("class").len().rows()) == {"equal": equal}
    ec2 = lines.filter(pl.col("service").str.contains("Elastic Compute"), category="usage")
    left = ec2.filter(pl.col("class") == "not_collected")
    assert (ec2.height - left.height, ec2.height) == ec2_lines
    assert left["type"].null_count() == 0
    assert "us-east-1" not in left["region"]


def test_google_disks_are_matched_by_sku_and_tier(tmp_path: Path) -> None:
    """In Iowa 30 GiB of standard disk are free; the snapshot is billed at another price than list.

    A SKU with tiers is not matched by a line that does not state its tier.
    """
    free = sku("Storage PD Capacity", "0.04", group="PDStandard", family="Storage", unit="GiBy.mo")
    (price,) = free["pricingInfo"]
    paid = price["pricingExpression"]["tieredRates"][0]
    none = {"unitPrice": {"currencyCode": "USD"}}
    tiers = [none, {**paid, "startUsageAmount": 30}]
    price["pricingExpression"]["tieredRates"] = tiers
    snapshot = sku(
        "Storage PD Snapshot in US", "0.065", group="PDSnapshot", family="Storage",
        unit="GiBy.mo", regions=["us"], sku_id="SNAP",
    )  # fmt: skip
    address = sku("Static Ip Charge", "0.01", group="IpAddress", family="Network", sku_id="IP")
    local = sku("SSD backed Local Storage", "0.08", unit="GiBy.mo", sku_id="LSSD")
    types = {"us-central1-a": [machine_type("n2-standard-2", 2, 8192)]}
    tables = normalise_skus(tmp_path, [free, snapshot, address, local], types)
    disk = free["skuId"]
    cases = [
        (disk, "gibibyte month", 30, 0, "0", "equal"),
        (disk, "gibibyte month", 10, 30, "0.4", "equal"),
        (disk, "gibibyte month", 10, 30, "0.5", "differs"),
        (disk, "gibibyte month", 10, None, "0.4", "not_collected"),
        ("SNAP", "gibibyte month", 100, 0, "6.5", "equal"),
        ("SNAP", "gibibyte month", 100, 0, "5.2", "discounted"),
        ("IP", "hour", 24, 0, "0.24", "equal"),
        ("LSSD", "gibibyte month", 375, 0, "30", "equal"),
        ("NEW", "gibibyte month", 1, 0, "1", "not_collected"),
    ]
    path = tmp_path / "bill.jsonl"
    path.write_text("".join(
        json.dumps({
            "cost_type": "regular",
            "usage_start_time": "2026-08-01 05:00:00 UTC",
            "usage_end_time": "2026-08-01 06:00:00 UTC",
            "cost": billed,
            "currency": "USD",
            "service": {"id": "6F81", "description": "Compute Engine"},
            "sku": {"id": name, "description": ""},
            "location": {"region": None if name == "SNAP" else "us-central1"},
            "usage": {"amount_in_pricing_units": quantity, "pricing_unit": unit},
            "price": {"tier_start_amount": tier},
        }) + "\n"
        for name, unit, quantity, tier, billed, _ in cases
    ))  # fmt: skip

    bill = bill_of(path, tables.table("component_prices"))
    found = bill.check()

    lines = found.lines.sort("line").collect()
    assert lines["class"].cast(str).to_list() == [expected for *_, expected in cases]
    assert set(lines["matched_by"].drop_nulls()) == {"SKU"}
    assert lines["price"][1] == Decimal("0.04")
    assert "per gib and month" in found.proofs["citation"][0]

    ruled = bill.check(overlays=parse("- {match: {provider: gcp}, discount: 20%}"))
    snapshots = ruled.lines.sort("line").filter(sku="SNAP").collect()["class"].to_list()
    assert snapshots == ["differs_from_contract", "as_contracted"]
