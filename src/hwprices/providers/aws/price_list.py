"""One region's price list (CSV): lines → prices, refused lines, counts of what is out of scope.

Format: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html
A few lines about the file come first, then the header, then one line a price dimension. Columns are found by name: their number
and order change. Nothing here loops over lines.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from hwprices import frames
from hwprices.errors import HwpricesError
from hwprices.landing import Page
from hwprices.providers import Pages
from hwprices.schemas.columns import Money
from hwprices.schemas.price import Prices

from . import platforms

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

REQUIRED = {"SKU", "RateCode", "TermType", "Unit", "PricePerUnit", "Currency", "Product Family", "Instance Type", "Operating System", "operation"}
"""Without these there is no price to read; the others are newer than some files and may lack."""

INSTANCES = ("Compute Instance", "Compute Instance (bare metal)")
HOSTS = "Dedicated Host"

MAX_PREAMBLE = 20  # lines before the header; there are five in every file seen


@dataclass(frozen=True)
class PriceList:
    """A region's price list, read.

    ``prices`` has the columns of the prices table; ``refused`` those of the quarantine table; ``counts`` says what became of the
    other lines. Every line is one of: the hourly dimension of a price, the upfront dimension merged into one
    (``counts["merged:upfront"]``), refused, or out of scope.
    """

    prices: pl.LazyFrame
    refused: pl.DataFrame
    counts: dict[str, int]
    skus: pl.LazyFrame
    attributes: pl.DataFrame
    places: pl.DataFrame


@contextmanager
def read(pages: Pages, page: Page, region: str, own_files: frozenset[str] = frozenset()) -> Iterator[PriceList]:
    """Read one landed price list. The frames are lazy over a temporary file and good until the context ends.

    ``own_files`` are the regions that have a price list of their own in this run: lines about them found here are left to it.

    Raises:
        HwpricesError: the file has no header, or lacks a required column, or is not what was landed.
    """
    with pages.file(page) as path, TemporaryDirectory(prefix="hwprices-") as scratch:
        lines = Path(scratch) / "lines.parquet"
        _classified(_scan(path), region, own_files - {region}).sink_parquet(lines, compression="lz4")
        yield _sorted_out(pl.scan_parquet(lines), page)


def _scan(path: Path) -> pl.LazyFrame:
    """Wanted columns as strings, under our names; wanted columns that the file lacks are null."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as text:
        skip = next((n for n, line in zip(range(MAX_PREAMBLE), text, strict=False) if line.startswith(('"SKU"', "SKU,"))), None)
    if skip is None:
        raise HwpricesError(f"{path.name} has no header line that begins with SKU", "Check what the price list endpoint serves.")
    frame = pl.scan_csv(path, skip_lines=skip, infer_schema=False)
    have = set(frame.collect_schema())
    if lacking := sorted(REQUIRED - have):
        raise HwpricesError(f"{path.name} lacks the columns {', '.join(lacking)}", "The vendor's format has changed: the reader must be adapted.")
    return frame.select(
        (pl.col(theirs) if theirs in have else pl.lit(None, dtype=pl.String)).fill_null("").str.strip_chars().alias(ours) for theirs, ours in COLUMNS.items()
    )


def _classified(lines: pl.LazyFrame, region: str, own_files: frozenset[str]) -> pl.LazyFrame:
    """Each line with its meaning (key columns), ``scope`` (why it is none of ours) and ``problem`` (why it is refused)."""
    host = pl.col("product_family") == HOSTS
    letters = pl.col("payment").str.replace_all(r"[^A-Za-z]", "").str.to_lowercase()
    read_out = lines.with_columns(
        *platforms.from_words(),
        pl.col("region_code").replace("", region).alias("region"),
        pl.col("price_text").cast(Money, strict=False).alias("price"),
        pl.col("lease").str.extract(r"^([13])\s*yr$").replace_strict({"1": 12, "3": 36}, default=None, return_dtype=pl.Int32).alias("lease_months"),
        letters.replace_strict(
            {"noupfront": "no_upfront", "partialupfront": "partial_upfront", "allupfront": "all_upfront"}, default=None, return_dtype=pl.String
        ).alias("lease_payment"),
        pl.when(host)
        .then(pl.lit("host"))
        .otherwise(pl.col("tenancy_word").replace_strict({"Shared": "shared", "Dedicated": "dedicated"}, default=None, return_dtype=pl.String))
        .alias("tenancy"),
        (pl.col("market_option") == "CapacityBlock").alias("capacity_block"),
        (pl.col("unit").str.to_lowercase() == "quantity").alias("is_upfront"),
    )
    return read_out.with_columns(_scope(own_files).alias("scope"), _problem().alias("problem")).drop("price_text", "region_code")


def _scope(own_files: frozenset[str]) -> pl.Expr:
    """Why a line is deliberately left out; null where it is one of ours."""
    family, capacity = pl.col("product_family"), pl.col("capacity_status")
    host = family == HOSTS
    return (
        pl.when(~family.is_in([*INSTANCES, HOSTS]))
        .then(pl.lit("product_family=") + family)
        .when(pl.col("location_type").str.contains("(?i)outpost"))
        .then(pl.lit("location_type=") + pl.col("location_type"))
        .when(pl.col("region").is_in(sorted(own_files)))
        .then(pl.lit("region=another_file"))
        .when(~host & capacity.is_in(["Used", ""]).not_())
        .then(pl.lit("capacity_status=") + capacity)
        # An instance on a dedicated host is listed at $0: the host is what is paid for.
        .when(~host & pl.col("tenancy_word").is_in(["Host", "Reserved"]))
        .then(pl.lit("tenancy=") + pl.col("tenancy_word"))
        .when(host & (pl.col("term_type") == "OnDemand") & (pl.col("price") == 0))
        .then(pl.lit("dedicated_host_at_zero"))
    )


def _problem() -> pl.Expr:
    """Why a line cannot be taken for a price; null where it can. ``code: words``."""
    host, block = pl.col("product_family") == HOSTS, pl.col("capacity_block")
    reserved = pl.col("term_type") == "Reserved"
    words = pl.concat_str(["os", "software", "license_model"], separator="/")
    code = platforms.from_operation()
    platform = ~host & ~block
    tiered = ~pl.col("starting_range").is_in(["0", ""]) | ~pl.col("ending_range").is_in(["Inf", ""])
    return (
        pl.when(pl.col("price").is_null() | (pl.col("price") < 0))
        .then(pl.format("unreadable_price:{} is no price", "price_text"))
        .when(~pl.col("market_option").is_in(["", "OnDemand", "CapacityBlock"]))
        .then(pl.format("unknown_market_option:MarketOption {}", "market_option"))
        .when(~pl.col("term_type").is_in(["OnDemand", "Reserved"]))
        .then(pl.format("unknown_term:TermType {}", "term_type"))
        .when(pl.col("instance_type") == "")
        .then(pl.lit("no_instance_type:the line names no instance type"))
        .when(pl.col("tenancy").is_null())
        .then(pl.format("unknown_tenancy:Tenancy {}", "tenancy_word"))
        .when(~host & pl.any_horizontal(pl.col("os", "software", "license_model").is_null()))
        .then(pl.format("unknown_platform:Operating System {}, Pre Installed S/W {}, License Model {}", "operating_system", "pre_installed", "license_words"))
        .when(platform & code.is_null())
        .then(pl.format("unknown_operation:operation {} beside {}", "operation", words))
        .when(platform & (code != words))
        .then(pl.format("platform_disagrees:operation {} is {}, the words say {}", "operation", code, words))
        .when(reserved & (pl.col("lease_months").is_null() | pl.col("lease_payment").is_null() | ~pl.col("offering_class").is_in(["standard", "convertible"])))
        .then(pl.format("unknown_term:{} / {} / {}", "lease", "payment", "offering_class"))
        .when(~pl.col("unit").str.to_lowercase().is_in(["hrs", "quantity"]) | (pl.col("is_upfront") & ~reserved))
        .then(pl.format("unknown_unit:Unit {} of a {} term", "unit", "term_type"))
        .when(tiered & ~pl.col("is_upfront"))
        .then(pl.format("tiered_price:from {} to {}", "starting_range", "ending_range"))
    )


def _sorted_out(lines: pl.LazyFrame, page: Page) -> PriceList:
    ours = lines.filter(pl.col("scope").is_null() & pl.col("problem").is_null())
    paired, unpaired, merged = _paired(ours)
    origin = [
        pl.lit("aws").alias("provider"),
        pl.lit(page.retrieved_at).cast(pl.Datetime("us", "UTC")).alias("observed_at"),
        pl.lit(page.url).alias("source_url"),
        pl.lit(page.sha256).alias("raw_sha256"),
    ]
    outside = lines.filter(pl.col("scope").is_not_null()).group_by("scope").len().sort("scope").collect()
    counts = {f"out_of_scope:{scope}": n for scope, n in outside.iter_rows()}
    if merged:
        counts["merged:upfront"] = merged
    instances = lines.filter(pl.col("product_family").is_in(INSTANCES), pl.col("scope").is_null())
    return PriceList(
        prices=_prices(paired, origin),
        refused=_refused(lines, unpaired, origin),
        counts=counts,
        skus=lines.filter(pl.col("product_family").is_in([*INSTANCES, HOSTS])).select(
            "sku_id", "instance_type", "region", "os", "software", "license_model", "tenancy", in_scope=pl.col("scope").is_null() & ~pl.col("capacity_block")
        ),
        attributes=_attributes(instances),
        places=_places(lines),
    )


def _paired(lines: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, int]:
    """A reserved term has two dimensions: what recurs and what is paid upfront. Both go into one row.

    Returns the rows, the lines left over with their problem, and how many upfront lines went into rows.
    """
    term = ["sku_id", "offer_term_code"]
    hourly = lines.filter(~pl.col("is_upfront"))
    fees = lines.filter(pl.col("is_upfront")).with_columns(fees=pl.len().over(term))
    single = fees.filter(pl.col("fees") == 1)
    lone = single.join(hourly.select(term), on=term, how="anti")
    # All upfront leaves nothing to recur, so its fee alone is the whole price; half a partial-upfront price is none.
    whole = lone.filter(pl.col("lease_payment") == "all_upfront").with_columns(upfront=pl.col("price"), price=pl.lit(0).cast(Money))
    half = lone.filter(pl.col("lease_payment") != "all_upfront").with_columns(problem=pl.lit("missing_hourly:an upfront fee without its hourly rate"))
    double = fees.filter(pl.col("fees") > 1).with_columns(problem=pl.lit("double_upfront:two upfront fees for one term"))
    with_fee = hourly.join(single.select(*term, upfront="price"), on=term, how="left")
    orphan = pl.col("upfront").is_null() & (pl.col("term_type") == "Reserved") & (pl.col("lease_payment") != "no_upfront")
    bare = with_fee.filter(orphan).drop("upfront").with_columns(problem=pl.lit("missing_upfront:an upfront plan without its fee"))
    rows = pl.concat([with_fee.filter(~orphan), whole.drop("fees")], how="diagonal")
    merged = single.join(hourly.select(term), on=term, how="semi").select(pl.len()).collect().item()
    return rows, pl.concat([half.drop("fees"), double.drop("fees"), bare]), merged


def _prices(rows: pl.LazyFrame, origin: list[pl.Expr]) -> pl.LazyFrame:
    reserved, block = pl.col("term_type") == "Reserved", pl.col("capacity_block")
    date = pl.col("effective_date")
    when = date.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    host = pl.col("tenancy") == "host"
    named = rows.with_columns(
        *origin,
        zone=pl.lit(None, dtype=pl.String),
        os=pl.col("os").fill_null("linux"),
        software=pl.col("software").fill_null("none"),
        license_model=pl.col("license_model").fill_null("included"),
        purchase_option=pl.when(reserved).then(pl.lit("reserved")).when(block).then(pl.lit("capacity_block")).otherwise(pl.lit("on_demand")),
        commitment_plan=pl.when(reserved).then(pl.col("offering_class")),
        term_months=pl.when(reserved).then(pl.col("lease_months")).otherwise(0).cast(pl.Int32),
        payment_option=pl.when(reserved).then(pl.col("lease_payment")).otherwise(pl.lit("none")),
        upfront=pl.when(pl.col("upfront") > 0).then(pl.col("upfront")),
        basis=pl.lit("listed"),
        billing_unit=pl.lit("hour"),
        effective_from=when,
        flags=_flags(host=host, date_unreadable=(date != "") & when.is_null()),
    )
    priced = named.with_columns(
        hourly=pl.when((pl.col("price") > 0) | pl.col("upfront").is_not_null()).then(pl.col("price")),
        price_reason=pl.when((pl.col("price") == 0) & pl.col("upfront").is_null()).then(
            # The price list shows capacity blocks at $0: what one costs is told only by DescribeCapacityBlockOfferings.
            pl.when(block).then(pl.lit("capacity_block_priced_by_offering")).otherwise(pl.lit("listed_at_zero"))
        ),
    ).with_columns(frames.effective_hourly(), frames.price_id())
    return frames.conform(priced.select(list(frames.dtypes(Prices))), Prices)


def _flags(**conditions: pl.Expr) -> pl.Expr:
    names = {"host": "whole_host", "date_unreadable": "effective_date_unreadable"}
    return pl.concat_list(pl.when(test).then(pl.lit(names[name])) for name, test in conditions.items()).list.drop_nulls()


def _refused(lines: pl.LazyFrame, unpaired: pl.LazyFrame, origin: list[pl.Expr]) -> pl.DataFrame:
    wrong = lines.filter(pl.col("scope").is_null() & pl.col("problem").is_not_null())
    shown = ["region", "problem", "sku_id", "sku_price_id", "term_type", "instance_type", "tenancy_word", "operating_system", "pre_installed", "license_words"]
    shown += ["operation", "market_option", "unit", "price", "currency", "lease", "payment", "offering_class"]
    rows = pl.concat([wrong, unpaired]).select(*shown, *origin)
    reason, message = pl.col("problem").str.extract(r"^([a-z_]+):"), pl.col("problem").str.replace(r"^[a-z_]+:", "")
    return frames.refused(rows, table="prices", reason=reason, message=message).collect()


def _places(lines: pl.LazyFrame) -> pl.DataFrame:
    """region, location, location_type and how many lines say so."""
    named = lines.filter(pl.col("location") != "", pl.col("scope").is_null())
    return named.group_by("region", "location", "location_type").agg(lines=pl.len()).sort("region", "location", "location_type").collect()


def _attributes(lines: pl.LazyFrame) -> pl.DataFrame:
    """What the price list says of each instance type: one row a distinct set of attributes, with how often it is said."""
    said = [
        "instance_type",
        "product_family",
        "current_generation",
        "vcpu",
        "physical_processor",
        "clock_speed",
        "memory",
        "storage",
        "network_performance",
        "gpu",
    ]
    return lines.group_by(said).agg(lines=pl.len(), systems=pl.col("os").drop_nulls().unique()).collect().with_columns(pl.col("systems").list.sort()).sort(said)
