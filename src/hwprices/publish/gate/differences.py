"""Find the prices in which two releases of a provider differ; no check looks at any other row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import polars as pl

from hwprices.publish.batches import in_parallel
from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import PRICES, Candidate, batches
from hwprices.publish.gate.compare import PURCHASE, is_among
from hwprices.release.real_prices import is_private_host
from hwprices.schemas.keys import PRICE_KEY

MOVING_OPTIONS = ("spot", "low_priority", "capacity_block", "dws_flex_start")
"""Purchase options whose prices change by the hour: rows come and go, and prices jump."""

COMPARED = ("effective_hourly", "hourly", "upfront", "billing_unit", "basis", "currency",
            "price_reason")  # fmt: skip
"""Columns of a price that are not in its key (but currency, in case the key is wrong)."""

IDS = ("sku_id", "sku_price_id")
"""Columns that a price has or has not; their values may change."""

DATES = ("effective_from", "observed_at")

VALUES = (*COMPARED, *DATES, *IDS)

PAGE = ("region", "source_url")

_ROW = tuple(dict.fromkeys(("price_id", *PRICE_KEY[1:], *VALUES, *PAGE, "flags")))


def machines(candidate: Candidate) -> pl.LazyFrame:
    """List instance_type, family ("" if unknown) and the figures that prices are compared by."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    is_one_kind = pl.col("accelerators").list.len() == 1
    return candidate.table("instance_types").select(
        "instance_type",
        *("vcpus", "memory_gib", "accelerator_memory_gib", "burstable", "bare_metal"),
        "local_disk_gib",
        family=pl.col("family").fill_null(""),
        devices=pl.col("accelerator_count"),
        accelerator=pl.when(is_one_kind).then(first),
    )


Judge = Callable[[pl.DataFrame, "Releases"], pl.DataFrame]
"""Returns price_id, reason and reference of the rows of ``differences`` that are refused."""


@dataclass(frozen=True)
class Releases:
    """What a provider is judged with: its tables now and before, and older price tables.

    ``past`` are its prices of about a week and a month ago, the later first; ``held`` is the table
    of the last release. A provider's first
    release is compared with itself alone: vendors break most orders for single types, and a range
    of which the rows are part says little.
    """

    new: Candidate
    old: Candidate
    past: Sequence[pl.LazyFrame] = ()
    is_first: bool = False
    held: pl.DataFrame | None = None
    peers: pl.LazyFrame | None = None
    moment: datetime | None = None
    pages: pl.DataFrame | None = None

    @property
    def now(self) -> datetime:
        """When it is judged; when its pages were seen, if nobody says."""
        return self.moment or self.new.seen

    @cached_property
    def types(self) -> pl.DataFrame:
        """The machines of both, as last published: the columns of ``machines``."""
        both = pl.concat([machines(self.old), machines(self.new)])
        return both.unique("instance_type", keep="first").collect()

    @cached_property
    def totals(self) -> pl.DataFrame:
        """The number of old prices by what groups them, and whether they are moving."""
        prices = self.old.table(PRICES).filter(pl.col("effective_hourly").is_not_null())
        by = ("region", "instance_type", "os", *PURCHASE, "currency", "moving")
        counts = prices.with_columns(moving=is_moving()).group_by(by).agg(total=pl.len())
        named = self.types.select("instance_type", "family", "accelerator")
        return (
            counts.collect(engine="streaming")
            .join(named, on="instance_type", how="left")
            .with_columns(pl.col("family", "accelerator").fill_null(""), all=pl.lit("all prices"))
        )

    @cached_property
    def wrong_pages(self) -> pl.DataFrame:
        """The pages that a region has, and only others had before: columns PAGE."""
        if self.pages is not None:
            return self.pages
        new, old = (
            side.table(PRICES).select(PAGE).unique().collect(engine="streaming")
            for side in (self.new, self.old)
        )
        strange = new.join(old, on=PAGE, how="anti").join(old, on="region", how="semi")
        return strange.join(old, on="source_url", how="semi")

    def differences(self, judge: Judge) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Find the prices that came, went or changed, and those that ``judge`` refuses.

        The first frame has one row for each, with the columns of _ROW, as they are now or were
        before; ``old_`` and the names of VALUES; is_new and is_old (the release has the row); price
        and old_price (floats, null if unknown); moving; and the columns of ``machines``. A start
        date that is later than before makes no difference. The second frame is what ``judge``
        returns for the rows of a region and the tables of which they are.
        """
        pairs = batches(self.new, self.old, self.wrong_pages["region"].to_list())
        parts = list(in_parallel(lambda pair: self._batch(*pair, judge), pairs))
        rows, refused = zip(*parts, strict=True)
        return pl.concat(rows), pl.concat(refused)

    def _batch(self, new: Candidate, old: Candidate, judge: Judge) -> tuple[pl.DataFrame, ...]:
        rows = (
            _differences(new, old, self)
            .join(self.types, on="instance_type", how="left")
            .with_columns(
                pl.col("family").fill_null(""),
                provider=pl.lit(new.provider),
                price=pl.col("effective_hourly").cast(pl.Float64),
                old_price=pl.col("old_effective_hourly").cast(pl.Float64),
            )
            .with_columns(
                move=(pl.col("price") / pl.col("old_price")).log(),
                moving=is_moving(),
            )
        )
        piece = replace(self, new=new, old=old, pages=self.wrong_pages, moment=self.now)
        return rows, judge(rows, piece)


def is_moving() -> pl.Expr:
    """Return whether a price changes by the hour."""
    return pl.col("purchase_option").is_in(MOVING_OPTIONS) | is_private_host()


def _differences(new: Candidate, old: Candidate, releases: Releases) -> pl.DataFrame:
    before, now = (_values(side) for side in (old, new))
    ids = pl.Series("price_id", [], pl.String)
    if not before["id"].equals(now["id"]):
        is_gone, is_added = (
            ~before["id"].is_in(now["id"].implode()),
            ~now["id"].is_in(before["id"].implode()),
        )
        ids = pl.concat([before.filter(is_gone)["price_id"], now.filter(is_added)["price_id"]])
        before, now = before.filter(~is_gone), now.filter(~is_added)
        if not before["id"].equals(now["id"]):  # files are sorted
            before, now = before.sort("id"), now.sort("id")
    both = before.hstack(now.rename({name: f"new_{name}" for name in now.columns}))
    ids.append(both.filter(_differs(releases.now))["price_id"])
    if releases.wrong_pages.height:
        wrong = new.table(PRICES).join(releases.wrong_pages.lazy(), on=PAGE, how="semi")
        ids.append(wrong.select("price_id").collect()["price_id"])
    then, now = (_rows(side, ids) for side in (old, new))
    return _side_by_side(then, now)


def _values(candidate: Candidate) -> pl.DataFrame:
    has = (pl.col(name).is_not_null() for name in IDS)
    rows = candidate.table(PRICES).select("price_id", *COMPARED, *DATES, *has)
    return rows.collect().with_columns(id=pl.col("price_id").hash())


def is_out_of_time(now: datetime, new: str = "", old: str = "old_") -> pl.Expr:
    """Return whether a date lies before the one published, or a start too far ahead of now."""
    start, seen = (pl.col(f"{new}{name}") for name in DATES)
    return pl.any_horizontal(
        start < pl.col(f"{old}effective_from"),
        start > pl.max_horizontal(seen, pl.lit(now)) + limits.AHEAD,
        seen < pl.min_horizontal(f"{old}observed_at", pl.lit(now)) - limits.CLOCK,
    ).fill_null(False)


def _differs(now: datetime) -> pl.Expr:
    return pl.any_horizontal(
        is_out_of_time(now, "new_", ""),
        *(pl.col(name).ne_missing(pl.col(f"new_{name}")) for name in COMPARED),
        *(pl.col(name) & ~pl.col(f"new_{name}") for name in IDS),
    )


def _rows(candidate: Candidate, ids: pl.Series) -> pl.DataFrame:
    rows = candidate.table(PRICES).select(_ROW)
    return (rows.filter(is_among("price_id", ids)) if ids.len() else rows.clear()).collect()


def _side_by_side(then: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """Join the rows of two releases; what identifies a price is the newer's, else the older's."""
    then = then.rename({name: f"old_{name}" for name in _ROW if name != "price_id"})
    both = now.with_columns(is_new=pl.lit(True)).join(
        then.with_columns(is_old=pl.lit(True)), on="price_id", how="full", coalesce=True
    )
    named = [name for name in _ROW if name not in ("price_id", *VALUES)]
    return both.with_columns(
        *(pl.coalesce(name, f"old_{name}").alias(name) for name in named),
        pl.col("is_new", "is_old").fill_null(False),
        old_currency=pl.coalesce("old_currency", "currency"),
        currency=pl.coalesce("currency", "old_currency"),
    ).drop(f"old_{name}" for name in named)
