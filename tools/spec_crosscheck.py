"""docs/spec-crosscheck.md, written from the sheets: ``python -m tools.spec_crosscheck > docs/spec-crosscheck.md``."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from hwprices.specs import sheets
from tools import spec_lint

INTRODUCTION = """# The accelerator sheet against other sources

Written from `data/specs` by `python -m tools.spec_crosscheck`; a test keeps it up to date.

A figure agrees when it is within 3 % of the other source. A row is *verified* when at least three of its figures agree with a
source that is not the one the row was read from, and its confidence is not low. Where sources differ, the reason and the choice
are stated below. What no other source could be found for is listed as not verified, whoever published it."""


def report(directory: Path | None = None) -> str:
    """The report as Markdown, ending with a line break.

    Raises:
        HwpricesError: a sheet cannot be read.
    """
    sheet = sheets.load("accelerators", directory)
    both = spec_lint.compared(sheet, sheets.load("second_sources", directory))
    exceptions = sheets.load("ratio_exceptions", directory)
    sparse = sheets.load("sparse_figures", directory)
    sections = [
        INTRODUCTION,
        *_numbers(sheet, both),
        *_differences(both),
        *_unverified(sheet, both),
        *_exceptions(exceptions),
        *_sparse(sheet, sparse),
    ]
    return "\n\n".join(sections) + "\n"


def _numbers(sheet: pl.DataFrame, both: pl.DataFrame) -> Iterator[str]:
    agree = both.filter(pl.col("difference").abs() <= spec_lint.TOLERANCE).height
    devices = both["accelerator_id"].n_unique()
    yield "## In numbers"
    rows = [
        ("devices", sheet.height),
        (
            "of high / medium / low confidence",
            " / ".join(
                str(sheet.filter(confidence=level).height) for level in ("high", "medium", "low")
            ),
        ),
        ("verified", sheet.filter("verified").height),
        ("devices with a second source", devices),
        ("figures compared", both.height),
        ("within 3 %", agree),
        ("different, with a reason", both.height - agree),
    ]
    yield _table(["", ""], rows)


def _differences(both: pl.DataFrame) -> Iterator[str]:
    apart = both.filter(pl.col("difference").abs() > spec_lint.TOLERANCE).sort(
        "accelerator_id", "figure", "source"
    )
    yield "## Where another source differs"
    columns = ["accelerator_id", "figure", "ours", "source", "value", "difference", "explanation"]
    rows = [
        (d, f, _number(o), s, _number(v), f"{x:+.0%}", e)
        for d, f, o, s, v, x, e in apart.select(columns).iter_rows()
    ]
    yield _table(["device", "figure", "here", "source", "there", "difference", "why"], rows)


def _unverified(sheet: pl.DataFrame, both: pl.DataFrame) -> Iterator[str]:
    agree = dict(
        both.filter(pl.col("difference").abs() <= spec_lint.TOLERANCE)
        .group_by("accelerator_id")
        .len()
        .iter_rows()
    )
    compared = set(both["accelerator_id"])
    yield "## Not verified"
    rows = [
        (device, confidence, _why(confidence, disclosure, device in compared, agree.get(device, 0)))
        for device, confidence, disclosure in sheet.filter(~pl.col("verified"))
        .select("accelerator_id", "confidence", "disclosure")
        .iter_rows()
    ]
    yield _table(["device", "confidence", "why"], rows)


def _why(confidence: str, disclosure: str, compared: bool, agreeing: int) -> str:
    if disclosure == "none":
        return "the maker publishes no data sheet"
    if confidence == "low":
        return "low confidence is never verified"
    if compared and agreeing < spec_lint.AGREEING_FIGURES:
        return f"only {agreeing} figures agree"
    return "the second source goes back to the same page" if compared else "no second source yet"


def _exceptions(exceptions: pl.DataFrame) -> Iterator[str]:
    yield "## Rates that break the usual ratio"
    yield "Half the width, twice the rate: where a device does not follow, it is named with the reason."
    yield _table(["device", "rule", "why"], exceptions.iter_rows())


def _sparse(sheet: pl.DataFrame, sparse: pl.DataFrame) -> Iterator[str]:
    yield "## Sparse rates that makers print"
    yield "The dense column holds the printed rate divided by the factor. Lists that skip the division are twice too high."
    rates = {row["accelerator_id"]: row for row in sheet.iter_rows(named=True)}
    columns = ["accelerator_id", "figure", "sparse_rate", "sparse_over_dense", "notes"]
    rows = [
        (d, f, _number(rates[d][f]), _number(s), f"{k:.3g}", n or "")
        for d, f, s, k, n in sparse.select(columns).iter_rows()
    ]
    yield _table(["device", "figure", "dense, here", "printed, sparse", "factor", "notes"], rows)


def _table(head: list[str], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _number(value: float) -> str:
    return f"{value:,.10g}"


if __name__ == "__main__":
    sys.stdout.write(report())
