"""Write the sample of Scaleway: ``python -m tools.sample.scaleway``.

Both pages of one zone as received, with 21 of their 136 machine types, and the stock of 29.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.scaleway import PATHS, SERVERS, STOCK

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 22, tzinfo=UTC)
SEEN = {SERVERS: SEEN_AT, STOCK: datetime(2026, 8, 25, tzinfo=UTC)}
ZONE = "fr-par-2"
URL = f"https://api.scaleway.com/instance/v1/zones/{ZONE}"


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    results = []
    for kind, seen_at in SEEN.items():
        unit = Unit("scaleway", kind, ZONE)
        pages = tuple(
            landing.land_bytes(
                unit,
                (SOURCES / f"scaleway_{kind}_{number}_2026-08.json").read_bytes(),
                url=f"{URL}/{PATHS[kind]}",
                params={"per_page": "100", "page": str(number)},
                retrieved_at=seen_at,
            )
            for number in (1, 2)
        )
        results.append(UnitResult(unit, "ok", pages))
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "scaleway", "sample", SEEN_AT, "sample", tuple(results))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
