"""Write the sample of Vultr: ``python -m tools.sample.vultr``.

Pages in the form of the API's answers, of single plans that others recorded or published.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.vultr import FIRST_PAGE, METAL, PATHS, PLANS, REGIONS

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
URL = "https://api.vultr.com/v2"
SEEN_AT = datetime(2026, 9, 17, tzinfo=UTC)

PAGES = {
    PLANS: {"vultr_plans_2026-08.json": datetime(2026, 8, 22, tzinfo=UTC)},
    METAL: {
        "vultr_plans_metal_2025-01.json": datetime(2025, 1, 8, tzinfo=UTC),
        "vultr_plans_metal_2026-09.json": SEEN_AT,
    },
    REGIONS: {"vultr_regions_2022.json": datetime(2022, 12, 31, tzinfo=UTC)},
}


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    results = []
    for kind, files in PAGES.items():
        unit, url = Unit("vultr", kind), f"{URL}/{PATHS[kind]}"
        pages = tuple(
            landing.land_bytes(
                unit, (SOURCES / file).read_bytes(), url=url, params=FIRST_PAGE, retrieved_at=day
            )
            for file, day in files.items()
        )
        results.append(UnitResult(unit, "ok", pages))
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "vultr", "sample", SEEN_AT, "sample", tuple(results))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
