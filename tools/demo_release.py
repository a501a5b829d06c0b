"""Make the small bundled release from a release of the complete sample.

``python -m tools.demo_release <root>`` reads the newest release below a root and writes data/demo:
prices, parts and availability of a few regions, Linux and Windows, and all other tables unchanged.
The release is fixed: it is only made again if a reader needs something that it lacks.

It follows two releases with AWS's on-demand prices of earlier days, so that its history has real
changes. They are deleted like any old release; the history keeps their prices. All three releases
have the same kinds of AWS's prices (on demand, Linux, no .metal types, which the source lists at
the price of dedicated tenancy), so that the history only has AWS's changes.

Earlier prices of 46 machines of AWS and Google, back to 2022, are backfilled from two other
projects that keep such lists: past_prices.csv has the prices, each with the first and the last list
that has it; past_lists.csv has the lists with their sources. Prices that one of them read wrongly
and corrected later are left out.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

import hwprices
from hwprices.publish import release
from hwprices.publish.history import backfill
from hwprices.read.dataset import Dataset
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, UnitInput
from hwprices.rows import parquet, prices
from hwprices.schemas.tables import TABLES
from hwprices.stage import Staged, make_current
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import Timestamp
from tools.generated import PROJECT

TARGET = PROJECT / "data" / "demo"

REGIONS = {
    "aws": ["us-east-1"],
    "azure": ["westeurope", "francecentral"],
    "gcp": ["us-central1", "europe-west4"],
}
"""Regions that are kept, by provider; other providers keep all regions."""

BY_REGION = ("prices", "price_components", "component_prices", "availability", "spot_advice")

SYSTEMS = ["linux", "windows"]

AWS = "aws"


@dataclass(frozen=True)
class PriceList:
    """AWS's on-demand prices of us-east-1 on an earlier day, as another project recorded them.

    Attributes:
        file: a CSV file below tools/sample/sources: every type with its price.
        day: when that project read them from AWS's price list.
        commit: of karpenter-provider-aws (Apache-2.0), with the file of ``url``.
    """

    file: str
    day: datetime
    commit: str

    @property
    def url(self) -> str:
        """The source of the figures."""
        file = "pkg/providers/pricing/zz_generated.pricing_aws.go"
        return f"https://github.com/aws/karpenter-provider-aws/blob/{self.commit}/{file}"


EARLIER = (
    PriceList(
        "aws_ondemand_us-east-1_2025-03.csv",
        datetime(2025, 3, 31, 13, 14, 23, tzinfo=UTC),
        "ee90412be48f25a339ae84f8a00d3adab91c6b31",
    ),
    PriceList(
        "aws_ondemand_us-east-1_2025-06.csv",
        datetime(2025, 6, 23, 13, 18, 30, tzinfo=UTC),
        "1b59328e55452eda0dc14986a3a3de84c23d37e1",
    ),
)

PAST_UNITS = {AWS: "prices/us-east-1", "gcp": "skus/global"}
"""The unit of the prices in past_prices.csv, by provider."""

PAST_LISTS = "past_lists.csv"

SOURCES = PROJECT / "tools" / "sample" / "sources"

INDENTED = ("croissant.json", "datapackage.json")
"""Descriptions for programs. Without indentation they take a quarter of the space."""

VENDOR_TABLES = (
    "regions",
    "zones",
    "instance_types",
    *BY_REGION,
    "quarantine",
)


def cut(data: Dataset, provider: str, table: str) -> pl.DataFrame:
    """Return the rows of one provider that are kept."""
    rows = data.scan(table).filter(provider=provider)
    if table in BY_REGION and provider in REGIONS:
        rows = rows.filter(pl.col("region").is_in(REGIONS[provider]))
    if table == "prices":
        rows = rows.filter(_common())
    if table == "prices" and provider == AWS:
        rows = rows.filter(_is_kept_aws_price())
    if table == "price_components":
        common = data.scan("prices").filter(_common())
        ids = common.select("price_id")
        rows = rows.join(ids, on="price_id", how="semi", maintain_order="left")
    return rows.collect()


def _published(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns in the order of the schema."""
    return rows.select(list(TABLES[table].columns))


def _common() -> pl.Expr:
    """Filter the most common prices."""
    return (
        pl.col("os").is_in(SYSTEMS)
        & (pl.col("software") == "none")
        & (pl.col("license_model") == "included")
        & ~pl.col("purchase_option").is_in(["low_priority", "dev_test"])
    )


def _is_kept_aws_price() -> pl.Expr:
    """Filter AWS's prices: the kinds in the earlier price lists, and spot."""
    on_demand = (
        (pl.col("purchase_option") == "on_demand")
        & (pl.col("os") == "linux")
        & (pl.col("tenancy") == "shared")
        & ~pl.col("instance_type").str.contains(".metal", literal=True)
    )
    return on_demand | (pl.col("purchase_option") == "spot")


def earlier_prices(price_list: PriceList, sha256: str) -> pl.DataFrame:
    """Return the rows of prices of an earlier day."""
    listed = pl.scan_csv(SOURCES / price_list.file, schema_overrides={"hourly": pl.String})
    rows = prices.price_rows(
        listed.with_columns(prices.read_money(pl.col("hourly"))),
        provider=AWS,
        region="us-east-1",
        purchase_option="on_demand",
        currency="USD",
        observed_at=price_list.day,
        source_url=price_list.url,
        raw_sha256=sha256,
    )
    return rows.filter(_is_kept_aws_price()).collect()


def past_intervals(provider: str) -> pl.DataFrame:
    """Return the backfilled intervals of a provider, from the lists that have its prices.

    ``raw_sha256`` is that of the list, as in past_lists.csv.
    """
    dtypes: dict[str, Any] = {
        "read_at": Timestamp,
        "first": Timestamp,
        "last": Timestamp,
        "hourly": pl.String,
    }
    lists, past_prices = (
        pl.read_csv(SOURCES / name, schema_overrides=dtypes).filter(provider=provider)
        for name in (PAST_LISTS, "past_prices.csv")
    )
    listed = past_prices.join_where(
        lists.drop("provider"),
        pl.col("first") <= pl.col("read_at"),
        pl.col("read_at") <= pl.col("last"),
    )
    rows = prices.price_rows(
        listed.lazy().with_columns(prices.read_money(pl.col("hourly")), observed_at="read_at"),
        provider=provider,
        purchase_option="on_demand",
        currency="USD",
        basis="listed" if provider == AWS else "recomposed",
        raw_sha256=pl.col("sha256"),
    ).with_columns(
        unit=pl.lit(PAST_UNITS[provider]),
        begin=pl.col("observed_at"),
        published=pl.col("observed_at"),
        complete=pl.lit(provider == AWS),
        reading=pl.lit(None),
        hourly_low=pl.lit(None),
        hourly_high=pl.lit(None),
    )
    columns = [pl.col(name).cast(dtype) for name, dtype in backfill.ROW_SCHEMA.items()]
    intervals = rows.select(columns).collect().sort("begin")
    return backfill.fold(intervals.partition_by("begin", maintain_order=True))


def build(data: Dataset, root: Path) -> None:
    """Publish the earlier releases, and one of the kept rows with the time of ``data``."""
    store = Store(root)
    for price_list in EARLIER:
        _stage_earlier(data, store, price_list)
        _publish(store, price_list.day)
    for provider in PAST_UNITS:
        file = parquet.encode("price_history", past_intervals(provider))
        store.put(layout.backfilled_intervals(provider, "all"), file)
    for provider, entry in data.release.providers.items():
        tables = {name: cut(data, provider, name) for name in VENDOR_TABLES}
        staged = _stage(store, data, provider, entry.run_id, tables)
        make_current(store, replace(staged, quarantined=entry.report.quarantined))
    _publish(store, datetime.fromisoformat(data.release.created_at))


def _publish(store: Store, time: datetime) -> None:
    """Publish at the time of the figures; accept AWS's changes, which are larger than in a day."""
    release.publish(store, now=lambda: time, accepted=[f"{AWS}:*"])


def _stage_earlier(data: Dataset, store: Store, price_list: PriceList) -> None:
    """Stage AWS's tables with the prices of an earlier day and the current reading."""
    sha256 = hashlib.sha256((SOURCES / price_list.file).read_bytes()).hexdigest()
    tables = {name: cut(data, AWS, name) for name in ("regions", "zones", "instance_types")}
    tables["prices"] = earlier_prices(price_list, sha256)
    run_id = f"{price_list.day:%Y%m%dT%H%M%SZ}"
    unit = UnitInput("prices/us-east-1", "ok", (sha256[:DIGEST_CHARACTERS],))
    reading = data.release.providers[AWS].inputs.reading
    staged = _stage(store, data, AWS, run_id, tables)
    make_current(store, replace(staged, inputs=Inputs(reading, sha256, (unit,))))


def _stage(
    store: Store, data: Dataset, provider: str, run_id: str, tables: dict[str, pl.DataFrame]
) -> Staged:
    """Write the tables that have rows to the folder of a staged run."""
    directory = layout.staged_directory(provider, run_id)
    files = tuple(
        parquet.write(store, directory, name, _published(name, frame), provider=provider)
        for name, frame in tables.items()
        if frame.height
    )
    entry = data.release.providers[provider]
    return Staged(provider, run_id, entry.origin, files, inputs=entry.inputs)


def copy_latest(root: Path, target: Path) -> None:
    """Copy the newest release, its pointer and past_lists.csv; remove indentation of JSON."""
    version = json.loads((root / "latest.json").read_text())["version"]
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "releases" / version, target / "releases" / version)
    shutil.copy(root / "latest.json", target)
    shutil.copy(SOURCES / PAST_LISTS, target)
    for name in INDENTED:
        file = target / "releases" / version / name
        content = json.loads(file.read_text())
        file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def main(arguments: list[str]) -> int:
    """Write data/demo from a root. Returns the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.demo_release <root of a release>\n")
        return 2
    data = hwprices.open(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        build(data, root)
        copy_latest(root, TARGET)
    size = sum(file.stat().st_size for file in TARGET.rglob("*") if file.is_file())
    sys.stdout.write(f"data/demo: {size / 1e6:.2f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
