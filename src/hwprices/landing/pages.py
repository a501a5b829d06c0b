"""Keep raw pages as the vendors sent them: named by content, compressed, checked on every read.

Gzip is stored as received, everything else is compressed with zstd (``storage.packed``). A page's
key contains the SHA-256 of the stored file, so anybody can check it with ``sha256sum``. A run's
manifest lists its units and their pages. The bundled sample is a landing root like any other.

Pages that come with the program are in ``data/bundled/<provider>``: the responses (gzip), and
``pages.json`` with the URL, date and source of each.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from hwprices.errors import HwpricesError
from hwprices.landing.download import Downloaded, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.specs import data_directory
from hwprices.storage import layout, manifests, packed
from hwprices.storage.manifests import Origin
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store, sha256_of

MAX_NAME_BYTES = 200
"""Longest kind or region in the key of a page. File systems take 255 bytes, and the longest region
of a vendor has 20 characters."""

CONTENT_TYPES = {"json": "application/json", "xml": "text/xml", "csv": "text/csv"}


@dataclass(frozen=True)
class Unit:
    """The pages of one provider, kind and region, which are fetched, fail and are carried together.

    The region is ``global`` where the kind has none. ``params`` is what ``plan`` learned for
    ``fetch`` (such as the URL of the current version); it must not hold a credential.
    """

    provider: str
    kind: str
    region: str = "global"
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The unit in messages and reports: ``aws/prices/us-east-1``."""
        return f"{self.provider}/{self.kind}/{self.region}"


@dataclass(frozen=True)
class Page:
    """One landed page: its key, and when and from where it was downloaded.

    ``sha256`` and ``bytes`` describe the stored, compressed file. ``content_bytes`` is the length
    of the decompressed content. ``url`` and ``params`` never hold a credential.
    """

    key: str
    sha256: str
    bytes: int
    content_bytes: int
    url: str
    params: Mapping[str, str]
    status: int
    content_type: str
    retrieved_at: datetime


NO_ANSWER = "no_answer"
"""``cause`` of a unit that was skipped because its region's endpoint did not respond."""

UnitStatus = Literal["ok", "skipped", "failed", "carried"]


@dataclass(frozen=True)
class UnitResult:
    """The result of one unit.

    A ``carried`` unit failed and has the pages of the run ``carried_from`` instead. ``reason`` is a
    sentence.
    """

    unit: Unit
    status: UnitStatus
    pages: tuple[Page, ...] = ()
    reason: str = ""
    carried_from: str = ""
    cause: str = ""
    """Code of the reason why it was skipped, for the normaliser; defined by the provider."""
    requested: bool = True
    """False in a narrowed run for a unit that is unchanged since the previous run."""


@dataclass(frozen=True)
class Run:
    """The manifest of one provider's run."""

    run_id: str
    provider: str
    origin: Origin
    started_at: datetime
    code_version: str
    results: tuple[UnitResult, ...]

    def of(self, kind: str, region: str | None = None) -> list[Page]:
        """List the pages of a kind, in all regions or in one, in the order they were fetched."""
        results = [result for result in self.results if result.unit.kind == kind]
        return [
            page
            for result in results
            if region is None or result.unit.region == region
            for page in result.pages
        ]

    def regions(self, kind: str) -> list[str]:
        """List the regions that have pages of a kind, sorted."""
        results = [result for result in self.results if result.unit.kind == kind]
        return sorted({result.unit.region for result in results if result.pages})


class Landing:
    """Writes and reads landed pages below a root (a folder or an object store)."""

    def __init__(self, root: str | Path | Store) -> None:
        self.store = root if isinstance(root, Store) else Store(root)

    def land(self, unit: Unit, body: Downloaded, *, suffix: str) -> Page:
        """Keep a downloaded body, unparsed and compressed as it is.

        Raises:
            HwpricesError: the landing root cannot be written, or the unit's name is invalid.
        """
        file = body.file
        page = Page(
            key=_key(unit, file.sha256, suffix, file.packing),
            sha256=file.sha256,
            bytes=file.stored_bytes,
            content_bytes=file.content_bytes,
            url=body.url,
            params=dict(body.params),
            status=body.status,
            content_type=body.content_type,
            retrieved_at=body.retrieved_at,
        )
        return self._keep(page, file.path)

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
        """Keep the decoded body of a page that a vendor's SDK has downloaded."""
        stored = packed.pack(content)
        sha256 = hashlib.sha256(stored).hexdigest()
        page = Page(
            key=_key(unit, sha256, suffix, "zstd"),
            sha256=sha256,
            bytes=len(stored),
            content_bytes=len(content),
            url=url,
            params=dict(params or {}),
            status=status,
            content_type=CONTENT_TYPES.get(suffix, "application/octet-stream"),
            retrieved_at=retrieved_at,
        )
        return self._keep(page, stored)

    def _keep(self, page: Page, stored: bytes | Path) -> Page:
        if not self.store.renew(page.key):
            self.store.put(page.key, stored)
        return page

    @contextmanager
    def file(self, page: Page) -> Iterator[Path]:
        """Return the stored, compressed page as a local file, its checksum verified.

        ``packed.open_packed`` reads its content; polars scans the compressed file. For a page on an
        object store this is a copy, deleted at the end of the block.

        Raises:
            HwpricesError: the page is missing or was altered; names it.
        """
        path = self.store.local(page.key)
        if path is not None:
            self._check(page, path)
            yield path
            return
        with scratch_directory() as scratch:
            copy = Path(scratch) / Path(page.key).name
            if (data := self.store.get(page.key)) is not None:
                copy.write_bytes(data)
            self._check(page, copy)
            yield copy

    def read(self, page: Page) -> bytes:
        """Return the page's content, decompressed, checksum verified.

        Raises:
            HwpricesError: the page was altered, is missing, or is larger than MAX_READ_BYTES.
        """
        packing = packed.packing_of(page.key)
        with self.file(page) as path, packed.open_packed(path, packing) as plain:
            content = packed.read_all(plain, MAX_READ_BYTES)
        if len(content) > MAX_READ_BYTES:
            raise HwpricesError(
                f"landed page {self.store.uri(page.key)} is larger than {MAX_READ_BYTES} bytes,"
                " too large to read into memory",
                "Look at what the vendor sent; if its pages have really grown, raise"
                " MAX_READ_BYTES in landing/limits.py.",
            )
        return content

    def _check(self, page: Page, path: Path) -> None:
        uri = self.store.uri(page.key)
        if not path.is_file():
            raise HwpricesError(
                f"landed page {uri} is missing", "Fetch again, or restore the landing directory."
            )
        if sha256_of(path) != page.sha256:
            raise HwpricesError(
                f"checksum of landed page {uri} does not match: it was altered after it was landed",
                "Delete it and fetch again.",
            )

    def write_run(self, run: Run) -> str:
        """Write the manifest of a run, with credentials removed from URLs; return its key."""
        key = layout.run_manifest(run.provider, run.run_id)
        results = tuple(replace(r, unit=_without_secrets(r.unit)) for r in run.results)
        self.store.put(key, manifests.encode(replace(run, results=results)))
        return key

    def runs(self, provider: str) -> list[str]:
        """List the ids of a provider's runs, oldest first."""
        keys = self.store.keys(layout.runs(provider))
        ids = (layout.run_manifest.parse(key, "run_id") for key in keys)
        return [run_id for run_id in ids if run_id is not None]

    def run(self, provider: str, run_id: str) -> Run:
        """Read the manifest of a run."""
        key = layout.run_manifest(provider, run_id)
        data = self.store.get(key, manifests.MAX_BYTES)
        if data is None:
            raise HwpricesError(
                f"no run {run_id} of {provider} in {self.store.root}",
                "List the folder runs/ there.",
            )
        file = f"the manifest {self.store.uri(key)}"
        return manifests.decode(data, Run, file=file, remedy="Delete it and collect again.")

    def latest_run(self, provider: str) -> Run | None:
        """Read the newest run; None if there is none."""
        ids = self.runs(provider)
        return self.run(provider, ids[-1]) if ids else None


def check_name(unit: Unit) -> None:
    """Refuse a unit whose provider, kind or region cannot be part of a key.

    Raises:
        HwpricesError: one of them is empty, too long or only dots, or has a separator, control or
            invisible character (such as those that reverse the writing direction).
    """
    for name in (unit.provider, unit.kind, unit.region):
        is_printable = name.isprintable() and not {"/", "\\"} & set(name)
        has_letters = bool(name.strip(". "))
        if not is_printable or not has_letters or len(name.encode()) > MAX_NAME_BYTES:
            raise HwpricesError(
                f"{name[:40]!a} is not a name for a kind or region of {unit.provider[:40]!a}",
                "It has separators, control characters or too many letters."
                " Look at what the vendor sends.",
            )


def _key(unit: Unit, sha256: str, suffix: str, packing: layout.Packing) -> str:
    check_name(unit)
    return layout.page(unit.provider, unit.kind, unit.region, sha256, suffix, packing)


def _without_secrets(unit: Unit) -> Unit:
    """Remove credentials from a unit's URL: an endpoint may be a signed link."""
    params = {name: public_url(v) if name == "url" else v for name, v in unit.params.items()}
    return replace(unit, params=params)


def carry_over(results: Iterable[UnitResult], previous: Run | None) -> list[UnitResult]:
    """Give failed units the pages, with retrieval times, that they had in the previous run.

    The same goes for a unit that was skipped because its region's endpoint did not respond.
    """
    if previous is None:
        return list(results)
    earlier = {result.unit.name: result for result in previous.results if result.pages}
    return [
        _carried(result, earlier[result.unit.name], previous.run_id)
        if (result.status == "failed" or result.cause == NO_ANSWER) and result.unit.name in earlier
        else result
        for result in results
    ]


def _carried(failed: UnitResult, earlier: UnitResult, previous_run: str) -> UnitResult:
    fetched_by = earlier.carried_from or previous_run
    return replace(failed, status="carried", pages=earlier.pages, carried_from=fetched_by)


@dataclass(frozen=True)
class BundledPage:
    """A response that comes with the program: its content, source and date."""

    kind: str
    content: bytes
    url: str
    retrieved_at: datetime
    params: dict[str, str]


def directory(provider: str) -> Path:
    """Return the folder of a provider's bundled pages."""
    return data_directory() / "bundled" / provider


def read_pages(provider: str, kind: str) -> list[BundledPage]:
    """Read the bundled pages of one kind; empty if this installation has none.

    Raises:
        HwpricesError: ``pages.json`` or a page that it names is damaged or missing.
    """
    index = directory(provider) / "pages.json"
    if not index.is_file():
        return []
    try:
        entries = json.loads(index.read_text(encoding="utf-8"))["pages"]
        return [_page(index.parent, entry) for entry in entries if entry["kind"] == kind]
    except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error) as error:
        raise HwpricesError(
            f"the bundled pages in {index.parent} are damaged ({error!r})", "Reinstall hwprices."
        ) from None


def land_pages(landing: Landing, unit: Unit) -> list[Page]:
    """Land the bundled pages of a unit's kind; empty if this installation has none."""
    return [
        landing.land_bytes(
            unit,
            page.content,
            url=page.url,
            retrieved_at=page.retrieved_at,
            params={**unit.params, **page.params},
        )
        for page in read_pages(unit.provider, unit.kind)
    ]


def _page(folder: Path, entry: dict[str, Any]) -> BundledPage:
    return BundledPage(
        kind=entry["kind"],
        content=gzip.decompress((folder / entry["file"]).read_bytes()),
        url=entry["url"],
        retrieved_at=datetime.fromisoformat(entry["retrieved_at"]),
        params=entry["params"],
    )
