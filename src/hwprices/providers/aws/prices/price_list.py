"""One region's price list (CSV): lines → prices, refused lines, counts of what is out of scope.

Format: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html
A few lines about the file come first, then the header, then one line a price dimension. Columns are found by name: their number
and order change. Nothing here loops over lines, and the file is scanned once: a region has more than a million lines.
"""

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws.prices import classify, rows
from hwprices.units import Money

COLUMNS = {
    "SKU": "sku_id",
    "OfferTermCode": "offer_term_code",
    "RateCode": "sku_price_id",
    "TermType": "term_type",
    "EffectiveDate": "effective_date",
    "StartingRange": "starting_range",
    "EndingRange": "ending_range",
    "Unit": "unit",
    "PricePerUnit": "price_text",
    "Currency": "currency",
    "LeaseContractLength": "lease",
    "PurchaseOption": "payment",
    "OfferingClass": "offering_class",
    "Product Family": "product_family",
    "Location": "location",
    "Location Type": "location_type",
    "Instance Type": "instance_type",
    "Current Generation": "current_generation",
    "vCPU": "vcpu",
    "Physical Processor": "physical_processor",
    "Clock Speed": "clock_speed",
    "Memory": "memory",
    "Storage": "storage",
    "Network Performance": "network_performance",
    "Tenancy": "tenancy_word",
    "Operating System": "operating_system",
    "License Model": "license_words",
    "operation": "operation",
    "CapacityStatus": "capacity_status",
    "GPU": "gpu",
    "MarketOption": "market_option",
    "Pre Installed S/W": "pre_installed",
    "Region Code": "region_code",
}
"""The vendor's columns that are read, and what they are called here."""

REQUIRED = {
    "SKU",
    "RateCode",
    "TermType",
    "Unit",
    "PricePerUnit",
    "Currency",
    "Product Family",
    "Instance Type",
    "Operating System",
    "operation",
}
"""Without these there is no price to read; the others are newer than some files and may lack."""

ATTRIBUTES = [
    "current_generation",
    "vcpu",
    "physical_processor",
    "clock_speed",
    "memory",
    "storage",
    "network_performance",
    "gpu",
]
"""What is said of the machine. It is the same on all lines of a SKU, so it is read from the on-demand ones."""

UNKNOWN = 2**31 - 1  # code of a null: categories are numbered from 0

MAX_PREAMBLE = 20  # lines before the header; there are five in every file seen


@dataclass(frozen=True)
class PriceList:
    """A region's price list, read.

    ``prices`` has the columns of the prices table; ``refused`` those of the quarantine table; ``counts`` says what became of the
    other lines. Every line is one of: the hourly dimension of a price, the upfront dimension merged into one
    (``counts["merged:upfront"]``), refused, or out of scope. ``skus``, ``attributes`` and ``places`` say what the SKUs, the machines
    and the regions are.
    """

    prices: pl.LazyFrame
    refused: pl.DataFrame
    counts: dict[str, int]
    skus: pl.LazyFrame
    attributes: pl.DataFrame
    places: pl.DataFrame


def read(
    pages: Pages, page: Page, region: str, own_files: frozenset[str] = frozenset()
) -> PriceList:
    """Read one landed price list.

    ``own_files`` are the regions that have a price list of their own in this run: lines about them found here are left to it.

    Raises:
        HwpricesError: the file has no header, or lacks a required column, or is not what was landed.
    """
    with pages.file(page) as path:
        lines = _compact(_scan(path)).collect(engine="streaming")
    judged = classify.judged(_ways(lines), region, own_files - {region})
    lines = lines.drop(classify.WAY)
    read = rows.prices(lines, judged, page)
    listed = lines.lazy().filter(pl.col("on_demand")).join(judged.lazy(), on="way", how="left")
    outside = (
        judged.filter(pl.col("scope").is_not_null())
        .group_by("scope")
        .agg(pl.col("lines").sum())
        .sort("scope")
    )
    counts = {f"out_of_scope:{scope}": count for scope, count in outside.iter_rows()}
    return PriceList(
        prices=read.prices,
        refused=read.refused,
        counts=counts | ({"merged:upfront": read.merged} if read.merged else {}),
        skus=_skus(listed),
        attributes=_attributes(listed),
        places=_places(listed),
    )


def _scan(path: Path) -> pl.LazyFrame:
    """Wanted columns as strings, under our names; wanted columns that the file lacks are null."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as text:
        skip = next(
            (
                n
                for n, line in zip(range(MAX_PREAMBLE), text, strict=False)
                if line.startswith(('"SKU"', "SKU,"))
            ),
            None,
        )
    if skip is None:
        raise HwpricesError(
            f"{path.name} has no header line that begins with SKU",
            "Check what the price list endpoint serves.",
        )
    frame = pl.scan_csv(path, skip_lines=skip, infer_schema=False)
    have = set(frame.collect_schema())
    if lacking := sorted(REQUIRED - have):
        raise HwpricesError(
            f"{path.name} lacks the columns {', '.join(lacking)}",
            "The vendor's format has changed: the reader must be adapted.",
        )
    return frame.select(
        (pl.col(theirs) if theirs in have else pl.lit(None, dtype=pl.String)).alias(ours)
        for theirs, ours in COLUMNS.items()
    )


def _compact(lines: pl.LazyFrame) -> pl.LazyFrame:
    """Lines small enough for memory: repeated words as categories, prices as decimals, attributes on on-demand lines only."""
    on_demand = pl.col("term_type") == "OnDemand"
    once = ["location", *ATTRIBUTES]
    small = lines.select(
        pl.col("sku_id", "sku_price_id"),
        pl.col("offer_term_code", "effective_date", "instance_type", *classify.WORDS).cast(
            pl.Categorical
        ),
        pl.when(on_demand).then(pl.col(once)).cast(pl.Categorical),
        on_demand.fill_null(False).alias("on_demand"),
        pl.col("price_text").cast(Money, strict=False).alias("price"),
        (pl.col("instance_type").fill_null("") == "").alias("unnamed"),
    )
    signed = small.with_columns(
        sign=pl.when(pl.col("price").is_not_null()).then(
            (pl.col("price") > 0).cast(pl.Int8) - (pl.col("price") < 0).cast(pl.Int8)
        )
    )
    return signed.with_columns(
        way=_number(
            [
                *(pl.col(name) for name in classify.WORDS),
                pl.col("sign") + 1,
                pl.col("unnamed").cast(pl.UInt8),
            ]
        )
    )


def _number(parts: list[pl.Expr]) -> pl.Expr:
    """One number for a way: its parts' codes weighted by odd 64-bit numbers. Grouping by it costs a tenth of grouping by twenty columns.

    Two ways of a thousand have the same number with a chance of 1 in 10^13.
    """
    codes = [part.to_physical().fill_null(UNKNOWN).cast(pl.UInt64) for part in parts]
    return pl.sum_horizontal(
        code * pl.lit(weight, dtype=pl.UInt64)
        for code, weight in zip(codes, _weights(len(codes)), strict=True)
    )


def _weights(count: int) -> list[int]:
    """The same odd numbers every time, from a hash."""
    return [
        int.from_bytes(hashlib.sha256(f"way {n}".encode()).digest()[:8]) | 1 for n in range(count)
    ]


def _ways(lines: pl.DataFrame) -> pl.DataFrame:
    """The ways there are: number, words, sign, unnamed, and how many lines go each; in the order in which they are met."""
    met = (
        lines.select("way", line=pl.int_range(pl.len(), dtype=pl.UInt32))
        .group_by("way")
        .agg(pl.col("line").min(), lines=pl.len())
        .sort("line")
    )
    return lines.select(classify.WAY)[met["line"]].with_columns(met["way"], met["lines"])


def _skus(listed: pl.LazyFrame) -> pl.LazyFrame:
    """What each SKU of a machine is, for the savings plans that name it."""
    machines = listed.filter(pl.col("product_family").is_in([*classify.INSTANCES, classify.HOSTS]))
    return machines.select(
        "sku_id",
        pl.col("instance_type").cast(pl.String),
        *("region", "os", "software", "license_model", "tenancy"),
        in_scope=pl.col("scope").is_null() & ~pl.col("capacity_block"),
    )


def _attributes(listed: pl.LazyFrame) -> pl.DataFrame:
    """What the price list says of each instance type: one row a distinct set of attributes, with how often it is said."""
    said = ["instance_type", *ATTRIBUTES, "product_family"]
    machines = listed.filter(
        pl.col("product_family").is_in(classify.INSTANCES),
        pl.col("scope").is_null(),
        ~pl.col("unnamed"),
    )
    found = (
        machines.group_by(said)
        .agg(lines=pl.len(), systems=pl.col("os").drop_nulls().unique())
        .collect()
    )
    return found.with_columns(
        pl.col(said).cast(pl.String).fill_null(""), pl.col("systems").list.sort()
    ).sort(said)


def _places(listed: pl.LazyFrame) -> pl.DataFrame:
    """region, location, location_type and how many lines say so."""
    named = listed.filter(
        pl.col("scope").is_null(), pl.col("location").cast(pl.String).fill_null("") != ""
    )
    found = (
        named.group_by("region", "location", "location_type")
        .agg(lines=pl.len())
        .with_columns(pl.col("location").cast(pl.String))
    )
    return found.sort("region", "location", "location_type").collect()
