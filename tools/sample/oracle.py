"""Write the Oracle part of the sample: real figures in the form of Oracle's two public files.

    python -m tools.sample.oracle ../shared [--into DIR]

Two pages of products are as received, without the descriptions, which are sentences of
Oracle's. The page between them has the rates that another project's prices of 2026-07-16 were
composed of (``sources/oracle_rates_2026-07.csv``); the shapes are facts collected by hand
(``sources/oracle_shapes_2026-08.csv``). See data/sample/README.md.
"""

import argparse
import csv
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult
from hwprices.providers.oracle import BUNDLED, CURRENCY, PRODUCTS, PRODUCTS_PATH, SHAPES, Settings

SOURCES = Path(__file__).parent / "sources"
SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
RATES_AS_OF = datetime(2026, 7, 16, tzinfo=UTC)
SHAPES_AS_OF = datetime(2026, 8, 14, tzinfo=UTC)
RECORDED = (
    ("products_usd_450_2024-01.json", datetime(2024, 1, 19, tzinfo=UTC)),
    ("products_usd_gpu_2026-08-14.json", datetime(2026, 8, 22, tzinfo=UTC)),
)
PREEMPTIBLE_NEVER = "VM.Standard.E2.1.Micro"
"""The one virtual machine that cannot be preemptible:
https://blogs.oracle.com/cloud-infrastructure/announcing-ga-of-oracle-preemptible-instances-vm-shapes
"""


def write(landing: Landing, research: Path) -> Run:
    """Land the pages and write the manifest of the run; ``research`` has the recordings."""
    products, shapes = Unit("oracle", PRODUCTS), Unit("oracle", SHAPES)
    product_pages = [
        _land_products(landing, products, body, day)
        for body, day in sorted(_product_lists(research), key=lambda listed: listed[1])
    ]
    page = landing.land_bytes(
        shapes,
        _json({"items": [_shape(row) for row in _rows("oracle_shapes_2026-08.csv")]}),
        url=_default("oracle_shapes_url"),
        retrieved_at=SHAPES_AS_OF,
        params={"source": BUNDLED},
    )
    results = (
        UnitResult(products, "ok", tuple(product_pages)),
        UnitResult(shapes, "ok", (page,)),
    )
    run_id = SHAPES_AS_OF.strftime("%Y%m%dT%H%M%S.%fZ")
    run = Run(run_id, "oracle", "sample", SHAPES_AS_OF, "sample", results)
    landing.write_run(run)
    return run


def _product_lists(research: Path) -> Iterator[tuple[bytes, datetime]]:
    """Yield the product lists with the day of each."""
    for file, day in RECORDED:
        content = json.loads((research / "recordings/others/oracle" / file).read_bytes())
        for item in content["items"]:
            item.pop("description", None)
        yield _json(content), day
    yield (
        _json({"items": [_product(row) for row in _rows("oracle_rates_2026-07.csv")]}),
        RATES_AS_OF,
    )


def _land_products(landing: Landing, unit: Unit, body: bytes, day: datetime) -> Page:
    url, params = _default("oracle_prices_url") + PRODUCTS_PATH, {"currencyCode": CURRENCY}
    return landing.land_bytes(unit, body, url=url, retrieved_at=day, params=params)


def _default(setting: str) -> str:
    """Return the vendor's own address of a file."""
    return str(Settings.model_fields[setting].default)


def _rows(file: str) -> list[dict[str, str]]:
    with (SOURCES / file).open(newline="") as text:
        return list(csv.DictReader(text))


def _json(content: Any) -> bytes:
    """Write JSON as the vendor does, an object with a list of items."""
    return json.dumps(content, indent=1).encode() + b"\n"


def _product(row: dict[str, str]) -> dict[str, Any]:
    price = {"model": "PAY_AS_YOU_GO", "value": _number(row["usd_per_hour"])}
    return {
        "partNumber": row["part_number"],
        "displayName": row["display_name"],
        "metricName": row["metric"],
        "serviceCategory": row["category"],
        "currencyCodeLocalizations": [{"currencyCode": "USD", "prices": [price]}],
    }


def _shape(row: dict[str, str]) -> dict[str, Any]:
    name = row["name"]
    is_virtual = name.startswith("VM.")
    is_gpu, is_dense = ".GPU" in name, ".DenseIO" in name
    return {
        "name": name,
        "hidden": False,
        "status": "ACTIVE",
        "allowPreemptible": is_virtual and name != PREEMPTIBLE_NEVER,
        "bundleMemoryQty": _number(row["memory_gb"]),
        "gpuQty": _number(row["gpus"]),
        "gpuMemoryQty": _number(row["gpu_memory_gb"]),
        "processorType": {"value": row["processor"] or None},
        "shapeType": {"value": "vm" if is_virtual else "bm"},
        "subType": {"value": "gpu" if is_gpu else "dense" if is_dense else "standard"},
        "products": list(_parts(row)),
    }


def _parts(row: dict[str, str]) -> Iterator[dict[str, Any]]:
    parts = (
        (row["ocpu_part"], row["ocpus"], "ocpu"),
        (row["memory_part"], row["memory_gb"], "memory"),
        (row["disk_part"], row["disk_tb"], "disk"),
    )
    for part_number, quantity, kind in parts:
        if part_number:
            yield {"partNumber": part_number, "qty": _number(quantity), "type": {"value": kind}}


def _number(text: str) -> float | int | None:
    """Return a figure as JSON has it; None where the cell is empty."""
    if not text:
        return None
    return float(text) if "." in text else int(text)


def main() -> None:
    """Write the sample, replacing what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("research", type=Path, help="the folder with the recordings")
    parser.add_argument("--into", type=Path, default=SAMPLE, help="a landing root")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.into / "oracle", ignore_errors=True)
    print(write(Landing(arguments.into), arguments.research).run_id)


if __name__ == "__main__":
    main()
