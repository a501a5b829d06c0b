"""What every normaliser does with frames: fit a model, name a price, compute its effective hourly rate, refuse rows."""

import polars as pl
import polars_hash  # noqa: F401  (registers the chash namespace)

from hwprices.schemas import Table
from hwprices.schemas.columns import Money
from hwprices.schemas.price import PRICE_KEY
from hwprices.schemas.quarantine import Quarantine

HOURS_PER_YEAR = 8760
"""365 days. AWS amortises reservations over 365 × 24 hours, Azure's reservation prices divide the same way."""

HASH_CHARACTERS = 24  # 96 bits: at 10^8 rows the odds of one collision are below 10^-12


def dtypes(model: type[Table]) -> dict[str, pl.DataType]:
    """Columns of a table in published order, with their polars dtypes."""
    return {name: column.dtype.type for name, column in model.to_schema().columns.items()}


def empty(model: type[Table]) -> pl.DataFrame:
    """A frame of the table with no rows."""
    return pl.DataFrame(schema=dtypes(model))


def conform(frame: pl.LazyFrame, model: type[Table]) -> pl.LazyFrame:
    """The frame with the table's columns in order and dtype; columns it lacks become null.

    Raises:
        polars.exceptions.InvalidOperationError: a value does not fit its dtype (at collect).
        ValueError: it has columns that the table does not know.
    """
    have = frame.collect_schema()
    want = dtypes(model)
    if unknown := [name for name in have if name not in want]:
        raise ValueError(f"{model.__name__} has no columns {unknown}")
    return frame.select(
        pl.col(n).cast(t) if n in have else pl.lit(None, dtype=t).alias(n) for n, t in want.items()
    )


def digest(*parts: pl.Expr) -> pl.Expr:
    """A stable 96-bit hash in hex of string expressions; null is told from the empty string."""
    return joined(*parts).chash.sha2_256().str.slice(0, HASH_CHARACTERS)  # type: ignore[attr-defined, no-any-return]


def joined(*parts: pl.Expr) -> pl.Expr:
    """The text that ``digest`` hashes. Joined texts join to the same text, so what many rows share can be joined once."""
    return pl.concat_str([p.cast(pl.String).fill_null("\x00") for p in parts], separator="\x1f")


def price_id() -> pl.Expr:
    """prices.price_id from the key columns."""
    return digest(*(pl.col(name) for name in PRICE_KEY)).alias("price_id")


def effective_hourly() -> pl.Expr:
    """hourly + upfront / (years × 8760), from the columns hourly, upfront and term_months; null where neither is known.

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


def accelerator_totals() -> list[pl.Expr]:
    """instance_types.accelerator_count and accelerator_memory_gib from the column ``accelerators``.

    The count is 0 where there is none and null where one is not known; the memory is null where there is none or one is not known.
    """
    each = pl.col("accelerators").list.eval
    count, memory = pl.element().struct.field("count"), pl.element().struct.field("memory_gib")
    counts, memories = each(count), each(count * memory)
    known = ~memories.list.eval(pl.element().is_null()).list.any() & (
        pl.col("accelerators").list.len() > 0
    )
    return [
        pl.when(~counts.list.eval(pl.element().is_null()).list.any())
        .then(counts.list.sum().abs())
        .alias("accelerator_count"),
        pl.when(known).then(memories.list.sum()).alias("accelerator_memory_gib"),
    ]


def refused(
    frame: pl.LazyFrame, *, table: str, reason: str | pl.Expr, message: str | pl.Expr
) -> pl.LazyFrame:
    """Rows on their way to quarantine.

    ``frame`` must have provider, observed_at, source_url and raw_sha256; region where it is known. Everything else becomes
    the JSON of the row. ``reason`` is a code, ``message`` the words, each a string or an expression over the frame.
    """
    have = frame.collect_schema().names()
    meta = ["provider", "region", "observed_at", "source_url", "raw_sha256"]
    body = [
        name
        for name in have
        if name not in ("provider", "observed_at", "source_url", "raw_sha256", "reason", "message")
    ]
    region = (
        pl.col("region").cast(pl.String)
        if "region" in have
        else pl.lit(None, dtype=pl.String).alias("region")
    )
    code = pl.lit(reason) if isinstance(reason, str) else reason
    words = pl.lit(message) if isinstance(message, str) else message
    rows = frame.select(
        *(region if name == "region" else pl.col(name) for name in meta),
        pl.lit(table).alias("table"),
        code.cast(pl.String).alias("reason"),
        words.cast(pl.String).alias("message"),
        pl.struct(_jsonable(frame, name) for name in body).struct.json_encode().alias("row"),
    ).with_columns(
        digest(pl.col("table"), pl.col("reason"), pl.col("row")).alias("row_hash"),
        pl.lit(1, dtype=pl.Int32).alias("occurrences"),
    )
    return conform(rows, Quarantine)


def _jsonable(frame: pl.LazyFrame, name: str) -> pl.Expr:
    """polars' json_encode writes neither decimals nor times; they go as strings."""
    dtype = frame.collect_schema()[name]
    return (
        pl.col(name).cast(pl.String) if dtype.is_decimal() or dtype.is_temporal() else pl.col(name)
    )


def merge_refused(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """One quarantine frame: equal rows become one with a count, sorted by key."""
    if not frames:
        return empty(Quarantine)
    order = list(dtypes(Quarantine))
    keys = ["provider", "table", "row_hash"]
    rest = [pl.col(c).first() for c in order if c not in (*keys, "occurrences")]
    return (
        pl.concat(frames)
        .group_by(keys)
        .agg(*rest, pl.col("occurrences").sum().cast(pl.Int32))
        .select(order)
        .sort(keys)
    )
