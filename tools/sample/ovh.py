"""Write the OVHcloud part of the sample: real figures in the form of the order catalog.

    python -m tools.sample.ovh [--into DIR]

No catalog was available. Prices, vCPUs, memory and GPUs of ``sources/ovh_flavors_2026-07.csv`` are
facts; the members around them are written as the catalog has them. See data/sample/README.md.
"""

import argparse
import csv
import json
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers.ovh import BUNDLED, CATALOG, PATH, Settings
from hwprices.providers.ovh.normalise import PRODUCT, UNITS_PER_CURRENCY

SOURCE = Path(__file__).parent / "sources" / "ovh_flavors_2026-07.csv"
SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
AS_OF = datetime(2026, 7, 16, tzinfo=UTC)

BARE_METAL = "bm-"
H100_MONTH_EUR = "1940"
"""The price of h100-380 for a month, recorded 2026-08-22: there to be left out."""


def write(landing: Landing) -> Run:
    """Land the catalog and write the manifest of the run."""
    unit = Unit("ovh", CATALOG)
    url = str(Settings.model_fields["ovh_api_url"].default) + PATH
    page = landing.land_bytes(
        unit,
        json.dumps(_catalog(), indent=1).encode() + b"\n",
        url=url,
        retrieved_at=AS_OF,
        params={"ovhSubsidiary": "FR", "source": BUNDLED},
    )
    run_id = AS_OF.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "ovh", "sample", AS_OF, "sample", (UnitResult(unit, "ok", (page,)),))
    landing.write_run(run)
    return run


def _catalog() -> dict[str, Any]:
    with SOURCE.open(newline="") as text:
        rows = list(csv.DictReader(text))
    addons = [_addon(row, "consumption", "hour", row["hourly_eur"]) for row in rows]
    addons += [
        _addon(row, "monthly.postpaid", "month", H100_MONTH_EUR)
        for row in rows
        if row["flavor"] == "h100-380"
    ]
    locale = {"currencyCode": "EUR", "subsidiary": "FR", "taxRate": 20}
    return {"locale": locale, "plans": [], "addons": addons}


def _addon(row: dict[str, str], plan: str, unit: str, euros: str) -> dict[str, Any]:
    price = int(Decimal(euros) * UNITS_PER_CURRENCY)
    tags = ["legacy"] if row["legacy"] else ["coming_soon"] if row["coming_soon"] else ["active"]
    return {
        "planCode": f"{row['flavor']}.{plan}",
        "invoiceName": row["flavor"],
        "product": PRODUCT,
        "pricingType": plan.split(".", maxsplit=1)[0],
        "pricings": [{"price": price, "interval": 1, "intervalUnit": unit, "type": "consumption"}],
        "blobs": {
            "tags": tags,
            "commercial": {"brick": "gpu" if row["gpu"] else None, "name": row["flavor"]},
            "technical": _technical(row),
        },
    }


def _technical(row: dict[str, str]) -> dict[str, Any]:
    """Describe the machine. A vCore is a thread; bare metal has two threads to a core."""
    vcpus = int(row["vcpus"]) if row["vcpus"] else None
    cpu: dict[str, Any] = {"type": "vCore", "cores": vcpus}
    if row["flavor"].startswith(BARE_METAL) and vcpus:
        cpu = {"type": "core", "cores": vcpus // 2, "threads": vcpus}
    technical: dict[str, Any] = {"cpu": cpu, "memory": {"size": int(row["memory_gb"])}}
    if row["gpu"]:
        size = int(row["gpu_memory_gb"]) if row["gpu_memory_gb"] else None
        gpu = {"model": row["gpu"], "number": int(row["gpus"]), "memory": {"size": size}}
        technical["gpu"] = gpu
    return technical


def main() -> None:
    """Write the sample, replacing what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--into", type=Path, default=SAMPLE, help="a landing root")
    into = parser.parse_args().into
    shutil.rmtree(into / "ovh", ignore_errors=True)
    print(write(Landing(into)).run_id)


if __name__ == "__main__":
    main()
