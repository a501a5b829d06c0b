"""Write the sample of Linode: ``python -m tools.sample.linode``.

Its three lists as received, for three days.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.linode import AVAILABILITY, PATHS, REGIONS, TYPES

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
URL = "https://api.linode.com/v4beta"

PAGES = {
    TYPES: ("linode_types_2024-07.json", datetime(2024, 7, 11, 18, 32, 53, tzinfo=UTC)),
    REGIONS: ("linode_regions_2026-07.json", datetime(2026, 7, 1, tzinfo=UTC)),
    AVAILABILITY: (
        "linode_availability_2024-07.json",
        datetime(2024, 7, 11, 18, 27, 15, tzinfo=UTC),
    ),
}


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    results = []
    for kind, (file, seen_at) in PAGES.items():
        unit = Unit("linode", kind)
        content = (SOURCES / file).read_bytes()
        url, params = f"{URL}/{PATHS[kind]}", {"page": "1"}
        page = landing.land_bytes(unit, content, url=url, params=params, retrieved_at=seen_at)
        results.append(UnitResult(unit, "ok", (page,)))
    started = PAGES[REGIONS][1]
    run_id = started.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "linode", "sample", started, "sample", tuple(results))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
