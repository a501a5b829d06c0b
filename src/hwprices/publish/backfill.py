"""Fetch a vendor's own past price lists, and make intervals of them for the history.

Each list is a run in a landing root of its own (``backfilled/``), so that nothing that is collected
today is touched. A list is complete when its rows are written: an interrupted backfill goes on
with the others. The next release has the intervals.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version as installed_version
from io import BytesIO
from typing import Any

import polars as pl

from hwprices import providers
from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run, UnitResult
from hwprices.providers import Pages, PastList
from hwprices.publish.history.backfill import ROW_COLUMNS, fold
from hwprices.rows import parquet
from hwprices.schemas.history import PriceHistory
from hwprices.settings import Settings
from hwprices.stage.inputs import reading
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import Timestamp

PRICE_LIST = "prices"
"""The kind of unit that past lists are of."""

PERIOD_MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""Of ``--every``: one list is taken of each period, the first."""

BYTES_PER_SECOND = 20_000_000
"""For the estimate: a download of 20 MB/s, a fifth of a line of 1 Gbit/s. An assumption."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class PastRegion:
    """One region in one of the vendor's past lists."""

    region: str
    past: PastList

    @property
    def run_id(self) -> str:
        """The name of its run in the landing root of past lists."""
        return f"{self.past.version}.{self.region}"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a backfill is going to take. ``bytes`` is None where no run has fetched the region.

    ``lists`` are all that were chosen, ``missing`` those that are not there yet.
    """

    lists: int
    missing: int
    bytes: int | None

    @property
    def minutes(self) -> float | None:
        """Minutes of download at BYTES_PER_SECOND."""
        return None if self.bytes is None else self.bytes / BYTES_PER_SECOND / 60


@dataclass(frozen=True)
class Backfilled:
    """How a backfill ended: lists fetched now, read from kept pages, and left out with why."""

    fetched: int
    kept: int
    left_out: tuple[str, ...]
    intervals: int


class Backfill:
    """The past of some regions of one provider. Use it with ``with``: it owns an HTTP client."""

    def __init__(self, store: Store, provider: str, settings: Settings) -> None:
        """Prepare a backfill.

        Raises:
            HwpricesError: there is no such provider, or none of its past lists are read.
        """
        self.provider = providers.get(provider)
        if not self.provider.publishes_its_past:
            raise HwpricesError(
                f"there are no price lists of the past to fetch from {provider}",
                "Its history begins with the first release that has it.",
            )
        self.store = store
        self.landing = Landing(layout.backfilled_root(store.root))
        live = settings.model_copy(update={"root": store.root, "source": "live"})
        self._collector = Collector(provider, live)
        self._reading = reading(provider).digest

    def __enter__(self) -> "Backfill":
        return self

    def __exit__(self, *_: object) -> None:
        self._collector.close()

    def choose(
        self, regions: Sequence[str], since: datetime, until: datetime, every: str
    ) -> list[PastRegion]:
        """Choose the lists whose prices held between two times, the oldest first.

        Raises:
            HwpricesError: there is none, or the vendor's index is unavailable.
        """
        lists = self.provider.past_lists(self._collector.context_of("the index of past lists"))
        held = [one for one in lists if one.begin < until and (one.end is None or one.end > since)]
        months = PERIOD_MONTHS[every]
        first: dict[int, PastList] = {}
        for one in held:
            first.setdefault((one.begin.year * 12 + one.begin.month - 1) // months, one)
        if not first:
            span = f"{lists[0].begin:%Y-%m-%d} on" if lists else "no day"
            raise HwpricesError(
                f"{self.provider.name} has no price list from {since:%Y-%m-%d} to {until:%Y-%m-%d}",
                f"It has lists from {span}.",
            )
        return [PastRegion(region, one) for region in sorted(regions) for one in first.values()]

    def estimate(self, chosen: Sequence[PastRegion]) -> Estimate:
        """Estimate a backfill by the size that today's list of each region had."""
        run = Landing(layout.landing_root(self.store.root)).latest_run(self.provider.name)
        sizes = {
            result.unit.region: sum(page.bytes for page in result.pages)
            for result in (run.results if run else ())
            if result.unit.kind == PRICE_LIST and result.pages
        }
        missing = [one for one in chosen if self._run(one) is None]
        known = [sizes.get(one.region) for one in missing]
        total = None if None in known else sum(size for size in known if size is not None)
        return Estimate(lists=len(chosen), missing=len(missing), bytes=total)

    def run(self, chosen: Sequence[PastRegion], progress: Progress = lambda _: None) -> Backfilled:
        """Fetch what is missing, and make the intervals of each region from all its lists.

        A list that the vendor does not give, or that cannot be read, is left out.

        Raises:
            HwpricesError: the root cannot be written.
        """
        fetched, left_out = 0, []
        for one in chosen:
            name = f"{self.provider.name} {one.region} {one.past.begin:%Y-%m-%d}"
            try:
                if self._has_rows(one):
                    continue
                run = self._run(one)
                if run is None:
                    progress(f"{name}: fetching")
                    run = self._fetch(one)
                    fetched += 1
                self._write_rows(one, run)
            except HwpricesError as error:
                left_out.append(f"{name}: {error.message}")
        count = sum(self._fold(region) for region in sorted({one.region for one in chosen}))
        kept = len(chosen) - fetched - len(left_out)
        return Backfilled(fetched, kept, tuple(left_out), count)

    def _run(self, one: PastRegion) -> Run | None:
        key = layout.run_manifest(self.provider.name, one.run_id)
        if not self.landing.store.exists(key):
            return None
        return self.landing.run(self.provider.name, one.run_id)

    def _fetch(self, one: PastRegion) -> Run:
        """Land a list, and write its run."""
        context = self._collector.context_of(f"{self.provider.name} {one.run_id}")
        own = replace(context, landing=self.landing)
        unit = self.provider.past_unit(own, one.past, one.region)
        pages = tuple(self.provider.fetch(own, unit))
        result = UnitResult(unit, "ok", pages)
        run = Run(
            one.run_id,
            self.provider.name,
            "live",
            one.past.published,
            installed_version("hwprices"),
            (result,),
        )
        self.landing.write_run(run)
        return run

    def _has_rows(self, one: PastRegion) -> bool:
        """Return whether a list was read, with the program that is installed."""
        key = self._rows_key(one)
        return self.store.exists(key) and self._rows(key, 1)["reading"][0] == self._reading

    def _rows_key(self, one: PastRegion) -> str:
        return layout.backfilled_rows(self.provider.name, one.region, one.past.version)

    def _write_rows(self, one: PastRegion, run: Run) -> None:
        """Read a landed list, and write its prices.

        Raises:
            HwpricesError: it cannot be read.
        """
        pages = Pages(run, self.landing)
        found = [
            part.frame.lazy()
            for part in self.provider.normalise(pages)
            if part.table == "prices" and part.region in (None, one.region)
        ]
        if pages.unreadable:
            raise HwpricesError(pages.unreadable[0].reason)
        rows = (
            pl.concat(found)
            .with_columns(
                reading=pl.lit(self._reading),
                unit=pl.lit(f"{PRICE_LIST}/{one.region}"),
                begin=pl.lit(one.past.begin, dtype=Timestamp),
                published=pl.lit(one.past.published, dtype=Timestamp),
            )
            .select(*ROW_COLUMNS, "unit", "begin", "published")
            .collect(engine="streaming")
        )
        if rows.is_empty():
            raise HwpricesError("the list has no price of a machine")
        buffer = BytesIO()
        rows.write_parquet(buffer, compression="zstd")
        self.store.put(self._rows_key(one), buffer.getvalue())

    def _fold(self, region: str) -> int:
        """Write the intervals of a region from all its lists that were read; return how many."""
        folder = layout.backfilled_rows(self.provider.name, region, "x").rpartition("/")[0]
        begins: dict[str, datetime] = {}
        for key in self.store.keys(folder):
            row = self._rows(key, 1).row(0, named=True)
            begins[key] = row["begin"]
            if row["reading"] != self._reading:
                self._read_again(key, region, row)
        if not begins:
            return 0
        intervals = fold(self._rows(key) for key in sorted(begins, key=lambda k: (begins[k], k)))
        target = layout.backfilled_intervals(self.provider.name, region)
        self.store.put(target, parquet.encode(PriceHistory.Config.name, intervals))
        return intervals.height

    def _rows(self, key: str, most: int | None = None) -> pl.DataFrame:
        return pl.read_parquet(BytesIO(self.store.get(key) or b""), n_rows=most)

    def _read_again(self, key: str, region: str, row: Mapping[str, Any]) -> None:
        """Read a list that an earlier program read, so that no correction looks like a change."""
        version = str(layout.backfilled_rows.parse(key, "version"))
        past = PastList(
            version=version,
            begin=row["begin"],
            end=None,
            published=row["published"],
            index_url="",
        )
        one = PastRegion(region, past)
        if (run := self._run(one)) is not None:
            self._write_rows(one, run)

    def regions(self) -> list[str]:
        """List the regions with a price list in the last run.

        Raises:
            HwpricesError: there is no run.
        """
        run = Landing(layout.landing_root(self.store.root)).latest_run(self.provider.name)
        regions = run.regions(PRICE_LIST) if run else []
        if not regions:
            raise HwpricesError(
                f"no run of {self.provider.name} says which regions there are",
                "Name them with --region.",
            )
        return regions
