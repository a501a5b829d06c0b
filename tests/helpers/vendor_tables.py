"""Read JSON pages of a provider into tables, as a run would."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from hwprices import providers
from hwprices.landing.pages import Landing, Run, Unit, UnitResult
from hwprices.providers import Pages
from hwprices.rows.frames import empty
from hwprices.schemas.tables import Quarantine
from tests.helpers.cases import entries

STARTED = datetime(2026, 8, 22, tzinfo=UTC)

Body = tuple[Unit, bytes]


class Tables:
    """The tables of landed pages, what was refused, and what was left out on purpose."""

    def __init__(self, provider: str, pages: Pages) -> None:
        self.pages = pages
        self.counts: Counter[str] = Counter()
        frames: dict[str, list[pl.DataFrame]] = {}
        refused = []
        for part in providers.get(provider).normalise(pages):
            frames.setdefault(part.table, []).append(part.frame.lazy().collect())
            refused += [] if part.refused is None else [part.refused]
            self.counts += Counter(part.counts)
        self.rows = {name: pl.concat(parts) for name, parts in frames.items()}
        self.refused: Any = pl.concat(refused) if refused else empty(Quarantine)
        self.words = self.refused.select("reason", "word").rows()

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.rows[table]

    def one(self, table: str, **columns: Any) -> dict[str, Any]:
        """Return the one row that has these values."""
        (row,) = self[table].filter(**columns).to_dicts()
        return row


def record_of(provider: str, records: str) -> dict[str, Any]:
    """Return the record of ``tests/cases/<provider>/answers.yaml`` that cases differ from."""
    record: dict[str, Any] = entries(f"{provider}/answers")["base"][records]["record"]
    return record


def json_unit(provider: str, kind: str, content: Any, region: str = "global") -> Body:
    """Make a unit with one page of JSON."""
    return Unit(provider, kind, region), json.dumps(content).encode()


def read_units(provider: str, root: Path, units: Iterable[Body]) -> Tables:
    """Land a page for each unit, and read them."""
    return Tables(provider, landed_units(provider, root, units))


class Landed:
    """A folder in which a test lands pages of a provider's units."""

    def __init__(self, provider: str, folder: Path, at: datetime = STARTED) -> None:
        self.provider, self.at = provider, at
        self.landing = Landing(folder)
        self.results: list[UnitResult] = []

    def add(
        self, kind: str, region: str, *bodies: bytes, at: datetime | None = None, **more: Any
    ) -> Self:
        """Land the pages of one unit; ``more`` are parameters of ``Landing.land_bytes``."""
        unit = Unit(self.provider, kind, region)
        more |= {"url": f"https://{self.provider}.test/{kind}", "retrieved_at": at or self.at}
        pages = tuple(self.landing.land_bytes(unit, body, **more) for body in bodies)
        self.results.append(UnitResult(unit, "ok", pages))
        return self

    def pages(self) -> Pages:
        """Return what normalising gets."""
        run = Run("r", self.provider, "live", self.at, "test", tuple(self.results))
        return Pages(run, self.landing)


def landed_units(provider: str, root: Path, units: Iterable[Body]) -> Pages:
    """Land a page for each unit."""
    landed = Landed(provider, root)
    for unit, body in units:
        landed.add(unit.kind, unit.region, body)
    return landed.pages()


def read_sample(provider: str, project: Path) -> Tables:
    """Read the bundled sample."""
    return Tables(provider, sample_pages(provider, project))


def sample_pages(provider: str, project: Path) -> Pages:
    """Open the pages of the bundled sample."""
    landing = Landing(project / "data/sample")
    run = landing.latest_run(provider)
    assert run is not None
    return Pages(run, landing)
