"""Make component_prices of the lines of a price list that are not machines.

Disks, snapshots, IOPS, gateways, load balancers and CPU credits are in EC2's list; data transfer,
public addresses and SageMaker have lists of their own in the same format, read by the same code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from hwprices.landing.pages import Page
from hwprices.providers import Part
from hwprices.providers.aws.prices.rows import read_date
from hwprices.rows import frames, quarantine
from hwprices.rows.origin import origin
from hwprices.schemas.price import ComponentPrices
from hwprices.units import HOURS_PER_MONTH, Money


@dataclass(frozen=True)
class Problem:
    """A condition under which a row cannot be a price.

    ``reason`` is the code for the quarantine table. ``message`` is a template for
    ``quarantine.message``; ``values``, columns or expressions, replace its ``{}``. ``word`` is
    the vendor's word that is not known yet; None where the row is of a known kind and broken.
    """

    condition: pl.Expr
    reason: str
    message: str
    values: tuple[str | pl.Expr, ...] = ()
    word: pl.Expr | None = None


def unknown_word(condition: pl.Expr, reason: str, name: str, column: str) -> Problem:
    """Refuse a word that is not known; ``name`` is the vendor's name of its column."""
    return Problem(condition, reason, f"{name} {{}}", (column,), word_of(column))


def word_of(column: str) -> pl.Expr:
    """Return the vendor's word; null where the line has none, which is not a new word."""
    return pl.when(pl.col(column) != "").then(pl.col(column))


def first_problem(problems: Sequence[Problem]) -> list[pl.Expr]:
    """Make the columns ``reason``, ``message`` and ``word`` of the first problem that a row has.

    All are null for a row that has none.
    """
    reason = message = word = pl.lit(None, dtype=pl.String)
    for problem in reversed(problems):
        text = quarantine.message(problem.message, *problem.values)
        reason = pl.when(problem.condition).then(pl.lit(problem.reason)).otherwise(reason)
        message = pl.when(problem.condition).then(text).otherwise(message)
        new = problem.word if problem.word is not None else pl.lit(None, dtype=pl.String)
        word = pl.when(problem.condition).then(new).otherwise(word)
    return [reason.alias("reason"), message.alias("message"), word.alias("word")]


LINE = ["sku_id", "rate_code", "other_price_id", "effective_date", "price", "usage_type"]
"""Columns of a line that are its own, beside ``combination``."""

WORDS = ["region", "operation", "unit", "currency", "starting_range", "ending_range", "term_type"]
"""Columns of its combination that are read."""

REGION_PREFIX = r"^(?:[A-Z]{2,4}\d*-){1,2}([A-Z][A-Za-z]*[a-z:])"
"""The region, and the zone, that a usage type begins with outside us-east-1: APN1-, EU-,
USW2-LAX1-. Not the two regions of a transfer, USE1-USW2-AWS-Out-Bytes: they say what is sold.
https://docs.aws.amazon.com/cur/latest/userguide/cur-data-transfers-charges.html"""

PERIODS = {r"(?i)\b(?:mo|months?)$": "month", r"(?i)\b(?:hrs?|hours?)$": "hour"}
"""How the unit of a price says that time is billed. Any other is billed by use."""

UNITS = {
    r"(?i)^(?:gb|gigabytes)\b": "gb",
    r"(?i)^iops\b": "iops",
    r"(?i)^mibps\b": "mibps",
    r"(?i)^gibps\b": "gibps",
    r"(?i)^(?:ios|requests?|api[ -]?requests?)$": "request",
}
"""Units as the lists write them (GB-Mo, GB, IOPS-Mo, GiBps-mo, IOs); any other is the SKU's own."""

OPEN_END = ("Inf", "")


def part_lines(lines: pl.DataFrame, combinations: pl.DataFrame) -> pl.DataFrame:
    """Return ``lines`` (LINE and combination) with WORDS of their combinations, small to keep."""
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

    A price that is listed again is taken once. A month is 730 hours; ``hourly`` is rounded at the
    tenth decimal and ``price`` is the vendor's figure. ``counts`` are of lines that were left out.
    """
    listed = pl.concat(
        lines.with_columns(*origin(page), service=pl.lit(service)) for page, service, lines in lists
    )
    same = ["region", "sku_price_id", "price"]
    lines = listed.unique(same, keep="first", maintain_order=True)
    again = listed.height - lines.height
    lines = lines.with_columns(*first_problem(_problems()), provider=pl.lit("aws"))
    is_valid = pl.col("reason").is_null()
    refused = quarantine.refused(lines.filter(~is_valid).lazy(), table="component_prices")
    return Part(
        "component_prices",
        frames.conform(_rows(lines.filter(is_valid)).lazy(), ComponentPrices).collect(),
        region,
        refused=refused.collect(),
        counts={**counts, **({"out_of_scope:same_price_again": again} if again else {})},
    )


def _rows(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of component_prices that a price list states."""
    start, end = pl.col("starting_range"), pl.col("ending_range")
    amount = pl.Decimal(20, 10)
    monthly = (pl.col("price") / pl.lit(HOURS_PER_MONTH).cast(Money)).cast(Money)
    rows = lines.with_columns(
        series=pl.lit("any"),
        component=_component(),
        purchase_option=pl.lit("on_demand"),
        term_months=pl.lit(0),
        unit=_match("unit", UNITS, "sku_unit"),
        per=_match("unit", PERIODS, "use"),
        tier_from=start.replace("", "0").cast(amount, strict=False),
        tier_to=pl.when(~end.is_in(OPEN_END)).then(end.cast(amount, strict=False)),
        effective_from=read_date(pl.col("effective_date")),
    ).with_columns(hourly=pl.when(per="hour").then("price").when(per="month").then(monthly))
    return rows.select(name for name in frames.dtypes(ComponentPrices) if name in rows.columns)


def _component() -> pl.Expr:
    usage = pl.col("usage_type").str.replace(REGION_PREFIX, "$1")
    name = pl.format("usage:{}/{}", usage, "operation").str.strip_suffix("/")
    return name.str.replace_all(r"[^!-~]", "_")


def _match(column: str, patterns: dict[str, str], default: str) -> pl.Expr:
    chosen = pl.coalesce(
        pl.when(pl.col(column).str.contains(pattern)).then(pl.lit(value))
        for pattern, value in patterns.items()
    )
    return chosen.fill_null(default)


def _problems() -> list[Problem]:
    """List why a line is not a price of a part; the first that holds counts."""
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
