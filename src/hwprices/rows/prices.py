"""Make rows of the prices table: constants filled in, effective rate computed, price_id hashed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from hwprices.rows import frames
from hwprices.schemas.keys import PRICE_KEY
from hwprices.schemas.price import Prices
from hwprices.schemas.quarantine import Quarantine
from hwprices.units import HOURS_PER_YEAR, Money

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
"""What a price row says where the vendor says nothing else: a Linux machine bought by the hour."""

LARGEST_PRICE = 10**8
"""Above this a figure is not a price, in any currency. The costliest machine (u7in-32tb, 407 USD an
hour) costs a tenth of it for three years."""


@dataclass(frozen=True)
class PriceRows:
    """What reading one source of prices gives.

    ``rows`` has the columns of the prices table, ``refused`` those of the quarantine table.
    ``counts`` says how many vendor rows were left out on purpose, by reason
    (``out_of_scope:product_family=Storage``).
    """

    rows: pl.LazyFrame
    refused: pl.DataFrame
    counts: Mapping[str, int] = field(default_factory=dict)


def price_rows(frame: pl.LazyFrame, *, provider: str, **constants: object) -> pl.LazyFrame:
    """Complete price rows to the columns of the prices table, in order and dtype.

    ``frame`` has region, instance_type, currency, hourly (null where unknown), the columns of
    ``rows.origin``, purchase_option unless it is a constant, and any other column of the table that
    differs from ``DEFAULTS``. ``constants`` are columns with one value, an expression or a literal.
    Columns that are not of the prices table are dropped. effective_hourly and price_id are
    computed.

    Raises:
        ValueError: a required column is missing, or a constant is not a column of the table.
    """
    dtypes = frames.dtypes(Prices)
    if unknown := [name for name in constants if name not in dtypes]:
        raise ValueError(f"prices has no columns {unknown}")
    given_columns = set(frame.collect_schema().names())
    values = {
        **{n: v for n, v in DEFAULTS.items() if n not in given_columns},
        "provider": provider,
        **constants,
    }
    made = frame.with_columns(
        _value(value, dtypes[name]).alias(name) for name, value in values.items()
    )
    known = {*given_columns, *values, "effective_hourly", "price_id"}
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
    """Read a price that is written as text, exact to the tenth decimal.

    Null where it is not a number, or so large that sums and products of it do not fit into Money.
    """
    amount = text.cast(Money, strict=False)
    return pl.when(amount.is_between(-LARGEST_PRICE, LARGEST_PRICE)).then(amount)


def price_id() -> pl.Expr:
    """Make prices.price_id from the key columns."""
    return frames.digest(*(pl.col(name) for name in PRICE_KEY)).alias("price_id")


def effective_hourly() -> pl.Expr:
    """Compute hourly + upfront / (years × 8760); null where neither is known.

    From the columns hourly, upfront and term_months. Where only upfront is known, hourly counts
    as 0.

    Decimal throughout; the division is rounded at the tenth decimal, beyond any vendor's precision.
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
