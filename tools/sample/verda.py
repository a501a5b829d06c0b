"""Write the sample of Verda: ``python -m tools.sample.verda``.

One page in the form of the API's answer, of prices that others collected
(sources/verda_prices_2026-08.csv). A figure that they do not have is absent from the page.
"""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.verda import TYPES

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 22, tzinfo=UTC)
URL = "https://api.verda.com/v1/instance-types"


def write(landing: Landing) -> Run:
    """Land the page and write the manifest of the run."""
    unit = Unit("verda", TYPES)
    page = landing.land_bytes(unit, collected(), url=URL, retrieved_at=SEEN_AT)
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "verda", "sample", SEEN_AT, "sample", (UnitResult(unit, "ok", (page,)),))
    landing.write_run(run)
    return run


def collected() -> bytes:
    """Write the collected prices as the API does."""
    with (SOURCES / "verda_prices_2026-08.csv").open(newline="", encoding="utf-8") as file:
        rows = [_type(row) for row in csv.DictReader(file)]
    return (json.dumps(rows, indent=1) + "\n").encode()


def _type(row: dict[str, str]) -> dict[str, Any]:
    memory = {"memory": {"size_in_gigabytes": int(row["memory_gb"])}} if row["memory_gb"] else {}
    return {
        "instance_type": row["instance_type"],
        "model": row["model"],
        "name": row["name"],
        "cpu": {"number_of_cores": int(row["vcpus"])},
        **memory,
        "gpu": {"number_of_gpus": int(row["gpus"])},
        "gpu_memory": {"size_in_gigabytes": int(row["gpu_memory_gb"])},
        "currency": "usd",
        "price_per_hour": row["price_per_hour"],
        "spot_price": row["spot_price"],
    }


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
