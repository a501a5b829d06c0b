"""Share what the tests of AWS read."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from tests.helpers.aws_pages import bulk_server, without_account

from hwprices.collect import Collector
from hwprices.landing.pages import UnitResult
from hwprices.rows import frames
from hwprices.schemas.tables import TABLES
from hwprices.settings import load
from hwprices.stage import Staged, stage_run
from hwprices.storage.store import Store


@pytest.fixture
def recorded(project: Path) -> Callable[[str], bytes]:
    """Read a recording by its name."""
    folder = project / "tests/recordings/aws"
    return lambda name: gzip.decompress((folder / f"{name}.gz").read_bytes())


class Refreshed(NamedTuple):
    """What became of a region."""

    staged: Staged
    results: list[UnitResult]
    table: Callable[[str], pl.DataFrame]


@pytest.fixture
def refresh(stub, tmp_path, monkeypatch) -> Callable[..., Refreshed]:
    """Plan, fetch, record and stage a region from a server on this machine."""
    without_account(monkeypatch, tmp_path)

    def run(region: str, prices: bytes, plans: bytes | None = None) -> Refreshed:
        server = bulk_server(stub(), {region: prices}, {region: plans} if plans else {})
        monkeypatch.setenv("HWPRICES_ROOT", str(tmp_path / "data"))
        monkeypatch.setenv("HWPRICES_SOURCE", "live")
        monkeypatch.setenv("HWPRICES_AWS_PRICE_LIST_URL", server.url)
        monkeypatch.setenv("HWPRICES_AWS_SPOT_ADVISOR_URL", f"{server.url}/spot-advisor-data.json")
        settings = load()
        collector = Collector("aws", settings)
        results = [collector.fetch(unit) for unit in collector.plan([region])]
        made = stage_run(settings, collector.record(datetime.now(UTC), results))
        store = Store(settings.root)

        def table(name: str) -> pl.DataFrame:
            files = [store.uri(f"{made.directory}/{file.key}") for file in made.of(name)]
            return pl.read_parquet(files) if files else frames.empty(TABLES[name])

        return Refreshed(made, results, table)

    return run
