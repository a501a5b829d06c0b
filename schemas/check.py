"""What the accelerator sheet is held against: second sources, printed sparse rates, and ratios that break the rule with a reason."""

# mypy: disable-error-code="valid-type"
import polars as pl

from .columns import Table, column
from .spec import ID_PATTERN, URL_PATTERN


class SecondSources(Table):
    """A figure of the accelerator sheet as another, independent source gives it."""

    accelerator_id: pl.String = column("Key of accelerators.", str_matches=ID_PATTERN)
    figure: pl.String = column(
        "Column of accelerators that the value belongs to.", str_matches=r"^[a-z0-9_]+$"
    )
    source: pl.String = column("Who says it.")
    value: pl.Float64 = column("The value, in the unit of the column.", gt=0)
    source_url: pl.String = column("Where it is published.", str_matches=URL_PATTERN)
    as_of: pl.Date = column("Day the source was read, or the day of its edition.", unit="date")
    explanation: pl.String = column(
        "Why it differs by more than 3 %, and which one is right; null where it agrees.",
        nullable=True,
    )

    class Config:
        name = "second_sources"
        metadata = {"key": ["accelerator_id", "figure", "source"]}


class SparseFigures(Table):
    """Rates that a maker prints with structured sparsity, often without saying so: what the dense columns must not hold."""

    accelerator_id: pl.String = column("Key of accelerators.", str_matches=ID_PATTERN)
    figure: pl.String = column(
        "Dense column that the rate must not end up in.", str_matches=r"^[a-z0-9]+_dense_t(fl)?ops$"
    )
    sparse_rate: pl.Float64 = column(
        "The rate as printed, for one device.", unit="TFLOPS or TOPS", gt=0
    )
    sparse_over_dense: pl.Float64 = column(
        "How many times the dense rate it is: 2 for 2:4 sparsity, with exceptions.", gt=1
    )
    source_url: pl.String = column("Where it is printed.", str_matches=URL_PATTERN)
    as_of: pl.Date = column("Day it was read.", unit="date")
    notes: pl.String = column("How the figure for one device was worked out.", nullable=True)

    class Config:
        name = "sparse_figures"
        metadata = {"key": ["accelerator_id", "figure"]}


class RatioExceptions(Table):
    """Devices whose rates break a ratio between number formats, and why."""

    accelerator_id: pl.String = column("Key of accelerators.", str_matches=ID_PATTERN)
    rule: pl.String = column("Name of the rule that does not hold.", str_matches=r"^[a-z0-9_]+$")
    reason: pl.String = column("Why it does not hold here.")

    class Config:
        name = "ratio_exceptions"
        metadata = {"key": ["accelerator_id", "rule"]}
