"""Check what every provider must keep. They are found by their folders, a new one too."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.helpers import processes
from tests.helpers.vendor_tables import sample_pages

from hwprices import providers
from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Page
from hwprices.providers import Pages, Part, Provider
from hwprices.rows import frames
from hwprices.rows.prices import price_id
from hwprices.schemas.tables import TABLES
from hwprices.settings import load
from hwprices.stage import corrections, validate

MUST_HAVE = {"regions", "instance_types", "prices"}

HEAVY_IMPORTS = ("boto3", "google.cloud", "azure.mgmt", "prefect")
"""Packages that take seconds to import."""

SENTINELS = ("0", "0.01", "700")  # Numbers that other price tables use for "unknown"

LARGE_CLOUDS = {"aws", "azure", "gcp", "oracle"}
"""Clouds with more than one list. Every other is at most SMALL_LINES in SMALL_FILES of code."""

SMALL_FILES, SMALL_LINES = 4, 320

LARGE_VCPUS = 8
"""One cent an hour is a real price for the smallest machines, and a placeholder from here on."""


@pytest.fixture(scope="module", params=providers.names())
def provider(request: pytest.FixtureRequest) -> Provider:
    return providers.get(request.param)


@pytest.fixture(scope="module")
def pages(provider: Provider, project: Path) -> Pages:
    """Return the provider's bundled sample."""
    return sample_pages(provider.name, project)


@pytest.fixture(scope="module")
def parts(provider: Provider, pages: Pages) -> list[Part]:
    return list(provider.normalise(pages))


def landed_pages(pages: Pages) -> list[Page]:
    """List all pages of the run."""
    return [page for result in pages.run.results for page in result.pages]


def rows(parts: list[Part], table: str) -> pl.DataFrame:
    """Collect the rows of one table, all regions."""
    collected = [part.frame.lazy().collect() for part in parts if part.table == table]
    return pl.concat(collected) if collected else frames.empty(TABLES[table])


def read_everything(provider: Provider, pages: Pages) -> None:
    """Normalise a run and collect every frame of it."""
    for part in provider.normalise(pages):
        part.frame.lazy().collect()


def table_names(parts: list[Part]) -> list[str]:
    return sorted({part.table for part in parts})


def test_its_name_is_its_folder_and_its_settings_load(provider: Provider) -> None:
    assert provider.name in providers.names()
    assert provider.about.title
    assert provider.units_at_once(provider.settings(load())) >= 1


def test_a_small_cloud_stays_small(provider: Provider, project: Path) -> None:
    if provider.about.is_price_sheet or provider.name in LARGE_CLOUDS:
        pytest.skip("a large cloud, or a price sheet")
    files = list((project / "src/hwprices/providers" / provider.name).rglob("*.py"))
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert (len(files) <= SMALL_FILES, lines <= SMALL_LINES) == (True, True), (files, lines)


IMPORT_ALL = """
import importlib, sys
for package in sys.argv[1].split():
    importlib.import_module(package)
    for name in set(sys.argv[2].split()) & set(sys.modules):
        print(f"{package} imports {name}")
"""


def test_importing_providers_does_not_import_an_sdk() -> None:
    packages = " ".join(sorted({providers.get(name).package for name in providers.names()}))
    done = processes.python("-c", IMPORT_ALL, packages, " ".join(HEAVY_IMPORTS))
    assert done.stdout == ""


def test_the_sample_fills_the_tables_that_readers_need(provider, parts) -> None:
    filled = {table for table in table_names(parts) if rows(parts, table).height}
    if not provider.about.price_kinds:  # a market
        assert filled == {"market_quantiles"}
    else:
        assert filled >= MUST_HAVE


def test_a_table_and_region_come_once_and_fit_their_model(parts: list[Part]) -> None:
    places = [(part.table, part.region) for part in parts]
    assert len(places) == len(set(places))
    for part in parts:
        columns = dict(part.frame.lazy().collect_schema())
        assert columns == TABLES[part.table].dtypes, part.table


def test_rows_pass_validation(provider: Provider, parts: list[Part]) -> None:
    """After corrections: normalising refuses by itself what it knows to be wrong."""
    for table in table_names(parts):
        frame = rows(parts, table)
        if table == "instance_types":
            frame = corrections.apply(frame, provider.name, corrections.load(provider.name))
        refused = validate.split(frame, TABLES[table], {}).refused
        assert refused.is_empty(), refused.select("reason", "message").head(5).to_dicts()


def test_every_row_names_the_provider_and_a_landed_page(provider, parts, pages) -> None:
    checksums = {page.sha256 for page in landed_pages(pages)}
    for table in table_names(parts):
        frame = rows(parts, table)
        assert set(frame["provider"].unique()) == {provider.name}
        assert set(frame["raw_sha256"].unique()) <= checksums, table
        assert frame["observed_at"].null_count() == 0


def test_observed_at_is_when_a_page_was_fetched(parts: list[Part], pages: Pages) -> None:
    times = {page.retrieved_at for page in landed_pages(pages)}
    assert set(rows(parts, "prices")["observed_at"].unique()) <= times


def test_normalising_twice_gives_the_same_rows(provider, pages, parts) -> None:
    again = list(provider.normalise(pages))
    assert [(p.table, p.region) for p in again] == [(p.table, p.region) for p in parts]
    for first, second in zip(parts, again, strict=True):
        by_key = TABLES[first.table].key  # staging sorts by it
        frame, repeated = (part.frame.lazy().collect().sort(by_key) for part in (first, second))
        assert frame.equals(repeated), first.table


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_no_large_machine_has_a_sentinel_as_its_price(parts: list[Part], sentinel: str) -> None:
    sizes = rows(parts, "instance_types").select("provider", "instance_type", "vcpus")
    suspicious = (
        rows(parts, "prices")
        .filter(
            pl.col("effective_hourly") == pl.lit(sentinel).str.to_decimal(scale=10),
            ~pl.col("flags").list.contains("placeholder"),
            pl.col("purchase_option") != "spot",
        )
        .join(sizes, on=["provider", "instance_type"])
        .filter(pl.col("vcpus") >= LARGE_VCPUS)
    )
    assert suspicious.select("region", "instance_type", "purchase_option").rows() == []


def test_price_ids_are_hashes_of_their_keys(parts: list[Part]) -> None:
    prices = rows(parts, "prices")
    assert prices.select(price_id())["price_id"].equals(prices["price_id"])
    assert prices["price_id"].n_unique() == prices.height


def test_every_accelerator_id_has_a_spec_sheet(parts: list[Part], project: Path) -> None:
    sheet = pl.read_csv(project / "data/specs/accelerators.csv", infer_schema=False)
    accelerators = rows(parts, "instance_types")["accelerators"].list.explode(empty_as_null=False)
    used = accelerators.struct.field("accelerator_id").drop_nulls()
    assert set(used) <= set(sheet["accelerator_id"])


def test_components_sum_to_their_price(parts: list[Part]) -> None:
    components = rows(parts, "price_components")
    if components.is_empty():
        pytest.skip("this provider lists whole prices, none is composed")
    cost = pl.col("quantity").cast(pl.Float64) * pl.col("unit_price").cast(pl.Float64)
    sums = components.group_by("price_id").agg(cost.sum().alias("sum"))
    prices = rows(parts, "prices").filter(
        pl.col("basis") == "composed", pl.col("hourly").is_not_null()
    )
    composed = prices.join(sums, on="price_id", how="left")
    assert composed["sum"].null_count() == 0
    assert ((composed["sum"] - composed["hourly"].cast(pl.Float64)).abs() < 1e-9).all()


def test_a_kind_that_nobody_has_is_refused(provider: Provider) -> None:
    with (
        Collector(provider.name, load(source="sample")) as collector,
        pytest.raises(HwpricesError, match="nothing to collect"),
    ):
        collector.plan(kinds=["no-such-kind"])


def test_a_region_that_nobody_has_is_an_error(provider: Provider) -> None:
    """Where the sample has pages by region; where it has none, normalising refuses the region."""
    with Collector(provider.name, load(source="sample")) as collector:
        regions = {unit.region for unit in collector.plan()} - {"global"}
        if regions:
            with pytest.raises(HwpricesError, match=rf"{provider.name} has no region no-such"):
                collector.plan(regions=["no-such-region"])
        else:
            assert {unit.region for unit in collector.plan(regions=["no-such-region"])} == {
                "global"
            }


def test_an_altered_page_is_an_error_that_names_it(provider, pages, tmp_path, project) -> None:
    shutil.copytree(project / "data/sample" / provider.name, tmp_path / provider.name)
    largest = max(landed_pages(pages), key=lambda page: page.bytes)
    path = tmp_path / largest.key
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(HwpricesError, match=largest.sha256):
        read_everything(provider, Pages(pages.run, Landing(tmp_path)))
