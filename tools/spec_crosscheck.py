"""Write docs/spec-crosscheck.md: the accelerator sheet compared with other sources.

``python -m tools.spec_crosscheck`` writes it; ``--check`` fails when the file is out of date.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from hwprices.specs import sheets
from tools import spec_lint
from tools.generated import PROJECT, write_or_check

TARGET = PROJECT / "docs" / "spec-crosscheck.md"

INTRODUCTION = """# The accelerator sheet against other sources

Written from `data/specs` by `make docs`; do not edit by hand.

A figure agrees when it is within 3 % of the other source. A row is *verified* when at least three
of its figures agree with a source that is not the one the row was read from, and its confidence is
not low. Where sources differ, the reason and the choice are stated below. Rows without a second
source are listed as not verified, whoever published them."""


def report(directory: Path | None = None) -> str:
    """Return the report as Markdown, ending with a line break.

    Raises:
        HwpricesError: a sheet cannot be read.
    """
    sheet = sheets.load("accelerators", directory)
    both = spec_lint.compared(sheet, sheets.load("second_sources", directory))
    exceptions = sheets.load("ratio_exceptions", directory)
    sparse = sheets.load("sparse_figures", directory)
    sections = [
        INTRODUCTION,
        *_totals(sheet, both),
        *_differences(both),
        *_unverified(sheet, both),
        *_exceptions(exceptions),
        *_sparse_rates(sheet, sparse),
    ]
    return "\n\n".join(sections) + "\n"


def _totals(sheet: pl.DataFrame, both: pl.DataFrame) -> Iterator[str]:
    agreeing = both.filter(pl.col("difference").abs() <= spec_lint.TOLERANCE).height
    levels = [sheet.filter(confidence=level).height for level in ("high", "medium", "low")]
    rows = [
        ("devices", sheet.height),
        ("of high / medium / low confidence", " / ".join(map(str, levels))),
        ("verified", sheet.filter("verified").height),
        ("devices with a second source", both["accelerator_id"].n_unique()),
        ("figures compared", both.height),
        ("within 3 %", agreeing),
        ("different, with a reason", both.height - agreeing),
    ]
    yield "## In numbers"
    yield _table(["", ""], rows)


def _differences(both: pl.DataFrame) -> Iterator[str]:
    different = both.filter(pl.col("difference").abs() > spec_lint.TOLERANCE)
    different = different.sort("accelerator_id", "figure", "source")
    rows = [
        (
            row["accelerator_id"],
            row["figure"],
            _number(row["ours"]),
            row["source"],
            _number(row["value"]),
            f"{row['difference']:+.0%}",
            row["explanation"],
        )
        for row in different.iter_rows(named=True)
    ]
    yield "## Where another source differs"
    head = ["device", "figure", "here", "source", "its value", "difference", "why"]
    yield _table(head, rows)


def _unverified(sheet: pl.DataFrame, both: pl.DataFrame) -> Iterator[str]:
    close = both.filter(pl.col("difference").abs() <= spec_lint.TOLERANCE)
    agreeing = dict(close.group_by("accelerator_id").len().iter_rows())
    compared = set(both["accelerator_id"])
    rows = []
    for row in sheet.filter(~pl.col("verified")).iter_rows(named=True):
        device, confidence = row["accelerator_id"], row["confidence"]
        why = _why(confidence, row["disclosure"], device in compared, agreeing.get(device, 0))
        rows.append((device, confidence, why))
    yield "## Not verified"
    yield _table(["device", "confidence", "why"], rows)


def _why(confidence: str, disclosure: str, compared: bool, agreeing: int) -> str:
    """Say why a device is not verified."""
    if disclosure == "none":
        return "the maker publishes no data sheet"
    if confidence == "low":
        return "low confidence is never verified"
    if compared and agreeing < spec_lint.AGREEING_FIGURES:
        return f"only {agreeing} figures agree"
    return "the second source goes back to the same page" if compared else "no second source yet"


def _exceptions(exceptions: pl.DataFrame) -> Iterator[str]:
    yield "## Rates that break the usual ratio"
    yield (
        "Half the width, twice the rate: the devices that do not follow this are listed with the\n"
        "reason."
    )
    yield _table(["device", "rule", "why"], exceptions.iter_rows())


def _sparse_rates(sheet: pl.DataFrame, sparse: pl.DataFrame) -> Iterator[str]:
    devices = {row["accelerator_id"]: row for row in sheet.iter_rows(named=True)}
    rows = [
        (
            row["accelerator_id"],
            row["figure"],
            _number(devices[row["accelerator_id"]][row["figure"]]),
            _number(row["sparse_rate"]),
            f"{row['sparse_over_dense']:.3g}",
            row["notes"] or "",
        )
        for row in sparse.iter_rows(named=True)
    ]
    yield "## Sparse rates that makers print"
    yield (
        "The dense column holds the printed rate divided by the factor. Lists that skip the\n"
        "division are twice too high."
    )
    yield _table(["device", "figure", "dense, here", "printed, sparse", "factor", "notes"], rows)


def _table(head: list[str], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _number(value: float) -> str:
    return f"{value:,.10g}"


def main(arguments: list[str]) -> int:
    """Write the file, or with ``--check`` compare it. Returns the exit status."""
    return write_or_check(TARGET, report(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
