"""Read the sheets of rules that custom machines and discounts need: data/specs/gcp_*.csv."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory

Share = pl.Decimal(10, 6)
"""A share or a size in a sheet, exact."""


def read_rule_sheet(name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Read columns of data/specs/<name>.csv with the given dtypes.

    Raises:
        HwpricesError: the sheet is missing, or a cell does not fit its dtype.
    """
    file = sheet_directory() / f"{name}.csv"
    if not file.is_file():
        raise HwpricesError(f"the sheet {name}.csv is missing", "Reinstall hwprices.")
    try:
        return pl.read_csv(file, columns=list(columns), schema_overrides=dict(columns))
    except pl.exceptions.PolarsError as error:
        raise HwpricesError(
            f"{name}.csv is not a readable sheet: {error}", "Compare it with the last commit."
        ) from error
