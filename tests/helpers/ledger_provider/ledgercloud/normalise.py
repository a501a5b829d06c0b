"""Read the ledger's pages: one JSON list of lines for each region."""

from collections.abc import Iterator

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.rows import frames
from hwprices.rows.frames import origin
from hwprices.rows.prices import price_rows
from hwprices.schemas.tables import InstanceTypes, Regions

CENTS = 100

LINE = {"type": pl.String, "vcpus": pl.Int32, "cents": pl.Int64, "currency": pl.String}


def normalise(pages: Pages) -> Iterator[Part]:
    """Read regions, instance_types and prices."""
    types = []
    for region in pages.regions("prices"):
        for page in pages.of("prices", region):
            with pages.leave_out(page):
                lines = [{name: line[name] for name in LINE} for line in pages.read_json(page)]
                frame = pl.LazyFrame(lines, schema=LINE).with_columns(*origin(page))
                types.append(frame)
                yield Part("regions", _regions(region, page), region)
                yield Part("prices", _prices(frame, region), region)
    yield Part("instance_types", _types(pl.concat(types)))


def _regions(region: str, page: Page) -> pl.LazyFrame:
    row = pl.LazyFrame({"provider": ["ledgercloud"], "region": [region], "kind": ["region"]})
    return frames.conform(row.with_columns(*origin(page)).drop("source_url"), Regions)


def _prices(lines: pl.LazyFrame, region: str) -> pl.LazyFrame:
    amount = pl.col("cents").cast(pl.Decimal(20, 10)) / CENTS
    return price_rows(
        lines.rename({"type": "instance_type"}).with_columns(region=pl.lit(region), hourly=amount),
        provider="ledgercloud",
        purchase_option="on_demand",
    )


def _types(lines: pl.LazyFrame) -> pl.LazyFrame:
    one = lines.unique("type", keep="first", maintain_order=True)
    return frames.conform(
        one.select(
            pl.lit("ledgercloud").alias("provider"),
            pl.col("type").alias("instance_type"),
            pl.col("type").str.split("-").list.first().alias("family"),
            pl.lit("x86_64").alias("arch"),
            "vcpus",
            pl.lit(8.0).alias("memory_gib"),
            pl.lit([], dtype=InstanceTypes.columns["accelerators"].dtype).alias("accelerators"),
            pl.lit("none").alias("accelerator_kind"),
            pl.lit(0.0).alias("accelerator_count"),
            pl.lit("api").alias("spec_source"),
            pl.lit([], dtype=pl.List(pl.String)).alias("corrections"),
            "observed_at",
            "raw_sha256",
        ),
        InstanceTypes,
    )
