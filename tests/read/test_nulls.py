"""Every command that reads, on releases with nulls where the schema allows them, and without rows.

A dataset may come from somebody else, and a vendor may leave out any figure: a command answers, or
says in one line what is missing.
"""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hwprices.cli import app
from hwprices.release.root import sample_root
from hwprices.schemas.tables import TABLES

COMMANDS = [
    *(["show"], ["releases"], ["coverage"], ["coverage", "--columns"], ["quarantine"], ["tco"]),
    *(["find", "8xH100", "europe"], ["find", "16vcpu", "64gb", "arm64"]),
    *(["find", "--gpu", "l4", "--sort", "price_per_vcpu"], ["find", "h100", "--json"]),
    *(["price", "p5.48xlarge"], ["price", "n2-standard-2", "--csv"]),
    *(["compare", "g6.xlarge", "g2-standard-4"], ["compare", "g6.xlarge", "--equals"]),
    ["explain", "p5.48xlarge", "--region", "us-east-1", "--os", "linux"],
    *(["device", name] for name in ("h100-sxm", "Raspberry Pi 5", "Graviton3", "DGX Spark")),
    ["recommend", "llama-3.1-70b"],
    ["recommend", "70B", "--workload", "lora", "--tokens", "1e8"],
    *(["recommend", model] for model in ("sdxl", "whisper")),
    *(["history", "p5.48xlarge", "us-east"], ["diff"], ["query", "from offers limit 9"]),
]


def without_values(frame: pl.DataFrame, table: str, mode: str) -> pl.DataFrame:
    """Change a table: no rows, nulls in all nullable cells, or in every third of them."""
    if mode == "no rows":
        return frame.clear()
    columns = TABLES[table].to_schema().columns
    third = (pl.int_range(pl.len()) + int(mode[-1])) % 3 if mode != "nulls" else pl.lit(0)
    return frame.with_columns(
        pl.when((third + (place if mode != "nulls" else 0)) % 3 != 0).then(pl.col(name))
        for place, name in enumerate(frame.columns)
        if name in columns and columns[name].nullable
    )


def changed_release(root: Path, mode: str) -> Path:
    """Copy the sample release, with its tables changed and their checksums right."""
    shutil.copytree(sample_root(), root)
    [release] = (root / "releases").iterdir()
    manifest = json.loads((release / "manifest.json").read_text())
    for table, entry in manifest["tables"].items():
        for file in entry["files"]:
            path = release / file["key"]
            rows = without_values(pl.read_parquet(path), table, mode)
            rows.write_parquet(path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            file.update(sha256=digest, bytes=path.stat().st_size, rows=rows.height)
        entry["rows"] = sum(file["rows"] for file in entry["files"])
    (release / "manifest.json").write_text(json.dumps(manifest))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nulls", "no rows", "third 0", "third 1", "third 2"])
def test_every_command_answers_or_says_in_one_line_why_not(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HWPRICES_TRACEBACK", "1")  # so that a fault of ours fails the test
    root = changed_release(tmp_path / "data", mode)
    for command in COMMANDS:
        result = CliRunner().invoke(app, [*command, "--root", str(root)], prog_name="hwprices")
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            f"{command}: {result.exception!r}"
        )
        assert result.exit_code in {0, 2}, command
        if result.exit_code == 2:
            assert (result.stdout, result.stderr.count("\n")) == ("", 1), command
        assert "None " not in result.stdout.replace("None of", ""), command


def test_a_null_that_the_schema_forbids_is_named(tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sample_root(), root)
    [release] = (root / "releases").iterdir()
    path = release / "accelerators.parquet"
    rows = pl.read_parquet(path)
    rows.with_columns(name=pl.lit(None, pl.String)).write_parquet(path)
    command = ["device", "h100-sxm", "--root", str(root)]
    result = CliRunner().invoke(app, command, prog_name="hwprices")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"name is null in {rows.height} rows of table accelerators" in result.stderr
