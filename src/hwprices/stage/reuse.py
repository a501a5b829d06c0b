"""Keep what a part was made of beside its tables, and take it over in a later run.

A part is taken over from the current tables if its pages are the same, if the program, its
libraries, the sheets and the corrections are, and if no price has begun or ended since. The rows
are those that normalising would give again, byte for byte, with the time at which the pages were
fetched now. Three of AWS's regions with 1.5 million prices are staged anew in 30 s of processor
time, and taken over in 2 s.
"""

import hashlib
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import polars as pl

from hwprices.providers import Part
from hwprices.release.manifest import Reading, TableFile
from hwprices.rows import earlier, parquet
from hwprices.rows.earlier import Earlier, Source
from hwprices.storage import layout
from hwprices.storage.store import Store

REFUSED = "refused"
"""The name under which the refused rows of a part are kept; the others are its facts."""


@dataclass(frozen=True)
class Result:
    """What checking a part gave: its table file (None without rows), and its refused rows.

    ``with_amount``: number of its prices that have an amount.
    """

    file: TableFile | None
    refused: pl.DataFrame
    with_amount: int


@dataclass(frozen=True)
class PartRecord:
    """One part of staged tables: what it was read from, and what it gave.

    Attributes:
        table: the table of its rows.
        region: their region.
        source: the digest of its ``earlier.Source``.
        times: when each of its pages was fetched.
        file: the key of its table file, empty where it has no rows.
        kept: what is kept of it beside the tables, name to the SHA-256 of the file.
        counts: vendor rows left out on purpose, by what they are.
        with_amount: number of its prices that have an amount.
        holds_until: when the same pages begin to give other rows; None means never.
        reused_from: the run that normalised it, empty if it is this one.
    """

    table: str
    region: str
    source: str
    times: tuple[datetime, ...]
    file: str
    kept: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    with_amount: int = 0
    holds_until: datetime | None = None
    reused_from: str = ""


def keep(store: Store, directory: str, part: Part, source: Source, result: Result) -> PartRecord:
    """Keep what a later run needs of a part that was read from ``source``."""
    kept = {}
    for name, rows in {REFUSED: result.refused, **part.facts}.items():
        buffer = io.BytesIO()
        rows.write_parquet(buffer)
        key = layout.staged_part(source.table, source.region, name)
        store.put(f"{directory}/{key}", buffer.getvalue())
        kept[name] = hashlib.sha256(buffer.getvalue()).hexdigest()
    return PartRecord(
        table=source.table,
        region=source.region,
        source=source.digest,
        times=source.times,
        file=result.file.key if result.file else "",
        kept=kept,
        counts=dict(part.counts),
        with_amount=result.with_amount,
        holds_until=part.holds_until,
        reused_from=part.earlier.run_id if part.earlier else "",
    )


@dataclass(frozen=True)
class EarlierParts:
    """The parts of the current tables, for a run that may take some of them over.

    ``reading`` is what read them. With other readings nothing is taken over.
    """

    store: Store
    directory: str = ""
    run_id: str = ""
    parts: Collection[PartRecord] = ()
    files: Collection[TableFile] = ()
    reading: Reading | None = None
    reading_now: Reading | None = None

    def find(self, source: Source) -> Earlier | None:
        """Return what was staged of the same pages; None where the part must be normalised.

        The same holds where a file of it is gone or was altered.
        """
        if self.reading is None or self.reading != self.reading_now:
            return None
        for record in self.parts:
            if (record.table, record.region) == (source.table, source.region):
                is_same = record.source == source.digest and _still_holds(record, source)
                return self._take(record, source) if is_same else None
        return None

    def _take(self, record: PartRecord, source: Source) -> Earlier | None:
        times = earlier.times_now(record.times, source.times)
        kept = {name: self._kept(record, name) for name in record.kept}
        facts = {name: rows for name, rows in kept.items() if rows is not None}
        if times is None or len(facts) < len(kept):
            return None
        refused = earlier.with_times(facts.pop(REFUSED), times)
        file = next((file for file in self.files if file.key == record.file), None)
        data = self._table_file(file, times) if file else b""
        if refused is None or data is None or (record.file and not file):
            return None
        return Earlier(
            run_id=record.reused_from or self.run_id,
            file=file and _seen_now(file, data, times),
            data=data,
            refused=refused,
            facts=facts,
            counts=record.counts,
            with_amount=record.with_amount,
            holds_until=record.holds_until,
        )

    def _table_file(self, file: TableFile, times: Mapping[datetime, datetime]) -> bytes | None:
        """Read a table file, and put today's times into it; None where that cannot be."""
        data = self._verified(file.key, file.sha256)
        if data is None or all(then == now for then, now in times.items()):
            return data
        rows = earlier.with_times(pl.read_parquet(data, hive_partitioning=False), times)
        return None if rows is None else parquet.encode(file.table, rows)

    def _kept(self, record: PartRecord, name: str) -> pl.DataFrame | None:
        key = layout.staged_part(record.table, record.region, name)
        data = self._verified(key, record.kept[name])
        return None if data is None else pl.read_parquet(data, hive_partitioning=False)

    def _verified(self, key: str, sha256: str) -> bytes | None:
        data = self.store.get(f"{self.directory}/{key}")
        return data if data and hashlib.sha256(data).hexdigest() == sha256 else None


def _still_holds(record: PartRecord, source: Source) -> bool:
    """Return whether the pages give the same rows at the time at which they were fetched now."""
    until = record.holds_until
    return until is None or all(time < until for time in source.times)


def _seen_now(file: TableFile, data: bytes, times: Mapping[datetime, datetime]) -> TableFile:
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 == file.sha256:
        return file
    first, last = (
        times[datetime.fromisoformat(time)].isoformat() if time else None
        for time in (file.observed_from, file.observed_to)
    )
    return replace(file, bytes=len(data), sha256=sha256, observed_from=first, observed_to=last)
