"""Hold the Linux on-demand prices of the sample against another collector's, and say who is right where they differ.

``python tests/azure/azure_crosscheck.py ../shared`` writes docs/azure-crosscheck.md; a test checks that it is up to date. The
judge is neither of the two: it is the list of meters that both were made from, where a size's Linux meter, its Windows meter and
its Cloud Services meter stand side by side.
"""

import gzip
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get

PROJECT = Path(__file__).resolve().parents[1]
REPORT = PROJECT / "docs" / "azure-crosscheck.md"
REGIONS = ["francecentral", "westeurope"]


@dataclass(frozen=True)
class Difference:
    region: str
    size: str
    ours: Decimal
    theirs: Decimal
    verdict: str


def squeeze(name: str) -> str:
    plain = re.sub("[^a-z0-9]", "", name.lower()).removeprefix("standard")
    return plain.replace(
        "rtxpro6000bsev6", "rtx6kv6"
    )  # one size, two names: see data/sample/README.md


def load(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)


def ours() -> dict[tuple[str, str], Decimal]:
    """(region, size) → Linux on-demand price, from the sample."""
    landing = Landing(str(PROJECT / "data" / "sample"))
    run = landing.latest_run("azure")
    assert run is not None
    (part,) = [p for p in get("azure").normalise(Pages(run, landing)) if p.table == "prices"]
    rows = (
        part.frame.lazy().collect().filter(os="linux", purchase_option="on_demand", currency="USD")
    )
    return {(r, s): p for r, s, p in rows.select("region", "instance_type", "hourly").iter_rows()}


def compare(research: Path) -> tuple[list[Difference], Counter[str]]:
    """Differences with a verdict, and counts of what agrees or is on one side only."""
    theirs = load(research / "truth" / "azure_ondemand_by_region_2026-06.json.gz")
    mine = ours()
    differences, counts = [], Counter[str]()
    for region in REGIONS:
        meters = list(
            load(research / "recordings" / "azure" / "radar" / f"vm-{region}.json.gz").values()
        )
        for size, price in theirs[region].items():
            own = mine.get((region, size))
            if own is None:
                counts["only theirs, promo" if size.endswith("_Promo") else "only theirs"] += 1
            elif own == price:
                counts["equal"] += 1
            else:
                differences.append(
                    Difference(
                        region,
                        size,
                        own,
                        Decimal(price),
                        verdict(size, own, Decimal(price), meters),
                    )
                )
        counts["only ours"] += sum(
            1 for r, size in mine if r == region and size not in theirs[region]
        )
    return differences, counts


def verdict(size: str, own: Decimal, other: Decimal, meters: list[dict[str, Any]]) -> str:
    """Which meters of the size bear the two prices."""
    same = [m for m in meters if squeeze(m["skuName"]) == squeeze(size)]
    named = [(m["productName"], Decimal(m["retailPrice"])) for m in same]
    linux = {
        price
        for product, price in named
        if not re.search("Windows|Win$|Cloud ?Services|promo", product)
    }
    windows = {price for product, price in named if re.search("Windows|Win$", product)}
    cloud = {price for product, price in named if re.search("Cloud ?Services", product)}
    assert linux == {own}, f"{size}: {own} is not the Linux meter of {named}"
    if other in cloud:
        return "theirs is the Cloud Services meter's"
    return (
        "theirs is the Windows meter's"
        if other in windows
        else "no meter has theirs: the price changed between June and August"
    )


def render(differences: list[Difference], counts: Counter[str]) -> str:
    verdicts = Counter(d.verdict for d in differences)
    common = counts["equal"] + len(differences)
    wrong = sum(n for words, n in verdicts.items() if words.startswith("theirs is"))
    lines = [
        "# Azure prices held against another collector's",
        "",
        "Linux on demand, francecentral and westeurope: the sample (meters of 2026-08-20) against a public catalogue of 2026-06.",
        "Where the two differ, the judge is the list of meters itself, where a size's Linux, Windows and Cloud Services meters stand side by",
        "side. Written by `tests/azure/azure_crosscheck.py`; do not edit.",
        "",
        f"Of {common:,} prices that both have, {counts['equal']:,} are equal and {len(differences)} differ. In {wrong} ({wrong / common:.1%}) theirs is the price of a",
        "machine with a Windows licence. In none is ours another than the Linux meter's.",
        "",
        "| | prices |",
        "|---|---:|",
        f"| equal | {counts['equal']:,} |",
        *(f"| {words} | {n} |" for words, n in sorted(verdicts.items())),
        f"| only theirs: sizes named Promo, which are not published here | {counts['only theirs, promo']} |",
        f"| only theirs: others | {counts['only theirs']} |",
        f"| only ours | {counts['only ours']} |",
        "",
        "| region | size | ours | theirs | |",
        "|---|---|---:|---:|---|",
        *(
            f"| {d.region} | {d.size} | {d.ours.normalize():f} | {d.theirs} | {d.verdict} |"
            for d in sorted(differences, key=lambda d: (d.verdict, d.region, d.size))
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    REPORT.write_text(render(*compare(Path(sys.argv[1]))), encoding="utf-8")
