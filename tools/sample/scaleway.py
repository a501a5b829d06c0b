"""Write the sample of Scaleway: ``python -m tools.sample.scaleway``.

Both pages of one zone as they came, with 21 of their 136 machine types.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.scaleway.fetch import SERVERS

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
SEEN_AT = datetime(2026, 8, 22, tzinfo=UTC)
ZONE = "fr-par-2"
URL = f"https://api.scaleway.com/instance/v1/zones/{ZONE}/products/servers"


def write(landing: Landing) -> Run:
    """Land the pages and write the manifest of the run."""
    unit = Unit("scaleway", SERVERS, ZONE)
    pages = [
        landing.land_bytes(
            unit,
            (SOURCES / f"scaleway_servers_{number}_2026-08.json").read_bytes(),
            url=URL,
            params={"per_page": "100", "page": str(number)},
            retrieved_at=SEEN_AT,
        )
        for number in (1, 2)
    ]
    run_id = SEEN_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    result = UnitResult(unit, "ok", tuple(pages))
    run = Run(run_id, "scaleway", "sample", SEEN_AT, "sample", (result,))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
