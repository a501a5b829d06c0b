"""Cut the small release that comes with the program out of a release of the whole sample.

``python -m tools.demo_release <root>`` reads the newest release below a root and writes data/demo:
prices, parts and availability of a few regions, Linux and Windows, and every other table as it is.
The release is a fixed one: it is made anew only when a reader needs something that it lacks.
"""

import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import polars as pl

import hwprices
from hwprices.publish import release
from hwprices.read.dataset import Dataset
from hwprices.rows import parquet
from hwprices.schemas.tables import TABLES
from hwprices.stage.stage import Staged, put_in_force
from hwprices.storage import layout
from hwprices.storage.store import Store
from tools.generated import PROJECT

TARGET = PROJECT / "data" / "demo"

REGIONS = {
    "aws": ["us-east-1"],
    "azure": ["westeurope", "francecentral"],
    "gcp": ["us-central1", "europe-west4"],
}
"""Regions whose rows stay, by provider; of other providers all stay."""

BY_REGION = ("prices", "price_components", "component_prices", "availability", "spot_advice")

SYSTEMS = ["linux", "windows"]

VENDOR_TABLES = (
    "regions",
    "zones",
    "instance_types",
    *BY_REGION,
    "quarantine",
)


def cut(data: Dataset, provider: str, table: str) -> pl.DataFrame:
    """Give the rows of one provider that stay."""
    rows = data.scan(table).filter(provider=provider)
    if table in BY_REGION and provider in REGIONS:
        rows = rows.filter(pl.col("region").is_in(REGIONS[provider]))
    if table == "prices":
        rows = rows.filter(_common())
    if table == "price_components":
        prices = data.scan("prices").filter(_common())
        rows = rows.join(prices.select("price_id"), on="price_id", how="semi")
    return rows.collect()


def _published(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Put the columns in the order of the schema."""
    return rows.select(list(TABLES[table].to_schema().columns))


def _common() -> pl.Expr:
    """Say which prices stay: what most people ask about."""
    return (
        pl.col("os").is_in(SYSTEMS)
        & (pl.col("software") == "none")
        & (pl.col("license_model") == "included")
        & ~pl.col("purchase_option").is_in(["low_priority", "dev_test"])
    )


def build(data: Dataset, root: Path) -> None:
    """Stage the rows that stay, and publish them as a release of the same time."""
    store = Store(root)
    for provider, entry in data.release.providers.items():
        directory = layout.staged_directory(provider, entry.run_id)
        frames = {name: cut(data, provider, name) for name in VENDOR_TABLES}
        filled = {name: frame for name, frame in frames.items() if frame.height}
        files = tuple(
            parquet.write(store, directory, name, _published(name, frame), provider=provider)
            for name, frame in filled.items()
        )
        staged = Staged(provider, entry.run_id, entry.origin, files, entry.report.quarantined)
        put_in_force(store, staged)
    created = datetime.fromisoformat(data.release.created_at)
    release.publish(store, now=lambda: created)


def main(arguments: list[str]) -> int:
    """Write data/demo from the root that is named. Returns the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.demo_release <root of a release>\n")
        return 2
    data = hwprices.open(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        build(data, root)
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.mkdir(parents=True)
        shutil.copytree(root / "releases", TARGET / "releases")
        shutil.copy(root / "latest.json", TARGET)
    size = sum(file.stat().st_size for file in TARGET.rglob("*") if file.is_file())
    sys.stdout.write(f"data/demo: {size / 1e6:.2f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
