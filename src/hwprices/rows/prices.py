"""Make rows of the tables prices and quarantine."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from hwprices.rows import frames
from hwprices.schemas import HIDDEN_CHARACTERS, MAX_NAME_LENGTH, PLACE_PATTERN, PRICE_KEY
from hwprices.schemas.tables import Prices, Quarantine
from hwprices.units import HOURS_PER_YEAR, Money

MAX_MESSAGE = 500  # Characters of a message

LINEAGE = ("provider", "region", "observed_at", "source_url", "raw_sha256")
"""Columns that a quarantine row takes over from the refused row. All others become its JSON."""


def refused(
    frame: pl.LazyFrame,
    *,
    table: str | pl.Expr,
    reason: str | pl.Expr | None = None,
    message: str | pl.Expr | None = None,
    word: pl.Expr | None = None,
    dependants: pl.Expr | None = None,
    row: pl.Expr | None = None,
) -> pl.LazyFrame:
    """Make a quarantine row of every row of a frame.

    By default reason, message, word and dependants are the frame's columns of these names.

    Args:
        frame: the refused rows, with provider, observed_at, source_url and raw_sha256, and region
            if there is one. All other columns go into the JSON of the row, and so does region.
        table: the table that the rows were meant for.
        reason: a code, or an expression over the frame.
        message: a sentence, or an expression over the frame.
        word: the vendor's new word; null if the row is of a known kind and broken. Rows with a word
            count as new, and never stop a provider.
        dependants: how many other rows are not published because of this one; 0 if there is no such
            column.
        row: the JSON of the row; by default it is made of the frame's columns.
    """
    schema = frame.collect_schema()
    arguments = {"reason": reason, "message": message, "word": word, "dependants": dependants}
    values: dict[str, pl.Expr] = {}
    for name, value in arguments.items():
        if value is not None:
            values[name] = _expression(value)
        elif name in schema or name in ("reason", "message"):  # required columns
            values[name] = pl.col(name)
        else:
            values[name] = pl.lit(None)
    left_out = {*LINEAGE, *arguments} - {"region"}
    body = [_json_value(name, dtype) for name, dtype in schema.items() if name not in left_out]
    region = (pl.col("region") if "region" in schema else pl.lit(None)).cast(pl.String)
    is_place = region.str.contains(PLACE_PATTERN) & (region.str.len_chars() <= MAX_NAME_LENGTH)
    rows = frame.select(
        *(pl.col(name) for name in LINEAGE if name != "region"),
        pl.when(is_place).then(region).alias("region"),
        _expression(table).alias("table"),
        values["reason"].cast(pl.String).alias("reason"),
        _readable(values["message"]).alias("message"),
        (pl.struct(body).struct.json_encode() if row is None else row).alias("row"),
        _readable(values["word"]).alias("word"),
        values["dependants"].cast(pl.Int32).fill_null(0).alias("dependants"),
    ).with_columns(
        frames.digest(pl.col("table"), pl.col("reason"), pl.col("row")).alias("row_hash"),
        pl.lit(1, dtype=pl.Int32).alias("occurrences"),
    )
    return frames.conform(rows, Quarantine)


def message(template: str, *values: str | pl.Expr) -> pl.Expr:
    """Write a message for ``refused``; ``?`` replaces a missing value.

    ``template`` has ``{}`` for each of ``values``, which are columns or expressions. ``pl.format``
    would return null where a value is null, but a quarantine row must have a message.
    """
    columns = [pl.col(value) if isinstance(value, str) else value for value in values]
    texts = [column.cast(pl.String).fill_null("?") for column in columns]
    return pl.format(template, *texts) if texts else pl.lit(template)


def merge_refused(refused_rows: list[pl.DataFrame]) -> pl.DataFrame:
    """Combine quarantine rows: equal rows become one with a count, sorted by key."""
    if not refused_rows:
        return frames.empty(Quarantine)
    columns = list(Quarantine.dtypes)
    keys = ["provider", "table", "row_hash"]
    counts = ("occurrences", "dependants")
    row_columns = [name for name in columns if name not in (*keys, *counts)]
    return (
        pl.concat(refused_rows)
        .group_by(keys)
        .agg(pl.col(row_columns).first(), pl.col(counts).sum().cast(pl.Int32))
        .select(columns)
        .sort(keys)
    )


def _readable(message: pl.Expr) -> pl.Expr:
    """Replace hidden characters and cut a long message; the column row has the full values."""
    return (
        message.cast(pl.String)
        .str.slice(0, MAX_MESSAGE)
        .str.replace_all(HIDDEN_CHARACTERS, "\N{REPLACEMENT CHARACTER}")
    )


def _expression(value: str | pl.Expr) -> pl.Expr:
    return pl.lit(value) if isinstance(value, str) else value


def _json_value(name: str, dtype: pl.DataType) -> pl.Expr:
    """Convert a column for json_encode, which writes neither decimals nor times."""
    as_text = dtype.is_decimal() or dtype.is_temporal()
    return pl.col(name).cast(pl.String) if as_text else pl.col(name)


DEFAULTS: Mapping[str, object] = {
    "zone": None,
    "os": "linux",
    "software": "none",
    "license_model": "included",
    "tenancy": "shared",
    "commitment_plan": None,
    "term_months": 0,
    "payment_option": "none",
    "upfront": None,
    "price_reason": None,
    "billing_unit": "hour",
    "sku_id": None,
    "sku_price_id": None,
    "basis": "listed",
    "effective_from": None,
    "flags": [],
}
"""Values of a price row unless the vendor states others: a Linux machine bought by the hour."""

LARGEST_PRICE = 10**8
"""No price is larger, in any currency. The most expensive machine (u7in-32tb, 407 USD an hour)
costs a tenth of it for three years."""


@dataclass(frozen=True)
class PriceRows:
    """The prices of one source.

    ``rows`` has the columns of the prices table, ``refused`` those of the quarantine table.
    ``counts`` is the number of vendor rows left out on purpose, by reason
    (``out_of_scope:product_family=Storage``).
    """

    rows: pl.LazyFrame
    refused: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)


def price_rows(frame: pl.LazyFrame, *, provider: str, **constants: object) -> pl.LazyFrame:
    """Complete price rows to the columns of the prices table, in order and dtype.

    ``frame`` has region, instance_type, currency, hourly (null if unknown), the columns of
    ``frames.origin``, purchase_option unless it is a constant, and any other column of the table
    that differs from ``DEFAULTS``. ``constants`` are columns with one value, an expression or a
    literal. Columns that the prices table does not have are dropped. effective_hourly and price_id
    are computed.

    Raises:
        ValueError: a required column is missing, or a constant is not a column of the table.
    """
    dtypes = Prices.dtypes
    if unknown := [name for name in constants if name not in dtypes]:
        raise ValueError(f"prices has no columns {unknown}")
    columns = set(frame.collect_schema().names())
    values = {
        **{n: v for n, v in DEFAULTS.items() if n not in columns},
        "provider": provider,
        **constants,
    }
    made = frame.with_columns(
        _value(value, dtypes[name]).alias(name) for name, value in values.items()
    )
    known = {*columns, *values, "effective_hourly", "price_id"}
    if missing := [n for n in dtypes if n not in known]:
        raise ValueError(f"price rows of {provider} lack the columns {missing}")
    typed = made.with_columns(effective_hourly()).select(
        pl.col(name).cast(dtype) for name, dtype in dtypes.items() if name != "price_id"
    )
    return typed.with_columns(price_id()).select(*dtypes)


def _value(value: object, dtype: pl.DataType) -> pl.Expr:
    return (value if isinstance(value, pl.Expr) else pl.lit(value, dtype=dtype)).cast(dtype)


def merge(sources: list[PriceRows]) -> PriceRows:
    """Combine the prices of several sources; counts of the same reason are added."""
    counts: Counter[str] = Counter()
    for source in sources:
        counts.update(source.counts)
    return PriceRows(
        pl.concat([frames.empty(Prices).lazy(), *(source.rows for source in sources)]),
        pl.concat([frames.empty(Quarantine), *(source.refused for source in sources)]),
        dict(counts),
    )


def read_money(text: pl.Expr) -> pl.Expr:
    """Parse a price from text, exact to the tenth decimal.

    Null if it is not a number, or so large that its sums and products do not fit into Money.
    """
    amount = text.cast(Money, strict=False)
    return pl.when(amount.is_between(-LARGEST_PRICE, LARGEST_PRICE)).then(amount)


def price_id() -> pl.Expr:
    """Make prices.price_id from the key columns."""
    return frames.digest(*(pl.col(name) for name in PRICE_KEY)).alias("price_id")


def effective_hourly() -> pl.Expr:
    """Compute hourly + upfront / (years × 8760) from the columns hourly, upfront and term_months.

    Null if neither amount is known; if only upfront is known, hourly counts as 0. Decimal
    throughout; the division is rounded at the tenth decimal, beyond any vendor's precision.
    """
    hours = (pl.col("term_months") * (HOURS_PER_YEAR // 12)).cast(Money)  # 8760 is a multiple of 12
    spread = pl.when(pl.col("upfront").is_not_null()).then(pl.col("upfront").cast(Money) / hours)
    return (
        pl.when(pl.col("upfront").is_null())
        .then(pl.col("hourly").cast(Money))
        .otherwise(pl.col("hourly").cast(Money).fill_null(0) + spread)
        .cast(Money)
        .alias("effective_hourly")
    )
