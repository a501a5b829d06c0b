"""Write down what staged tables were made of, and take over those whose inputs are the same.

Normalising is pure: the same pages and the same reading give the same rows. So two digests tell,
release by release, whether a difference is the vendor's or ours (docs/history.md).

A provider, or else a part of it, is taken over from the current tables if its pages are the same,
if the program, its libraries, the sheets and the corrections are, and if no price has begun or
ended since. The rows are those that normalising would give again, byte for byte, with the time at
which the pages were fetched now. Three of AWS's regions with 1.5 million prices are staged anew in
30 s of processor time, and taken over in 2 s.
"""

import ast
import hashlib
import importlib.util
import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from hwprices import providers, specs
from hwprices.landing.pages import Run, UnitResult
from hwprices.providers import Part
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, Reading, TableFile, UnitInput
from hwprices.rows import earlier, parquet
from hwprices.rows.earlier import Earlier, Source
from hwprices.stage import corrections
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

PACKAGE = Path(providers.__file__).parents[1]

READERS = (
    "errors.py",
    "landing/pages.py",
    "landing/bodies.py",
    "providers/__init__.py",
    "rows",
    "schemas",
    "specs",
    "stage",
    "units.py",
)
"""Modules and folders that turn pages into rows, beside the folder of the provider."""

LIBRARIES = ("polars", "polars-hash", "msgspec", "pyarrow", "defusedxml", "pandera")
"""Libraries that parse pages or compute rows."""


def inputs_of(run: Run) -> Inputs:
    """Describe what the tables of a run are made of."""
    units = [_unit(result) for result in sorted(run.results, key=lambda one: one.unit.name)]
    return Inputs(reading(run.provider), _pages_digest(run), tuple(units))


def times_of(run: Run) -> tuple[datetime, ...]:
    """List when each page was fetched, in the order of the digest of pages."""
    units = sorted(run.results, key=lambda one: one.unit.name)
    return tuple(page.retrieved_at for result in units for page in result.pages)


def reading(provider: str) -> Reading:
    """Describe what reads a provider's pages now."""
    return Reading(
        code=_digest([*_library_versions(), *_program(provider)]),
        sheets=_digest(_files(specs.sheet_directory(), _sheets(provider))),
        corrections=_digest(_json(entry) for entry in corrections.load(provider)),
    )


def _program(provider: str) -> list[str]:
    """List the source files that read a provider's pages, each with the hash of its code.

    A provider that is no longer in the program has no files of its own.
    """
    if provider not in providers.names():
        return _common_program()
    folder = Path(*_locations(providers.get(provider).package))
    return [*_common_program(), *_files(folder, _below([folder], ".py"), code_of)]


@cache
def _common_program() -> list[str]:
    return _files(PACKAGE, _below([PACKAGE / name for name in READERS], ".py"), code_of)


def _locations(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or [])[:1] if spec else []


def _sheets(provider: str) -> list[Path]:
    """List the sheets that a normaliser may read: its own, and those that name accelerators."""
    folder = specs.sheet_directory()
    names = folder / "accelerator_names" / f"{provider}.csv"
    return _below([*folder.glob(f"{provider}_*.csv"), folder / "accelerators.csv", names], ".csv")


def _below(paths: Iterable[Path], suffix: str) -> list[Path]:
    files: set[Path] = set()
    for path in paths:
        files.update(path.rglob(f"*{suffix}") if path.is_dir() else [path])
    return sorted(file for file in files if file.is_file() and file.suffix == suffix)


def _files(
    folder: Path, files: Iterable[Path], content: Callable[[bytes], bytes] = bytes
) -> list[str]:
    """List each file with the hash of its content, or of what ``content`` makes of it."""
    return [
        f"{file.relative_to(folder).as_posix()} "
        + hashlib.sha256(content(file.read_bytes())).hexdigest()
        for file in files
    ]


@cache
def code_of(source: bytes) -> bytes:
    """Return the syntax tree of a module without its prose, so that rewording changes no digest."""
    return ast.dump(_WithoutProse().visit(ast.parse(source))).encode()


class _WithoutProse(ast.NodeTransformer):
    """Removes docstrings, of attributes too; comments are not in a syntax tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


@cache
def _library_versions() -> tuple[str, ...]:
    return tuple(f"{name} {installed_version(name)}" for name in LIBRARIES)


def _unit(result: UnitResult) -> UnitInput:
    regions = result.unit.params.get("regions", "")
    return UnitInput(
        unit=f"{result.unit.kind}/{result.unit.region}",
        status=result.status,
        pages=tuple(page.sha256[:DIGEST_CHARACTERS] for page in result.pages),
        regions=tuple(name for name in regions.split(",") if name),
    )


def _pages_digest(run: Run) -> str:
    """Hash the pages and how they were requested, but not when they were fetched."""
    units = sorted(run.results, key=lambda one: one.unit.name)
    return _digest(
        _json(
            [
                result.unit.name,
                dict(result.unit.params),
                result.cause,
                [[page.sha256, page.url, dict(page.params)] for page in result.pages],
            ]
        )
        for result in units
    )


def _json(value: Any) -> str:
    return json.dumps(json.loads(manifests.encode(value)), sort_keys=True)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_CHARACTERS]


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
                is_same = record.source == source.digest and holds(record.holds_until, source.times)
                return self._take(record, source) if is_same else None
        return None

    @property
    def keeps(self) -> bool:
        """Whether any part keeps what it read of its pages."""
        return any(part.kept for part in self.parts)

    def copy(
        self, directory: str, times: Mapping[datetime, datetime]
    ) -> tuple[list[TableFile], list[PartRecord]] | None:
        """Copy all that is staged below another directory, with today's times: files and parts.

        None, and nothing is left there, if a file is gone or was altered, or a row has a time of no
        page.
        """
        kept = {
            layout.staged_part(part.table, part.region, name): sha256
            for part in self.parts
            for name, sha256 in part.kept.items()
        }
        contents = chain(
            ((key, None, self._verified(key, sha256)) for key, sha256 in kept.items()),
            ((file.key, file, self._table_file(file, times)) for file in self.files),
        )
        files = []
        for key, file, data in contents:
            if data is None:
                self.store.delete_below(directory)
                return None
            self.store.put(f"{directory}/{key}", data)
            if file is not None:
                files.append(_seen_now(file, data, times))
        of_run = [replace(one, reused_from=one.reused_from or self.run_id) for one in self.parts]
        return files, of_run

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


def holds(until: datetime | None, times: Iterable[datetime]) -> bool:
    """Return whether pages that give the same rows until then do so if fetched at these times."""
    return until is None or all(time < until for time in times)


def _seen_now(file: TableFile, data: bytes, times: Mapping[datetime, datetime]) -> TableFile:
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 == file.sha256:
        return file
    first, last = (
        times[datetime.fromisoformat(time)].isoformat() if time else None
        for time in (file.observed_from, file.observed_to)
    )
    return replace(file, bytes=len(data), sha256=sha256, observed_from=first, observed_to=last)
