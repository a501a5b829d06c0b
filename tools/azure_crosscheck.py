"""Compare the sample's Linux on-demand prices with another collector's, and say who is right.

    python -m tools.azure_crosscheck ../shared

writes docs/azure-crosscheck.md; a test checks that it is up to date. Where the two differ, the list
of meters decides that both were made from: a size has a Linux meter, a Windows meter and often a
Cloud Services meter in it.
"""

import gzip
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import polars as pl

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get

PROJECT = Path(__file__).resolve().parents[1]
REPORT = PROJECT / "docs" / "azure-crosscheck.md"
REGIONS = ["francecentral", "westeurope"]

WINDOWS = "Windows|Win$"
CLOUD_SERVICES = "Cloud ?Services"

Cause = Literal["price_changed", "cloud_services", "windows"]

CAUSES: dict[Cause, str] = {
    "price_changed": "No meter has the other price: it changed between June and August",
    "cloud_services": "The other price is that of the Cloud Services meter",
    "windows": "The other price is that of the Windows meter",
}
"""Why two prices differ, in the report's order."""


@dataclass(frozen=True)
class Difference:
    """One size in one region with two prices."""

    region: str
    size: str
    sample_price: Decimal
    other_price: Decimal
    cause: Cause


@dataclass(frozen=True)
class Comparison:
    """The result: how many prices are equal, those that differ, and those only one side has."""

    equal: int
    differences: list[Difference]
    only_other_promo: int
    only_other: int
    only_sample: int


def squeeze(name: str) -> str:
    """Drop case, punctuation and tier from a size's name; data/sample/README.md has the alias."""
    plain = re.sub("[^a-z0-9]", "", name.lower()).removeprefix("standard")
    return plain.replace("rtxpro6000bsev6", "rtx6kv6")


def read_json(path: Path) -> Any:
    """Read a gzipped JSON file, numbers with a fraction as Decimal."""
    return json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)


def sample_prices() -> dict[tuple[str, str], Decimal]:
    """Read the sample's Linux on-demand prices by (region, size)."""
    landing = Landing(PROJECT / "data" / "sample")
    run = landing.latest_run("azure")
    assert run is not None
    parts = [p for p in get("azure").normalise(Pages(run, landing)) if p.table == "prices"]
    prices = pl.concat(part.frame.lazy() for part in parts).collect()
    linux = prices.filter(os="linux", purchase_option="on_demand", currency="USD")
    rows = linux.select("region", "instance_type", "hourly").iter_rows()
    return {(region, size): price for region, size, price in rows}


def compare(research: Path) -> Comparison:
    """Compare two regions; ``research`` is the folder with truth and recordings/azure."""
    other_prices = read_json(research / "truth" / "azure_ondemand_by_region_2026-06.json.gz")
    sample = sample_prices()
    differences: list[Difference] = []
    equal = 0
    missing: list[str] = []
    for region in REGIONS:
        path = research / "recordings" / "azure" / "radar" / f"vm-{region}.json.gz"
        meters = list(read_json(path).values())
        for size, price in other_prices[region].items():
            ours, other = sample.get((region, size)), Decimal(price)
            if ours is None:
                missing.append(size)
            elif ours == other:
                equal += 1
            else:
                cause = find_cause(size, ours, other, meters)
                differences.append(Difference(region, size, ours, other, cause))
    promo = sum(size.endswith("_Promo") for size in missing)
    only_sample = sum(
        region in REGIONS and size not in other_prices[region] for region, size in sample
    )
    return Comparison(equal, differences, promo, len(missing) - promo, only_sample)


def find_cause(size: str, ours: Decimal, other: Decimal, meters: list[dict[str, Any]]) -> Cause:
    """Say which meter of the size has the other price, and check that the Linux meter has ours."""
    prices: dict[str, set[Decimal]] = {"linux": set(), "windows": set(), "cloud_services": set()}
    for meter in meters:
        product = meter["productName"]
        if squeeze(meter["skuName"]) != squeeze(size) or "promo" in product:
            continue
        if re.search(CLOUD_SERVICES, product):
            prices["cloud_services"].add(Decimal(meter["retailPrice"]))
        elif re.search(WINDOWS, product):
            prices["windows"].add(Decimal(meter["retailPrice"]))
        else:
            prices["linux"].add(Decimal(meter["retailPrice"]))
    assert prices["linux"] == {ours}, f"{size}: {ours} is not the price of its Linux meter"
    if other in prices["cloud_services"]:
        return "cloud_services"
    return "windows" if other in prices["windows"] else "price_changed"


def render(result: Comparison) -> str:
    """Write the report as Markdown."""
    causes = Counter(difference.cause for difference in result.differences)
    common = result.equal + len(result.differences)
    wrong = causes["cloud_services"] + causes["windows"]
    order = list(CAUSES)
    rows = sorted(result.differences, key=lambda d: (order.index(d.cause), d.region, d.size))
    lines = [
        "# Azure prices compared with another collector's",
        "",
        "The sample's Linux on-demand prices in francecentral and westeurope (2026-08-20) are",
        "compared with a public price list of 2026-06. Where the two differ, Azure's list of",
        "meters decides: it has a Linux, a Windows and often a Cloud Services meter for each size.",
        "This page is written by `tools/azure_crosscheck.py`; do not edit it.",
        "",
        f"{common:,} prices are in both lists: {result.equal:,} are equal and"
        f" {len(result.differences)} differ.",
        f"In {wrong} cases ({wrong / common:.1%}) the other list has the price of a machine with a"
        " Windows license.",
        "In every case the sample has the price of the Linux meter.",
        "",
        "| | prices |",
        "|---|---:|",
        f"| Equal | {result.equal:,} |",
        *(f"| {text} | {causes[cause]} |" for cause, text in CAUSES.items()),
        f"| Only in the other list: Promo sizes, not published here | {result.only_other_promo} |",
        f"| Only in the other list: other sizes | {result.only_other} |",
        f"| Only in the sample | {result.only_sample} |",
        "",
        "| region | size | sample | other list | why they differ |",
        "|---|---|---:|---:|---|",
        *(
            f"| {d.region} | {d.size} | {d.sample_price.normalize():f} | {d.other_price}"
            f" | {CAUSES[d.cause]} |"
            for d in rows
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    REPORT.write_text(render(compare(Path(sys.argv[1]))), encoding="utf-8")
