"""Reading a sheet: dtypes, and errors that name file, line, column and remedy."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.helpers.cases import cases
from tests.helpers.sheet_copies import copy_with, set_cells

from hwprices.errors import HwpricesError
from hwprices.schemas.tables import CHECK_SHEETS, SHEETS, sheet_model
from hwprices.specs import sheets


@pytest.mark.parametrize("table", [*SHEETS, *CHECK_SHEETS])
def test_every_sheet_loads_sorted_by_its_key(table: str) -> None:
    model = {**SHEETS, **CHECK_SHEETS}[table]
    frame = sheets.load(table)
    assert frame.height > 0
    assert frame.columns == list(model.columns)
    assert frame.equals(frame.sort(model.key))


def test_money_is_exact_and_lists_are_lists(accelerators: pl.DataFrame) -> None:
    t = accelerators.row(by_predicate=pl.col("accelerator_id") == "nvidia-rtx-4090", named=True)
    assert t["launch_price_usd"] == Decimal("1599")
    assert accelerators.schema["launch_price_usd"] == pl.Decimal(20, 10)
    assert "cuda" in t["software_stack"]
    sohu = accelerators.row(by_predicate=pl.col("accelerator_id") == "etched-sohu", named=True)
    assert sohu["software_stack"] == []


@cases("specs/bad_cells", cells=yaml.safe_load)
def test_a_bad_cell_is_named(tmp_path: Path, cells: dict[str, str | None], message: str) -> None:
    directory = copy_with(tmp_path, "accelerators", set_cells("nvidia-l4", **cells))
    line = 2 + pl.read_csv(directory / "accelerators.csv", infer_schema=False)[
        "accelerator_id"
    ].to_list().index("nvidia-l4")
    with pytest.raises(HwpricesError) as error:
        sheets.load("accelerators", directory)
    assert message in str(error.value)
    assert "accelerators.csv" in str(error.value)
    if "low_is" not in message:
        assert f"line {line}" in str(error.value)
    assert error.value.remedy


def test_a_missing_or_undeclared_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HwpricesError, match=r"has no column tdp_w"):
        sheets.load(
            "accelerators", copy_with(tmp_path, "accelerators", lambda frame: frame.drop("tdp_w"))
        )
    with pytest.raises(HwpricesError, match=r"does not know: tflops"):
        sheets.load(
            "accelerators",
            copy_with(
                tmp_path, "accelerators", lambda frame: frame.with_columns(tflops=pl.lit("1"))
            ),
        )


def test_a_key_that_comes_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HwpricesError, match=r"a second row has the same accelerator_id"):
        sheets.load(
            "accelerators",
            copy_with(tmp_path, "accelerators", lambda frame: pl.concat([frame, frame.head(1)])),
        )


def test_a_sheet_that_was_edited_is_read_again(tmp_path: Path) -> None:
    directory = copy_with(tmp_path, "accelerators", set_cells("nvidia-l4", tdp_w="71"))
    power = pl.col("accelerator_id") == "nvidia-l4"
    assert sheets.load("accelerators", directory).filter(power)["tdp_w"].item() == 71
    copy_with(tmp_path, "accelerators", set_cells("nvidia-l4", tdp_w="73"))
    assert sheets.load("accelerators", directory).filter(power)["tdp_w"].item() == 73


def test_a_missing_sheet_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HwpricesError, match=r"sheet 'gpus' does not exist"):
        sheets.load("gpus")
    with pytest.raises(HwpricesError, match=r"accelerators\.csv is missing"):
        sheets.load("accelerators", tmp_path)


def test_every_sheet_is_declared_and_loads(project: Path) -> None:
    """A CSV file below data/specs that no schema declares would be read unchecked."""
    folder = project / "data" / "specs"
    names = sorted(str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.csv"))
    undeclared = [name for name in names if sheet_model(name) is None]
    assert undeclared == []
    for name in names:
        assert sheets.load(name).height > 0, name
