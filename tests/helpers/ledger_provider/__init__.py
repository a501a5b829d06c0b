"""A provider that is a ledger of lines, for tests that publish many releases in a row.

``Ledger`` lands its pages, stages and publishes them as the flows do, without a network. Its folder
is copied, so that a test can change its program.
"""

import importlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hwprices import collect, providers, stage
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Unit, UnitResult
from hwprices.publish import release
from hwprices.publish.release import Published
from hwprices.storage import layout
from hwprices.storage.store import Store

NAME = "ledgercloud"
FOLDER = Path(__file__).parent / NAME
START = datetime(2026, 10, 1, 4, 17, tzinfo=UTC)
ALL = f"{NAME}:*"

Lines = Iterable[Mapping[str, Any]]


@dataclass
class Ledger:
    """One dataset that only this provider fills. ``package`` is its folder, to be edited."""

    root: Path
    package: Path

    @property
    def store(self) -> Store:
        """The root."""
        return Store(self.root)

    def program(self, old: str, new: str) -> None:
        """Change the program that reads the pages."""
        file = self.package / "normalise.py"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        forget()

    def collect(self, day: int, regions: Mapping[str, Lines | bytes | None]) -> None:
        """Land the lines of each region and stage them; None for a unit that failed."""
        at = START + timedelta(days=day - 1, minutes=-10)
        landing = Landing(layout.landing_root(str(self.root)))
        results = [_land(landing, region, lines, at) for region, lines in regions.items()]
        run = collect.record(landing, NAME, "live", at, results)
        stage.stage(providers.get(NAME), run, landing, self.store, keep=30)

    def publish(self, day: int, accepted: Iterable[str] = (ALL, "aws:*")) -> Published:
        """Publish what is staged, on this day."""
        at = START + timedelta(days=day - 1)
        return release.publish(self.store, now=lambda: at, accepted=list(accepted))


def version(day: int) -> str:
    """Name the release of a day."""
    return (START + timedelta(days=day - 1)).strftime("%Y%m%dT%H%M%SZ")


def _land(landing: Landing, region: str, lines: Lines | bytes | None, at: datetime) -> UnitResult:
    unit = Unit(NAME, "prices", region)
    if lines is None:
        return UnitResult(unit, "failed", reason=str(HwpricesError("HTTP 503")))
    body = lines if isinstance(lines, bytes) else json.dumps(list(lines)).encode()
    url = f"https://api.ledgercloud.example/{region}"
    return UnitResult(unit, "ok", (landing.land_bytes(unit, body, url=url, retrieved_at=at),))


def forget() -> None:
    """Let the program be imported anew."""
    for name in [name for name in sys.modules if name.startswith(f"hwprices.providers.{NAME}")]:
        del sys.modules[name]
    importlib.invalidate_caches()


@contextmanager
def installed(folder: Path) -> Iterator[Ledger]:
    """Make the provider known for the time of the block, and give an empty dataset of it."""
    package = folder / "providers" / NAME
    shutil.copytree(FOLDER, package, ignore=shutil.ignore_patterns("__pycache__"))
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a program that is changed twice in a second looks unchanged
    providers.__path__.append(str(package.parent))
    forget()
    try:
        yield Ledger(folder / "data", package)
    finally:
        providers.__path__.remove(str(package.parent))
        sys.dont_write_bytecode = writes
        forget()
