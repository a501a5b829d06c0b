"""Read one region's price list (CSV): prices, SKUs, machines and regions.

Format: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html
A few lines about the file come first, then the header, then one line per price dimension. Columns
are looked up by name, because their number and order change. A region has more than a million
lines, so the file is scanned once and nothing here loops over lines.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Pages
from hwprices.providers.aws import classify, price_rows
from hwprices.providers.aws.responses import PriceListFacts
from hwprices.rows import prices
from hwprices.rows.frames import origin
from hwprices.rows.prices import PriceRows, read_money
from hwprices.specs import packaged_rows
from hwprices.storage.packed import open_packed, packing_of

_NAMES = {row["vendor_name"]: row["name"] for row in packaged_rows("aws_columns")}

COLUMNS = {vendor_name: name for vendor_name, name in _NAMES.items() if name}
"""The vendor's columns that are read, and their names here."""

IGNORED = {vendor_name for vendor_name, name in _NAMES.items() if not name}
"""Columns of the lists of 2017 to 2026 that are not needed. Any other column is new."""

REQUIRED_OF_PARTS = frozenset(
    ("SKU", "RateCode", "TermType", "Unit", "PricePerUnit", "Currency", "operation")
)
"""Columns that every price needs. Some older files lack the others."""

REQUIRED = REQUIRED_OF_PARTS | {"Product Family", "Instance Type", "Tenancy", "Operating System"}
"""Columns that every price of a machine needs."""

TEXTS = ["sku_id", "sku_price_id", "instance_type", "price_text", "usage_type"]
"""Columns that are read as text. All others have few distinct words and are read as categories;
casting them afterwards takes a sixth longer. Polars refuses characters between a closing quote and
the next comma in text columns, but not in categories."""

ATTRIBUTES = [
    *("current_generation", "vcpu", "physical_processor", "clock_speed", "memory", "storage"),
    *("network_performance", "gpu"),
]
"""Columns that describe the machine. All lines of a SKU agree, so only on-demand lines keep
them."""

ON_DEMAND = ["sku_id", "instance_type", "location", *ATTRIBUTES, "combination"]
"""Columns of on-demand lines that describe a SKU."""

BATCH = 200_000
"""Lines that are read at once. Smaller batches take longer, larger ones more memory: 1,480,000
lines in batches of 50,000 and 200,000 took 4.3 and 3.6 s, and 650 and 690 MB."""

MAX_PREAMBLE = 20  # Lines searched for the header. All known files have five lines before it.


@dataclass(frozen=True)
class PriceList:
    """The content of one region's price list.

    Every line is one of: the hourly rate of a price row, an upfront fee merged into one
    (``prices.counts["merged:upfront"]``), a part (``facts.parts``), refused, or counted as out of
    scope.

    ``skus`` has one row per on-demand line of a machine: sku_id, instance_type, region, os,
    software, license_model, tenancy, in_scope, is_refused, and word (the vendor's word for which it
    was refused). It keeps these lines in memory; ``facts`` keeps none.

    ``currency`` is that of all prices, None if they have several.
    """

    prices: PriceRows
    skus: pl.LazyFrame
    facts: PriceListFacts
    currency: str | None = None


@dataclass(frozen=True)
class _Lines:
    """The lines of a price list.

    ``prices`` has PRICE_COLUMNS of every line, ``on_demand`` has ON_DEMAND of on-demand lines,
    ``parts`` has COMPONENT_COLUMNS and combination of lines that are not machines.
    ``combinations`` has a row per distinct combination of classify.COMBINATION, in order of first
    appearance: these columns, ``combination`` (its id in the other frames: the number of its first
    line) and ``lines`` (how many lines have it).
    """

    prices: pl.DataFrame
    on_demand: pl.DataFrame
    parts: pl.DataFrame
    combinations: pl.DataFrame


@dataclass(frozen=True)
class _Header:
    """Where the header of a file is, and its columns."""

    lines_before: int
    columns: frozenset[str]

    @property
    def lacking(self) -> frozenset[str]:
        """Those of COLUMNS that the file lacks."""
        return frozenset(COLUMNS) - self.columns


def read_price_list(
    pages: Pages,
    page: Page,
    region: str,
    listed_regions: frozenset[str] = frozenset(),
    *,
    has_machines: bool = True,
) -> PriceList:
    """Read one landed price list.

    ``listed_regions`` are the regions that have a price list in this run: lines about another one
    of them are left out here. A list without EC2 machines (``has_machines`` is False), such as that
    of data transfer, has other columns, which are not needed. All its lines are parts, even if they
    name an instance type, as SageMaker's do.

    Raises:
        UnreadablePageError: the file has no header, lacks a required column, or is not CSV.
        HwpricesError: it was altered.
    """
    with pages.parsing(page), pages.file(page) as path:
        header = _header(path, REQUIRED if has_machines else REQUIRED_OF_PARTS)
        lines = _read_lines(_compact(_scan(path, header), has_machines=has_machines))
    other_files = listed_regions - {region}
    combinations = classify.classify(lines.combinations, region, other_files, header.lacking)
    prices = price_rows.price_list_rows(lines.prices, combinations, page)
    new_columns = [_new_columns(header, page, region)] if has_machines else []
    refused = pl.concat([prices.refused, *new_columns])
    counts = {**_out_of_scope(combinations), **prices.counts}
    machines = lines.on_demand.lazy().join(combinations.lazy(), on="combination", how="left")
    part_combinations = combinations.filter(pl.col("out_of_scope") == classify.PART)
    facts = PriceListFacts(
        region,
        page,
        _machines(machines),
        _places(machines),
        price_rows.part_lines(lines.parts, part_combinations),
    )
    priced = combinations.filter(pl.col("out_of_scope").is_null(), pl.col("reason").is_null())
    currencies = priced["currency"].unique().to_list()
    currency = currencies[0] if len(currencies) == 1 else None
    return PriceList(PriceRows(prices.rows, refused, counts), _skus(machines), facts, currency)


def _new_columns(header: _Header, page: Page, region: str) -> pl.DataFrame:
    """Make a quarantine row of each unknown column. Its values are not read."""
    new = pl.LazyFrame({"column": sorted(header.columns - set(COLUMNS) - IGNORED)})
    shown = new.with_columns(*origin(page), provider=pl.lit("aws"), region=pl.lit(region))
    return prices.refused(
        shown.with_columns(pl.col("column").cast(pl.String)),
        table="prices",
        reason="unknown_column",
        message=prices.message("the price list has the new column {}, not read", "column"),
        word=pl.col("column"),
    ).collect()


def _scan(path: Path, header: _Header) -> pl.LazyFrame:
    """Scan COLUMNS under our names; null for columns that the file lacks.

    TEXTS are strings, the others categories.
    """
    dtypes = {
        vendor_name: pl.String() if name in TEXTS else pl.Categorical()
        for vendor_name, name in COLUMNS.items()
    }
    frame = pl.scan_csv(
        path, skip_lines=header.lines_before, infer_schema=False, schema_overrides=dtypes
    )
    lacking: dict[str, pl.Expr] = {
        name: pl.lit(None, dtype=dtypes[name]) for name in header.lacking
    }
    if "CapacityStatus" in header.lacking and "usageType" in header.columns:
        is_idle = pl.col("usageType").str.contains(classify.IDLE)
        lacking["CapacityStatus"] = pl.when(is_idle).then(pl.lit(classify.OTHER_CAPACITY[0]))
    return frame.select(
        lacking.get(vendor, pl.col(vendor)).cast(dtypes[vendor]).alias(name)
        for vendor, name in COLUMNS.items()
    )


def _header(path: Path, required: frozenset[str]) -> _Header:
    content = open_packed(path, packing_of(path.name))
    with io.TextIOWrapper(content, encoding="utf-8", errors="replace") as text:
        for number, line in zip(range(MAX_PREAMBLE), text, strict=False):
            if line.startswith(('"SKU"', "SKU,")):
                header = _Header(number, frozenset(next(csv.reader([line]))))
                if lacking := sorted(required & header.lacking):
                    raise ValueError(f"{path.name} lacks the columns {', '.join(lacking)}")
                return header
    raise ValueError(f"{path.name} has no header line that begins with SKU")


def _compact(lines: pl.LazyFrame, *, has_machines: bool) -> pl.LazyFrame:
    """Shrink the TEXTS of lines so that they fit in memory.

    Ids and names that repeat become categories, and prices decimals. Adds on_demand, sign and
    unnamed (see ``classify.COMBINATION``).
    """
    # Separate categories are freed with the lines; those of words are kept for the next region.
    skus = pl.Categorical(pl.Categories.random("aws"))
    small = lines.select(
        pl.col("sku_id").cast(skus),
        *price_rows.shortened_price_id(),
        pl.exclude(TEXTS),
        "usage_type",
        pl.col("instance_type").cast(pl.Categorical),
        on_demand=(pl.col("term_type") == "OnDemand").fill_null(False),
        price=read_money(pl.col("price_text")),
        unnamed=(pl.col("instance_type").fill_null("") == "") | (not has_machines),
    ).with_columns(usage_type=pl.when(classify.is_part()).then("usage_type"))
    is_positive, is_negative = pl.col("price") > 0, pl.col("price") < 0
    return small.with_columns(sign=is_positive.cast(pl.Int8) - is_negative.cast(pl.Int8))


def _read_lines(compact: pl.LazyFrame) -> _Lines:
    """Read all lines. Only BATCH lines have their words in memory at a time."""
    number = {"combination": pl.UInt32()}
    schema: dict[str, pl.DataType] = {**compact.collect_schema(), **number}
    part_line = [*price_rows.COMPONENT_COLUMNS, "combination"]
    prices, on_demand, others, combinations = (
        pl.DataFrame(schema={name: schema[name] for name in names})
        for names in (
            price_rows.PRICE_COLUMNS,
            ON_DEMAND,
            part_line,
            ["combination", *classify.COMBINATION],
        )
    )
    counts = pl.DataFrame(schema={**number, "lines": pl.UInt32})
    lines_read = 0
    for batch in compact.collect_batches(chunk_size=BATCH, engine="streaming"):
        # One chunk, because each step below would copy all columns into matching chunks first.
        numbered, new, batch_counts = _numbered(batch.rechunk(), lines_read, combinations)
        lines_read += batch.height
        prices.vstack(numbered.select(price_rows.PRICE_COLUMNS), in_place=True)
        on_demand.vstack(numbered.filter("on_demand").select(ON_DEMAND), in_place=True)
        others.vstack(numbered.filter(classify.is_part()).select(part_line), in_place=True)
        combinations.vstack(new, in_place=True)
        counts.vstack(batch_counts, in_place=True)
    counted = counts.group_by("combination").agg(pl.col("lines").sum())
    combinations = combinations.join(counted, on="combination", maintain_order="left")
    return _Lines(prices, on_demand, others, combinations)


def _numbered(
    batch: pl.DataFrame, lines_before: int, known: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Number the lines of a batch by combination.

    Args:
        batch: lines, in one chunk.
        lines_before: how many lines the file has before the batch.
        known: combinations of these lines: ``combination`` and classify.COMBINATION.

    Returns:
        the batch with ``combination``, the new combinations with the columns of ``known``, and how
        many lines have each combination (``combination``, ``lines``).
    """
    place = pl.col("place")
    lines = batch.with_row_index("place").with_columns(
        first=place.first().over(classify.COMBINATION)
    )
    found = lines.group_by("first", maintain_order=True).agg(lines=pl.len())
    words = lines.select(classify.COMBINATION)[found["first"]]
    found = found.hstack(words).join(
        known, on=classify.COMBINATION, how="left", nulls_equal=True, maintain_order="left"
    )
    is_new = found["combination"].is_null()
    found = found.with_columns(pl.coalesce("combination", pl.col("first") + lines_before))
    number = pl.col("first").replace_strict(found["first"], found["combination"])
    return (
        lines.select(pl.exclude("place", "first"), combination=number),
        found.filter(is_new).select(known.columns),
        found.select("combination", "lines"),
    )


def _out_of_scope(combinations: pl.DataFrame) -> dict[str, int]:
    counted = (
        combinations.filter(pl.col("out_of_scope") != classify.PART)
        .group_by("out_of_scope")
        .agg(pl.col("lines").sum())
        .sort("out_of_scope")
    )
    return {f"out_of_scope:{why}": count for why, count in counted.iter_rows()}


def _skus(machines: pl.LazyFrame) -> pl.LazyFrame:
    """Describe each SKU of a machine, for the savings plans that name it."""
    in_scope = pl.col("out_of_scope").is_null() & ~pl.col("capacity_block")
    is_machine = ~pl.col("product_family").is_in(classify.OTHER_FAMILIES)
    return machines.filter(is_machine).select(
        pl.col("sku_id", "instance_type").cast(pl.String),
        "region",
        "os",
        "software",
        "license_model",
        "tenancy",
        in_scope=in_scope,
        is_refused=pl.col("sku_refused"),
        word=pl.when("sku_refused").then("word"),
    )


def _machines(lines: pl.LazyFrame) -> pl.DataFrame:
    """Make ``PriceListFacts.machines``.

    Lines of machines on a dedicated host are not prices, but only they describe machines that are
    sold by the host alone, such as a Mac.
    """
    stated = ["instance_type", *ATTRIBUTES, "product_family"]
    on_host = pl.col("out_of_scope").fill_null("").str.starts_with(classify.ON_HOST)
    machines = lines.filter(
        pl.col("product_family").is_in(classify.INSTANCES),
        pl.col("out_of_scope").is_null() | on_host,
        ~pl.col("unnamed"),
    )
    in_scope = machines.filter(~on_host | on_host.all().over("instance_type"))
    systems = pl.col("os").drop_nulls().unique()
    counted = in_scope.group_by(stated).agg(lines=pl.len(), systems=systems).collect()
    return counted.with_columns(
        pl.col(stated).cast(pl.String).fill_null(""), pl.col("systems").list.sort()
    ).sort(stated)


def _places(lines: pl.LazyFrame) -> pl.DataFrame:
    location = pl.col("location").cast(pl.String)
    key = ["region", "location", "location_type"]
    return (
        lines.filter(pl.col("out_of_scope").is_null(), location.fill_null("") != "")
        .group_by(key)
        .agg(lines=pl.len())
        .with_columns(location)
        .sort(key)
        .collect()
    )
