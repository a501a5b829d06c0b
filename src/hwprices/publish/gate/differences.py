"""Find the prices in which two releases of a provider differ; no check looks at any other row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from hwprices.publish.batches import in_parallel
from hwprices.publish.gate import limits
from hwprices.publish.gate.candidate import BATCH_ROWS, PRICES, Candidate, batches
from hwprices.publish.gate.compare import PRICE, PURCHASE, hashed
from hwprices.release.real_prices import is_moving
from hwprices.schemas.keys import PRICE_KEY

COMPARED = ("effective_hourly", "hourly", "upfront", "billing_unit", "basis", "currency",
            "price_reason")  # fmt: skip
"""Columns of a price that are not in its key (but currency, in case the key is wrong)."""

IDS = ("sku_id", "sku_price_id")
"""Columns that a price has or has not; their values may change."""

DATES = ("effective_from", "observed_at")

VALUES = (*COMPARED, *DATES, *IDS)

PAGE = ("region", "source_url")
SUSPECT = {"price_id": pl.String, "region": pl.String, "reference": pl.String}

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


Judge = Callable[[pl.DataFrame, Candidate, "Releases"], pl.DataFrame]
"""Returns what is refused of the rows of ``differences`` of some regions, whose candidate it is."""


@dataclass(frozen=True)
class Releases:
    """What a provider is judged with: its tables now and before, and older price tables.

    ``past`` are its prices of about a week, a month and a quarter ago; ``held`` is the table of the
    last release; ``now`` is when it is judged; ``untraced`` are the prices that their page does not
    state. A provider's first release is compared with itself alone: vendors break most orders for
    single types, and a range of which the rows are part says little.
    """

    new: Candidate
    old: Candidate
    now: datetime
    past: Sequence[pl.LazyFrame]
    is_first: bool
    held: pl.DataFrame
    peers: pl.LazyFrame | None
    untraced: pl.DataFrame

    @cached_property
    def types(self) -> pl.DataFrame:
        """The machines of both, as last published: the columns of ``machines``."""
        both = pl.concat([machines(self.old), machines(self.new)])
        return both.unique("instance_type", keep="first").collect()

    def _counted(self, *by: str) -> pl.DataFrame:
        counts = self.old.priced.with_columns(moving=is_moving()).group_by(*by, "moving")
        return counts.agg(total=pl.len()).collect(engine="streaming")

    @cached_property
    def totals(self) -> pl.DataFrame:
        """The old prices counted by what they have in common, for the share that moved or went.

        Columns: region, os, PURCHASE, currency, moving, all (a constant, to group by) and total.
        """
        counts = self._counted("region", "os", *PURCHASE, "currency")
        return counts.with_columns(all=pl.lit("all prices"))

    @cached_property
    def machine_totals(self) -> pl.DataFrame:
        """The same: region, instance_type, family, accelerator ("" if unknown), moving and total.

        One table with the columns of both would have a row for every second price.
        """
        named = self.types.select("instance_type", "family", "accelerator")
        totals = self._counted("region", "instance_type").join(
            named, on="instance_type", how="left"
        )
        return totals.with_columns(pl.col("family", "accelerator").fill_null(""))

    @cached_property
    def suspects(self) -> pl.DataFrame:
        """The prices whose page was only that of other regions, or does not state them.

        Columns: price_id, region and reference.
        """
        new, old = (
            side.table(PRICES).select(PAGE).unique().collect(engine="streaming")
            for side in (self.new, self.old)
        )
        strange = new.join(old, on=PAGE, how="anti").join(old, on="region", how="semi")
        wrong = strange.join(old, on="source_url", how="semi")
        if wrong.is_empty():  # as nearly always
            return self.untraced
        rows = self.new.table(PRICES).join(wrong.lazy(), on=PAGE, how="semi")
        known = rows.join(self.old.table(PRICES), on="price_id", how="semi")
        text = pl.format("{} is another's", "source_url")
        named = known.select("price_id", "region", reference=text).collect()
        return pl.concat([named, self.untraced])

    def differences(self, judge: Judge) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Find the prices that came, went or changed, and those that ``judge`` refuses.

        The first frame has one row for each, with the columns of _ROW, as they are now or were
        before; ``old_`` and the names of VALUES; is_new and is_old (the release has the row); price
        and old_price (floats, null if unknown); moving; and the columns of ``machines``. A start
        date that is later than before makes no difference. The second frame is what ``judge``
        returns for the rows of a region and the tables of which they are.
        """

        def work(piece: tuple[int, Candidate, Candidate, Candidate]) -> tuple[pl.DataFrame, ...]:
            _, new, old, all_new = piece
            rows = self._differences(new, old)
            # unless a price by the hour changed, ``new`` has all prices of the machines that did
            refused = judge(rows, all_new if rows["moving"].any() else new, self)
            if self.is_first:  # every row is new: a tenth of a GB for each 100,000
                rows = rows.join(refused.select("price_id").unique(), on="price_id", how="semi")
            return rows, refused

        pieces = batches(self.new, self.old, self.suspects["region"].to_list())
        results = in_parallel(work, pieces, lambda piece: piece[0], BATCH_ROWS)
        rows, refused = zip(*results, strict=True)
        return pl.concat(rows), pl.concat(refused)

    def _differences(self, new: Candidate, old: Candidate) -> pl.DataFrame:
        ids = self._ids(new, old)
        rows = _side_by_side(*(_rows(side, ids) for side in (old, new)))
        rows = rows.join(self.types, on="instance_type", how="left").with_columns(
            pl.col("family").fill_null(""),
            provider=pl.lit(new.provider),
            price=PRICE,
            old_price=pl.col("old_effective_hourly").cast(pl.Float64),
        )
        move = (pl.col("price") / pl.col("old_price")).log()
        return rows.with_columns(move=move, moving=is_moving())

    def _ids(self, new: Candidate, old: Candidate) -> pl.Series:
        """Return the hashes of the ids of prices that came, went, changed or are suspect."""
        before, now = (_digests(side) for side in (old, new))
        is_kept, is_known = (
            one["id"].is_in(other["id"].implode()) for one, other in ((before, now), (now, before))
        )
        ids = pl.concat([before.filter(~is_kept)["id"], now.filter(~is_known)["id"]])
        before, now = before.filter(is_kept).rechunk(), now.filter(is_known).rechunk()
        if not before["id"].equals(now["id"]):  # files are sorted
            before, now = before.sort("id"), now.sort("id")
        both = before.hstack(now.rename({name: f"new_{name}" for name in now.columns}))
        has_lost_id = (pl.col("ids") & ~pl.col("new_ids")) != 0
        differs = (pl.col("digest") != pl.col("new_digest")) | has_lost_id
        ids.extend(both.filter(differs | is_out_of_time(self.now, "new_", ""))["id"])
        return ids.extend(self.suspects["price_id"].hash())


def _digests(candidate: Candidate) -> pl.DataFrame:
    """Return a number for each price that changes with COMPARED, its dates, and which IDS it has.

    Numbers take a fifth of the memory of the columns, and can be compared in half the time.
    """
    sku, sku_price = (pl.col(name).is_not_null().cast(pl.UInt8) for name in IDS)
    id_hash = pl.col("price_id").hash().alias("id")
    rows = candidate.table(PRICES)
    return rows.select(id_hash, *DATES, digest=hashed(COMPARED), ids=sku + 2 * sku_price).collect()


def is_out_of_time(now: datetime, new: str = "", old: str = "old_") -> pl.Expr:
    """Return whether a date lies before the one published, or a start too far ahead of now."""
    start, seen = (pl.col(f"{new}{name}") for name in DATES)
    return pl.any_horizontal(
        start < pl.col(f"{old}effective_from"),
        start > pl.max_horizontal(seen, pl.lit(now)) + limits.AHEAD,
        seen < pl.min_horizontal(f"{old}observed_at", pl.lit(now)) - limits.CLOCK,
    ).fill_null(False)


def _rows(candidate: Candidate, ids: pl.Series) -> pl.DataFrame:
    """Read the prices whose ids have these hashes: columns _ROW."""
    rows = candidate.table(PRICES).select(_ROW)
    return rows.filter(pl.col("price_id").hash().is_in(ids.implode())).collect()


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
