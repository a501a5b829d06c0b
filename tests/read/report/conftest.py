"""A small release on disk as a report, and Chromium to look at it."""

import gzip
import hashlib
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from tests.helpers import releases
from tests.helpers.releases import machine, price, region, tables
from tests.helpers.sample_release import made_once
from tests.helpers.small_release import PRICES, REGIONS, TYPES

import hwprices
from hwprices.read.report import index, report
from hwprices.storage.store import Store

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
"""A name that would run a script. Publishing refuses it; a crafted dataset may have it anywhere."""

H100_AT_RUNPOD = "1x NVIDIA H100 80GB HBM3"
"""Its figures are RunPod's of August 2026: 2.69 in community hosts, 3.29 in its own."""

EURO = {"currency": "EUR", "purchase_option": "on_demand"}

MORE_TYPES = [f"m{size}.large" for size in range(5, 65)]
"""Machines without accelerators, so that the table has more than one page."""


POSITIONS: dict[str, dict[str, Any]] = {
    "us-east-1": {"display_name": "US East (N. Virginia)"},
    "eastus": {"display_name": "East US"},
    "us-west-9": {"latitude": 40.8, "longitude": -96.7, "display_name": "Lincoln"},
    "us-central1": {"display_name": "Iowa"},
    "eu-1": {"latitude": None, "longitude": None},
    "eu-central-1": {"country": "DE"},
}
"""Where regions are that the sheet lacks; it places the others. Lincoln, which is made up, and Iowa
are one place of the map. Frankfurt has no offer."""

PRICE_LIST = gzip.compress(
    b'"SKU","Region","Instance Type","Operating System","PricePerUnit","Unit"\n'
    b'"P5","us-east-1","p5.48xlarge","Linux","55.04 <u>","Hrs"\n',
    mtime=0,
)
"""The landed page with the price of p5.48xlarge."""

PRICE_PAGE = hashlib.sha256(PRICE_LIST).hexdigest()


def vendor(p5: str) -> dict[str, pl.DataFrame]:
    """Make the tables of the small release, with RunPod and more of aws; ``p5`` is one's price."""
    own = {
        # from the same page both times, so that the new price is a restatement
        "p5.48xlarge": {
            "sku_id": "P5",
            "raw_sha256": PRICE_PAGE,
            "hourly": p5,
            "effective_hourly": p5,
        },
        "a3-highgpu-8g": {"sku_id": "A3"},
    }
    plain = next(row for row in TYPES if row["instance_type"] == "m5zn.xlarge")
    h100 = machine("runpod", H100_AT_RUNPOD, device="nvidia-h100-sxm5-80gb", count=1, gib=80)
    more = ("eu-1", "eu-central-1", "us-west-9")
    places = [*REGIONS, *({**REGIONS[0], "region": name} for name in more)]
    return tables(
        [
            *(row | own.get(row["instance_type"], {}) for row in PRICES),
            *(
                price("aws", "us-east-1", name, f"0.{position + 100}")
                for position, name in enumerate(MORE_TYPES)
            ),
            price("aws", "eu-1", "m5zn.xlarge", "0.77", **EURO),
            price("aws", "us-west-9", "m5.large", "0.9"),
            price("aws", "us-east-1", "g6.xlarge", "0.3219", purchase_option="spot"),
            price("runpod", "community", H100_AT_RUNPOD, "2.69"),
            price("runpod", "secure", H100_AT_RUNPOD, "3.29"),
        ],
        [*TYPES, *({**plain, "instance_type": name} for name in MORE_TYPES), h100],
        [
            *(row | POSITIONS[row["region"]] for row in places),
            region("runpod", "community"),
            region("runpod", "secure"),
        ],
    )


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> hwprices.Dataset:
    """The second release of three providers: real prices of accelerators, and some made-up."""
    return hwprices.open(made_once(tmp_path_factory, "report-dataset", publish))


def publish(root: Path) -> None:
    store = Store(root)
    store.put(f"raw/aws/prices/us-east-1/{PRICE_PAGE}.csv.gz", PRICE_LIST)
    for number, p5 in enumerate(("60.00", "55.04"), start=1):
        at = datetime(2026, 8, number, tzinfo=UTC)
        releases.publish(store, vendor(p5), run_id=f"r{number}", origin="sample", at=at)
    make_hostile(hwprices.open(root))


def make_hostile(dataset: hwprices.Dataset) -> None:
    """Put the hostile name into texts of offers and accelerators, behind the schema's back."""
    (offers,) = dataset.files("offers")
    rows = pl.read_parquet(offers)
    texts = ["region", "instance_type", "family", "accelerator_name", "country"]
    crafted = rows.head(1).with_columns(pl.lit(HOSTILE).alias(name) for name in texts)
    pl.concat([rows, crafted]).write_parquet(offers)
    (accelerators,) = dataset.files("accelerators")
    is_h100 = pl.col("accelerator_id") == "nvidia-h100-sxm5-80gb"
    pl.read_parquet(accelerators).with_columns(
        pl.when(is_h100).then(pl.lit(HOSTILE)).otherwise("notes").alias("notes"),
        pl.when(is_h100)
        .then(pl.lit("javascript:alert(4)"))
        .otherwise("source_url")
        .alias("source_url"),
    ).write_parquet(accelerators)


@pytest.fixture(scope="session")
def folder(dataset: hwprices.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of that release."""
    return made_once(tmp_path_factory, "report", lambda folder: report.write(dataset, folder))


@pytest.fixture
def no_answers() -> Iterator[None]:
    """Write reports without what their page answers about models, which takes 5 s of CPU."""
    frame = pl.DataFrame(schema={"model_id": pl.String, **dict.fromkeys(index.COLUMNS, pl.String)})
    with mock.patch.object(index, "answers", return_value=([], frame)):
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium, without a window."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on the PATH: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=flags)
        yield chromium
        chromium.close()
