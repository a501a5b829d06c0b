"""Compare two releases' prices row by row, and count the outcome by small groups.

One pass over both price tables gives a table of cells, one for each combination of region,
family, accelerator, system, purchase option and currency. Every check on groups reads the cells, so
the price rows are joined once however many checks there are.
"""

import polars as pl

from hwprices.publish.batches import in_parallel
from hwprices.publish.gate.candidate import Candidate, batches
from hwprices.publish.gate.thresholds import DOUBLED, JUMP, MOVED, MOVING_OPTIONS

DIMENSIONS = ("region", "family", "accelerator", "os", "purchase_option", "currency")

OPTIONAL = ("hourly", "upfront", "sku_id", "sku_price_id", "effective_from")
"""Columns of prices that may be null and that no other check reads."""

_COLUMNS = ("price_id", "region", "instance_type", "os", "purchase_option", "currency")


def machines(candidate: Candidate) -> pl.LazyFrame:
    """List instance_type, family and accelerator (id of the first device, "" without one)."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    return candidate.table("instance_types").select(
        "instance_type",
        family=pl.col("family").fill_null(""),
        accelerator=pl.when(pl.col("accelerators").list.len() > 0).then(first).fill_null(""),
    )


def reworded_prices(new: Candidate, old: Candidate) -> pl.DataFrame:
    """Find prices that are gone because the vendor's line is refused for a word that is new.

    A refused row names the line by an id that the old price or one of its parts has. Returns
    price_id and instance_type.
    """
    words = new.table("quarantine").filter(pl.col("word").is_not_null())
    texts = pl.col("row").str.extract_all(TEXT).list.eval(pl.element().str.strip_chars('"'))
    ids = words.select(id=texts).explode("id", empty_as_null=False).unique().collect().lazy()
    prices = old.table("prices").filter(pl.col("effective_hourly").is_not_null())
    priced = prices.select("price_id", "instance_type", "sku_id")
    if ids.limit(1).collect().is_empty():
        return priced.drop("sku_id").collect().clear()
    parts = old.table("price_components").join(ids, left_on="sku_id", right_on="id", how="semi")
    named = pl.concat(
        [
            priced.join(ids, left_on="price_id", right_on="id", how="semi"),
            priced.join(ids, left_on="sku_id", right_on="id", how="semi"),
            priced.join(parts, on="price_id", how="semi"),
        ]
    )
    still = new.table("prices").filter(pl.col("effective_hourly").is_not_null())
    gone = named.drop("sku_id").unique().join(still, on="price_id", how="anti")
    return gone.sort("price_id").collect(engine="streaming")


TEXT = r'"[^"\\]+"'
"""A text in JSON without escaped characters, which no vendor's id has."""


def retired_types(new: Candidate, old: Candidate, reworded: pl.DataFrame) -> pl.DataFrame:
    """Find types that are gone everywhere: there was a price, and no price or offer is left.

    A type that is still offered but has lost its prices is a fault and not a retirement; one with
    ``reworded`` prices is neither.
    """
    offered = new.table("availability").filter("offered").select("instance_type")
    remaining = pl.concat([new.priced_types.lazy(), offered]).unique().collect()
    known = pl.concat([remaining, reworded.select("instance_type")])
    gone = old.priced_types.join(known, on="instance_type", how="anti")
    return gone.sort("instance_type")


def compare(
    new: Candidate, old: Candidate, retired: pl.DataFrame, reworded: pl.DataFrame
) -> pl.DataFrame:
    """Count what became of each price, by cell.

    Returns one row a cell: DIMENSIONS, ``moving`` (the option's prices change by the hour) and the
    counts old, both, lost, added, up, down, jumped, doubled, currency_changed, unit_changed.
    log_sum is the sum of the natural logarithms of new ÷ old. had_… and lost_… of each column of
    OPTIONAL are the prices in both releases that had a value there, and those that lost it. A price
    that became null counts as lost. Prices of retired types and reworded ones are left out.
    """
    described = pl.concat([machines(old), machines(new)]).unique("instance_type", keep="last")
    types = described.collect().lazy()
    pairs = batches(new, old)
    parts = list(in_parallel(lambda pair: _cells(*pair, types, retired, reworded), pairs))
    moving = pl.col("purchase_option").is_in(MOVING_OPTIONS)
    return pl.concat(parts).with_columns(moving=moving).sort(DIMENSIONS)


_GROUP = ("region", "instance_type", "os", "purchase_option", "currency")
"""What the rows are counted by before their types are described: far fewer rows are described."""


def _cells(
    new: Candidate,
    old: Candidate,
    types: pl.LazyFrame,
    retired: pl.DataFrame,
    reworded: pl.DataFrame,
) -> pl.DataFrame:
    """Count what became of each price of some regions, by cell."""
    known = _side(old, retired)
    if reworded.height:
        known = known.join(reworded.lazy(), on="price_id", how="anti", maintain_order="left")
    before, after = (side.collect(engine="streaming") for side in (known, _side(new, retired)))
    counted = (
        _side_by_side(before, after)
        .lazy()
        .with_columns(
            currency_changed=pl.col("currency") != pl.col("new_currency"),
            unit_changed=pl.col("billing_unit") != pl.col("new_billing_unit"),
            currency=pl.coalesce("currency", "new_currency"),
            ratio=pl.col("new_price") / pl.col("price"),
        )
        .group_by(_GROUP)
        .agg(*_counts())
    )
    described = counted.join(types, on="instance_type", how="left").with_columns(
        pl.col("family", "accelerator").fill_null("")
    )
    counts = [name for name in counted.collect_schema() if name not in _GROUP]
    return described.group_by(DIMENSIONS).agg(pl.col(counts).sum()).collect(engine="streaming")


def _side_by_side(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Join the prices of two releases by id; the columns of the newer begin with new_.

    Both are sorted by the key that the id is the hash of, so where no price came or went they are
    side by side already.
    """
    now = after.rename({name: f"new_{name}" for name in _NEW})
    if before["price_id"].equals(after["price_id"]):
        return before.hstack(now.drop("new_price_id"))
    joined = before.join(
        now, left_on="price_id", right_on="new_price_id", how="full", coalesce=True
    )
    return joined.with_columns(
        pl.coalesce(name, f"new_{name}").alias(name) for name in _GROUP if name != "currency"
    )


_HAS = tuple(f"has_{name}" for name in OPTIONAL)

_NEW = (*_COLUMNS, "billing_unit", "price", *_HAS)


def _side(candidate: Candidate, retired: pl.DataFrame) -> pl.LazyFrame:
    """Select the compared columns of one release; ``price`` is the effective rate as a float.

    A column of OPTIONAL that the release does not have yet has no values.
    """
    table = candidate.table("prices")
    known = table.collect_schema()
    price = pl.col("effective_hourly").cast(pl.Float64)
    has = [
        (pl.col(name).is_not_null() if name in known else pl.lit(False)).alias(f"has_{name}")
        for name in OPTIONAL
    ]
    rows = table.select(*_COLUMNS, *has, "billing_unit", price=price)
    if retired.is_empty():
        return rows
    return rows.join(retired.lazy(), on="instance_type", how="anti", maintain_order="left")


def _counts() -> list[pl.Expr]:
    had_price, has_price = pl.col("price").is_not_null(), pl.col("new_price").is_not_null()
    ratio = pl.col("ratio")
    in_both = had_price & has_price
    filled = {f"had_{name}": in_both & pl.col(f"has_{name}") for name in OPTIONAL}
    emptied = {
        f"lost_{name}": in_both & pl.col(f"has_{name}") & ~pl.col(f"new_has_{name}")
        for name in OPTIONAL
    }
    counts = {
        "old": had_price,
        "both": in_both,
        "lost": had_price & ~has_price,
        "added": has_price & ~had_price & pl.col("price").is_null(),
        "up": ratio > 1 + MOVED,
        "down": ratio < 1 - MOVED,
        "jumped": (ratio > JUMP) | (ratio < 1 / JUMP),
        "doubled": (ratio > DOUBLED) | (ratio < 1 / DOUBLED),
        "currency_changed": pl.col("currency_changed"),
        "unit_changed": pl.col("unit_changed"),
        **filled,
        **emptied,
    }
    return [
        *(condition.fill_null(False).sum().alias(name) for name, condition in counts.items()),
        pl.when(in_both).then(ratio.log()).sum().alias("log_sum"),
    ]


def by_group(cells: pl.DataFrame, dimensions: tuple[str, ...]) -> pl.DataFrame:
    """Add the cells up by some of their dimensions; groups named "" are left out."""
    counted = [c for c in cells.columns if c not in (*DIMENSIONS, "moving")]
    groups = cells.group_by(dimensions).agg(pl.col(counted).sum()).sort(dimensions)
    return groups.filter(*(pl.col(name) != "" for name in dimensions)) if dimensions else groups


def total(cells: pl.DataFrame, name: str) -> int:
    """Add up one count over all cells."""
    return int(cells[name].sum() or 0)
