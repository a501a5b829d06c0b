"""The published shape: pinned, described, documented."""

import polars as pl
import pytest
from tools import data_dictionary

from hwprices.publish.datapackage import datapackage
from hwprices.rows import frames
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES
from hwprices.storage.release_manifest import ReleaseManifest, TableEntry, TableFile

PRICES = (
    "price_id provider region zone instance_type os software license_model tenancy purchase_option commitment_plan term_months payment_option "
    "currency hourly upfront effective_hourly price_reason billing_unit sku_id sku_price_id basis effective_from flags observed_at source_url raw_sha256"
)
"""Readers depend on these: a change is a new schema version and a line in the changelog."""


def test_the_columns_of_prices_are_pinned():
    assert list(frames.dtypes(TABLES["prices"])) == PRICES.split()


def test_published_columns_are_pinned(project):
    """The other tables in a file by hand, so that a change shows up in a review: table, then its columns in order."""
    pinned = dict(
        line.split(": ")
        for line in (project / "tests/schemas/published_columns.txt").read_text().splitlines()
    )
    assert {name: " ".join(frames.dtypes(model)) for name, model in TABLES.items()} == pinned


@pytest.mark.parametrize("name", TABLES)
def test_every_column_says_what_it_means(name):
    for column, declared in TABLES[name].to_schema().columns.items():
        assert declared.description, column
        assert not isinstance(declared.dtype.type, pl.Enum | pl.Categorical), (
            f"{column}: published files hold strings"
        )


@pytest.mark.parametrize("name", TABLES)
def test_money_is_never_a_float(name):
    words = ("usd_per_hour", "hourly", "upfront", "_usd", "unit_price", "price")
    for column, dtype in frames.dtypes(TABLES[name]).items():
        if column.endswith(words) and not column.startswith("price_"):
            assert dtype == pl.Decimal(20, 10), f"{name}.{column} is {dtype}"


@pytest.mark.parametrize("name", TABLES)
def test_keys_are_columns(name):
    assert set(key(TABLES[name])) <= set(frames.dtypes(TABLES[name]))


def test_one_name_has_one_meaning_and_dtype():
    seen: dict[str, tuple[str, pl.DataType]] = {}
    for name, model in TABLES.items():
        for column, dtype in frames.dtypes(model).items():
            if column in seen and column not in (
                "kind",
                "unit",
                "notes",
                "source_url",
                "component",
                "provider",
            ):
                assert seen[column][1] == dtype, (
                    f"{column} is {dtype} in {name} and {seen[column][1]} in {seen[column][0]}"
                )
            seen.setdefault(column, (name, dtype))


def test_the_data_dictionary_is_up_to_date():
    assert data_dictionary.TARGET.read_text(encoding="utf-8") == data_dictionary.render(), (
        "run make docs"
    )


def test_a_known_bad_frame_is_refused():
    """pandera does not look into lazy frames by default: this would pass unnoticed."""
    from decimal import Decimal

    from tests.helpers import make

    from hwprices.stage import validate

    assert validate.split(
        make.prices({"hourly": Decimal(-1)}), TABLES["prices"], {}
    ).good.is_empty()


def test_datapackage_knows_every_dtype():
    files = {name: TableFile(name, f"{name}.parquet", 0, 0, "", "") for name in TABLES}
    manifest = ReleaseManifest(
        schema_version="1",
        version="1",
        created_at="2026-08-01T04:17:00+00:00",
        content_sha256="",
        tables={name: TableEntry(0, 0, (file,)) for name, file in files.items()},
        providers={},
    )
    resources = datapackage(manifest)["resources"]
    assert [r["name"] for r in resources] == list(TABLES)
