"""Judge prices that are gone, and prices that come where nothing else is new."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES
from hwprices.publish.gate.differences import Releases
from hwprices.publish.gate.prices import REFUSED
from hwprices.schemas.keys import PRICE_KEY

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
    described = rows.with_columns(pl.col("accelerator").fill_null(""))
    gone = described.filter(pl.col("old_price").is_not_null(), pl.col("price").is_null())
    added = described.filter("is_new", ~pl.col("is_old"), pl.col("price").is_not_null())
    found = [pl.DataFrame(schema=REFUSED)]
    if gone.height or added.height:
        taken = _taken_by_words(releases, gone)
        total = int(releases.by_type["total"].sum() or 0)
        lost = gone.join(taken, on="price_id", how="anti")
        if taken.height > limits.REWORDED * total:
            text = pl.lit(f"{taken.height:,} of {total:,} prices are gone for words that are new")
            found.append(_refuse(taken, "reworded", text))
        found += _relabeled(lost, added)
        of_types, retired = _types(releases, lost, taken)
        lost = lost.join(retired, on="instance_type", how="anti")
        found += [*of_types, *_lost(lost, releases), *_added(added, releases)]
    return pl.concat(found)


LABELS = ("currency", "os", "software", "license_model", "tenancy", "purchase_option",
          "term_months", "payment_option")  # fmt: skip


def _relabeled(gone: pl.DataFrame, added: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse prices that are gone and came again with another label."""
    if gone.is_empty() or added.is_empty():
        return
    key = [name for name in PRICE_KEY if name != "provider"]
    for label in LABELS:
        on = [name for name in key if name != label]
        was = f"{label}_was"
        pairs = gone.with_columns(amount="old_price").join(
            added.with_columns(amount="price").select(
                *on, "amount", pl.col(label).alias(was), added_id="price_id"
            ),
            on=[*on, "amount"],
            nulls_equal=True,
        )
        if pairs.height >= limits.LEAST_SIBLINGS:
            text = pl.format("{} is {} elsewhere", pl.col(label).cast(pl.String).fill_null("none"),
                             pl.col(was).cast(pl.String).fill_null("none"))  # fmt: skip
            yield _refuse(pairs, "unit", text)
            yield _refuse(pairs.with_columns(price_id="added_id"), "unit", text)


def _taken_by_words(releases: Releases, gone: pl.DataFrame) -> pl.DataFrame:
    """Select the prices that are gone because the vendor's line is refused for a new word.

    A refused row names the line by an id that the old price or one of its parts has.
    """
    words = releases.new.table("quarantine").filter(pl.col("word").is_not_null())
    texts = pl.col("row").str.extract_all(TEXT).list.eval(pl.element().str.strip_chars('"'))
    ids = words.select(id=texts).explode("id", empty_as_null=False).unique().collect()
    if ids.is_empty() or gone.is_empty():
        return gone.clear()
    components = releases.old.table("price_components").select("price_id", "sku_id")
    parts = components.join(ids.lazy(), left_on="sku_id", right_on="id", how="semi").collect()
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
    here = ["region", "instance_type"]
    offers_here = releases.new.table("availability").filter("offered").select(here).unique()
    offered_here = _closed(releases, lost).join(offers_here.collect(), on=here, how="semi")
    gone = releases.old.priced_types.join(known, on="instance_type", how="anti")
    offers = releases.new.table("availability").filter("offered").select("instance_type")
    offered = gone.join(offers.unique().collect(), on="instance_type", how="semi")
    retired = gone.join(offered, on="instance_type", how="anti")
    share = retired.height / max(1, releases.old.priced_types.height)
    text = pl.format("{} has no price left but is still offered", "instance_type")
    found = [
        _refuse(lost.join(offered, on="instance_type", how="semi"), "offered", text),
        _refuse(offered_here, "offered", text),
    ]
    if share > limits.RETIRED and retired.height >= limits.LEAST_RETIRED:
        text = pl.lit(f"{retired.height:,} types have left every list ({share:.1%})")
        found.append(_refuse(lost.join(retired, on="instance_type", how="semi"), "retired", text))
    return found, retired


def _closed(releases: Releases, lost: pl.DataFrame) -> pl.DataFrame:
    """Select the prices of machines that have no price left in their region."""
    types = pl.col("instance_type").is_in(lost["instance_type"].unique().implode())
    priced = releases.new.table(PRICES).filter(types, pl.col("effective_hourly").is_not_null())
    left = priced.select("region", "instance_type").unique().collect()
    return lost.filter(~pl.col("is_new")).join(left, on=left.columns, how="anti")


def _refuse(rows: pl.DataFrame, reason: str | pl.Expr, reference: pl.Expr) -> pl.DataFrame:
    why = pl.lit(reason) if isinstance(reason, str) else reason
    return rows.select("price_id", reason=why, reference=reference)


def _lost(lost: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse what a group lost, where it is more than chance takes."""
    closed = _closed(releases, lost)["price_id"].implode()
    lost = lost.with_columns(
        reason=pl.when(pl.col("price_id").is_in(closed)).then(pl.lit("closed"))
        .otherwise(pl.lit("lost"))
    )  # fmt: skip
    fixed, market = lost.filter(~pl.col("moving")), lost.filter("moving")
    total = int(releases.by_type.filter(~pl.col("moving"))["total"].sum() or 0)
    if fixed.height > limits.LOST * total:
        text = pl.lit(f"{fixed.height:,} of {total:,} prices are gone")
        yield _refuse(fixed, pl.col("reason"), text)
    for by in DIMENSIONS:
        yield _group(pl.col("reason"), fixed, releases, by, limits.too_many())
    is_closed = pl.col("reason") == "closed"
    by_machine = pl.when(is_closed).then("reason").otherwise(pl.lit("market"))
    of_market = pl.when(pl.col("total") < limits.SPOT_ROWS).then(1.0).otherwise(limits.SPOT_LOST)
    for by in (("purchase_option",), ("region", "purchase_option")):
        yield _group(by_machine, market, releases, by, pl.col("lost") / pl.col("total") > of_market)


def _group(
    reason: pl.Expr, lost: pl.DataFrame, releases: Releases, by: tuple[str, ...], broken: pl.Expr
) -> pl.DataFrame:
    is_of_type = by[0] in ("family", "accelerator")
    totals = releases.by_type if is_of_type else releases.by_place
    same_kind = totals.filter(pl.col("moving") == lost["moving"].any())
    named = (pl.col(name) != "" for name in by)
    counts = same_kind.filter(*named).group_by(by).agg(pl.col("total").sum())
    judged = lost.join(counts, on=by, how="inner").with_columns(lost=pl.len().over(by))
    text = pl.format("{}: {} of {} are gone", pl.concat_str(by, separator=" "), "lost", "total")
    return _refuse(judged.filter(broken), reason, text)


def _added(added: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse many new prices where region, family, system, option, term and currency are old."""
    fixed = added.filter(~pl.col("moving"))
    types = releases.by_type.filter(~pl.col("moving"))
    for name in ("region", "family", "os", "purchase_option", "term_months", "currency"):
        known = types if name == "family" else releases.by_place.filter(~pl.col("moving"))
        fixed = fixed.join(known.select(name).unique(), on=name, how="semi")
    total = int(types["total"].sum() or 0)
    if fixed.height > limits.ADDED * total and total:
        text = pl.lit(f"{fixed.height:,} prices are new beside {total:,} where nothing else is")
        yield _refuse(fixed, "added", text)
