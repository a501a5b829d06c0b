"""What the gate looks at: a provider's tables, and the files that its prices are in."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import polars as pl

from hwprices.publish.batches import packed
from hwprices.publish.gate import limits
from hwprices.release.real_prices import is_moving
from hwprices.rows import frames
from hwprices.rows.parquet import TYPE_GROUPS, changed_groups, type_group
from hwprices.schemas.tables import TABLES
from hwprices.storage.manifests import Origin

PRICES = "prices"

BATCH_ROWS = 500_000
"""Price rows of both releases that are compared at a time, half of them in each of two batches: a
tenth of a gigabyte for each 100,000 of a first release. A region that has more is alone."""

LEAST_READ = 1 / 8
"""Share of a region's rows that are on demand or move by the hour, which are read in any case."""

MOST_GROUPS = TYPE_GROUPS // 4
"""Where more groups of machine types changed, all prices are read: selecting them is slower."""


@dataclass(frozen=True)
class PriceFile:
    """One file of a provider's prices, and the number of its rows. ``region`` is that of all.

    Files with the same ``content``, if any, differ in nothing but when and where they were seen;
    ``fixed``, if any, are checksums of the prices that do not change by the hour.
    ``seen`` are the first and the last time.
    """

    rows: pl.LazyFrame
    count: int
    region: str | None = None
    content: str | None = None
    seen: tuple[datetime, datetime] | None = None
    fixed: str | None = None

    def is_older(self, old: "PriceFile") -> bool:
        """Return whether its first row was seen before the last row of another file."""
        return bool(self.seen and old.seen and self.seen[0] < old.seen[1] - limits.CLOCK)

    @cached_property
    def regions(self) -> frozenset[str]:
        """The regions of its rows. A file has those of one region or of all."""
        if self.region is not None:
            return frozenset([self.region])
        return frozenset(self.rows.select(pl.col("region").unique()).collect()["region"])


@dataclass(frozen=True)
class Candidate:
    """A provider's tables by name, and where their figures come from (sample or live).

    ``price_files`` are the files of its prices, where they may be read one after the other.
    ``observed_at`` is when its last page was fetched; by default, when that of its prices was.
    ``pages`` are the first DIGEST_CHARACTERS of the SHA-256 of the pages read; empty if not known.
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
        """Return a table's rows; empty where the provider has none."""
        return self.tables[name] if name in self.tables else frames.empty(TABLES[name]).lazy()

    @property
    def priced(self) -> pl.LazyFrame:
        """Its prices that have an amount."""
        return self.table(PRICES).filter(pl.col("effective_hourly").is_not_null())

    @cached_property
    def priced_types(self) -> pl.DataFrame:
        """The machine types that have a row of prices, in a column instance_type."""
        types = self.table(PRICES).select("instance_type").unique()
        return types.collect(engine="streaming")

    def only(
        self, regions: Collection[str], changed: Mapping[str | None, Sequence[int]] | None = None
    ) -> "Candidate":
        """Return the same with the prices of some regions only.

        Regions in ``changed`` keep only the prices that change by the hour, and those of these
        groups of machine types.
        """
        groups = changed or {}
        own = pl.col("region").is_in(list(regions))
        rows: list[pl.LazyFrame] = []
        for file in self.price_files:
            if file.regions <= set(regions):
                if file.region not in groups:
                    rows.append(file.rows)
                    continue
                may_differ = type_group().is_in(groups[file.region])
                parts = (file.rows.filter(is_moving()), file.rows.filter(may_differ, ~is_moving()))
                rows += [part.collect().lazy() for part in parts]  # an or takes twice as long
            elif file.regions & set(regions):
                rows.append(file.rows.filter(own))
        prices = pl.concat(rows or [frames.empty(TABLES[PRICES]).lazy()])
        return replace(self, tables={**self.tables, PRICES: prices}, price_files=())


def batches(
    new: Candidate, old: Candidate, suspect: Collection[str] = ()
) -> Iterator[tuple[int, Candidate, Candidate, Candidate]]:
    """Cut two releases of a provider into pieces of whole regions, of half of BATCH_ROWS each.

    No check joins prices of different regions, so each can be made piece by piece. Yields the
    number of rows, the prices of both that may differ, and all prices of ``new`` in the same
    regions. A region with the old rows is left out. Of one with checksums, the prices that change
    by the hour are compared, and the machine types whose other prices differ. A ``suspect`` region
    is compared in full.
    """
    if not new.price_files:
        yield 0, new, old, new
        return
    by_region = {file.region: file for file in old.price_files if file.regions.isdisjoint(suspect)}
    unchanged, changed = set(), dict[str | None, Sequence[int]]()
    for file in new.price_files:
        before = by_region.get(file.region)
        if before is None or file.is_older(before):
            continue
        if file.content is not None and file.content == before.content:
            unchanged.add(file.region)
        elif file.region is not None and file.fixed and before.fixed:
            differ = changed_groups(file.fixed, before.fixed)
            if len(differ) <= MOST_GROUPS:
                changed[file.region] = differ
    counts: Counter[str] = Counter()
    for file in (*new.price_files, *old.price_files):
        if file.region not in unchanged:
            groups = changed.get(file.region)
            share = 1 if groups is None else max(LEAST_READ, len(groups) / TYPE_GROUPS)
            rows = int(file.count * share) // len(file.regions or [""]) + 1
            counts.update(dict.fromkeys(file.regions, rows))
    for regions in packed(counts, BATCH_ROWS // 2) if counts else [[]]:
        parts = new.only(regions, changed), old.only(regions, changed), new.only(regions)
        yield sum(counts[region] for region in regions), *parts
