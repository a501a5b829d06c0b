"""Check the parts that a provider yields, write them as tables, and count what was refused."""

from collections import Counter

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Run
from hwprices.providers import Part
from hwprices.release.manifest import TableFile
from hwprices.rows import parquet, quarantine
from hwprices.rows.earlier import Earlier
from hwprices.schemas.tables import TABLES
from hwprices.stage import corrections, refusals, reuse, validate
from hwprices.stage.refusals import StagedFiles
from hwprices.stage.reuse import PartRecord, Result
from hwprices.storage import layout
from hwprices.storage.store import Store

AMOUNTS = {"prices": "effective_hourly", "market_quantiles": "min_usd"}
"""Table of prices, or of quantiles of a market: its column of amounts. A run has at least one."""


class StagedTables:
    """The tables of one run while they are being written below its staging directory.

    Give every part to ``add``, then call ``finish`` once.
    """

    def __init__(self, store: Store, directory: str, run: Run) -> None:
        self.accounted: Counter[str] = Counter()
        """Vendor rows that are left out on purpose, by what they are."""
        self.parts: list[PartRecord] = []
        """What is kept of the parts for later runs."""
        self.refused_by_reason: dict[str, int] = {}
        """Refused rows by reason, once finished."""
        self._store = store
        self._directory = directory
        self._provider = run.provider
        self._started_at = run.started_at
        self._sources = {page.sha256: page.url for result in run.results for page in result.pages}
        self._corrections = corrections.load(run.provider)
        self._keys: set[str] = set()
        self._files: list[TableFile] = []
        self._refused: list[pl.DataFrame] = []
        self._prices_with_amount = 0

    @property
    def files(self) -> tuple[TableFile, ...]:
        """The files written so far, sorted by key."""
        return tuple(sorted(self._files, key=lambda file: file.key))

    @property
    def has_prices(self) -> bool:
        """Whether at least one price, or quantile of a market, has an amount."""
        return self._prices_with_amount > 0

    def add(self, part: Part, *, can_be_reused: bool = False) -> None:
        """Check the rows of a part and write the good ones, or take over an earlier run's.

        The rows of the part are computed already (``Part.collected``). With ``can_be_reused`` a
        part that has a source is kept for later runs.

        Raises:
            HwpricesError: the table and region have a part already; a correction is stale, the part
                is not of its table, or a file cannot be written.
        """
        key = layout.table_file(part.table, self._provider, part.region)
        if key in self._keys:
            raise HwpricesError(
                f"{self._provider} gives two parts for the file {key}",
                "Join them in the provider's normalise: the second would replace the first.",
            )
        self._keys.add(key)
        self.accounted.update(part.counts)
        result = self._take_over(part.earlier) if part.earlier else self._check(part)
        self._refused.append(result.refused)
        self._prices_with_amount += result.with_amount
        if result.file:
            self._files.append(result.file)
        if can_be_reused and part.source:
            kept = reuse.keep(self._store, self._directory, part, part.source, result)
            self.parts.append(kept)

    def _check(self, part: Part) -> Result:
        """Check the rows of a part and write the good ones."""
        rows = part.frame
        assert isinstance(rows, pl.DataFrame), "call Part.collected first"
        if part.table == "instance_types":
            rows = corrections.apply(rows, self._provider, self._corrections)
        split = validate.split(rows, TABLES[part.table], self._sources)
        refused = [split.refused] if part.refused is None else [part.refused, split.refused]
        amount = AMOUNTS.get(part.table)
        return Result(
            file=self._write(part.table, split.good, part.region) if split.good.height else None,
            refused=pl.concat(refused),
            with_amount=split.good[amount].count() if amount else 0,
        )

    def finish(self, last: StagedFiles | None = None) -> None:
        """Write the quarantine table, then judge the refused rows.

        In this order: the refused rows of a run that fails are kept to be looked at. ``last`` are
        the tables staged before, None for none.

        Raises:
            HwpricesError: too many rows of known kinds were refused, or a file cannot be written.
        """
        refused = quarantine.merge_refused(self._refused)
        if refused.height:
            refused = refusals.fixed(refused, self._started_at)
            self._files.append(self._write("quarantine", refused))
        counts = refused.group_by("reason").agg(pl.col("occurrences").sum()).sort("reason")
        self.refused_by_reason = dict(counts.iter_rows())
        now = StagedFiles(self._store, self._directory, self.files)
        refusals.check(self._provider, refused, now, last)

    def _take_over(self, earlier: Earlier) -> Result:
        if earlier.file:
            self._store.put(f"{self._directory}/{earlier.file.key}", earlier.data)
        return Result(earlier.file, earlier.refused, earlier.with_amount)

    def _write(self, table: str, rows: pl.DataFrame, region: str | None = None) -> TableFile:
        return parquet.write(
            self._store, self._directory, table, rows, provider=self._provider, region=region
        )
