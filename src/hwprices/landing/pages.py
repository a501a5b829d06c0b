"""Raw pages as the vendors sent them: content-addressed, compressed, with a manifest a run, checked on every read.

A page is ``<provider>/<kind>/<region>/<sha256>.<suffix>.gz`` below the landing root; the SHA-256 is that of the stored file, so
anybody can check it with ``sha256sum``. A run's manifest is ``<provider>/runs/<run_id>.json``. The bundled sample is a landing
root like any other: what replays it is what reads a live run.
"""

import gzip
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal

from hwprices.errors import HwpricesError
from hwprices.landing.download import CHUNK, Downloaded
from hwprices.storage.store import Store

COMPRESS_LEVEL = 6  # zlib's own default; a price list of 1 GB shrinks to about 6 %


@dataclass(frozen=True)
class Unit:
    """What is fetched, fails and is carried over as one: provider × kind × region (``global`` where it has none).

    ``params`` is what ``plan`` found out for ``fetch`` (a version URL); it must not hold a credential.
    """

    provider: str
    kind: str
    region: str = "global"
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.kind}/{self.region}"


@dataclass(frozen=True)
class Page:
    """One landed page: where it is, what it is, where and when it came from. ``params`` never holds a credential."""

    key: str
    sha256: str
    bytes: int
    content_bytes: int
    url: str
    params: Mapping[str, str]
    status: int
    content_type: str
    retrieved_at: datetime


UnitStatus = Literal["ok", "skipped", "failed", "carried"]


@dataclass(frozen=True)
class UnitResult:
    """How one unit went. carried: it failed, and the pages of the run named in ``carried_from`` stand in for it."""

    unit: Unit
    status: UnitStatus
    pages: tuple[Page, ...] = ()
    reason: str = ""
    carried_from: str = ""
    cause: str = ""
    """Code of why it was skipped, for those who read the pages; defined by the provider."""


@dataclass(frozen=True)
class Run:
    """The manifest of one provider's run."""

    run_id: str
    provider: str
    origin: Literal["sample", "live"]
    started_at: datetime
    code_version: str
    results: tuple[UnitResult, ...]

    def of(self, kind: str, region: str | None = None) -> list[Page]:
        """Pages of a kind, and region where given, in the order they were fetched."""
        return [
            p
            for r in self.results
            if r.unit.kind == kind and region in (None, r.unit.region)
            for p in r.pages
        ]

    def regions(self, kind: str) -> list[str]:
        """Regions that have pages of a kind, sorted."""
        return sorted({r.unit.region for r in self.results if r.unit.kind == kind and r.pages})


class Landing:
    """Writes and reads landed pages below a root (a folder or an object store)."""

    def __init__(self, root: str | Path | Store) -> None:
        self.store = root if isinstance(root, Store) else Store(root)

    def land(self, unit: Unit, body: Downloaded, *, suffix: str) -> Page:
        """Keep a downloaded body unparsed; a gzip body stays as it came, others are compressed.

        Raises:
            HwpricesError: the landing root cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
            stored = (
                body.path
                if body.encoding == "gzip"
                else _compress(body.path, Path(scratch) / "page.gz")
            )
            with gzip.open(stored) as plain:
                content_bytes = sum(len(chunk) for chunk in _chunks(plain))
            sha256 = _sha256(stored)
            key = f"{unit.provider}/{unit.kind}/{unit.region}/{sha256}.{suffix}.gz"
            if not self.store.exists(key):
                self.store.put(key, stored)
            return Page(
                key=key,
                sha256=sha256,
                bytes=stored.stat().st_size,
                content_bytes=content_bytes,
                url=body.url,
                params=dict(body.params),
                status=body.status,
                content_type=body.content_type,
                retrieved_at=body.retrieved_at,
            )

    def land_bytes(
        self,
        unit: Unit,
        content: bytes,
        *,
        url: str,
        retrieved_at: datetime,
        suffix: str = "json",
        params: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> Page:
        """Keep a page that a vendor's SDK has already read from the wire (its body as received, decoded)."""
        with tempfile.NamedTemporaryFile(prefix="hwprices-") as file:
            file.write(content)
            file.flush()
            types = {"json": "application/json", "xml": "text/xml", "csv": "text/csv"}
            body = Downloaded(
                Path(file.name),
                "identity",
                url,
                params or {},
                status,
                types.get(suffix, "application/octet-stream"),
                retrieved_at,
            )
            return self.land(unit, body, suffix=suffix)

    @contextmanager
    def file(self, page: Page) -> Iterator[Path]:
        """The stored (compressed) page as a local file whose checksum holds; a copy that goes away when it is on an object store.

        Raises:
            HwpricesError: the page is gone, or is not what was landed; the line names it.
        """
        path = self.store.local(page.key)
        if path is not None:
            self._check(page, path if path.is_file() else None)
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="hwprices-") as scratch:
            data = self.store.get(page.key)
            copy = Path(scratch) / Path(page.key).name
            if data is not None:
                copy.write_bytes(data)
            self._check(page, copy if data is not None else None)
            yield copy

    def read(self, page: Page) -> bytes:
        """The page's content, decompressed, checksum verified. For pages that fit in memory."""
        with self.file(page) as path, gzip.open(path) as plain:
            return plain.read()

    def read_json(self, page: Page) -> Any:
        """A JSON page, numbers with a fraction as Decimal: money must not pass through a float."""
        from decimal import Decimal

        try:
            return json.loads(self.read(page), parse_float=Decimal)
        except ValueError as error:
            raise HwpricesError(
                f"landed page {self.store.uri(page.key)} is not JSON ({error})",
                "Delete it and fetch again.",
            ) from None

    def _check(self, page: Page, path: Path | None) -> None:
        where = self.store.uri(page.key)
        if path is None:
            raise HwpricesError(
                f"landed page {where} is missing", "Fetch again, or restore the landing directory."
            )
        if _sha256(path) != page.sha256:
            raise HwpricesError(
                f"checksum of landed page {where} does not match: it was altered after it was landed",
                "Delete it and fetch again.",
            )

    # -- manifests -----------------------------------------------------------------------------------------------------

    def write_run(self, run: Run) -> str:
        """Write the manifest of a run; returns its key."""
        key = f"{run.provider}/runs/{run.run_id}.json"
        self.store.put(key, json.dumps(asdict(run), indent=1, default=_jsonable).encode() + b"\n")
        return key

    def runs(self, provider: str) -> list[str]:
        """Ids of a provider's runs, oldest first."""
        return [Path(k).stem for k in self.store.keys(f"{provider}/runs") if k.endswith(".json")]

    def run(self, provider: str, run_id: str) -> Run:
        """Read a manifest.

        Raises:
            HwpricesError: it is missing or damaged.
        """
        key = f"{provider}/runs/{run_id}.json"
        data = self.store.get(key)
        if data is None:
            raise HwpricesError(
                f"no run {run_id} of {provider} in {self.store.root}",
                "List the folder runs/ there.",
            )
        try:
            return _run(json.loads(data))
        except (ValueError, KeyError, TypeError) as error:
            raise HwpricesError(
                f"the manifest {self.store.uri(key)} is damaged ({error!r})",
                "Delete it and collect again.",
            ) from None

    def latest_run(self, provider: str) -> Run | None:
        """The newest run, or None."""
        ids = self.runs(provider)
        return self.run(provider, ids[-1]) if ids else None


def carry_over(results: Iterable[UnitResult], previous: Run | None) -> list[UnitResult]:
    """Let a failed unit stand on the pages it had in the previous run; their older retrieved_at goes with them."""
    before = {r.unit.name: r for r in previous.results if r.pages} if previous else {}
    carried = []
    for result in results:
        old = before.get(result.unit.name)
        if result.status == "failed" and old is not None and previous is not None:
            source = old.carried_from or previous.run_id
            carried.append(replace(result, status="carried", pages=old.pages, carried_from=source))
        else:
            carried.append(result)
    return carried


def _run(raw: dict[str, Any]) -> Run:
    results = tuple(
        UnitResult(
            unit=Unit(**r["unit"]),
            status=r["status"],
            pages=tuple(
                Page(**{**p, "retrieved_at": datetime.fromisoformat(p["retrieved_at"])})
                for p in r["pages"]
            ),
            reason=r.get("reason", ""),
            carried_from=r.get("carried_from", ""),
            cause=r.get("cause", ""),
        )
        for r in raw["results"]
    )
    return Run(
        raw["run_id"],
        raw["provider"],
        raw["origin"],
        datetime.fromisoformat(raw["started_at"]),
        raw["code_version"],
        results,
    )


def _jsonable(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} in a manifest")


def _chunks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _compress(source: Path, target: Path) -> Path:
    """gzip with no name and no time in it: the same content gives the same file."""
    with (
        source.open("rb") as plain,
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", COMPRESS_LEVEL, raw, mtime=0) as packed,
    ):
        shutil.copyfileobj(plain, packed, CHUNK)
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


__all__ = ["Downloaded", "Landing", "Page", "Run", "Unit", "UnitResult", "carry_over"]
