"""What a release holds for other programs: Data Package, Croissant, and an exported DuckDB file."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import jsonschema
import mlcroissant
import pytest
from tests.helpers import make

import hwprices
from hwprices.publish import release
from hwprices.storage.store import Store

PROFILE = Path(__file__).with_name("datapackage_profile_2.0.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release."""
    root = tmp_path_factory.mktemp("formats")
    store = Store(root)
    make.stage_frames(store, "r1", make.world(20))
    made = release.publish(store, now=lambda: datetime(2026, 8, 1, tzinfo=UTC))
    return root / "releases" / made.version


def test_the_data_package_fits_its_published_schema(folder: Path) -> None:
    package = json.loads((folder / "datapackage.json").read_text())
    schema = json.loads(PROFILE.read_text())
    assert list(jsonschema.Draft7Validator(schema).iter_errors(package)) == []
    package["resources"][0]["path"] = "/absolute"
    assert list(jsonschema.Draft7Validator(schema).iter_errors(package))


def test_croissant_is_valid_and_reads_the_tables(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    assert dataset.metadata.issues.errors == set()
    assert dataset.metadata.issues.warnings == set()
    assert caplog.messages == []
    record = next(iter(dataset.records("offers")))
    assert record["offers/instance_type"] == b"m0.large"


@pytest.fixture(scope="module")
def database(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A DuckDB file of all tables."""
    file = tmp_path_factory.mktemp("export") / "all.duckdb"
    hwprices.open(folder.parent.parent).export(file)
    return str(file)


def test_the_duckdb_file_holds_tables_and_documentation(database: str) -> None:
    with duckdb.connect(database, read_only=True) as connection:
        counts = connection.execute("select count(*) from prices").fetchone()
        about = connection.execute(
            "select comment from duckdb_columns() "
            "where table_name = 'prices' and column_name = 'effective_hourly'"
        ).fetchone()
    assert counts == (20,)
    assert about is not None
    assert about[0].startswith("hourly + upfront / (term in years × 8760)")


def test_the_duckdb_file_packs_ids_without_looking_for_repetition(
    folder: Path, database: str
) -> None:
    """A dictionary of texts of which none comes twice takes long and saves nothing."""
    with duckdb.connect(database, read_only=True) as connection:
        by_name = {
            (table, name): method
            for table in ("prices", "price_history")
            for name, method in connection.execute(
                "select column_name, compression from pragma_storage_info(?) "
                "where segment_type = 'VARCHAR'",
                [table],
            ).fetchall()
        }
        types = [
            connection.execute(
                f"select column_name, column_type from (describe {source})"
            ).fetchall()
            for source in ("prices", f"from read_parquet('{folder}/prices/**/*.parquet')")
        ]
    unique = {name for name, method in by_name.items() if method == "ZSTD"}
    assert unique == {
        ("prices", "price_id"),
        ("prices", "sku_price_id"),
        ("price_history", "price_id"),
    }
    assert types[0] == types[1]


def test_verify_covers_the_small_tables(folder: Path) -> None:
    data = hwprices.open(folder.parent.parent)
    assert data.verify() == []
    file = folder / "small.tar"
    original = file.read_bytes()
    file.write_bytes(original + b"x")
    assert data.verify() == [f"{file} was altered: its checksum does not match the manifest"]
    file.write_bytes(original)
