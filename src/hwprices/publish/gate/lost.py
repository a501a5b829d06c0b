"""Judge prices that are gone, and prices that come where nothing else is new."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import MOVING_OPTIONS
from hwprices.publish.gate.prices import GROUP, REFUSED, Releases

DIMENSIONS = (
    *(("region",), ("family",), ("accelerator",), ("os",), ("purchase_option",), ("currency",)),
    *(("region", "purchase_option"), ("region", "os")),
)

TEXT = r'"[^"\\]+"'
"""A text in JSON without escaped characters, which no vendor's id has."""


def refused(releases: Releases, rows: pl.DataFrame) -> pl.DataFrame:
    """Return price_id, reason and reference of lost and added prices that are refused.

    Prices that are gone for a word that is new are refused only if they are most of the provider's.
    """
    described = rows.join(
        releases.types.select("instance_type", "family", "accelerator").collect(),
        on="instance_type",
        how="left",
    ).with_columns(pl.col("family", "accelerator").fill_null(""))
    gone = described.filter(pl.col("old_price").is_not_null(), pl.col("price").is_null())
    added = described.filter("is_new", ~pl.col("is_old"), pl.col("price").is_not_null())
    found = [pl.DataFrame(schema=REFUSED)]
    if gone.height or added.height:
        totals = _totals(releases)
        taken = _taken_by_words(releases, gone)
        total = int(totals["total"].sum() or 0)
        lost = gone.join(taken, on="price_id", how="anti")
        if taken.height > limits.REWORDED * total:
            text = pl.lit(f"{taken.height:,} of {total:,} prices are gone for words that are new")
            found.append(_refuse(taken, "reworded", text))
        of_types, retired = _types(releases, lost, taken)
        found += [*of_types, *_lost(lost.join(retired, on="instance_type", how="anti"), totals)]
        found += _added(added, totals)
    return pl.concat(found)


def _totals(releases: Releases) -> pl.DataFrame:
    """Count the old prices by GROUP, family and accelerator."""
    types = releases.types.select("instance_type", "family", "accelerator")
    priced = releases.old.table(PRICES).filter(pl.col("effective_hourly").is_not_null())
    counts = priced.group_by(GROUP).agg(total=pl.len())
    named = counts.join(types, on="instance_type", how="left").collect(engine="streaming")
    return named.with_columns(
        pl.col("family", "accelerator").fill_null(""),
        moving=pl.col("purchase_option").is_in(MOVING_OPTIONS),
    )


def _taken_by_words(releases: Releases, gone: pl.DataFrame) -> pl.DataFrame:
    """Select the prices that are gone because the vendor's line is refused for a new word.

    A refused row names the line by an id that the old price or one of its parts has.
    """
    words = releases.new.table("quarantine").filter(pl.col("word").is_not_null())
    texts = pl.col("row").str.extract_all(TEXT).list.eval(pl.element().str.strip_chars('"'))
    ids = words.select(id=texts).explode("id", empty_as_null=False).unique().collect()
    if ids.is_empty() or gone.is_empty():
        return gone.clear()
    parts = releases.old.table("price_components").select("price_id", "sku_id")
    parts = parts.join(ids.lazy(), left_on="sku_id", right_on="id", how="semi").collect()
    named = pl.any_horizontal(
        pl.col("price_id").is_in(ids["id"].implode()),
        pl.col("old_sku_id").is_in(ids["id"].implode()),
        pl.col("price_id").is_in(parts["price_id"].implode()),
    )
    return gone.filter(named)


def _types(
    releases: Releases, lost: pl.DataFrame, taken: pl.DataFrame
) -> tuple[list[pl.DataFrame], pl.DataFrame]:
    """Refuse types without a price that are still offered, and retirements in numbers.

    Also returns the types that left every list: their prices are genuinely gone.
    """
    known = pl.concat([releases.new.priced_types, taken.select("instance_type").unique()])
    gone = releases.old.priced_types.join(known, on="instance_type", how="anti")
    offers = releases.new.table("availability").filter("offered").select("instance_type")
    offered = gone.join(offers.unique().collect(), on="instance_type", how="semi")
    retired = gone.join(offered, on="instance_type", how="anti")
    share = retired.height / max(1, releases.old.priced_types.height)
    text = pl.format("{} has no price left but is still offered", "instance_type")
    found = [_refuse(lost.join(offered, on="instance_type", how="semi"), "offered", text)]
    if share > limits.RETIRED and retired.height >= limits.LEAST_RETIRED:
        text = pl.lit(f"{retired.height:,} types have left every list ({share:.1%})")
        found.append(_refuse(lost.join(retired, on="instance_type", how="semi"), "retired", text))
    return found, retired


def _refuse(rows: pl.DataFrame, reason: str, reference: pl.Expr) -> pl.DataFrame:
    return rows.select("price_id", reason=pl.lit(reason), reference=reference)


def _lost(lost: pl.DataFrame, totals: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse what a group lost, where it is more than chance takes."""
    fixed = lost.filter(~pl.col("moving"))
    total = int(totals.filter(~pl.col("moving"))["total"].sum() or 0)
    if fixed.height > limits.LOST * total:
        text = pl.lit(f"{fixed.height:,} of {total:,} prices are gone")
        yield _refuse(fixed, "lost", text)
    allowed = pl.lit(1.0)
    for rows, share in reversed(limits.GROUP_LOST):
        allowed = pl.when(pl.col("total") >= rows).then(share).otherwise(allowed)
    for dimensions in DIMENSIONS:
        yield _group(fixed, totals.filter(~pl.col("moving")), dimensions, allowed)
    gone = lost.filter("moving")
    market = pl.when(pl.col("total") < limits.SPOT_ROWS).then(1.0).otherwise(limits.SPOT_LOST)
    for dimensions in (("purchase_option",), ("region", "purchase_option")):
        moving = totals.filter("moving")
        yield _group(gone, moving, dimensions, market).with_columns(reason=pl.lit("market"))


def _group(
    lost: pl.DataFrame, totals: pl.DataFrame, dimensions: tuple[str, ...], allowed: pl.Expr
) -> pl.DataFrame:
    named = [pl.col(name) != "" for name in dimensions]
    by = list(dimensions)
    counts = totals.filter(named).group_by(by).agg(pl.col("total").sum())
    judged = lost.join(counts, on=by, how="inner").with_columns(lost=pl.len().over(by))
    too_many = judged.filter(pl.col("lost") / pl.col("total") > allowed)
    name = pl.concat_str(by, separator=" ")
    return _refuse(too_many, "lost", pl.format("{}: {} of {} are gone", name, "lost", "total"))


def _added(added: pl.DataFrame, totals: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse many new prices where region, family, system, option, term and currency are old."""
    fixed, old = added.filter(~pl.col("moving")), totals.filter(~pl.col("moving"))
    for name in ("region", "family", "os", "purchase_option", "term_months", "currency"):
        fixed = fixed.join(old.select(name).unique(), on=name, how="semi")
    total = int(old["total"].sum() or 0)
    if fixed.height > limits.ADDED * total and total:
        text = pl.lit(f"{fixed.height:,} prices are new beside {total:,} where nothing else is")
        yield _refuse(fixed, "added", text)
