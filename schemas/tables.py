"""Every table and every curated sheet by name, as ``tables.csv`` and ``columns.csv`` declare them.

A sheet of facts about one provider is named ``<provider>_…``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from hwprices.schemas import rules
from hwprices.schemas.columns import Column, read_columns, words_of
from hwprices.schemas.vocabulary import read_sheet

if TYPE_CHECKING:
    import pandera.polars as pa

    from hwprices.schemas.validation import RowCheck

NAMES_FOLDER = "accelerator_names"
"""Folder of data/specs with a sheet for each provider, all with the same columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table: its name, the columns that identify a row, what it contains, and its columns."""

    name: str
    kinds: Sequence[str]
    key: list[str]
    contents: str
    details: str
    columns: Mapping[str, Column]
    row_checks: Sequence["RowCheck"]

    @property
    def description(self) -> str:
        """What the table contains, with details."""
        return f"{self.contents} {self.details}".strip()

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The columns in published order, with their polars dtypes."""
        return {name: column.dtype for name, column in self.columns.items()}

    @cached_property
    def schema(self) -> "pa.DataFrameSchema":
        """The pandera schema, made when it is first needed: importing pandera takes 2 s."""
        from hwprices.schemas.validation import schema_of

        return schema_of(self.name, self.columns, self.row_checks)


def read_tables() -> dict[str, Table]:
    """Return each table of tables.csv by its name there."""
    tables, columns = {}, read_columns()
    for row in read_sheet("tables.csv"):
        extended = row["extends"]
        try:
            tables[row["table"]] = Table(
                name=row["name"] or row["table"],
                kinds=row["kinds"].split(),
                key=words_of(row["key"]),
                contents=row["contents"],
                details=row["details"],
                columns=(columns[extended] if extended else {}) | columns.get(row["table"], {}),
                row_checks=[getattr(rules, name) for name in row["row_checks"].split()],
            )
        except (AttributeError, KeyError) as error:
            where = f"tables.csv, table {row['table']}"
            raise ValueError(f"{where}: {error}. See schemas/README.md") from error
    return tables


_ALL = read_tables()


def _of_kind(kind: str) -> dict[str, Table]:
    return {table.name: table for table in _ALL.values() if kind in table.kinds}


TABLES = _of_kind("published")
"""The published tables, in the order in which they are published."""

SHEETS = _of_kind("sheet")
"""The curated tables of data/specs that a release is joined with. All are published except
region_footprint, which completes the regions table."""

CHECK_SHEETS = _of_kind("check_sheet")
"""Figures that the accelerator sheet is compared with; never published."""

RULE_SHEETS = _of_kind("rule_sheet")
"""Sheets that the program reads rules and dimensions from; never published."""


def sheet_model(name: str) -> Table | None:
    """Return the table of a sheet by its path in data/specs without ``.csv``, or None."""
    if name.startswith(f"{NAMES_FOLDER}/"):
        return AcceleratorNames
    return {**SHEETS, **CHECK_SHEETS, **RULE_SHEETS}.get(name)


Regions = TABLES["regions"]
Zones = TABLES["zones"]
InstanceTypes = TABLES["instance_types"]
Availability = TABLES["availability"]
Prices = TABLES["prices"]
PriceComponents = TABLES["price_components"]
ComponentPrices = TABLES["component_prices"]
SpotAdvice = TABLES["spot_advice"]
Stock = TABLES["stock"]
MarketQuantiles = TABLES["market_quantiles"]
Quarantine = TABLES["quarantine"]
NewWords = TABLES["new_words"]
Held = TABLES["held"]
Offers = TABLES["offers"]
SoldAccelerators = TABLES["accelerators"]
PriceHistory = TABLES["price_history"]
Changes = TABLES["changes"]
AcceleratorNames = _ALL["accelerator_names"]
