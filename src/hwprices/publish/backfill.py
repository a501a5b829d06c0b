"""Fetch a vendor's past price lists, and make intervals from them for the history.

Each list is a run in a separate landing root (``backfilled/``), apart from current collections. A
list is done when its rows are written, so an interrupted backfill continues with the others. The
lists of a series (price lists, spot prices) become intervals together. The next release includes
them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version as installed_version
from io import BytesIO

import polars as pl
import pyarrow.parquet as parquet_files

from hwprices import providers
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.providers import Pages, PastList, SkippedError
from hwprices.publish.history.backfill import ROW_SCHEMA, fold
from hwprices.rows import parquet
from hwprices.schemas.tables import PriceHistory
from hwprices.settings import Settings
from hwprices.stage import validate
from hwprices.stage.inputs import reading
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import Timestamp

GLOBAL = "global"  # The region of lists that have all regions

PERIOD_MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""Periods of ``--every``: the first list of each period is used."""

BYTES_PER_SECOND = 20_000_000
"""Assumed speed of downloads for the estimate: 20 MB/s, about a fifth of 1 Gbit/s."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class PastRegion:
    """One region in one of the vendor's past lists; ``global`` if the list has all regions."""

    region: str
    past: PastList

    @property
    def name(self) -> str:
        """The series and version: ``prices-20260128123456``."""
        return f"{self.past.kinds[0]}-{self.past.version}"

    @property
    def run_id(self) -> str:
        """The name of its run in the landing root of past lists."""
        return f"{self.name}.{self.region}"


@dataclass(frozen=True, kw_only=True)
class BackfillCost:
    """The estimated download of a backfill.

    ``lists``: number of chosen lists. ``missing``: number of lists to fetch. ``unknown``: units
    that no run has fetched, which the estimate leaves out.
    """

    lists: int
    missing: int
    bytes: int
    unknown: tuple[str, ...]

    @property
    def minutes(self) -> float:
        """Minutes of download at BYTES_PER_SECOND."""
        return self.bytes / BYTES_PER_SECOND / 60


@dataclass(frozen=True)
class Backfilled:
    """The result of a backfill: lists fetched now, already there, and left out with the reason.

    ``absent``: number of lists that the vendor lacks for a region, for example before it opened.
    """

    fetched: int
    kept: int
    absent: int
    left_out: tuple[str, ...]
    intervals: int


class Backfill:
    """Fetches the past of one provider. Use it in a ``with`` block: it owns an HTTP client."""

    def __init__(self, store: Store, provider: str, settings: Settings) -> None:
        """Prepare a backfill.

        Raises:
            HwpricesError: there is no such provider, or it publishes no past lists.
        """
        self.provider = providers.get(provider)
        if not self.provider.publishes_its_past:
            raise HwpricesError(
                f"{provider} publishes no price lists of the past",
                "Its history begins with the first release that has it.",
            )
        self.store = store
        self.landing = Landing(layout.backfilled_root(store.root))
        live = settings.model_copy(update={"root": store.root, "source": "live"})
        self._collector = Collector(provider, live)
        self._reading = reading(provider).digest
        self.notes: list[str] = []
        """What ``choose`` needs to find more lists, such as credentials."""

    def __enter__(self) -> "Backfill":
        return self

    def __exit__(self, *_: object) -> None:
        self._collector.close()

    def choose(
        self, regions: Sequence[str], since: datetime, until: datetime, every: str
    ) -> list[PastRegion]:
        """Choose the lists whose prices were valid between two times, oldest first.

        Without ``regions``, those with prices in the last run. Lists that ended before ``since`` or
        began after ``until`` are left out. Of lists that are ``thinned``, only the first of each
        period (``every``) is used.

        Raises:
            HwpricesError: there is no such list, ``regions`` are given but the lists have all
                regions, no run has regions, or the vendor's index is unavailable.
        """
        lists = self.provider.past_lists(
            self._collector.context_of("the index of past lists"), since
        )
        valid = [p for p in lists if p.begin < until and (p.end is None or p.end > since)]
        self.notes = sorted({past.missing for past in valid} - {""})
        months = PERIOD_MONTHS[every]
        first: dict[tuple[str, int | datetime], PastList] = {}
        for past in valid:
            period = (past.begin.year * 12 + past.begin.month - 1) // months
            first.setdefault((past.kinds[0], period if past.thinned else past.begin), past)
        chosen = [past for past in first.values() if not past.missing]
        if not chosen:
            span = f"{lists[0].begin:%Y-%m-%d} on" if lists else "no day"
            raise HwpricesError(
                f"{self.provider.name} has no price list from {since:%Y-%m-%d} to {until:%Y-%m-%d}",
                f"It has lists from {span}.",
            )
        by_region = any(past.by_region for past in chosen)
        if regions and not by_region:
            raise HwpricesError(
                f"the lists of {self.provider.name} have all regions", "Leave out --region."
            )
        if not regions and by_region:
            regions = self._regions()
        return [
            PastRegion(region, past)
            for past in chosen
            for region in (sorted(regions) if past.by_region else (GLOBAL,))
        ]

    def estimate(self, chosen: Sequence[PastRegion]) -> BackfillCost:
        """Estimate a backfill by the size of each unit's pages in the last run."""
        run = self._latest_run()
        sizes = {
            (result.unit.kind, result.unit.region): sum(page.bytes for page in result.pages)
            for result in (run.results if run else ())
            if result.pages
        }
        missing = [entry for entry in chosen if self._run(entry) is None]
        units = [(kind, entry.region) for entry in missing for kind in entry.past.kinds]
        unknown = {(kind, region) for kind, region in units if (kind, region) not in sizes}
        return BackfillCost(
            lists=len(chosen),
            missing=len(missing),
            bytes=sum(sizes.get(unit, 0) for unit in units),
            unknown=tuple(sorted(f"{kind}/{region}" for kind, region in unknown)),
        )

    def run(self, chosen: Sequence[PastRegion], progress: Progress = lambda _: None) -> Backfilled:
        """Fetch the missing lists, and make the intervals of each region from all its lists.

        A list that is unavailable or cannot be read is left out.

        Raises:
            HwpricesError: the root cannot be written.
        """
        fetched, kept, left_out, absent = 0, 0, [], 0
        for entry in chosen:
            series, begin = entry.past.kinds[0], entry.past.begin
            name = f"{self.provider.name} {series} {entry.region} {begin:%Y-%m-%d}"
            try:
                if self._has_rows(entry):
                    kept += 1
                    continue
                run = self._run(entry)
                if run is None:
                    progress(f"{name}: fetching")
                    run = self._fetch(entry)
                    fetched += 1
                else:
                    kept += 1
                self._write_rows(entry, run)
            except SkippedError as error:
                absent += 1
                progress(f"{name}: {error.message}")
            except HwpricesError as error:
                left_out.append(f"{name}: {error.message}")
        count = sum(self._fold(region) for region in sorted({entry.region for entry in chosen}))
        return Backfilled(fetched, kept, absent, tuple(left_out), count)

    def _run(self, entry: PastRegion) -> Run | None:
        key = layout.run_manifest(self.provider.name, entry.run_id)
        if not self.landing.store.exists(key):
            return None
        return self.landing.run(self.provider.name, entry.run_id)

    def _fetch(self, entry: PastRegion) -> Run:
        """Land a list, and write its run."""
        context = self._collector.context_of(f"{self.provider.name} {entry.run_id}")
        results = []
        for unit in self.provider.past_units(context, entry.past, entry.region):
            own = replace(self._collector.context_of(unit.name), landing=self.landing)
            results.append(UnitResult(unit, "ok", tuple(self.provider.fetch(own, unit))))
        run = Run(
            entry.run_id,
            self.provider.name,
            "live",
            entry.past.published,
            installed_version("hwprices"),
            tuple(results),
        )
        self.landing.write_run(run)
        return run

    def _has_rows(self, entry: PastRegion) -> bool:
        """Check whether a list was read by the installed program."""
        key = self._rows_key(entry)
        return self.store.exists(key) and self._rows(key, 1)["reading"][0] == self._reading

    def _rows_key(self, entry: PastRegion) -> str:
        return layout.backfilled_rows(self.provider.name, entry.region, entry.name)

    def _write_rows(self, entry: PastRegion, run: Run) -> None:
        """Read a landed list, and write its prices: a row group for each time in the list."""
        pages = Pages(run, self.landing)
        unit_of = {
            page.sha256: f"{result.unit.kind}/{result.unit.region}"
            for result in run.results
            for page in result.pages
        }
        schema = pl.DataFrame(schema=ROW_SCHEMA).to_arrow().schema
        buffer, count = BytesIO(), 0
        with parquet_files.ParquetWriter(buffer, schema, compression="zstd") as writer:
            for begin, prices in self.provider.past_prices(pages, entry.past):
                published = entry.past.published if begin == entry.past.begin else begin
                named = prices.with_columns(
                    reading=pl.lit(self._reading),
                    unit=pl.col("raw_sha256").replace_strict(unit_of),
                    begin=pl.lit(begin, dtype=Timestamp),
                    published=pl.lit(published, dtype=Timestamp),
                    complete=pl.lit(entry.past.complete),
                )
                known = named.collect_schema()
                rows = named.select(
                    (pl.col(name) if name in known else pl.lit(None)).cast(dtype).alias(name)
                    for name, dtype in ROW_SCHEMA.items()
                ).collect(engine="streaming")
                count += rows.height
                writer.write_table(rows.to_arrow())
        if pages.unreadable:
            raise HwpricesError(pages.unreadable[0].reason)
        if not count:
            raise HwpricesError("the list has no price of a machine")
        self.store.put(self._rows_key(entry), buffer.getvalue())

    def _fold(self, region: str) -> int:
        """Write the intervals of a region from all lists that were read; return their number."""
        folder = layout.backfilled_rows(self.provider.name, region, "x").rpartition("/")[0]
        series: dict[str, dict[datetime, str]] = {}
        for key in sorted(self.store.keys(folder)):
            name = str(layout.backfilled_rows.parse(key, "version"))
            if self._rows(key, 1)["reading"][0] != self._reading:
                self._read_again(key, region, name)
            # if two lists begin at the same time, the later one counts
            lists = series.setdefault(name.partition("-")[0], {})
            lists |= dict.fromkeys(self._rows(key, columns=["begin"])["begin"].unique(), key)
        if not series:
            return 0
        parts = [fold(self._lists(lists)) for _, lists in sorted(series.items())]
        intervals = validate.sort_by_key(pl.concat(parts, rechunk=True), PriceHistory)
        target = layout.backfilled_intervals(self.provider.name, region)
        self.store.put(target, parquet.encode(PriceHistory.name, intervals))
        return intervals.height

    def _lists(self, keys: Mapping[datetime, str]) -> Iterator[pl.DataFrame]:
        """Read the row group of each time, oldest first."""
        for begin, key in sorted(keys.items()):
            rows = pl.scan_parquet(BytesIO(self.store.get(key) or b""))
            yield rows.filter(pl.col("begin") == begin).collect()

    def _rows(
        self, key: str, most: int | None = None, columns: list[str] | None = None
    ) -> pl.DataFrame:
        return pl.read_parquet(BytesIO(self.store.get(key) or b""), n_rows=most, columns=columns)

    def _read_again(self, key: str, region: str, name: str) -> None:
        """Read a list of an earlier program again, so that no correction looks like a change."""
        row = self._rows(key, 1).row(0, named=True)
        kind, _, version = name.partition("-")
        past = PastList(
            kinds=(kind,),
            version=version,
            begin=row["begin"],
            end=None,
            published=row["published"],
            complete=row["complete"],
        )
        entry = PastRegion(region, past)
        if (run := self._run(entry)) is not None:
            self._write_rows(entry, run)

    def _latest_run(self) -> Run | None:
        return Landing(layout.landing_root(self.store.root)).latest_run(self.provider.name)

    def _regions(self) -> list[str]:
        """List the regions with prices in the last run."""
        run = self._latest_run()
        regions = {
            result.unit.region
            for result in (run.results if run else ())
            if result.pages and self.provider.holds_prices(result.unit.kind)
        }
        if not regions:
            raise HwpricesError(
                f"no run of {self.provider.name} says which regions there are",
                "Name them with --region.",
            )
        return sorted(regions)
