"""Judged lines of a price list → rows of prices: the two dimensions of a reserved term become one row."""

from dataclasses import dataclass

import polars as pl

from hwprices.landing.pages import Page
from hwprices.rows import frames, hashing, quarantine
from hwprices.rows.prices import effective_hourly
from hwprices.schemas.price import PRICE_KEY, Prices
from hwprices.units import Money

KEPT = [
    "sku_id",
    "sku_price_id",
    "offer_term_code",
    "effective_date",
    "instance_type",
    "price",
    "way",
]
TERM = ["sku_id", "offer_term_code"]


@dataclass(frozen=True)
class Read:
    """Rows of prices, refused lines, and how many upfront lines went into rows."""

    prices: pl.LazyFrame
    refused: pl.DataFrame
    merged: int


def prices(lines: pl.DataFrame, ways: pl.DataFrame, page: Page) -> Read:
    """``lines`` have KEPT; ``ways`` are ``meaning.judged`` by ``way``."""
    good = ways.filter(pl.col("scope").is_null(), pl.col("problem").is_null())
    upfront = good.filter("is_upfront")["way"].to_list()
    plain = good.filter(
        ~pl.col("is_upfront")
        & ((pl.col("term_type") == "OnDemand") | (pl.col("lease_payment") == "no_upfront"))
    )["way"].to_list()
    with_fee = good.filter(~pl.col("is_upfront"), ~pl.col("way").is_in(plain))["way"].to_list()
    rows = lines.select(KEPT).lazy()
    paired, unpaired, merged = _paired(
        rows.filter(pl.col("way").is_in(with_fee)), rows.filter(pl.col("way").is_in(upfront)), good
    )
    alone = (
        rows.filter(pl.col("way").is_in(plain))
        .with_columns(upfront=pl.lit(None, dtype=Money))
        .collect()
    )
    wrong = lines.filter(
        pl.col("way").is_in(
            ways.filter(pl.col("scope").is_null(), pl.col("problem").is_not_null())["way"].to_list()
        )
    ).select(KEPT)
    refused = pl.concat(
        [
            wrong.join(ways, on="way", how="left"),
            unpaired.join(ways.drop("problem"), on="way", how="left"),
        ],
        how="diagonal",
    )
    return Read(
        _prices(pl.concat([alone, paired]).lazy(), good.lazy(), page),
        _refused(refused.lazy(), page),
        merged,
    )


def _paired(
    hourly: pl.LazyFrame, fees: pl.LazyFrame, ways: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """What recurs and what is paid upfront, in one row a term; the lines left over with their problem; how many fees went into rows."""
    fee = fees.with_row_index("fee").collect()
    joined = hourly.join(
        fee.lazy().select(*TERM, "fee", upfront="price"), on=TERM, how="left"
    ).collect()
    pairs = joined.filter(pl.col("fee").is_not_null())
    if (
        pairs.height == joined.height == fee.height == joined["fee"].n_unique()
    ):  # each fee has one rate and each rate one fee
        return (
            joined.drop("fee"),
            joined.clear().drop("fee", "upfront").with_columns(problem=pl.lit("")),
            fee.height,
        )
    return _mended(hourly.collect(), fee.drop("fee"), ways)


def _mended(
    hourly: pl.DataFrame, fee: pl.DataFrame, ways: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """_paired, for a file in which some fees or rates stand alone or are there twice."""
    single, double = (
        fee.filter(fee.select(TERM).is_unique()),
        fee.filter(fee.select(TERM).is_duplicated()),
    )
    joined = hourly.join(single.select(*TERM, upfront="price"), on=TERM, how="left")
    pairs = joined.filter(pl.col("upfront").is_not_null())
    double = double.with_columns(problem=pl.lit("double_upfront:two upfront fees for one term"))
    bare = (
        joined.filter(pl.col("upfront").is_null())
        .drop("upfront")
        .with_columns(problem=pl.lit("missing_upfront:an upfront plan without its fee"))
    )
    lone = single.join(pairs, on=TERM, how="anti")
    # All upfront leaves nothing to recur, so its fee alone is the whole price; half a partial-upfront price is none.
    all_upfront = pl.col("way").is_in(
        ways.filter(pl.col("lease_payment") == "all_upfront")["way"].to_list()
    )
    whole = lone.filter(all_upfront).with_columns(
        upfront=pl.col("price"), price=pl.lit(0).cast(Money)
    )
    half = lone.filter(~all_upfront).with_columns(
        problem=pl.lit("missing_hourly:an upfront fee without its hourly rate")
    )
    return pl.concat([pairs, whole]), pl.concat([half, double, bare]), single.height - lone.height


def _prices(rows: pl.LazyFrame, ways: pl.LazyFrame, page: Page) -> pl.LazyFrame:
    named = rows.join(_keys(ways), on="way", how="left").with_columns(
        *_origin(page),
        effective_from=_date(),
        instance_type=pl.col("instance_type").cast(pl.String),
    )
    unreadable = (
        pl.col("effective_date").is_not_null()
        & (pl.col("effective_date").cast(pl.String) != "")
        & pl.col("effective_from").is_null()
    )
    fee, block = pl.col("upfront") > 0, pl.col("purchase_option") == "capacity_block"
    priced = named.with_columns(
        upfront=pl.when(fee).then(pl.col("upfront")),
        hourly=pl.when((pl.col("price") > 0) | fee).then(pl.col("price")),
        price_reason=pl.when((pl.col("price") == 0) & fee.fill_null(False).not_()).then(
            # The price list shows capacity blocks at $0: what one costs is told only by DescribeCapacityBlockOfferings.
            pl.when(block)
            .then(pl.lit("capacity_block_priced_by_offering"))
            .otherwise(pl.lit("listed_at_zero"))
        ),
        flags=_flags(pl.col("tenancy") == "host", unreadable),
    )
    priced = priced.with_columns(
        effective_hourly(),
        price_id=hashing.digest(pl.col("before"), pl.col("instance_type"), pl.col("after")),
    )
    return frames.conform(priced.select(list(frames.dtypes(Prices))), Prices)


def _keys(ways: pl.LazyFrame) -> pl.LazyFrame:
    """The columns of prices that are the same for all lines of a way."""
    reserved, block = pl.col("term_type") == "Reserved", pl.col("capacity_block")
    keys = ways.select(
        "way",
        *("region", "tenancy", "currency"),
        zone=pl.lit(None, dtype=pl.String),
        os=pl.col("os").fill_null("linux"),
        software=pl.col("software").fill_null("none"),
        license_model=pl.col("license_model").fill_null("included"),
        purchase_option=pl.when(reserved)
        .then(pl.lit("reserved"))
        .when(block)
        .then(pl.lit("capacity_block"))
        .otherwise(pl.lit("on_demand")),
        commitment_plan=pl.when(reserved).then(pl.col("offering_class")),
        term_months=pl.when(reserved).then(pl.col("lease_months")).otherwise(0).cast(pl.Int32),
        payment_option=pl.when(reserved).then(pl.col("lease_payment")).otherwise(pl.lit("none")),
        basis=pl.lit("listed"),
        billing_unit=pl.lit("hour"),
        provider=pl.lit("aws"),
    )
    at = PRICE_KEY.index(
        "instance_type"
    )  # price_id hashes the key; all of it but the type is the way's
    before, after = [
        hashing.joined(*(pl.col(name) for name in names))
        for names in (PRICE_KEY[:at], PRICE_KEY[at + 1 :])
    ]
    return keys.with_columns(before=before, after=after)


def _date() -> pl.Expr:
    return (
        pl.col("effective_date")
        .cast(pl.String)
        .str.slice(0, 10)
        .str.to_date("%Y-%m-%d", strict=False)
        .cast(pl.Datetime("us"))
        .dt.replace_time_zone("UTC")
    )


def _flags(host: pl.Expr, unreadable: pl.Expr) -> pl.Expr:
    both = pl.concat_list(
        pl.when(host).then(pl.lit("whole_host")),
        pl.when(unreadable).then(pl.lit("effective_date_unreadable")),
    ).list.drop_nulls()
    return pl.when(host | unreadable).then(both).otherwise(pl.lit([], dtype=pl.List(pl.String)))


def _origin(page: Page) -> list[pl.Expr]:
    return [
        pl.lit("aws").alias("provider"),
        pl.lit(page.retrieved_at).cast(pl.Datetime("us", "UTC")).alias("observed_at"),
        pl.lit(page.url).alias("source_url"),
        pl.lit(page.sha256).alias("raw_sha256"),
    ]


def _refused(rows: pl.LazyFrame, page: Page) -> pl.DataFrame:
    shown = [
        "region",
        "problem",
        "sku_id",
        "sku_price_id",
        "term_type",
        "instance_type",
        "tenancy_word",
        "operating_system",
        "pre_installed",
        "license_words",
    ]
    shown += [
        "operation",
        "market_option",
        "unit",
        "price",
        "currency",
        "lease",
        "payment",
        "offering_class",
    ]
    reason, message = (
        pl.col("problem").str.extract(r"^([a-z_]+):"),
        pl.col("problem").str.replace(r"^[a-z_]+:", ""),
    )
    said = rows.with_columns(pl.col("instance_type").cast(pl.String)).select(*shown, *_origin(page))
    return quarantine.refused(said, table="prices", reason=reason, message=message).collect()
