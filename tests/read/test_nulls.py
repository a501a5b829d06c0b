"""Every command that reads, on releases with nulls where the schema allows them, and without rows.

A dataset may come from somebody else, and a vendor may leave out any figure: a command answers, or
says in one line what is missing.
"""

import hashlib
import json
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.cases import rows
from tests.helpers.nightly import NIGHTLY
from tests.helpers.terminal import run

from hwprices.release.versions import sample_root
from hwprices.schemas.tables import TABLES

COMMANDS = [shlex.split(row["command"]) for row in rows("read/null_commands")]


MODES = ["nulls", "no rows", "third 0", *(["third 1", "third 2"] if NIGHTLY else [])]
"""What cells hold: nulls, nothing, or nulls in a third of them; by day one third, to save time."""


def without_values(frame: pl.DataFrame, table: str, mode: str) -> pl.DataFrame:
    """Change a table: no rows, nulls in all nullable cells, or in every third of them."""
    if mode == "no rows":
        return frame.clear()
    columns = TABLES[table].columns
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
@pytest.mark.parametrize("mode", MODES)
def test_every_command_answers_or_says_in_one_line_why_not(mode, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HWPRICES_TRACEBACK", "1")  # so that a fault of ours fails the test
    root = changed_release(tmp_path / "data", mode)
    for command in COMMANDS:
        result = run(*command, root=root)
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
    result = run(*command)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert f"name is null in {rows.height} rows of table accelerators" in result.stderr
