"""Write the sample of Voltage Park: ``python -m tools.sample.voltagepark``.

Both lists as received.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.voltagepark import LOCATIONS, PATHS, PRESETS

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 25, tzinfo=UTC)
URL = "https://cloud-api.voltagepark.com/api/v1"

FILES = {
    PRESETS: "voltagepark_presets_2026-08.json",
    LOCATIONS: "voltagepark_locations_2026-08.json",
}


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    results = []
    for kind, file in FILES.items():
        unit, url = Unit("voltagepark", kind), f"{URL}/{PATHS[kind]}"
        content = (SOURCES / file).read_bytes()
        page = landing.land_bytes(unit, content, url=url, retrieved_at=SEEN_AT)
        results.append(UnitResult(unit, "ok", (page,)))
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "voltagepark", "sample", SEEN_AT, "sample", tuple(results))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
