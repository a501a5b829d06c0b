"""Write the sample of RunPod: ``python -m tools.sample.runpod``.

Two pages in the form of the API's answer: one as it came, and one with prices that others collected
(sources/runpod_prices_2026-08.csv). A price that they do not have is absent from the page.
"""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.runpod import GPU_TYPES

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 22, tzinfo=UTC)
URL = "https://api.runpod.io/graphql"


def write(landing: Landing) -> Run:
    """Land both pages and write the manifest of the run."""
    unit = Unit("runpod", GPU_TYPES)
    bodies = [(SOURCES / "runpod_gputypes_2026-08.json").read_bytes(), collected()]
    pages = [landing.land_bytes(unit, body, url=URL, retrieved_at=SEEN_AT) for body in bodies]
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    result = UnitResult(unit, "ok", tuple(pages))
    run = Run(run_id, "runpod", "sample", SEEN_AT, "sample", (result,))
    landing.write_run(run)
    return run


def collected() -> bytes:
    """Write the collected prices as the API does."""
    with (SOURCES / "runpod_prices_2026-08.csv").open(newline="", encoding="utf-8") as file:
        rows = [_gpu_type(row) for row in csv.DictReader(file)]
    return (json.dumps({"data": {"gpuTypes": rows}}, indent=1) + "\n").encode()


def _gpu_type(row: dict[str, str]) -> dict[str, str | int | float]:
    prices = {name: float(row[name]) for name in ("securePrice", "communityPrice") if row[name]}
    names = {"id": row["id"], "displayName": row["displayName"]}
    return {**names, "memoryInGb": int(row["memoryInGb"]), **prices}


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
