"""What the accelerator sheet is checked against.

Figures of second sources, rates that makers print with sparsity, and devices that break the usual
ratio between number formats for a stated reason.
"""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column


class SecondSources(Table):
    """A figure of the accelerator sheet as another, independent source gives it."""

    accelerator_id: pl.String = columns.accelerator_id()
    figure: pl.String = column(
        "Column of accelerators that the value belongs to.", str_matches=r"^[a-z0-9_]+$"
    )
    source: pl.String = column("Name of the source.")
    value: pl.Float64 = column("The value, in the unit of the column.", gt=0)
    source_url: pl.String = columns.url("Where it is published.", nullable=False)
    as_of: pl.Date = column("Day the source was read, or the day of its edition.", unit="date")
    explanation: pl.String = column(
        "Why it differs by more than 3 %, and which one is right; null where it agrees.",
        nullable=True,
    )

    class Config:
        name = "second_sources"
        metadata = {"key": ["accelerator_id", "figure", "source"]}


class SparseFigures(Table):
    """Rates that a maker prints with structured sparsity, often without saying so.

    The dense columns of the accelerator sheet must not hold them.
    """

    accelerator_id: pl.String = columns.accelerator_id()
    figure: pl.String = column(
        "Dense column that must not hold the rate.", str_matches=r"^[a-z0-9]+_dense_t(fl)?ops$"
    )
    sparse_rate: pl.Float64 = column(
        "The rate as printed, for one device.", unit="TFLOPS or TOPS", gt=0
    )
    sparse_over_dense: pl.Float64 = column(
        "How many times the dense rate it is: 2 for 2:4 sparsity, with exceptions.", gt=1
    )
    source_url: pl.String = columns.url("Where it is printed.", nullable=False)
    as_of: pl.Date = column("Day it was read.", unit="date")
    notes: pl.String = column("How the figure for one device was worked out.", nullable=True)

    class Config:
        name = "sparse_figures"
        metadata = {"key": ["accelerator_id", "figure"]}


class InterconnectLinks(Table):
    """How many links an accelerator has to others, and the rate of one."""

    accelerator_id: pl.String = columns.accelerator_id()
    links: pl.Int32 = column("Number of links of one device.", gt=0)
    link_gbs: pl.Float64 = column("Rate of one link, both directions together.", unit="GB/s", gt=0)
    source_url: pl.String = columns.url("Where they are published.", nullable=False)
    as_of: pl.Date = column("Day the source was read, or the day of its edition.", unit="date")
    notes: pl.String = column("What is doubtful about them.", nullable=True)

    class Config:
        name = "interconnect_links"
        metadata = {"key": ["accelerator_id"]}


class RatioExceptions(Table):
    """Devices whose rates break a ratio between number formats, and why."""

    accelerator_id: pl.String = columns.accelerator_id()
    rule: pl.String = column("Name of the rule that does not hold.", str_matches=r"^[a-z0-9_]+$")
    reason: pl.String = column("Why it does not hold here.")

    class Config:
        name = "ratio_exceptions"
        metadata = {"key": ["accelerator_id", "rule"]}
