"""Write the sample of Toy Cloud: ``python -m tools.sample.toycloud``.

A sample is a landing directory: pages as the vendor sent them, and the manifest of one run.
"""

from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.toycloud.fetch import INVENTORY, PRICE_LIST

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
RECORDED_AT = datetime(2026, 11, 20, tzinfo=UTC)
PAGES = [
    (Unit("toycloud", INVENTORY), "toycloud_inventory.json"),
    (Unit("toycloud", PRICE_LIST, "eu-1"), "toycloud_prices_eu-1.json"),
    (Unit("toycloud", PRICE_LIST, "us-1"), "toycloud_prices_us-1.json"),
]


def write(landing: Landing) -> Run:
    """Land the recorded pages and write the manifest of the run."""
    results = [_land(landing, unit, SOURCES / file) for unit, file in PAGES]
    run_id = RECORDED_AT.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "toycloud", "sample", RECORDED_AT, "sample", tuple(results))
    landing.write_run(run)
    return run


def _land(landing: Landing, unit: Unit, file: Path) -> UnitResult:
    url = f"https://api.toycloud.example/v1/{unit.kind}"
    page = landing.land_bytes(unit, file.read_bytes(), url=url, retrieved_at=RECORDED_AT)
    return UnitResult(unit, "ok", (page,))


if __name__ == "__main__":
    print(write(Landing(SAMPLE)).run_id)
