"""Write the sample of every price sheet: ``python -m tools.sample.price_sheets``.

The pages are what a live run lands: the lines of data/price_sheets. Run it after a sheet changed.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.providers import price_sheets
from hwprices.providers.price_sheets.fetch import land, parse, plan

SAMPLE = Path(__file__).parents[2] / "data" / "sample"


def write(name: str, sample: Path = SAMPLE) -> Run:
    """Land one sheet anew and write the manifest of the run, named by the newest day in it."""
    sheet = parse(price_sheets.sheet_file(name).read_bytes())
    shutil.rmtree(sample / name, ignore_errors=True)
    landing = Landing(sample)
    (unit,) = plan(name)
    pages = land(landing, unit, sheet, today=datetime.now(UTC).date())
    newest = max(page.retrieved_at for page in pages)
    run_id = newest.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, name, "sample", newest, "sample", (UnitResult(unit, "ok", tuple(pages)),))
    landing.write_run(run)
    return run


if __name__ == "__main__":
    for sheet_name in price_sheets.names():
        print(sheet_name, write(sheet_name).run_id)
