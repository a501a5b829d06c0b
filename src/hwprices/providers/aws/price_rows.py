"""Make rows of the classified lines of a price list: prices of machines, and component_prices.

A reserved term with a fee has two lines, the hourly rate and the upfront fee. They become one row.

Disks, snapshots, IOPS, gateways, load balancers and CPU credits are in EC2's list. Data transfer,
public addresses and SageMaker have other lists in the same format.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.formulas import first_of
from hwprices.landing.pages import Page
from hwprices.providers import Part
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN, origin
from hwprices.rows.prices import PriceRows
from hwprices.schemas.tables import ComponentPrices
from hwprices.units import HOURS_PER_MONTH, Money, Timestamp

PRICE_COLUMNS = [
    *("sku_id", "rate_code", "other_price_id", "offer_term_code", "effective_date"),
    *("instance_type", "price", "combination"),
]
"""Columns of a line that its combination does not have."""

TERM = ["sku_id", "offer_term_code"]  # The key of a term, which may have two lines

REFUSED = [
    *("region", "sku_id", "sku_price_id", "term_type", "instance_type", "tenancy_word"),
    *("operating_system", "pre_installed", "license_words", "operation", "market_option", "unit"),
    *("price", "currency", "lease", "payment", "offering_class", "os", "purchase_option"),
]
"""Columns that the quarantine table shows of a refused line."""


@dataclass(frozen=True)
class Terms:
    """Terms with an upfront fee.

    ``rows`` has PRICE_COLUMNS and upfront; ``unpaired`` has PRICE_COLUMNS, reason, message and
    word; ``merged`` is the number of fee lines that became part of a row.
    """

    rows: pl.DataFrame
    unpaired: pl.DataFrame
    merged: int


def shortened_price_id() -> tuple[pl.Expr, pl.Expr]:
    """Split sku_price_id, which usually begins with sku_id, to save memory.

    Returns rate_code, the part after the SKU (codes of the term and the rate, with few distinct
    values), and other_price_id, the complete id if it does not begin with the SKU. One is null.
    """
    price_id = pl.col("sku_price_id")
    code = price_id.str.strip_prefix(pl.col("sku_id"))
    has_prefix = (code.str.len_bytes() < price_id.str.len_bytes()).fill_null(False)
    return (
        pl.when(has_prefix).then(code).cast(pl.Categorical).alias("rate_code"),
        pl.when(~has_prefix).then(price_id).alias("other_price_id"),
    )


def _sku_price_id() -> pl.Expr:
    split = pl.concat_str(pl.col("sku_id", "rate_code").cast(pl.String))
    return pl.coalesce("other_price_id", split).alias("sku_price_id")


def price_list_rows(lines: pl.DataFrame, combinations: pl.DataFrame, page: Page) -> PriceRows:
    """Make price rows of ``lines`` (PRICE_COLUMNS) with their classified ``combinations``.

    Each line in scope becomes a row, becomes part of a row (``counts["merged:upfront"]``), or is
    refused: it has a quarantine row or is a dependant of another one.
    """
    lines, repeated = _without_repeated(lines)
    in_scope = combinations.filter(pl.col("out_of_scope").is_null())
    valid = in_scope.filter(pl.col("reason").is_null())
    refused = in_scope.filter(pl.col("reason").is_not_null())
    has_fee = (pl.col("term_type") == "Reserved") & (pl.col("lease_payment") != "no_upfront")
    unreadable = _lines_of(lines, refused).join(refused, on="combination", how="left")
    broken = unreadable.select(*TERM, "currency", "reason", "message", "word").unique(
        [*TERM, "currency"], keep="first"
    )
    rates = valid.filter(~pl.col("is_upfront"))
    terms = [
        _join_fees(
            _lines_of(lines, rates.filter(has_fee, pl.col("currency") == currency)),
            _lines_of(lines, valid.filter("is_upfront", pl.col("currency") == currency)),
            valid,
            broken.filter(pl.col("currency") == currency),
        )
        for currency in valid["currency"].unique(maintain_order=True)
    ]
    merged = sum(term.merged for term in terms)
    plain = _lines_of(lines, rates.filter(~has_fee)).with_columns(upfront=pl.lit(None, dtype=Money))
    stated = valid.drop("reason", "message", "word")
    unpaired = [term.unpaired.join(stated, on="combination", how="left") for term in terms]
    repeated = repeated.join(in_scope.drop("reason", "message", "word"), on="combination")
    return PriceRows(
        _rows(pl.concat([plain, *(term.rows for term in terms)]), valid.lazy(), page),
        _refused([_once_per_word([unreadable, *unpaired]), _first_of_repeated(repeated)], page),
        {"merged:upfront": merged} if merged else {},
    )


def _without_repeated(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split off lines that repeat an earlier one in rate, price and words."""
    # Comparing numbers first saves 8 of 481 s of processor time of a full refresh, and a tenth of
    # the time of a price list, which has its own goal (docs/performance.md).
    codes = lines.select(_pair_number("sku_id", "rate_code")).to_series().drop_nulls()
    if codes.n_unique() == codes.len():
        return lines, lines.clear()
    has_code = pl.all_horizontal(pl.col("sku_id", "rate_code").is_not_null())
    is_first = pl.struct("sku_id", "rate_code", "price", "combination").is_first_distinct()
    return lines.filter(~has_code | is_first), lines.filter(has_code & ~is_first)


def _pair_number(one: str, other: str) -> pl.Expr:
    """Number the pairs of two categories, which are numbered in 32 bits themselves."""
    first, second = (pl.col(name).to_physical().cast(pl.UInt64) for name in (one, other))
    return first * 2**32 + second


def _first_of_repeated(repeated: pl.DataFrame) -> pl.DataFrame:
    """Keep the first of the repeated lines, with the number of the others as dependants."""
    return repeated.head(1).with_columns(
        _problem("duplicate_key", "the file has lines twice; one of each is published"),
        dependants=pl.lit(repeated.height - 1),
    )


def _once_per_word(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Keep one line per SKU and unknown word, the on-demand line if there is one.

    Adds ``dependants``: the number of the other lines.
    """
    refused = pl.concat(parts, how="diagonal_relaxed")
    is_new = pl.col("word").is_not_null()
    on_demand_first = refused.filter(is_new).sort(
        pl.col("term_type") != "OnDemand", maintain_order=True
    )
    new = on_demand_first.group_by("sku_id", "reason", "word", maintain_order=True).agg(
        pl.all().first(), dependants=pl.len().cast(pl.Int32) - 1
    )
    return pl.concat([refused.filter(~is_new), new], how="diagonal")


def _lines_of(lines: pl.DataFrame, combinations: pl.DataFrame) -> pl.DataFrame:
    is_in = pl.col("combination").is_in(combinations["combination"].to_list())
    return lines.lazy().select(PRICE_COLUMNS).filter(is_in).collect()


def _join_fees(
    hourly: pl.DataFrame, fees: pl.DataFrame, valid: pl.DataFrame, broken: pl.DataFrame
) -> Terms:
    """Join the hourly and the upfront line of each term.

    ``broken`` has TERM, reason, message and word of terms with a refused line.
    """
    # numbers are joined in half the time of TERM
    hourly, fees = (rows.with_columns(term=_pair_number(*TERM)) for rows in (hourly, fees))
    is_single = fees["term"].is_unique() | fees["term"].is_null()  # unknown terms are not equal
    single = fees.filter(is_single)
    joined = hourly.join(single.select("term", upfront="price"), on="term", how="left")
    pairs = joined.filter(pl.col("upfront").is_not_null())
    without_fee = joined.filter(pl.col("upfront").is_null()).drop("upfront")
    without_rate = single.join(pairs, on="term", how="anti")
    merged = single.height - without_rate.height
    # With all_upfront nothing is paid by the hour, so the fee alone is the complete price.
    all_upfront = valid.filter(pl.col("lease_payment") == "all_upfront")["combination"].to_list()
    complete = without_rate.filter(pl.col("combination").is_in(all_upfront)).join(
        broken, on=TERM, how="anti"
    )
    without_rate = without_rate.join(complete, on="term", how="anti")
    complete = complete.with_columns(upfront=pl.col("price"), price=pl.lit(0).cast(Money))
    unpaired = [
        without_rate.with_columns(
            _problem("missing_hourly", "an upfront fee without its hourly rate")
        ),
        fees.filter(~is_single).with_columns(
            _problem("double_upfront", "two upfront fees for one term")
        ),
        without_fee.with_columns(_problem("missing_upfront", "an upfront plan without its fee")),
    ]
    rows = pl.concat([pairs, complete]).drop("term")
    return Terms(rows, _as_partners(pl.concat(unpaired), broken), merged)


def _as_partners(unpaired: pl.DataFrame, broken: pl.DataFrame) -> pl.DataFrame:
    """Give a line whose counterpart is refused the reason, message and word of the counterpart."""
    counterparts = broken.drop("currency").rename(
        lambda name: name if name in TERM else f"other_{name}"
    )
    joined = unpaired.join(counterparts, on=TERM, how="left")
    return joined.select(
        *PRICE_COLUMNS,
        *(pl.coalesce(f"other_{name}", name).alias(name) for name in ("reason", "message", "word")),
    )


def _problem(reason: str, message: str) -> list[pl.Expr]:
    return [
        pl.lit(reason).alias("reason"),
        pl.lit(message).alias("message"),
        pl.lit(None, dtype=pl.String).alias("word"),
    ]


def _rows(lines: pl.DataFrame, combinations: pl.LazyFrame, page: Page) -> pl.LazyFrame:
    stated = (
        lines.lazy()
        .join(_keys(combinations), on="combination", how="left")
        .with_columns(
            *origin(page),
            _sku_price_id(),
            pl.col("sku_id", "instance_type").cast(pl.String),
            effective_from=read_date(pl.col("effective_date").cast(pl.String)),
        )
    )
    has_fee = (pl.col("upfront") > 0).fill_null(False)
    # A block's price is in its offering. A price above 0 here is the fee of the operating system.
    is_block = pl.col("purchase_option") == "capacity_block"
    is_price = ~is_block & ((pl.col("price") > 0) | has_fee)
    block_reason = pl.when(is_block).then(pl.lit("capacity_block_priced_by_offering"))
    has_date = (pl.col("effective_date") != "").fill_null(False)
    is_unreadable_date = has_date & pl.col("effective_from").is_null()
    values = stated.with_columns(
        upfront=pl.when(has_fee).then(pl.col("upfront")),
        hourly=pl.when(is_price).then(pl.col("price")),
        price_reason=pl.when(~is_price).then(block_reason.otherwise(pl.lit("listed_at_zero"))),
        flags=_flags(pl.col("tenancy") == "host", is_unreadable_date),
    )
    return prices.price_rows(values, provider="aws")


def _keys(combinations: pl.LazyFrame) -> pl.LazyFrame:
    """Make the price columns that all lines of a combination share."""
    is_reserved = pl.col("term_type") == "Reserved"
    return combinations.select(
        "combination",
        "region",
        "tenancy",
        "currency",
        os=pl.col("os").fill_null("linux"),
        software=pl.col("software").fill_null("none"),
        license_model=pl.col("license_model").fill_null("included"),
        purchase_option=_purchase_option(),
        commitment_plan=pl.when(is_reserved).then("offering_class"),
        term_months=pl.when(is_reserved).then("lease_months").otherwise(0).cast(pl.Int32),
        payment_option=pl.when(is_reserved).then("lease_payment").otherwise(pl.lit("none")),
    )


def _purchase_option() -> pl.Expr:
    return first_of(
        {"reserved": pl.col("term_type") == "Reserved", "capacity_block": pl.col("capacity_block")},
        "on_demand",
    )


def read_date(text: pl.Expr) -> pl.Expr:
    """Read the ISO date at the beginning of a text as midnight UTC; null without one."""
    date = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return date.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").cast(Timestamp)


def _flags(is_host: pl.Expr, is_unreadable_date: pl.Expr) -> pl.Expr:
    flags = pl.concat_list(
        pl.when(is_host).then(pl.lit("whole_host")),
        pl.when(is_unreadable_date).then(pl.lit("effective_date_unreadable")),
    ).list.drop_nulls()
    none = pl.lit([], dtype=pl.List(pl.String))
    return pl.when(is_host | is_unreadable_date).then(flags).otherwise(none)


def _refused(parts: list[pl.DataFrame], page: Page) -> pl.DataFrame:
    lines = pl.concat(parts, how="diagonal_relaxed").lazy()
    shown = lines.with_columns(
        *origin(page),
        _sku_price_id(),
        pl.col("sku_id", "instance_type").cast(pl.String),
        provider=pl.lit("aws"),
        purchase_option=_purchase_option(),
        dependants=pl.col("dependants").fill_null(0),
    ).select("provider", *ORIGIN, *REFUSED, "reason", "message", "word", "dependants")
    return prices.refused(shown, table="prices").collect()


@dataclass(frozen=True)
class Problem:
    """A condition under which a row cannot be a price.

    ``reason`` is the code for the quarantine table. ``message`` is a template for
    ``quarantine.message``; ``values``, columns or expressions, replace its ``{}``. ``word`` is the
    vendor's unknown word; None if the row has another fault.
    """

    condition: pl.Expr
    reason: str
    message: str
    values: tuple[str | pl.Expr, ...] = ()
    word: pl.Expr | None = None


def unknown_word(condition: pl.Expr, reason: str, name: str, column: str) -> Problem:
    """Refuse an unknown word; ``name`` is the vendor's name of its column."""
    return Problem(condition, reason, f"{name} {{}}", (column,), word_of(column))


def word_of(column: str) -> pl.Expr:
    """Return the vendor's word; null if it is empty, which is not a new word."""
    return pl.when(pl.col(column) != "").then(pl.col(column))


def first_problem(problems: Sequence[Problem]) -> list[pl.Expr]:
    """Make the columns ``reason``, ``message`` and ``word`` of a row's first problem, else null."""
    reason = message = word = pl.lit(None, dtype=pl.String)
    for problem in reversed(problems):
        text = prices.message(problem.message, *problem.values)
        reason = pl.when(problem.condition).then(pl.lit(problem.reason)).otherwise(reason)
        message = pl.when(problem.condition).then(text).otherwise(message)
        new = problem.word if problem.word is not None else pl.lit(None, dtype=pl.String)
        word = pl.when(problem.condition).then(new).otherwise(word)
    return [reason.alias("reason"), message.alias("message"), word.alias("word")]


COMPONENT_COLUMNS = [
    "sku_id",
    "rate_code",
    "other_price_id",
    "effective_date",
    "price",
    "usage_type",
]
"""Columns of a part's line that its combination does not have."""

WORDS = ["region", "operation", "unit", "currency", "starting_range", "ending_range", "term_type"]
"""Columns of a part's combination."""

REGION_PREFIX = r"^(?:[A-Z]{2,4}\d*-){1,2}([A-Z][A-Za-z]*[a-z:])"
"""The region, and the zone, with which a usage type begins outside us-east-1: APN1-, EU-,
USW2-LAX1-. The two regions of a transfer, USE1-USW2-AWS-Out-Bytes, are kept: they are the product.
https://docs.aws.amazon.com/cur/latest/userguide/cur-data-transfers-charges.html"""

PERIODS = {r"(?i)\b(?:mo|months?)$": "month", r"(?i)\b(?:hrs?|hours?)$": "hour"}
"""Suffix of a unit → billing period. Other units are billed by use."""

UNITS = {
    r"(?i)^(?:gb|gigabytes)\b": "gb",
    r"(?i)^iops\b": "iops",
    r"(?i)^mibps\b": "mibps",
    r"(?i)^gibps\b": "gibps",
    r"(?i)^(?:ios|requests?|api[ -]?requests?)$": "request",
}
"""Units as the lists write them (GB-Mo, GB, IOPS-Mo, GiBps-mo, IOs) → our units."""

OPEN_END = ("Inf", "")


def part_lines(lines: pl.DataFrame, combinations: pl.DataFrame) -> pl.DataFrame:
    """Return ``lines`` (COMPONENT_COLUMNS, combination) with WORDS. It needs little memory."""
    sku_price_id = pl.concat_str(pl.col("sku_id", "rate_code").cast(pl.String))
    joined = lines.join(combinations.select("combination", *WORDS), on="combination")
    return joined.select(
        pl.col("sku_id", "effective_date").cast(pl.String),
        pl.coalesce("other_price_id", sku_price_id).alias("sku_price_id"),
        "price",
        "usage_type",
        *WORDS,
    )


def component_part(
    region: str, lists: list[tuple[Page, str, pl.DataFrame]], counts: Mapping[str, int]
) -> Part:
    """Make component_prices of a region from its lists: page, service and ``part_lines`` of each.

    Repeated prices are dropped. A month has 730 hours; ``hourly`` is rounded to ten decimals and
    ``price`` is the vendor's figure. ``counts`` counts the lines that were left out.
    """
    listed = pl.concat(
        lines.with_columns(*origin(page), service=pl.lit(service)) for page, service, lines in lists
    )
    key = ["region", "sku_price_id", "price"]
    lines = listed.unique(key, keep="first", maintain_order=True)
    repeated = listed.height - lines.height
    lines = lines.with_columns(*first_problem(_problems()), provider=pl.lit("aws"))
    is_valid = pl.col("reason").is_null()
    refused = prices.refused(lines.filter(~is_valid).lazy(), table="component_prices")
    return Part(
        "component_prices",
        frames.conform(_part_rows(lines.filter(is_valid)).lazy(), ComponentPrices).collect(),
        region,
        refused=refused.collect(),
        counts={**counts, **({"out_of_scope:same_price_again": repeated} if repeated else {})},
    )


def _part_rows(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of component_prices."""
    start, end = pl.col("starting_range"), pl.col("ending_range")
    amount = pl.Decimal(20, 10)
    monthly = (pl.col("price") / pl.lit(HOURS_PER_MONTH).cast(Money)).cast(Money)
    rows = lines.with_columns(
        series=pl.lit("any"),
        component=_component(),
        purchase_option=pl.lit("on_demand"),
        term_months=pl.lit(0),
        unit=_unit_as(UNITS, "sku_unit"),
        per=_unit_as(PERIODS, "use"),
        tier_from=start.replace("", "0").cast(amount, strict=False),
        tier_to=pl.when(~end.is_in(OPEN_END)).then(end.cast(amount, strict=False)),
        effective_from=read_date(pl.col("effective_date")),
    ).with_columns(hourly=pl.when(per="hour").then("price").when(per="month").then(monthly))
    return rows.select(name for name in ComponentPrices.dtypes if name in rows.columns)


def _component() -> pl.Expr:
    usage = pl.col("usage_type").str.replace(REGION_PREFIX, "$1")
    name = pl.format("usage:{}/{}", usage, "operation").str.strip_suffix("/")
    return name.str.replace_all(r"[^!-~]", "_")


def _unit_as(patterns: dict[str, str], default: str) -> pl.Expr:
    found = {word: pl.col("unit").str.contains(pattern) for pattern, word in patterns.items()}
    return first_of(found, default)


def _problems() -> list[Problem]:
    """List the problems of a line of a part; the first that holds counts."""
    return [
        unknown_word(pl.col("term_type") != "OnDemand", "unknown_term", "TermType", "term_type"),
        Problem(
            (pl.col("price") < 0) | pl.col("price").is_null(),
            "unreadable_price",
            "PricePerUnit is not a price",
        ),
        Problem(pl.col("currency") == "", "no_currency", "the line names no currency"),
        Problem(
            pl.col("usage_type").fill_null("") == "", "unknown_product", "the line has no usageType"
        ),
    ]
