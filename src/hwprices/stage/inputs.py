"""Record the inputs of staged tables, and reuse tables whose inputs have not changed.

Normalising is pure: the same pages and the same reading produce the same rows. Two digests
therefore tell, release by release, whether a difference is the vendor's or ours (docs/history.md).

The current tables of a provider, or single parts of it, are reused if its pages, the program, its
libraries, the sheets and the corrections are the same, and if no price has begun or ended since.
The rows are byte for byte those that normalising would produce, with the times at which the pages
were fetched now. Three AWS regions with 1.5 million prices take 30 s of processor time to stage,
and 2 s to reuse.
"""

import ast
import csv
import hashlib
import importlib.util
import io
import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib.metadata import version as installed_version
from itertools import chain
from pathlib import Path
from types import CodeType
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
    *("errors.py", "formulas/__init__.py", "landing/pages.py", "landing/bodies.py"),
    *("providers/__init__.py", "rows", "schemas", "specs", "stage", "units.py"),
)
"""Modules and folders that turn pages into rows, besides the provider's own folder."""

DECLARATIONS = "schemas"  # the folder with the sheets of tables, columns and codes

EXPLAINING = {"description", "unit", "focus", "contents", "details", "sentence"}
"""Columns of these sheets whose words no row depends on."""

LIBRARIES = ("polars", "polars-hash", "msgspec", "pyarrow", "defusedxml", "pandera")
"""Libraries that parse pages or compute rows."""


def inputs_of(run: Run) -> Inputs:
    """Describe the inputs of a run's tables."""
    units = tuple(_unit(result) for result in _sorted_results(run))
    return Inputs(reading(run.provider), _pages_digest(run), units)


def times_of(run: Run) -> tuple[datetime, ...]:
    """List when each page was fetched, in the order of the digest of pages."""
    return tuple(page.retrieved_at for result in _sorted_results(run) for page in result.pages)


def _sorted_results(run: Run) -> list[UnitResult]:
    return sorted(run.results, key=lambda result: result.unit.name)


def reading(provider: str) -> Reading:
    """Describe the program, sheets and corrections that read a provider's pages now."""
    return Reading(
        code=_digest([*_library_versions(), *_program(provider)]),
        sheets=_digest(_files(specs.sheet_directory(), _sheets(provider), without_notes)),
        corrections=_digest(_json(entry) for entry in corrections.load(provider)),
    )


def _program(provider: str) -> list[str]:
    """List the source files that read a provider's pages, each with the hash of its code."""
    if provider not in providers.names():  # a past provider has no folder
        return _common_program()
    folder = Path(*_locations(providers.get(provider).package))
    return [*_common_program(), *_files(folder, _below([folder], ".py"), code_of)]


@cache
def _common_program() -> list[str]:
    modules = _below([PACKAGE / name for name in READERS], ".py")
    sheets = _below([PACKAGE / DECLARATIONS], ".csv")
    return [*_files(PACKAGE, modules, code_of), *_files(PACKAGE, sheets, declared_in)]


def _locations(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or [])[:1] if spec else []


def _sheets(provider: str) -> list[Path]:
    """List the sheets that a normaliser may read: the provider's, and those of accelerators."""
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
    """List each file with the hash of its content, which ``content`` may transform first."""
    return [
        f"{file.relative_to(folder).as_posix()} "
        + hashlib.sha256(content(file.read_bytes())).hexdigest()
        for file in files
    ]


@cache
def code_of(source: bytes) -> bytes:
    """Return a module's bytecode without docstrings and lines: rewording changes no digest."""
    module: bytes | ast.Module = source
    if sys.version_info >= (3, 13):  # There a class keeps the number of its first line.
        module = ast.parse(source)
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                for place in (node, *node.decorator_list):
                    place.lineno = place.end_lineno = 1
    return _bytecode(compile(module, "", "exec", dont_inherit=True, optimize=2))


def _bytecode(code: CodeType) -> bytes:
    signature = (code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    constants = map(_constant, code.co_consts)
    parts = (code.co_code, code.co_exceptiontable, repr((signature, names)).encode(), *constants)
    return b"\0".join(parts)


def _constant(value: Any) -> bytes:
    if isinstance(value, CodeType):
        return _bytecode(value)
    if isinstance(value, frozenset):  # Its order differs between processes.
        return repr(sorted(map(repr, value))).encode()
    return repr(value).encode()


def declared_in(sheet: bytes) -> bytes:
    """Return a sheet of schemas without its columns EXPLAINING."""
    return _without(sheet, EXPLAINING)


def without_notes(sheet: bytes) -> bytes:
    """Return a sheet of a provider without its column notes."""
    return _without(sheet, {"notes"})


def _without(sheet: bytes, explaining: set[str]) -> bytes:
    """Return a sheet without the columns that explain its rows: rewording changes no digest."""
    rows = csv.DictReader(sheet.decode().splitlines())
    kept = [name for name in rows.fieldnames or [] if name not in explaining]
    return "\n".join(json.dumps([row[name] for name in kept]) for row in rows).encode()


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
    return _digest(
        _json(
            [
                result.unit.name,
                dict(result.unit.params),
                result.cause,
                [[page.sha256, page.url, dict(page.params)] for page in result.pages],
            ]
        )
        for result in _sorted_results(run)
    )


def _json(value: Any) -> str:
    return json.dumps(json.loads(manifests.encode(value)), sort_keys=True)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_CHARACTERS]


REFUSED = "refused"
"""Name of the refused rows among the files kept for a part; the other files are its facts."""


@dataclass(frozen=True)
class Result:
    """The outcome of checking a part: its table file (None without rows) and refused rows.

    ``with_amount``: number of its prices that have an amount.
    """

    file: TableFile | None
    refused: pl.DataFrame
    with_amount: int


@dataclass(frozen=True)
class PartRecord:
    """One part of staged tables: its source and its results.

    Attributes:
        table: the table of its rows.
        region: their region.
        source: the digest of its ``earlier.Source``.
        times: when each of its pages was fetched.
        file: the key of its table file, empty if it has no rows.
        kept: the files kept beside its table file, name to SHA-256.
        counts: vendor rows left out on purpose, by kind.
        with_amount: number of its prices that have an amount.
        holds_until: when the same pages begin to produce different rows; None means never.
        reused_from: the run that normalised it, empty if it was this one.
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
    """Keep the files that a later run needs to reuse a part that was read from ``source``."""
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
    """The parts of the current tables, for a run that may reuse them.

    Parts are reused only if ``reading``, which read them, is also the ``current_reading``.
    """

    store: Store
    directory: str = ""
    run_id: str = ""
    parts: Collection[PartRecord] = ()
    files: Collection[TableFile] = ()
    reading: Reading | None = None
    current_reading: Reading | None = None

    def find(self, source: Source) -> Earlier | None:
        """Return the part that was staged from the same pages; None if it must be normalised.

        Also None if one of its files is missing or has changed.
        """
        if self.reading is None or self.reading != self.current_reading:
            return None
        for record in self.parts:
            if (record.table, record.region) == (source.table, source.region):
                is_same = record.source == source.digest and holds(record.holds_until, source.times)
                return self._take(record, source) if is_same else None
        return None

    @property
    def has_reusable(self) -> bool:
        """Whether any part can be reused by itself."""
        return any(part.kept for part in self.parts)

    def copy(
        self, directory: str, times: Mapping[datetime, datetime]
    ) -> tuple[list[TableFile], list[PartRecord]] | None:
        """Copy all staged files below another directory, with the new times of their pages.

        Returns:
            the table files and the parts. None if a file is missing or has changed, or if a row's
            time is not that of a page; then the directory is deleted.
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
                files.append(_with_new_times(file, data, times))
        parts = [replace(p, reused_from=p.reused_from or self.run_id) for p in self.parts]
        return files, parts

    def _take(self, record: PartRecord, source: Source) -> Earlier | None:
        times = earlier.match_times(record.times, source.times)
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
            file=file and _with_new_times(file, data, times),
            data=data,
            refused=refused,
            facts=facts,
            counts=record.counts,
            with_amount=record.with_amount,
            holds_until=record.holds_until,
        )

    def _table_file(self, file: TableFile, times: Mapping[datetime, datetime]) -> bytes | None:
        """Read a table file and write the new times into it; None if that is impossible."""
        data = self._verified(file.key, file.sha256)
        if data is None or all(old == new for old, new in times.items()):
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
    """Check whether pages fetched at these times still produce the rows that hold ``until``."""
    return until is None or all(time < until for time in times)


def _with_new_times(file: TableFile, data: bytes, times: Mapping[datetime, datetime]) -> TableFile:
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 == file.sha256:
        return file
    first, last = (
        times[datetime.fromisoformat(time)].isoformat() if time else None
        for time in (file.observed_from, file.observed_to)
    )
    return replace(file, bytes=len(data), sha256=sha256, observed_from=first, observed_to=last)
