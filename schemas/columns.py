"""The vocabulary that the tables share.

A column is declared once, as ``name: dtype = column("what it means", unit=…, focus=…)`` in a table's model. Description, unit
and FOCUS counterpart go from there into the data dictionary, the Parquet files and the checks. FOCUS is the FinOps Open Cost
and Usage Specification, https://focus.finops.org/focus-columns/.
"""

from typing import Any

import pandera.polars as pa
import polars as pl

Accelerators = pl.List(
    pl.Struct(
        {
            "accelerator_id": pl.String,  # key of the accelerators table; null when the vendor's name has no match
            "vendor_name": pl.String,  # as the vendor's API says it; null where the API names no model (Azure)
            "count": pl.Float64,  # devices as the cloud counts them; fractions are real (1/8 of an L4)
            "memory_gib": pl.Float64,  # of one whole device
        }
    )
)
"""Accelerators of one machine."""

PROVIDER_PATTERN = r"^[a-z][a-z0-9_]*$"


def column(
    description: str,
    *,
    unit: str | None = None,
    focus: str | None = None,
    nullable: bool = False,
    **checks: Any,
) -> Any:
    """Declare one column: what it means, its unit, its FOCUS counterpart and pandera checks (``gt=0``, ``isin=[…]`` …)."""
    return pa.Field(
        description=description,
        nullable=nullable,
        metadata={"unit": unit, "focus": focus},
        **checks,
    )


class Table(pa.DataFrameModel):
    """What every table's model is built on: all columns present, none besides, nothing coerced."""

    class Config:
        strict = True
        coerce = False


def key(model: type[Table]) -> list[str]:
    """The columns that identify one row of the table."""
    return list(model.Config.metadata["key"])  # type: ignore[attr-defined]


def table_name(model: type[Table]) -> str:
    return str(model.Config.name)  # type: ignore[attr-defined]
