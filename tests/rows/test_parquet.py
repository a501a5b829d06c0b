"""Write table files: their digest depends on what the rows say and on nothing else."""

import io
from datetime import timedelta
from decimal import Decimal

import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.helpers.releases import prices

from hwprices.rows import frames, parquet
from hwprices.schemas.tables import Offers
from hwprices.storage.store import Store


def test_equal_rows_have_one_digest_however_they_were_made():
    frame = prices(
        *({"instance_type": f"a-rather-long-instance-type-name-{i}"} for i in range(2000))
    )
    rebuilt = pl.concat([frame.slice(1000), frame.slice(0, 1000)])
    rebuilt = rebuilt.join(frame.select("price_id"), on="price_id").with_columns(
        pl.when(pl.col("region").is_not_null()).then(pl.col("region"))
    )
    assert parquet.content_digest(frame.sort("instance_type")) == parquet.content_digest(
        rebuilt.sort("instance_type").select(frame.columns)
    )


@pytest.mark.parametrize("lengths", [(10, 2990), (10, 1990, 1000)])
def test_the_digest_does_not_depend_on_the_chunks_of_a_frame(lengths):
    """polars divides rows that it gathers among the cores of the machine."""
    frame = prices(*({"instance_type": f"t{i}"} for i in range(3000))).rechunk()
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    parts = [frame.slice(start, length) for start, length in zip(starts, lengths, strict=True)]
    chunked = pl.concat(parts, rechunk=False)
    assert chunked.n_chunks() == len(lengths)
    assert parquet.content_digest(chunked) == parquet.content_digest(frame)
    assert parquet.encode("prices", chunked) == parquet.encode("prices", frame)


def test_when_and_where_a_row_was_seen_does_not_change_the_digest():
    frame = prices({})
    later = frame.with_columns(
        pl.col("observed_at") + timedelta(days=1),
        raw_sha256=pl.lit("1" * 64),
        source_url=pl.lit("https://other.example"),
    )
    assert parquet.content_digest(frame) == parquet.content_digest(later)


def test_any_other_change_changes_the_digest():
    frame = prices({})
    assert parquet.content_digest(frame) != parquet.content_digest(
        prices({"hourly": Decimal("0.0960000001")})
    )
    assert parquet.content_digest(frame) != parquet.content_digest(
        frame.rename({"hourly": "per_hour"})
    )


def test_the_checksum_of_fixed_prices_leaves_out_the_market():
    frame = prices({}, {"purchase_option": "spot"}, {"purchase_option": "reserved"})
    fixed = parquet.fixed_checksums(frame)
    is_spot = pl.col("purchase_option") == "spot"
    hourly = pl.col("hourly") * 2
    later = (pl.col("observed_at") + timedelta(days=1)).alias("observed_at")
    market = frame.with_columns(pl.when(is_spot).then(hourly).otherwise("hourly"), later)
    assert parquet.fixed_checksums(market) == fixed
    assert parquet.fixed_checksums(frame.filter(~is_spot)) == fixed
    for other in (frame.with_columns(hourly), frame.filter(is_spot)):
        own = frame.select(parquet.type_group()).to_series().unique().to_list()
        assert parquet.changed_groups(parquet.fixed_checksums(other), fixed) == own


def test_files_hold_descriptions_and_units(tmp_path):
    parquet.write(Store(tmp_path), "d", "prices", prices({}))
    schema = pq.read_schema(tmp_path / "d/prices.parquet")
    assert schema.field("effective_hourly").metadata[b"unit"] == b"currency/h"
    assert schema.field("region").metadata[b"focus"] == b"RegionId"
    assert all(schema.field(name).metadata[b"description"] for name in schema.names)


def test_offers_with_accelerators_have_a_row_group_of_their_own():
    """Even if there are few, because most questions read only these."""
    offers = (
        frames.empty(Offers)
        .clear(50_000)
        .with_columns(
            accelerator_kind=pl.when(pl.int_range(pl.len()) % 10 == 0)
            .then(pl.lit("gpu"))
            .otherwise(pl.lit("none"))
        )
    )
    groups = pq.ParquetFile(io.BytesIO(parquet.encode("offers", offers))).metadata
    rows = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
    assert rows == [5_000, 45_000]
