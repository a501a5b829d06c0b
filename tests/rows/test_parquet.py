"""Files of a table: the digest tells content from the way it came about."""

from datetime import timedelta
from decimal import Decimal

import polars as pl
from tests.helpers import make

from hwprices.rows import parquet


def test_equal_rows_have_one_digest_however_they_were_made():
    frame = make.prices(
        *({"instance_type": f"a-rather-long-instance-type-name-{i}"} for i in range(2000))
    )
    backwards = pl.concat([frame.slice(1000), frame.slice(0, 1000)]).reverse().reverse()
    other_way = backwards.join(frame.select("price_id"), on="price_id").with_columns(
        pl.when(pl.col("region").is_not_null()).then(pl.col("region"))
    )
    assert parquet.content_digest(frame.sort("instance_type")) == parquet.content_digest(
        other_way.sort("instance_type").select(frame.columns)
    )


def test_when_and_where_seen_is_not_content():
    frame = make.prices({})
    later = frame.with_columns(
        pl.col("observed_at") + timedelta(days=1),
        raw_sha256=pl.lit("1" * 64),
        source_url=pl.lit("https://other.example"),
    )
    assert parquet.content_digest(frame) == parquet.content_digest(later)


def test_anything_else_is():
    frame = make.prices({})
    assert parquet.content_digest(frame) != parquet.content_digest(
        make.prices({"hourly": Decimal("0.0960000001")})
    )
    assert parquet.content_digest(frame) != parquet.content_digest(
        frame.rename({"hourly": "per_hour"})
    )


def test_files_describe_themselves(tmp_path):
    import pyarrow.parquet as pq

    from hwprices.storage.store import Store

    parquet.write(Store(tmp_path), "d", "prices", make.prices({}))
    schema = pq.read_schema(tmp_path / "d/prices.parquet")
    assert schema.field("effective_hourly").metadata[b"unit"] == b"currency/h"
    assert schema.field("region").metadata[b"focus"] == b"RegionId"
    assert all(schema.field(name).metadata[b"description"] for name in schema.names)
