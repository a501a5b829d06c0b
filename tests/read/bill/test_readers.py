"""Every format becomes the same lines; a damaged or hostile file is one error in bounded memory."""

import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml
from tests.helpers import processes
from tests.helpers.cases import FOLDER, cases
from tests.helpers.expected import plain

from hwprices.errors import HwpricesError
from hwprices.read.bill import readers
from hwprices.read.bill.formats import distinct

FORMATS = json.loads((FOLDER / "read/bill_formats.json").read_text())
"""A line of a bill in each vendor's format; of FOCUS with a quotation, two lines and a NULL."""

FOCUS, AWS, AWS_1 = (FORMATS[name] for name in ("FOCUS", "AWS", "AWS_1"))

SAME = {
    "category": "usage",
    "quantity": Decimal("0.5"),
    "billed": Decimal("0.00000015"),
    "currency": "USD",
    "line": 2,
}


def csv(row: dict[str, str], folder: Path) -> Path:
    path = folder / "bill.csv"
    pl.DataFrame(row).write_csv(path)
    return path


def csv_gz(row: dict[str, str], folder: Path) -> Path:
    path = folder / "bill.csv.gz"
    path.write_bytes(gzip.compress(pl.DataFrame(row).write_csv().encode()))
    return path


def parquet(row: dict[str, object], folder: Path) -> Path:
    path = folder / "bill.parquet"
    pl.DataFrame([without_null(row)]).write_parquet(path)
    return path


def without_null(row: dict[str, object]) -> dict[str, object]:
    return {name: None if value == "NULL" else value for name, value in row.items()}


def jsonl(row: dict[str, object], folder: Path) -> Path:
    path = folder / "bill.jsonl"
    path.write_text(json.dumps(without_null(row)) + "\n")
    return path


def folder_of_parts(row: dict[str, str], folder: Path) -> Path:
    parts = folder / "export" / "2026-12"
    parts.mkdir(parents=True)
    csv(row, parts).rename(parts / "part-1.csv")
    (parts / "_SUCCESS").touch()
    size = (parts / "part-1.csv").stat().st_size
    manifest = {"blobs": [{"blobName": "container/part-1.csv", "byteCount": size}]}
    (parts / "manifest.json").write_text(json.dumps(manifest))
    return folder / "export"


WRITERS = {write.__name__: write for write in (csv, csv_gz, parquet, jsonl, folder_of_parts)}


@cases("read/bill_lines", expected=yaml.safe_load)
def test_every_format_becomes_the_same_line(format, file, expected, tmp_path) -> None:
    bill = readers.read(WRITERS[file](FORMATS[format], tmp_path))
    found = bill.lines.collect().row(0, named=True)
    wanted = {**SAME, **expected}
    assert {name: plain(found[name]) for name in wanted} == plain(wanted)
    assert (bill.first.day, bill.first.month, bill.count) == (1, 12, 1)


@pytest.mark.parametrize("write", [csv, parquet, jsonl])
@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"billedcost": "7"}, r"line 1: the column 'billedcost' is there twice"),
        (dict.fromkeys(map("tag{}".format, range(readers.MAX_COLUMNS)), "1"), "2,014 columns"),
    ],
    ids=["twice", "too many"],
)
def test_columns_that_are_twice_or_too_many_are_an_error(more, error, write, tmp_path) -> None:
    with pytest.raises(HwpricesError, match=error):
        readers.read(write({**FOCUS, **more}, tmp_path))


TAGS = (
    *("resourceTags/user:CostCenter", "resourceTags/user:cost_center"),
    *("resourceTags/user:Name", "resourceTags/user:name"),
)


@pytest.mark.parametrize("write", [csv, parquet])
def test_tags_may_differ_in_case_alone(write, tmp_path) -> None:
    bill = readers.read(write(dict.fromkeys(TAGS, "x") | AWS_1, tmp_path))
    assert bill.lines.select("usage_type", "unit").collect().row(0) == ("BoxUsage:m6i.large", "Hrs")


def test_a_map_of_a_parquet_file_is_read_as_json(tmp_path: Path) -> None:
    """CUR 2 has the operating system in a map."""
    path = parquet(AWS, tmp_path)
    system = "map {'operating_system': 'Windows'} as product"
    copied = path.with_name("with_map.parquet")
    with duckdb.connect() as connection:
        connection.sql(f"copy (select *, {system} from '{path}') to '{copied}'")
    assert distinct(readers.read(copied).lines)["os"].to_list() == ["windows"]


def row_of(**values: str) -> str:
    return pl.DataFrame({**FOCUS, "ChargeDescription": "x", **values}).write_csv()


GOOD = row_of()
HEADER, LINE, _ = GOOD.split("\n")
CUT = gzip.compress(GOOD.encode() * 900, mtime=0)[:-50]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.csv", f"{GOOD}{LINE},more\n", r"a\.csv: line 3: 15 values instead of 14"),
        ("a.csv", f"{GOOD}{LINE[:60]}\n", r"a\.csv: line 3: \d+ values instead of 14"),
        ("a.csv", f"{GOOD}{LINE}", r"a\.csv: the last line has no line break"),
        ("a.csv", row_of(ListCost="1.2.3"), r"a\.csv: line 2: .*ListCost.*1\.2\.3"),
        ("a.csv", row_of(ChargePeriodStart="soon"), r"a\.csv: line 2: .*ChargePeriodStart.*soon"),
        ("a.csv", row_of(ChargePeriodStart=""), r"a\.csv: line 2: .*ChargePeriodStart has no"),
        (
            "a.csv",
            row_of(ChargeCategory="Gift"),
            r"a\.csv: line 2: an unknown ChargeCategory: Gift \(1 such line\)",
        ),
        ("a.csv", f"{GOOD}{LINE.replace('USD', 'EUR')}\n", r"a\.csv: line 3: .*USD.*: EUR"),
        ("a.csv", GOOD.replace("ListCost", "Cost"), r"a\.csv: line 1: FOCUS needs .* ListCost"),
        ("a.csv", "a,b\n1,2\n", r"a\.csv: line 1: the columns do not match a known format"),
        ("a.csv", f"{HEADER}\n", "the bill has no line"),
        ("a.csv", "", r"a\.csv is empty"),
        ("a.csv", GOOD.encode("utf-16"), r"a\.csv: line 1: not in UTF-8"),
        ("a.csv", f"{GOOD}{LINE[:-5]}\xff\n".encode("latin-1"), r"a\.csv: line 3"),
        ("a.jsonl", '{"cost_type": "regular"}\n{"cost', r"a\.jsonl: line 2"),
        ("a.jsonl", "[]\n", r"a\.jsonl: line 1: not a JSON object"),
        ("a.csv.gz", CUT, r"a\.csv\.gz: .*not complete"),
        ("a.csv.gz", b"no gzip\n", r"a\.csv\.gz: .*not gzip"),
        ("a.parquet", b"PAR1 and nothing else", r"a\.parquet: .*not complete"),
        ("a.zip", b"PK", r"a\.zip is not a bill"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_file_and_line(name, content, error, tmp_path):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(HwpricesError, match=error):
        readers.read(path)


def test_a_part_that_is_missing_or_cut_is_an_error(tmp_path: Path) -> None:
    export = folder_of_parts(FOCUS, tmp_path)
    part = export / "2026-12" / "part-1.csv"
    whole = part.read_bytes()
    part.write_bytes(whole + LINE.encode() + b"\n")
    with pytest.raises(HwpricesError, match=r"part-1\.csv has .* bytes, manifest\.json says"):
        readers.read(export)
    part.rename(part.with_name("part-2.csv"))
    with pytest.raises(HwpricesError, match=r"lists container/part-1\.csv, which is not"):
        readers.read(export)
    part.write_bytes(whole)
    part.with_name("part-2.csv").unlink()
    csv(AWS, part.parent).rename(part.with_name("part-3.csv"))
    with pytest.raises(HwpricesError, match="another format"):
        readers.read(export)


@pytest.mark.parametrize(
    ("manifest", "entry"),
    [
        ("metadata/P={}/a-Manifest.json", lambda part: {"dataFiles": [f"s3://b/x/{part}"]}),
        ("data/P={}/manifest.json", lambda part: {"blobs": [{"blobName": f"other/{part.name}"}]}),
    ],
    ids=["aws", "azure"],
)
def test_parts_of_several_months_may_have_the_same_name(manifest, entry, tmp_path) -> None:
    for month in ("2026-11", "2026-12"):
        part = Path(f"data/P={month}/bill.csv")
        (tmp_path / part).parent.mkdir(parents=True)
        csv(AWS, (tmp_path / part).parent)
        listed = tmp_path / manifest.format(month)
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text(json.dumps(entry(part)).replace("other", month))
    assert readers.read(tmp_path).count == 2
    assert readers.read(tmp_path).lines.collect().height == 2  # outlives what it came from
    (tmp_path / "data/P=2026-11/bill.csv").unlink()
    with pytest.raises(HwpricesError, match=r"bill\.csv, which is not in the folder"):
        readers.read(tmp_path)


def wide(path: Path) -> None:
    """Ten million columns."""
    path.write_bytes(b"a," * 10_000_000 + b"a\n")


def bomb(path: Path) -> None:
    """300 MB in the last line of a gzip file."""
    path.write_bytes(gzip.compress(f"{GOOD}{LINE}\n".encode() * 20_000 + b"0" * 300_000_000, 1))


HOSTILE = """
import resource, sys
from hwprices.errors import HwpricesError
from hwprices.read.bill import readers
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    readers.read(sys.argv[1])
except HwpricesError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize(
    ("write", "name", "error"),
    [(wide, "a.csv", "longer than"), (bomb, "a.csv.gz", "line 60001: longer than")],
)
def test_a_hostile_file_is_an_error_in_bounded_memory(write, name, error, tmp_path) -> None:
    write(tmp_path / name)
    command = [sys.executable, "-c", HOSTILE, str(tmp_path / name)]
    said, megabytes = processes.run(*command).stdout.splitlines()
    assert error in said
    assert int(megabytes) < 200


def test_a_bill_that_expands_beyond_reason_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(readers, "MIN_EXPANDED_BYTES", 1_000_000)
    monkeypatch.setattr(readers, "MAX_EXPANSION", 100)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress((HEADER + f"\n{LINE}" * 50_000 + "\n").encode()))
    with pytest.raises(HwpricesError, match="expands to more than"):
        readers.read(path)
