"""Write the sample of Vast.ai: ``python -m tools.sample.vast``.

One answer for each GPU and number of GPUs, of offers that others recorded, cheapest first, without
what names a host (sources/vast_offers_2026-08.csv).
"""

import csv
import json
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.vast import OFFERS

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 22, tzinfo=UTC)
URL = "https://console.vast.ai/api/v0/bundles/"


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    answers: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    with (SOURCES / "vast_offers_2026-08.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            answers[row["gpu_name"], row["num_gpus"]].append(
                row
                | {name: int(row[name]) for name in ("id", "num_gpus", "gpu_ram")}
                | {"dph_base": float(Decimal(row["dph_base"])), "is_bid": False}
            )
    unit, pages = Unit("vast", OFFERS), []
    for offers in answers.values():
        body = (json.dumps({OFFERS: offers}, indent=1) + "\n").encode()
        pages.append(landing.land_bytes(unit, body, url=URL, retrieved_at=SEEN_AT))
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "vast", "sample", SEEN_AT, "sample", (UnitResult(unit, "ok", tuple(pages)),))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
