"""Tables written as files for other programs, and read back by them."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import duckdb
import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.releases import price, prices
from tests.helpers.terminal import run

import hwprices
from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.export import cells, files
from hwprices.read.find.offers import LEADING
from hwprices.read.overlays import rules
from hwprices.release import database
from hwprices.units import Money


def test_json_writes_small_decimals_without_an_exponent() -> None:
    assert cells.to_json([Decimal("1E-7"), Decimal("0E-12")]) == '["0.0000001", "0.000000000000"]'


def test_csv_writes_numbers_as_people_do() -> None:
    usd = pl.Series("usd", map(Decimal, ("15.9200", "100.0000", "0", "-0.5")), Money)
    floats = pl.Series("floats", [0.1 + 0.7, 8.0, 123456789012345.0, None])
    whole = pl.Series("whole", [100, 0, 20, None], pl.Decimal(38, 0))
    rows = pl.DataFrame([usd, floats, whole, usd.cast(pl.Decimal(9, 2)).alias("cents")])
    assert cells.to_csv(rows) == (
        "usd,floats,whole,cents\n15.92,0.8,100,15.92\n100,8.0,0,100.00\n"
        "0,123456789012345.0,20,0.00\n-0.5,,,-0.50\n"
    )


def test_csv_json_and_parquet_hold_the_same_rows(data: Dataset, tmp_path: Path) -> None:
    for suffix in (".csv", ".json", ".parquet"):
        data.export(tmp_path / f"prices{suffix}", ["prices"])
    exact = pl.read_parquet(tmp_path / "prices.parquet")
    listed = json.loads((tmp_path / "prices.json").read_text())
    text = pl.read_csv(tmp_path / "prices.csv", infer_schema_length=0)
    hourly = [None if value is None else str(value) for value in exact["effective_hourly"]]
    assert "88.4899999026" in hourly
    assert [row["effective_hourly"] for row in listed] == hourly
    short = [value and value.rstrip("0").rstrip(".") for value in hourly]
    assert text["effective_hourly"].to_list() == short
    assert text.columns == exact.columns


def test_a_text_that_looks_like_a_formula_is_harmless(data: Dataset, tmp_path: Path) -> None:
    data.export(tmp_path / "refused.csv", ["quarantine"])
    assert "'=2+5 is a unit" in (tmp_path / "refused.csv").read_text()
    frame = pl.DataFrame(
        {"text": ["=1", "+1", "-1", "@x", "\tx", "plain", None], "number": [-1] * 7}
    )
    assert cells.harmless(frame)["text"].to_list() == [
        "'=1", "'+1", "'-1", "'@x", "'\tx", "plain", None,
    ]  # fmt: skip
    assert cells.harmless(frame)["number"].to_list() == [-1] * 7


def test_a_workbook_has_a_sheet_for_each_table_and_no_formula(data, tmp_path) -> None:
    file = data.export(tmp_path / "book.xlsx", ["offers", "quarantine", "regions"])
    with ZipFile(file) as book:
        workbook = book.read("xl/workbook.xml").decode()
        sheets = b"".join(book.read(name) for name in book.namelist() if "worksheets" in name)
        texts = book.read("xl/sharedStrings.xml").decode()
    assert all(f'name="{name}"' in workbook for name in ("offers", "quarantine", "regions"))
    assert b"<f>" not in sheets
    assert "=2+5 is a unit" in texts


def test_a_workbook_can_be_read_as_it_is(data: Dataset, tmp_path: Path) -> None:
    """An auditor found 119 columns of one width, no frozen heading, and money as "General"."""
    for name, options, width in (("few", {}, 25), ("all", {"all_columns": True}, 120)):
        file = data.export(tmp_path / f"{name}.xlsx", **options)
        with ZipFile(file) as book:
            about, offers, columns = (
                book.read(f"xl/worksheets/sheet{number}.xml").decode() for number in (1, 2, 3)
            )
            workbook = book.read("xl/workbook.xml").decode()
            styles = book.read("xl/styles.xml").decode()
            texts = book.read("xl/sharedStrings.xml").decode()
        names = re.findall(r'<sheet name="(\w+)"', workbook)
        assert names == ["About", "offers", "Columns"]
        assert all('state="frozen"' in sheet for sheet in (about, offers, columns))
        assert len(set(re.findall(r'<col min="\d+" max="\d+" width="([\d.]+)"', offers))) > 5
        assert offers.count('r="A1"') == 1
        assert len(re.findall(r'<c r="[A-Z]+1"', offers)) == width
        assert len(re.findall(r"<row ", columns)) == width + 1
        assert {'formatCode="#,##0.00########"', 'formatCode="yyyy-mm-dd hh:mm"'} <= set(
            re.findall(r'formatCode="[^"]*"', styles)
        )
        assert data.version in texts
        assert ("--all-columns" in texts) == (width == 25)


def test_offers_lead_with_the_columns_that_people_need(data: Dataset, tmp_path: Path) -> None:
    assert len(set(LEADING)) == 25
    every = set(data.scan("offers").collect_schema())
    for frame in (data.offers.collect(), pl.read_parquet(data.export(tmp_path / "offers.parquet"))):
        assert frame.columns[:25] == list(LEADING)
        assert set(frame.columns) == every
    assert data.find("h100").columns[:4] == [
        *("instance_type", "region", "purchase_option", "effective_hourly")
    ]


def test_one_duckdb_file_holds_every_table(data: Dataset, tmp_path: Path) -> None:
    file = data.export(tmp_path / "all.duckdb")
    with duckdb.connect(str(file), read_only=True) as connection:
        tables = {row[0] for row in connection.execute("show tables").fetchall()}
        assert tables == {*data.tables, database.FOCUS_VIEW}
        assert connection.execute("select count(*) from prices").fetchone() == (15,)


def test_the_duckdb_file_has_the_documentation_of_the_release(data, tmp_path) -> None:
    file = data.export(tmp_path / "all.duckdb")
    release = Path(data.store.root) / "releases" / data.version
    resources = json.loads((release / "datapackage.json").read_text())["resources"]
    with duckdb.connect(str(file), read_only=True) as connection:
        columns = connection.execute(
            "select table_name, column_name from duckdb_columns() where comment is not null"
        ).fetchall()
        tables = dict(
            connection.execute("select table_name, comment from duckdb_tables()").fetchall()
        )
        [view] = connection.execute(
            "select comment from duckdb_views() where not internal"
        ).fetchall()
    assert sorted(columns) == sorted(
        (resource["name"], field["name"])
        for resource in resources
        for field in resource["schema"]["fields"]
    )
    assert tables == {
        resource["name"]: f"{resource['description']} Release {data.version}."
        for resource in resources
    }
    assert database.FOCUS_VERSIONS in view[0]


def test_the_price_list_can_be_a_table_of_the_duckdb_file(data: Dataset, tmp_path: Path) -> None:
    file = data.export(tmp_path / "prices.duckdb", ["prices", database.FOCUS_VIEW])
    with duckdb.connect(str(file), read_only=True) as connection:
        assert connection.execute(f"select count(*) from {database.FOCUS_VIEW}").fetchone() == (14,)


def test_a_table_named_twice_or_unknown_is_an_error(data: Dataset, tmp_path: Path) -> None:
    for name in ("x.xlsx", "x.duckdb"):
        with pytest.raises(HwpricesError, match="table cpus is named twice"):
            data.export(tmp_path / name, ["cpus", "cpus"])
    for tables, message in (
        (["cpus", "cpus"], "table cpus is named twice"),
        (["prizes"], "has no table 'prizes'"),
        ([database.FOCUS_VIEW], f"has no table '{database.FOCUS_VIEW}'"),
    ):
        with pytest.raises(HwpricesError, match=message):
            data.export(tmp_path / "x.iceberg", tables)
    assert not list(tmp_path.iterdir())


@cases("read/undiscounted", tables=yaml.safe_load)
def test_own_discounts_are_not_dropped_without_a_word(data, tmp_path, name, tables) -> None:
    file = tmp_path / "discounts.yaml"
    file.write_text("- {match: {family: p5}, discount: 50%}")
    named = [word for table in tables for word in ("--table", table)]
    call = ["export", str(tmp_path / name), *named, "--overlays", str(file)]
    result = run(*call, root=data.store.root)
    assert result.exit_code == 2
    assert "leave out --overlays and HWPRICES_OVERLAYS" in " ".join(result.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    words = "list prices" if name.endswith(".iceberg") else "change the table prices only"
    with pytest.raises(HwpricesError, match=words):
        data.export(tmp_path / name, tables, overlays=file)


def test_a_duckdb_file_with_own_discounts_calls_none_of_them_list(data, tmp_path) -> None:
    overlays = rules.parse("- {match: {family: p5}, discount: 50%}", day=date(2026, 8, 1))
    file = data.export(tmp_path / "all.duckdb", overlays=overlays)
    with duckdb.connect(str(file), read_only=True) as connection:
        assert connection.execute("from duckdb_views() where not internal").fetchall() == []
        comments = connection.execute(
            "select comment from duckdb_tables() where table_name = 'prices'"
        ).fetchall()
    assert "Own discounts are applied here" in comments[0][0]


def test_own_discounts_go_into_the_exported_prices(data: Dataset, tmp_path: Path) -> None:
    overlays = rules.parse("- {match: {family: p5}, discount: 50%}", day=date(2026, 8, 1))
    file = data.export(tmp_path / "mine.parquet", ["prices"], overlays=overlays)
    rows = pl.read_parquet(file).filter(instance_type="p5.48xlarge", purchase_option="on_demand")
    columns = ["effective_hourly", "list_effective_hourly", "overlay"]
    assert rows.select(columns).row(0) == (Decimal("27.52"), Decimal("55.04"), "rule 1")


@cases("read/wrong_exports", tables=str.split)
def test_a_wrong_export_is_an_error(data, tmp_path, name, tables, message) -> None:
    with pytest.raises(HwpricesError, match=message):
        data.export(tmp_path / name, tables)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_kept(market: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("mine")
    result = run("export", str(file), root=market)
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        *((["export"], f"prices{suffix}") for suffix in (".csv", ".xlsx", ".json", ".parquet")),
        (["export"], "prices.duckdb"),
        (["export"], "prices.iceberg"),
        (["report", "--out"], "report"),
    ],
)
def test_a_disk_that_takes_no_more_is_an_error_of_one_line(market, tmp_path, command, file) -> None:
    """With a limit of one block for a file the same calls fail as on a full disk.

    Python must not keep bytecode then: it would keep halves of files.
    """
    table = ["--table", "prices"] if file.endswith((".csv", ".json", ".parquet")) else []
    target = tmp_path / file
    call = [sys.executable, "-m", "hwprices", *command, str(target), *table, "--root", str(market)]
    limited = ["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh", *call]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(limited, capture_output=True, text=True, env=environment, check=False)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert [line.startswith(f"error: cannot write {target}") for line in lines] == [True]
    assert lines[0].endswith("Make room there, or name another folder.")
    assert "Traceback" not in result.stderr
    assert result.returncode == 2
    assert file == "report" or not list(tmp_path.iterdir())


@cases("read/unwritable_files")
def test_what_to_do_fits_why_a_file_cannot_be_written(market, tmp_path, file, remedy) -> None:
    (tmp_path / "a_file").write_text("")
    table = [] if file.endswith("duckdb") else ["--table", "cpus"]
    arguments = ["export", str(tmp_path / file), *table, "--root", str(market)]
    result = run(*arguments)
    assert result.exit_code == 2
    line = " ".join(result.stderr.split())
    assert line.startswith(f"error: cannot write {tmp_path / file}: ")
    assert line.endswith(remedy)


@pytest.mark.parametrize("fault", ["altered", "missing"])
@pytest.mark.parametrize("suffix", ["csv", "duckdb"])
def test_a_damaged_release_is_not_taken_for_a_file_that_cannot_be_written(
    market: Path, tmp_path: Path, fault: str, suffix: str
) -> None:
    root = tmp_path / "root"
    shutil.copytree(market, root)
    (offers,) = root.glob("releases/*/offers.parquet")
    if fault == "missing":
        offers.unlink()
    else:
        offers.write_bytes(offers.read_bytes()[:100])
    target = tmp_path / f"offers.{suffix}"
    result = run("export", str(target), root=root)
    assert result.exit_code == 2
    line = " ".join(result.stderr.split())
    assert line.startswith(f"error: {offers} ")
    assert fault in line
    assert line.endswith("hwprices admin verify names the files that are missing or altered.")
    assert not target.exists()


def test_iceberg_tables_point_to_the_files_of_the_release(data, tmp_path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    folder = tmp_path / "catalog.iceberg"
    arguments = ["export", str(folder), "--table", "prices", "--table", "offers"]
    result = run(*arguments, root=data.store.root)
    assert result.exit_code == 0, result.stderr
    catalog = SqlCatalog("hwprices", uri=f"sqlite:///{folder}/catalog.db")
    assert len(catalog.list_tables(files.NAMESPACE)) == 2
    table = catalog.load_table(f"{files.NAMESPACE}.prices")
    assert {task.file.file_path for task in table.scan().plan_files()} == {
        str(Path(file).absolute()) for file in data.files("prices")
    }
    prices = table.scan(row_filter="instance_type == 'a3-highgpu-8g'").to_arrow()
    assert Decimal("88.4899999026") in prices["effective_hourly"].to_pylist()


def test_records_of_the_focus_price_list_can_be_told_apart(tmp_path: Path) -> None:
    """Windows with and without a license, or 1 and 3 years of a plan, had the same description.

    Of the sample's 41,886 records 2,735 differed from another in their ids and price alone.
    """
    reserved = {"purchase_option": "reserved", "commitment_plan": "standard"}
    half = {"payment_option": "partial_upfront", "upfront": Decimal(4000)}
    made = prices(
        price("aws", "r", "m5.large", "0.192", os="windows"),
        price("aws", "r", "m5.large", "0.096", os="windows", license_model="byol"),
        price("aws", "r", "m5.large", "0.7", software="sql_std", tenancy="dedicated"),
        price("aws", "r", "m5.large", "0.6", term_months=12, **reserved, **half),
        price("aws", "r", "m5.large", "0.5", term_months=36, **reserved, **half),
        price("aws", "r", "m5.large", "0.01", purchase_option="spot", flags=["placeholder"]),
    )
    file = tmp_path / "prices.parquet"
    made.write_parquet(file)
    with duckdb.connect() as connection:
        connection.execute(f"create view prices as from '{file}'")
        answer = connection.execute(database.focus_sql())
        names = [column[0] for column in answer.description]
        records = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    assert sorted(record["ChargeDescription"] for record in records) == [
        "m5.large linux reserved standard 12 months partial_upfront hourly fee",
        "m5.large linux reserved standard 12 months partial_upfront upfront fee",
        "m5.large linux reserved standard 36 months partial_upfront hourly fee",
        "m5.large linux reserved standard 36 months partial_upfront upfront fee",
        "m5.large linux sql_std dedicated on_demand",
        "m5.large windows byol on_demand",
        "m5.large windows on_demand",
    ]
    fees = {
        (record["x_TermMonths"], record["PricingUnit"]): record["ListUnitPrice"]
        for record in records
        if record["x_CommitmentPlan"] == "standard"
    }
    assert fees == {
        (12, "Hours"): Decimal("0.6"),
        (12, "Units"): Decimal(4000),
        (36, "Hours"): Decimal("0.5"),
        (36, "Units"): Decimal(4000),
    }
    terms = {
        (row["x_OperatingSystem"], row["x_LicenseModel"], row["x_Software"]) for row in records
    }
    assert len(terms) == 4


def test_the_focus_price_list_has_the_names_and_values_of_1_2_and_1_3(data: Dataset) -> None:
    """Values: specification/columns of FOCUS_Spec v1.2."""
    rows = data.focus_sku_prices().collect()
    allowed = {
        "ChargeCategory": {"Usage", "Purchase"},
        "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
        "PricingCategory": {"Standard", "Dynamic", "Committed", "Other"},
        "ServiceCategory": {"Compute"},
        "ServiceSubcategory": {"Virtual Machines"},
    }
    for column, values in allowed.items():
        assert set(rows[column]) <= values
    assert [name for name in rows.columns if not name.startswith("x_")] == sorted(
        name for name in rows.columns if not name.startswith("x_")
    )
    purchases = rows.filter(ChargeCategory="Purchase")
    usage = rows.filter(ChargeCategory="Usage")
    assert (purchases.height, usage.height) == (1, 13)
    assert usage["CommitmentDiscountCategory"].null_count() == usage.height
    price = purchases.select("x_TermMonths", "ListUnitPrice", "ChargeFrequency").row(0)
    assert price == (12, Decimal("62.5"), "Recurring")
    assert rows["ListUnitPrice"].null_count() == 0
    assert rows["ProviderName"].equals(rows["ServiceProviderName"].alias("ProviderName"))
    assert {"AWS", "Google Cloud", "Microsoft"} <= set(rows["ProviderName"])
    assert pl.Null not in rows.schema.values()
    by_sql = data.duckdb.sql(f"select count(*) from {database.FOCUS_VIEW}").fetchall()
    assert by_sql == [(14,)]


def test_the_price_list_does_not_use_the_connection_of_the_user(data: Dataset) -> None:
    own = hwprices.open(data.store.root)
    own.duckdb.execute("create or replace view prices as select 1 as nothing")
    assert own.focus_sku_prices().collect().height == 14
    own.duckdb.close()
    assert own.focus_sku_prices().collect().height == 14


def test_a_price_list_of_prices_without_its_columns_is_an_error(market, tmp_path) -> None:
    copied = shutil.copytree(market, tmp_path / "data")
    damaged = hwprices.open(copied)
    for file in damaged.files("prices"):
        pl.DataFrame({"provider": ["aws"]}).write_parquet(file)
    with pytest.raises(HwpricesError, match=r"^no price list: .* hwprices admin verify"):
        damaged.focus_sku_prices()
