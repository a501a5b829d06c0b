"""Against what was recorded: every price of two regions is its own meter's, nothing is lost, and who is right against others."""

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.azure_pages import Landed, frame, refused
from tools.azure_crosscheck import REPORT, compare, render

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, Part, get
from hwprices.schemas.tables import TABLES
from hwprices.stage import validate

PROJECT = Path(__file__).resolve().parents[3]
SAMPLE = PROJECT / "data" / "sample"
REGIONS = ["francecentral", "westeurope"]


@cache
def sample() -> dict[str, Part]:
    landing = Landing(str(SAMPLE))
    run = landing.latest_run("azure")
    assert run is not None
    return {part.table: part for part in get("azure").normalise(Pages(run, landing))}


@cache
def prices() -> pl.DataFrame:
    return frame(sample()["prices"])


def meters(shared: Path, region: str) -> dict[tuple[str, str], dict[str, Any]]:
    raw = json.loads(
        gzip.decompress((shared / f"recordings/azure/radar/vm-{region}.json.gz").read_bytes()),
        parse_float=Decimal,
    )
    return {tuple(key.split("|")[:2]): meter for key, meter in raw.items()}  # type: ignore[misc]


def source_rows(table: pl.DataFrame) -> pl.DataFrame:
    """One row for each item that became a price: what was derived from it, and its savings plans, are left out."""
    return table.filter(
        (pl.col("basis") == "listed") & (pl.col("purchase_option") != "savings_plan")
    )


@pytest.mark.shared
@pytest.mark.parametrize("region", REGIONS)
def test_each_price_is_that_of_its_own_meter(shared: Path, region: str) -> None:
    """The meter's own words, read by other rules than the project's, agree with the row made from it."""
    known = meters(shared, region)
    rows = source_rows(prices()).filter(
        (pl.col("region") == region)
        & (pl.col("source_url").str.contains("retail"))
        & (pl.col("observed_at").dt.month() == 8)
    )
    for row in rows.iter_rows(named=True):
        meter = known[row["sku_id"], row["sku_price_id"]]
        name, product = meter["skuName"], meter["productName"]
        assert row["hourly"] == Decimal(meter["retailPrice"]), meter
        assert (row["os"] == "windows") == (product.endswith(("Windows", " Win"))), meter
        assert row["purchase_option"] == (
            "spot"
            if name.endswith("Spot")
            else "low_priority"
            if name.endswith("Low Priority")
            else "on_demand"
        ), meter
        assert (row["tenancy"] == "host") == ("Dedicated" in product), meter
        assert "Cloud" not in product
    used = set(rows.select("sku_id", "sku_price_id").iter_rows())
    left = [m for key, m in known.items() if key not in used]
    assert all(
        re.search("Cloud ?Services|promo|L160ias", m["productName"] + m["skuName"], re.IGNORECASE)
        for m in left
    ), left[:5]
    assert len(used) == rows.height == len(known) - len(left)


@pytest.mark.shared
@pytest.mark.parametrize("region", REGIONS)
def test_z2_cloud_services_never_leaks(shared: Path, region: str) -> None:
    """808 such rows in five regions: none of their meters is behind any price, also not of what is derived."""
    cloud = {
        key
        for key, meter in meters(shared, region).items()
        if re.search("Cloud ?Services", meter["productName"])
    }
    assert len(cloud) > 100
    assert not cloud & set(prices().select("sku_id", "sku_price_id").iter_rows())


def test_figures_that_everybody_can_check() -> None:
    def linux(size: str, region: str = "westeurope") -> Decimal:
        (price,) = prices().filter(
            region=region, instance_type=size, os="linux", purchase_option="on_demand"
        )["effective_hourly"]
        return price  # type: ignore[no-any-return]

    assert linux("Standard_E32as_v5") == Decimal("2.192")
    assert linux("Standard_D2s_v3", "eastus") == Decimal(
        "0.096"
    )  # isPrimaryMeterRegion is false on this row
    assert linux("Standard_D2als_v7", "eastus") == Decimal("0.0804")
    (year,) = prices().filter(
        region="eastus",
        instance_type="Standard_D2als_v7",
        payment_option="all_upfront",
        term_months=12,
        os="linux",
    )["effective_hourly"]
    assert year == Decimal("0.0474885845")  # 416 / 8760
    plans = prices().filter(
        region="eastus",
        instance_type="Standard_D2als_v7",
        purchase_option="savings_plan",
        os="linux",
    )
    assert dict(plans.select("term_months", "hourly").iter_rows()) == {
        12: Decimal("0.053868"),
        36: Decimal("0.035376"),
    }


def test_conservation_of_the_sample() -> None:
    """Items in = prices + refused + out of scope."""
    landing = Landing(str(SAMPLE))
    run = landing.latest_run("azure")
    assert run is not None
    items = sum(
        len(landing.read_json(p)["Items"])
        for r in run.results
        if r.unit.kind.startswith("retail_")
        for p in r.pages
    )
    part = sample()["prices"]
    assert items == source_rows(prices()).height + len(refused(part)) + sum(part.counts.values())
    assert Counter(refused(part)) == {"no_size_name": 4}


def test_the_sample_passes_validation() -> None:
    for name, part in sample().items():
        split = validate.split(frame(part), TABLES[name], {})
        assert split.refused.is_empty(), (name, split.refused)
        assert split.good.height


def test_invariants_hold_or_are_flagged() -> None:
    wide = prices().filter(
        (pl.col("tenancy") == "shared")
        & (pl.col("license_model") == "included")
        & pl.col("purchase_option").is_in(["on_demand", "spot"])
    )
    by = wide.pivot(
        ["os", "purchase_option"],
        index=["region", "instance_type"],
        values="hourly",
        aggregate_function="first",
    )
    names = {c: c.strip("{}").replace('"', "").replace(",", "_") for c in by.columns}
    by = by.rename(names)
    dear = by.filter(pl.col("windows_on_demand") < pl.col("linux_on_demand"))
    assert dear.is_empty(), dear
    flagged = prices().filter(
        pl.col("flags").list.contains("spot_equals_on_demand")
        | pl.col("flags").list.contains("spot_above_on_demand")
    )
    above = by.filter(pl.col("linux_spot") >= pl.col("linux_on_demand")).select(
        "region", "instance_type"
    )
    assert set(above.rows()) <= set(flagged.select("region", "instance_type").rows())
    assert not {Decimal(0), Decimal("0.01"), Decimal(700)} & set(
        prices().filter(purchase_option="on_demand")["effective_hourly"]
    )


def test_every_accelerator_has_a_spec_sheet() -> None:
    types = frame(sample()["instance_types"]).filter(pl.col("accelerator_kind") != "none")
    unknown = types.filter(
        pl.col("accelerators")
        .list.eval(pl.element().struct.field("accelerator_id").is_null())
        .list.any()
    )
    assert unknown["instance_type"].to_list() == ["Standard_PB6s"]
    assert types.height > 60


@pytest.mark.shared
def test_recorded_answers_of_retail_prices(shared: Path, tmp_path: Path) -> None:
    """Whole answers as they came: everything in them is a price, or out of scope for a reason."""
    for path in sorted((shared / "recordings/azure/retail").glob("*.json")):
        document = json.loads(path.read_text())
        if "Items" not in document or path.name.startswith("TRUNCATED"):
            continue
        part = (
            Landed(tmp_path / path.stem)
            .add("retail_consumption_usd", "eastus", path.read_bytes())
            .parts()["prices"]
        )
        assert refused(part) == [], path.name
        assert source_rows(frame(part)).height + sum(part.counts.values()) == document["Count"], (
            path.name
        )


@pytest.mark.shared
def test_where_another_collector_differs_it_is_wrong(shared: Path) -> None:
    differences, counts = compare(shared)
    assert counts["equal"] > 2800
    assert {d.verdict for d in differences if not d.verdict.startswith("no meter")} == {
        "theirs is the Cloud Services meter's",
        "theirs is the Windows meter's",
    }
    (e32,) = [d for d in differences if d.size == "Standard_E32as_v5" and d.region == "westeurope"]
    assert (e32.ours, e32.theirs) == (Decimal("2.192"), Decimal("3.664"))
    assert REPORT.read_text(encoding="utf-8") == render(differences, counts), (
        "run python tests/azure/azure_crosscheck.py ../shared"
    )


@pytest.mark.shared
def test_the_sample_is_what_its_script_writes(shared: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "tools.sample.azure", str(shared), "--into", str(tmp_path)],
        check=True,
        capture_output=True,
        cwd=PROJECT,
    )
    made = {
        p.relative_to(tmp_path).as_posix(): p.read_bytes()
        for p in (tmp_path / "azure").rglob("*")
        if p.is_file()
    }
    kept = {
        p.relative_to(SAMPLE).as_posix(): p.read_bytes()
        for p in (SAMPLE / "azure").rglob("*")
        if p.is_file()
    }
    assert made == kept
    assert sum(map(len, kept.values())) < 5_000_000
