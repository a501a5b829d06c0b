"""What a release holds for other programs: Data Package, Croissant, and an exported DuckDB file."""

import json
import logging
from pathlib import Path

import duckdb
import jsonschema
import pytest

import hwprices
from hwprices.storage.store import Store

PROFILE = Path(__file__).with_name("datapackage_profile_2.0.json")


@pytest.fixture
def folder(first_release: Path) -> Path:
    """The folder of a release."""
    (folder,) = (first_release / "releases").glob("*/")
    return folder


def test_the_data_package_fits_its_published_schema(folder: Path) -> None:
    package = json.loads((folder / "datapackage.json").read_text())
    schema = json.loads(PROFILE.read_text())
    assert list(jsonschema.Draft7Validator(schema).iter_errors(package)) == []
    package["resources"][0]["path"] = "/absolute"
    assert list(jsonschema.Draft7Validator(schema).iter_errors(package))


def test_croissant_is_valid_and_reads_the_tables(folder, caplog) -> None:
    import mlcroissant

    caplog.set_level(logging.WARNING)
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    assert dataset.metadata.issues.errors == set()
    assert dataset.metadata.issues.warnings == set()
    assert caplog.messages == []
    assert next(iter(dataset.records("offers")))["offers/instance_type"] == b"m0.large"


def test_the_duckdb_file_packs_ids_without_looking_for_repetition(folder, tmp_path) -> None:
    """A dictionary of texts of which none comes twice takes long and saves nothing."""
    database = hwprices.open(folder.parents[1]).export(tmp_path / "all.duckdb")
    with duckdb.connect(str(database), read_only=True) as connection:
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
    assert {name for name, method in by_name.items() if method == "ZSTD"} == {
        ("prices", "price_id"),
        ("prices", "sku_price_id"),
        ("price_history", "price_id"),
    }
    assert types[0] == types[1]


def test_verify_covers_the_small_tables(released: Store) -> None:
    data = hwprices.open(released.path)
    assert data.verify() == []
    (file,) = released.path.rglob("small.tar")
    file.write_bytes(file.read_bytes() + b"x")
    assert data.verify() == [f"{file} was altered: its checksum does not match the manifest"]
