"""Judge prices that are gone, and prices that come where nothing else is new."""

from collections.abc import Iterator

import polars as pl

from hwprices.publish.gate import limits
from hwprices.publish.gate.compare import is_among, refuse, with_total
from hwprices.publish.gate.differences import Releases
from hwprices.schemas.keys import PRICE_KEY

_SHARE = pl.col("lost") / pl.col("total")
_OF_MACHINES = ("family", "accelerator")
_OF_MARKET = (_SHARE > limits.SPOT_LOST) & (pl.col("total") >= limits.SPOT_ROWS)
GROUPS = (
    (False, ("all",), _SHARE > limits.LOST),
    *((False, (name,), limits.too_many()) for name in ("region", "os", "currency", "family",
                                                       "accelerator", "purchase_option")),
    (False, ("region", "purchase_option"), limits.too_many()),
    (False, ("region", "os"), limits.too_many()),
    (True, ("purchase_option",), _OF_MARKET),
    (True, ("region", "purchase_option"), _OF_MARKET),
)  # fmt: skip
"""Groups of prices: whether they move by the hour, what they have in common, what is too much."""

LABELS = ("currency", "os", "software", "license_model", "tenancy", "purchase_option",
          "term_months", "payment_option")  # fmt: skip

TEXT = r'"[^"\\]+"'
"""A text in JSON without escaped characters, which no vendor's id has."""


def refused(releases: Releases, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Return price_id, reason and reference of lost and added prices that are refused.

    Prices that are gone for a word that is new are refused only if they are most of the provider's.
    """
    described = rows.with_columns(pl.col("accelerator").fill_null(""), all=pl.lit("all prices"))
    has_price = pl.col("price").is_not_null()
    gone = described.filter(pl.col("old_price").is_not_null(), ~has_price)
    added = described.filter("is_new", ~pl.col("is_old"), has_price)
    if gone.is_empty() and added.is_empty():
        return
    taken = _taken_by_words(releases, gone)
    total = int(releases.totals["total"].sum() or 0)
    many = taken.height > limits.REWORDED * total
    text = f"{taken.height:,} of {total:,} prices are gone for words that are new"
    yield refuse(taken, "reworded", many, text)
    lost = gone.join(taken, on="price_id", how="anti")
    yield from _relabeled(lost, added)
    yield from _lost(lost, taken, releases)
    yield _added(added, releases)


def _relabeled(gone: pl.DataFrame, added: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Refuse prices that are gone and came again with another label."""
    gone = gone.filter(is_among("old_price", added["price"]))
    for label in LABELS if gone.height else ():
        on = [name for name in PRICE_KEY if name not in ("provider", label)]
        came = added.select(*on, old_price="price", was=label, added_id="price_id")
        pairs = gone.join(came, on=[*on, "old_price"], nulls_equal=True)
        many = pairs.height >= limits.LEAST_SIBLINGS
        labels = (pl.col(name).cast(pl.String).fill_null("none") for name in (label, "was"))
        text = pl.format("{} is {} elsewhere", *labels)
        for name in ("price_id", "added_id"):
            yield refuse(pairs.with_columns(price_id=name), "unit", many, text)


def _taken_by_words(releases: Releases, gone: pl.DataFrame) -> pl.DataFrame:
    """Select the prices that are gone because the vendor's line is refused for a new word.

    A refused row names the line by an id that the old price or one of its parts has.
    """
    words = releases.new.table("quarantine").filter(pl.col("word").is_not_null())
    texts = pl.col("row").str.extract_all(TEXT).list.eval(pl.element().str.strip_chars('"'))
    ids = words.select(id=texts).explode("id", empty_as_null=False).unique().collect()["id"]
    if ids.is_empty() or gone.is_empty():
        return gone.clear()
    parts = releases.old.table("price_components").filter(is_among("sku_id", ids))
    composed = is_among("price_id", parts.select("price_id").collect()["price_id"])
    return gone.filter(is_among("price_id", ids) | is_among("old_sku_id", ids) | composed)


def _lost(lost: pl.DataFrame, taken: pl.DataFrame, releases: Releases) -> Iterator[pl.DataFrame]:
    """Refuse what a group lost, where it is more than chance takes, and what is still offered.

    The prices of types that left every list are genuinely gone, but not of many types. A price is
    closed if its machine has no price left in its region.
    """
    here = ["region", "instance_type"]
    new, old = releases.new, releases.old
    offers = new.table("availability").filter("offered").select(here).unique().collect()
    known = pl.concat([new.priced_types, taken.select("instance_type")])
    gone = old.priced_types.join(known, on="instance_type", how="anti")
    offered, retired = (
        gone.join(offers, on="instance_type", how=how)["instance_type"] for how in ("semi", "anti")
    )
    is_retired = is_among("instance_type", retired)
    share = len(retired) / max(1, old.priced_types.height)
    many = share > limits.RETIRED and len(retired) >= limits.LEAST_RETIRED
    text = f"{len(retired):,} types have left every list ({share:.1%})"
    yield refuse(lost, "retired", is_retired & many, text)
    priced = new.priced.filter(is_among("instance_type", lost["instance_type"]))
    left = priced.select(*here, open=pl.lit(True)).unique().collect()
    lost = lost.join(left, on=here, how="left").join(
        offers.with_columns(offered=pl.lit(True)), on=here, how="left"
    )
    lost = lost.with_columns(closed=~pl.col("is_new") & pl.col("open").is_null())
    is_offered = is_among("instance_type", offered) | (pl.col("closed") & pl.col("offered"))
    still = pl.format("{} has no price left but is still offered", "instance_type")
    yield refuse(lost, "offered", is_offered, still)
    lost = lost.filter(~is_retired)
    for moving, by, broken in GROUPS if lost.height else ():
        named = pl.all_horizontal(pl.col(name) != "" for name in by)
        all_totals = releases.machine_totals if by[0] in _OF_MACHINES else releases.totals
        totals, judged = (t.filter(named, moving=moving) for t in (all_totals, lost))
        judged = with_total(judged, totals, by).with_columns(lost=pl.len().over(by))
        reason = pl.when("closed").then(pl.lit("closed")).otherwise(
            pl.lit("market" if moving else "lost")
        )  # fmt: skip
        name = pl.concat_str(by, separator=" ")
        shares = pl.format("{}: {} of {} are gone", name, "lost", "total")
        yield refuse(judged, reason, broken, shares)


def _added(added: pl.DataFrame, releases: Releases) -> pl.DataFrame:
    """Refuse many new prices where region, family, system, option, term and currency are old."""
    fixed = added.filter(~pl.col("moving"))
    totals = releases.totals.filter(moving=False)
    families = releases.machine_totals.filter(moving=False)["family"]
    fixed = fixed.filter(is_among("family", families))
    for name in ("region", "os", "purchase_option", "term_months", "currency"):
        fixed = fixed.filter(is_among(name, totals[name]))
    total = int(totals["total"].sum() or 0)
    many = fixed.height > limits.ADDED * total and total > 0
    text = f"{fixed.height:,} prices are new beside {total:,} where nothing else is"
    return refuse(fixed, "added", many, text)
