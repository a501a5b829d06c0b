"""Add licenses to the prices of machines.

The figures of tests/cases/azure/licenses.csv are those of Retail Prices as flexera-public/
policy_templates keeps them (MIT, data/azure/azure_linux_license_pricing.json, and
azure_sql_license_pricing.json, which has SQL Server by vCPU: other sizes are multiples of it).
Windows Server is from a published answer. Windows Server Burst is not recorded anywhere: its figure
is made up, and so are the ids.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from tests.helpers.azure_pages import Landed, frame, item, license_item, refused, sku
from tests.helpers.cases import cases, rows

OPTIONS = ("on_demand", "reserved")


FEES = [license_item(r["product"], r["meter"], float(r["hourly"])) for r in rows("azure/licenses")]


def machine(size: str, windows: bool = True) -> list[dict[str, Any]]:
    """Make the items of a size: 1 USD on demand, 2 USD with Windows, 0.5 USD reserved for a year.

    A product's name tells the system; that of a size is not read.
    """
    of_size = {"armSkuName": size, "skuName": size, "meterName": size}
    linux = item(1.0, meterId=f"{size}l", skuId=f"{size}/l", **of_size)
    reserved = linux | {"type": "Reservation", "reservationTerm": "1 Year", "retailPrice": 4380.0}
    with_windows = linux | {
        "productName": "Virtual Machines DSv3 Series Windows",
        "retailPrice": 2.0,
        "meterId": f"{size}w",
        "skuId": f"{size}/w",
    }
    return [linux, reserved, *([with_windows] if windows else [])]


def land(
    folder: Path, items: list[dict[str, Any]], fees: list[dict[str, Any]], *skus: dict[str, Any]
) -> Landed:
    landed = Landed(folder).skus(*skus).retail(fees, "licenses_usd", "global")
    for kind in ("Consumption", "Reservation"):
        listed = [listed for listed in items if listed["type"] == kind]
        landed.retail(listed, f"retail_{kind.lower()}_usd")
    return landed


SIZES = {
    "Standard_D2s_v3": {},
    "Standard_D8s_v3": {"vCPUs": "8", "vCPUsAvailable": "8"},
    "Standard_E96-4s_v6": {"vCPUs": "96", "vCPUsAvailable": "4"},
    "Standard_B2s": {},
    "Standard_D8ps_v6": {"vCPUs": "8", "vCPUsAvailable": "8", "CpuArchitectureType": "Arm64"},
    "Standard_D52s_v3": {"vCPUs": "52", "vCPUsAvailable": "52"},
}


def test_each_size_pays_the_licenses_of_its_vcpus(tmp_path: Path) -> None:
    items = [i for size in SIZES for i in machine(size, windows="ps_" not in size)]
    skus = [sku(size, **facts) for size, facts in SIZES.items()]
    parts = land(tmp_path, items, FEES, *skus).parts()
    prices = frame(parts["prices"])
    composed = prices.filter(basis="composed")
    without = {"on_demand": {"windows": 2, "": 1}, "reserved": {"": Decimal("0.5")}}
    fees = {
        (row["instance_type"], row["os"], row["software"], row["purchase_option"]): row["hourly"]
        - without[row["purchase_option"]].get(row["os"], without[row["purchase_option"]][""])
        for row in composed.iter_rows(named=True)
    }
    for row in rows("azure/license_fees"):
        for option in OPTIONS:
            found = fees.get((row["size"], row["os"], row["software"], option))
            assert found == (Decimal(row[option]) if row[option] else None), (row, option)
    sums = (
        frame(parts["price_components"])
        .group_by("price_id")
        .agg(total=(pl.col("quantity") * pl.col("unit_price")).sum())
    )
    joined = composed.join(sums, on="price_id", how="full")
    assert joined.filter(pl.col("hourly").ne_missing(pl.col("total"))).is_empty()
    assert set(composed["payment_option"]) == {"none", "monthly"}
    own = prices.filter(license_model="byol", instance_type="Standard_D8s_v3", term_months=0)
    assert dict(own.select("os", "hourly").rows()) == dict.fromkeys(("windows", "rhel", "sles"), 1)


@cases("azure/license_lines", hourly=yaml.safe_load, members=yaml.safe_load)
def test_other_lines_are_counted_or_refused(tmp_path, product, meter, hourly, members, outcome):
    given = license_item(product, meter, hourly, **members)
    landed = land(tmp_path, machine("Standard_D4s_v3"), [given], sku("Standard_D4s_v3", vCPUs="4"))
    part = landed.parts()["price_components"]
    assert [*refused(part), *part.counts] == [outcome]
    assert frame(part).is_empty()


def test_two_prices_of_one_license_are_refused(tmp_path: Path) -> None:
    """Of two meters with one price, the first id is named. A single number goes before a band."""
    rhel = "Red Hat Enterprise Linux"
    fees = [
        license_item(rhel, "2 vCPU VM License", 0.0288, skuId="B"),
        license_item(rhel, "2-vCPU VM License", 0.0288, skuId="A"),
        license_item("SQL Server Web", "1-4 vCPU VM License", 0.032, skuId="C"),
        license_item("SQL Server Web", "1-4 vCPU VM License", 0.033, skuId="D"),
        license_item("SQL Server Standard", "1-4 vCPU VM License", 0.4, skuId="E"),
        license_item("SQL Server Standard", "2-5 vCPU VM License", 0.5, skuId="F"),
        license_item("Ubuntu Pro", "1-4 vCPU VM Support", 0.014, skuId="G"),
        license_item("Ubuntu Pro", "2 vCPU VM Support", 0.007, skuId="H"),
    ]
    parts = land(tmp_path, machine("Standard_D2s_v3"), fees, sku("Standard_D2s_v3")).parts()
    components = frame(parts["price_components"]).filter(component="license")
    assert set(components["sku_id"]) == {"A", "H"}
    assert refused(parts["price_components"]) == ["duplicate_key"] * 4
    assert parts["price_components"].counts == {
        "out_of_scope:same_price_again": 1,
        "out_of_scope:license_of_no_size": 1,  # the band of Ubuntu Pro
    }
