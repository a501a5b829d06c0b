"""What every provider must keep, over all that are discovered: a fourth one is tested by being there."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from hwprices import providers
from hwprices.collect.collector import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.providers import Pages, Part, Provider
from hwprices.rows import frames
from hwprices.rows.prices import price_id
from hwprices.schemas.columns import key
from hwprices.schemas.tables import TABLES
from hwprices.settings import load
from hwprices.stage import corrections, validate

MUST_HAVE = {"regions", "instance_types", "prices"}


@pytest.fixture(scope="module", params=providers.names())
def provider(request) -> Provider:
    return providers.get(request.param)


@pytest.fixture(scope="module")
def pages(provider, project) -> Pages:
    landing = Landing(project / "data/sample")
    run = landing.latest_run(provider.name)
    assert run is not None, f"data/sample holds no run of {provider.name}"
    return Pages(run, landing)


@pytest.fixture(scope="module")
def parts(provider, pages) -> list[Part]:
    return list(provider.normalise(pages))


def rows(parts: list[Part], table: str) -> pl.DataFrame:
    found = [p.frame.lazy().collect() for p in parts if p.table == table]
    return pl.concat(found) if found else frames.empty(TABLES[table])


def test_it_is_one(provider):
    assert isinstance(provider, Provider)
    assert provider.name in providers.names()
    assert provider.units_at_once(provider.settings(load())) >= 1


def test_importing_it_is_cheap(provider):
    """SDKs cost seconds: the folder's import must not pay for them."""
    code = f"import sys, hwprices.providers.{provider.name}; print(sorted(m for m in ('boto3', 'google.cloud', 'azure.mgmt', 'prefect') if m in sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_the_sample_gives_the_tables_that_readers_need(provider, parts):
    assert {p.table for p in parts} >= MUST_HAVE
    for table in MUST_HAVE:
        assert rows(parts, table).height > 0


def test_parts_are_named_once_and_fit_their_tables(parts):
    names = [(p.table, p.region) for p in parts]
    assert len(names) == len(set(names))
    for part in parts:
        assert dict(part.frame.lazy().collect_schema()) == frames.dtypes(TABLES[part.table]), (
            part.table
        )


def test_rows_pass_validation(provider, parts, pages):
    """Once corrected, what a normaliser calls good is good: it refuses by itself what it knows to be wrong."""
    for table in {p.table for p in parts}:
        frame = rows(parts, table)
        if table == "instance_types":
            frame = corrections.apply(frame, provider.name, corrections.load(provider.name))
        refused = validate.split(frame, TABLES[table], {}).refused
        assert validate.refused_share(frame.height, refused.height) <= validate.MAX_REFUSED_SHARE, (
            refused.select("reason", "message").head(5).to_dicts()
        )


def test_every_row_is_the_providers_own_and_has_its_page(provider, parts, pages):
    landed = {page.sha256 for result in pages.run.results for page in result.pages}
    for table in {p.table for p in parts}:
        frame = rows(parts, table)
        assert set(frame["provider"].unique()) == {provider.name}
        assert set(frame["raw_sha256"].unique()) <= landed, table
        assert frame["observed_at"].null_count() == 0


def test_observed_is_when_it_was_fetched_not_now(parts, pages):
    times = {page.retrieved_at for result in pages.run.results for page in result.pages}
    assert set(rows(parts, "prices")["observed_at"].unique()) <= times


def test_normalising_is_pure(provider, pages, parts):
    again = list(provider.normalise(pages))
    assert [(p.table, p.region) for p in again] == [(p.table, p.region) for p in parts]
    for one, two in zip(parts, again, strict=True):
        by_key = key(TABLES[one.table])  # staging sorts
        assert (
            one.frame.lazy().collect().sort(by_key).equals(two.frame.lazy().collect().sort(by_key))
        ), one.table


def test_money_is_decimal_and_no_price_is_a_sentinel(parts):
    prices = rows(parts, "prices")
    assert prices.schema["hourly"] == prices.schema["effective_hourly"] == pl.Decimal(20, 10)
    known = prices.filter(
        pl.col("effective_hourly").is_not_null(), ~pl.col("flags").list.contains("placeholder")
    )
    for sentinel in ("0", "0.01", "700"):
        odd = known.filter(pl.col("effective_hourly") == pl.lit(sentinel).str.to_decimal(scale=10))
        # one cent is a real price for the smallest machines; a placeholder puts it on large ones
        types = rows(parts, "instance_types").select("provider", "instance_type", "vcpus")
        large = odd.join(types, on=["provider", "instance_type"]).filter(
            pl.col("vcpus") >= 8, pl.col("purchase_option") != "spot"
        )
        assert large.is_empty(), (
            large.select("region", "instance_type", "purchase_option", "effective_hourly")
            .head(3)
            .to_dicts()
        )


def test_price_ids_belong_to_their_keys(parts):
    prices = rows(parts, "prices")
    assert prices.select(price_id())["price_id"].equals(prices["price_id"])
    assert prices["price_id"].n_unique() == prices.height


def test_every_accelerator_has_a_sheet_or_is_known_to_have_none(parts, project):
    sheet = set(pl.read_csv(project / "data/specs/accelerators.csv")["accelerator_id"])
    used = rows(parts, "instance_types").select(
        pl.col("accelerators").list.explode().struct.field("accelerator_id").drop_nulls().unique()
    )
    assert set(used["accelerator_id"]) <= sheet


def test_components_sum_to_their_price(parts):
    components = rows(parts, "price_components")
    if components.is_empty():
        pytest.skip("nothing is composed here")
    sums = components.group_by("price_id").agg(
        (pl.col("quantity").cast(pl.Float64) * pl.col("unit_price").cast(pl.Float64))
        .sum()
        .alias("sum")
    )
    both = (
        rows(parts, "prices")
        .filter(pl.col("basis") == "composed", pl.col("hourly").is_not_null())
        .join(sums, on="price_id", how="left")
    )
    assert both["sum"].null_count() == 0
    assert ((both["sum"] - both["hourly"].cast(pl.Float64)).abs() < 1e-9).all()


def test_keys_identify(parts):
    for table in {p.table for p in parts}:
        frame = rows(parts, table)
        assert frame.select(key(TABLES[table])).is_duplicated().sum() == 0, table


def test_a_region_that_nobody_has_is_refused(provider):
    with pytest.raises(HwpricesError, match="nothing to collect"):
        Collector(provider.name, load(source="sample")).plan(kinds=["no-such-kind"])


def test_altered_page_is_an_error(provider, pages, tmp_path, project):
    import shutil

    shutil.copytree(project / "data/sample" / provider.name, tmp_path / provider.name)
    landing = Landing(tmp_path)
    victim = next(
        page
        for result in pages.run.results
        for page in result.pages
        if result.unit.kind in ("prices", "skus", "retail")
    )
    path = Path(tmp_path / victim.key)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(HwpricesError, match=victim.sha256):
        [part.frame.lazy().collect() for part in provider.normalise(Pages(pages.run, landing))]
