"""The two releases of a provider that the gate compares, and the prices in which they differ."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import polars as pl

from hwprices.publish.arrange import in_parallel, packed
from hwprices.publish.gate import compare
from hwprices.publish.gate.compare import PRICE, PURCHASE, is_among
from hwprices.release.release import is_moving
from hwprices.rows import frames
from hwprices.rows.parquet import TYPE_GROUPS, changed_groups, type_group
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import TABLES
from hwprices.storage.manifests import Origin

PRICES = "prices"

BATCH_ROWS = 1_000_000  # price rows in memory, in two batches at a time
# rows of a first release that are judged together: all are new, 0.1 GB for each 100,000
FIRST_ROWS = 100_000
MOST_GROUPS = TYPE_GROUPS // 4  # with more of the groups, reading all is faster


@dataclass(frozen=True)
class PriceFile:
    """One file of a provider's prices, with its number of rows and its region ("" if it has all).

    Files with the same ``content`` differ only in when and where they were seen. ``fixed`` are
    checksums of the prices that do not change by the hour. ``seen`` are the first and last time.
    """

    rows: pl.LazyFrame
    count: int
    region: str = ""
    content: str | None = None
    seen: tuple[datetime, datetime] | None = None
    fixed: str | None = None

    def is_older(self, old: "PriceFile") -> bool:
        """Return whether its first row was seen before the other's last row."""
        return bool(self.seen and old.seen and self.seen[0] < old.seen[1] - compare.CLOCK)


@dataclass(frozen=True)
class Candidate:
    """A provider's tables by name, and where their figures come from (sample or live).

    ``price_files`` are the files of its prices, if they can be read one by one. ``observed_at`` is
    when the last page was fetched, by default the last page with prices. ``pages`` are the first
    DIGEST_CHARACTERS of the SHA-256 of the pages read; empty if unknown.
    """

    provider: str
    origin: Origin
    tables: Mapping[str, pl.LazyFrame]
    price_files: Sequence[PriceFile] = ()
    observed_at: datetime | None = None
    pages: frozenset[str] = frozenset()

    @cached_property
    def seen(self) -> datetime | None:
        """When its last page was fetched; None without prices."""
        if self.observed_at is not None:
            return self.observed_at
        times = self.table(PRICES).select(pl.col("observed_at").max()).collect(engine="streaming")
        return times.item()  # type: ignore[no-any-return]

    def table(self, name: str) -> pl.LazyFrame:
        """Return a table's rows; none if the provider does not have it."""
        return self.tables[name] if name in self.tables else frames.empty(TABLES[name]).lazy()

    @property
    def priced(self) -> pl.LazyFrame:
        """The prices that have an amount."""
        return self.table(PRICES).filter(pl.col("effective_hourly").is_not_null())

    @cached_property
    def priced_types(self) -> pl.DataFrame:
        """The machine types that have a row of prices, in a column instance_type."""
        types = self.table(PRICES).select("instance_type").unique()
        return types.collect(engine="streaming")

    def only(self, chosen: Mapping[str, pl.Expr]) -> "Candidate":
        """Keep the prices of some files: region to the rows that are read of it."""
        files = (file for file in self.price_files if file.region in chosen)
        rows = [file.rows.filter(chosen[file.region]) for file in files]
        prices = pl.concat(rows or [frames.empty(TABLES[PRICES]).lazy()])
        return replace(self, tables={**self.tables, PRICES: prices}, price_files=())


def batches(
    new: Candidate, old: Candidate, suspect: Collection[str] = (), most: int = BATCH_ROWS // 2
) -> Iterator[tuple[int, Candidate, Candidate]]:
    """Cut two releases of a provider into pieces of whole regions, of at most ``most`` rows.

    Yields the number of rows and the prices of both that may differ. An unchanged region is left
    out. Of one with checksums, yields the prices that change by the hour, those on demand, with
    which they are ordered, and the machine types whose other prices differ. A ``suspect`` region is
    complete.
    """
    files, before = ({file.region: file for file in side.price_files} for side in (new, old))
    if not files or (before and ("" in files) != ("" in before)):
        yield 0, new, old
        return
    chosen, counts = dict[str, pl.Expr](), dict[str, int]()
    for region in files.keys() | before.keys():
        file, was = files.get(region), before.get(region)
        is_read = pl.lit(True)
        is_suspect = region in suspect or (suspect and not region)
        if file and was and not is_suspect and not file.is_older(was):
            if file.content is not None and file.content == was.content:
                continue
            groups = changed_groups(file.fixed or "", was.fixed or "")
            if file.fixed and was.fixed and len(groups) <= MOST_GROUPS:
                is_on_demand = pl.col("purchase_option") == "on_demand"
                is_read = is_moving() | is_on_demand | type_group().is_in(groups)
        chosen[region] = is_read
        counts[region] = sum(side.count for side in (file, was) if side)
    for regions in packed(counts, most) if counts else [[]]:
        read = {region: chosen[region] for region in regions}
        yield sum(counts[region] for region in regions), new.only(read), old.only(read)


COMPARED = ("effective_hourly", "hourly", "upfront", "billing_unit", "basis", "currency",
            "price_reason")  # fmt: skip
IDS = ("sku_id", "sku_price_id")  # a price may get another one, but not lose it
DATES = ("effective_from", "observed_at")
VALUES = (*COMPARED, *DATES, *IDS)
PAGE = ("region", "source_url")
SUSPECT = {"price_id": pl.String, "region": pl.String, "reference": pl.String}

_ROW = tuple(dict.fromkeys(("price_id", *PRICE_KEY[1:], *VALUES, "flags")))
_ID = pl.col("price_id").hash().alias("id")


def machines(candidate: Candidate) -> pl.LazyFrame:
    """List machine types with their family ("" if unknown) and figures."""
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


@dataclass(frozen=True)
class Releases:
    """What a provider is judged with: the arguments of ``gate.judge``.

    ``untraced`` are the prices that their page does not state. A first release is compared only
    with itself.
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
        """The machines of both releases, as last published: columns of ``machines``."""
        both = pl.concat([machines(self.old), machines(self.new)])
        return both.unique("instance_type", keep="first").collect()

    def _counted(self, *by: str) -> pl.DataFrame:
        # grouped by the columns of is_moving too: judging groups is faster than every price
        priced = self.old.priced.group_by({*by, "provider", "region", "purchase_option"})
        counts = priced.agg(total=pl.len()).with_columns(moving=is_moving())
        counts = counts.group_by(*by, "moving").agg(pl.col("total").sum())
        return counts.collect(engine="streaming")

    @cached_property
    def totals(self) -> pl.DataFrame:
        """The old prices, counted.

        Columns: region, os, PURCHASE, currency, moving, all (a constant to group by) and total.
        """
        counts = self._counted("region", "os", *PURCHASE, "currency")
        return counts.with_columns(all=pl.lit("all prices"))

    @cached_property
    def machine_totals(self) -> pl.DataFrame:
        """The old prices, counted by machine.

        Columns: region, instance_type, family, accelerator ("" if unknown), moving and total.
        """
        named = self.types.select("instance_type", "family", "accelerator")
        totals = self._counted("region", "instance_type").join(
            named, on="instance_type", how="left"
        )
        return totals.with_columns(pl.col("family", "accelerator").fill_null(""))

    @cached_property
    def suspects(self) -> pl.DataFrame:
        """Prices whose page was another region's or does not state them: columns of SUSPECT."""
        # the prices of a page follow each other: compared with the one before, few are left
        begins = pl.any_horizontal(pl.col(n).ne_missing(pl.col(n).shift()) for n in PAGE)
        new, old = (
            side.table(PRICES).select(PAGE).filter(begins).unique().collect(engine="streaming")
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

    def differences(
        self, judge: Callable[[pl.DataFrame, pl.DataFrame, "Releases"], pl.DataFrame]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Find the prices that came, went or changed, and what ``judge`` refuses of them.

        The first frame has _ROW as it is now, or was before; VALUES with ``old_``; is_new and
        is_old (the release has the row); price and old_price (floats, null if unknown); move (the
        logarithm of their ratio); moving; and ``machines``. A later start is not a difference.
        """

        def result_of(now: pl.DataFrame, old: Candidate) -> tuple[pl.DataFrame, pl.DataFrame]:
            rows = self._changed(now, old)
            refused = judge(rows, now, self)
            if self.is_first:  # every row is new
                rows = rows.join(refused.select("price_id").unique(), on="price_id", how="semi")
            return frames.independent(rows), frames.independent(refused)

        def work(piece: tuple[int, Candidate, Candidate]) -> list[tuple[pl.DataFrame, ...]]:
            _, new, old = piece
            now = new.table(PRICES).select(_ROW).collect()
            if not self.is_first:
                return [result_of(now, old)]
            parts = 1 + now.height // FIRST_ROWS
            part = type_group() % parts
            return [result_of(now.filter(part == number), old) for number in range(parts)]

        most = BATCH_ROWS // 3 if self.is_first else BATCH_ROWS  # every row of a first one is new
        pieces = batches(self.new, self.old, self.suspects["region"].to_list(), most // 2)
        results = in_parallel(work, pieces, lambda piece: piece[0], most)
        rows, refused = zip(*(result for of_piece in results for result in of_piece), strict=True)
        return pl.concat(rows), pl.concat(refused)

    def _changed(self, now: pl.DataFrame, old: Candidate) -> pl.DataFrame:
        """Return the prices that came, went, changed or are suspect: columns of ``differences``."""
        ids = now.select(_ID)
        then = old.table(PRICES).select(_ID, *VALUES, is_old=True).collect()
        gone = then["id"].clear()
        if not ids["id"].equals(then["id"]):  # files are sorted: prices often keep their place
            gone = then["id"].filter(~then["id"].is_in(ids["id"].implode()))
            then = ids.join(then, on="id", how="left", maintain_order="left")
        is_suspect = is_among("price_id", self.suspects["price_id"])
        differs = _differs(now, then, self.now) | now.select(is_suspect).to_series()
        then = then.select("is_old", pl.col(VALUES).name.prefix("old_"))
        rows = now.filter(differs).hstack(then.filter(differs)).with_columns(is_new=True)
        if len(gone):
            lost = old.table(PRICES).filter(_ID.is_in(gone.implode()))
            key = ("price_id", *PRICE_KEY[1:], "flags")
            lost = lost.select(*key, pl.col(VALUES).name.prefix("old_"), is_old=True)
            rows = pl.concat([rows, lost.collect()], how="diagonal")
        rows = rows.join(self.types, on="instance_type", how="left").with_columns(
            pl.col("family").fill_null(""),
            pl.col("is_new", "is_old").fill_null(False),
            provider=pl.lit(self.new.provider),
            old_currency=pl.coalesce("old_currency", "currency"),
            price=PRICE,
            old_price=pl.col("old_effective_hourly").cast(pl.Float64),
        )
        move = (pl.col("price") / pl.col("old_price")).log()
        return rows.with_columns(move=move, moving=is_moving())


def _differs(now: pl.DataFrame, then: pl.DataFrame, today: datetime) -> pl.Series:
    """Return which rows are new, have changed, or have a date that is out of time.

    Compares column by column: polars copies frames whose chunks of memory differ.
    """
    dates = now.select(DATES).hstack(then.select(pl.col(DATES).name.prefix("old_")))
    differs = then["is_old"].is_null() | dates.select(is_out_of_time(today)).to_series()
    for name in COMPARED:
        differs |= now[name].ne_missing(then[name])
    for name in IDS:
        differs |= now[name].is_null() & then[name].is_not_null()
    return differs


def is_out_of_time(now: datetime) -> pl.Expr:
    """Return whether a date is before the published one, or a start too far ahead."""
    start, seen = (pl.col(name) for name in DATES)
    return pl.any_horizontal(
        start < pl.col("old_effective_from"),
        start > pl.max_horizontal(seen, pl.lit(now)) + compare.AHEAD,
        seen < pl.min_horizontal("old_observed_at", pl.lit(now)) - compare.CLOCK,
    ).fill_null(False)
