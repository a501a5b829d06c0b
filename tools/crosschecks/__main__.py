"""Write docs/crosschecks.md and the CSV files beside it.

``python -m tools.crosschecks`` compares what needs only the checkout. With the research folder
(``python -m tools.crosschecks ../shared``) it also compares the lists in that folder; without it,
their lines in the CSV files stay. ``--check`` fails when a file is out of date.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.specs import sheets
from tools import spec_lint
from tools.crosschecks import others, prices
from tools.crosschecks.prices import Comparison
from tools.generated import PROJECT, write_or_check

PAGE = PROJECT / "docs" / "crosschecks.md"
FOLDER = PAGE.with_suffix("")

Rows = list[dict[str, str]]

COLUMNS = {
    "summary": ("source", "compared", "equal", "different"),
    "differences": ("source", "region", "machine", "figure", "sample", "other", "why"),
    "one-sided": ("source", "side", "why", "figures"),
    "not-collected": ("cloud", "rows", "machines", "why"),
    "accelerators": ("device", "figure", "sheet", "source", "other", "difference", "why"),
    "not-verified": ("device", "confidence", "why"),
}
"""The CSV files and their columns."""

RESEARCH = (
    prices.KARPENTER,
    prices.CLOUDSPECS_AWS,
    prices.CLOUDSPECS_GCP,
    prices.COMPOSED_GCP,
    prices.INSTANCES_AZURE,
    prices.AWS_SPECS,
    prices.GCP_SPECS,
)
"""Sources in the research folder, in the order of the page."""


def tables(research: Path | None) -> dict[str, Rows]:
    """Return the rows of every CSV file, compared again as far as the sources are at hand."""
    results: list[Comparison] = [*(prices.compare(research) if research else ()), *others.compare()]
    compared = {
        "summary": [_summary(result) for result in results],
        "differences": [asdict(one) for result in results for one in result.differences],
        "one-sided": [row for result in results for row in _one_sided(result)],
    }
    if research is None:
        for name, rows in compared.items():
            kept = [row for row in read(name) if row["source"] in RESEARCH]
            compared[name] = kept + rows
    return {**compared, "not-collected": others.not_collected(), **accelerators()}


def read(name: str) -> Rows:
    """Read one of the CSV files."""
    return prices.read_csv(FOLDER / f"{name}.csv")


def _summary(result: Comparison) -> dict[str, str]:
    different = sum(bool(one.sample) or one.source not in RESEARCH for one in result.differences)
    counts = (result.equal + different, result.equal, different)
    return dict(zip(COLUMNS["summary"], (result.source, *map(str, counts)), strict=True))


def _one_sided(result: Comparison) -> Iterator[dict[str, str]]:
    for (side, why), count in sorted(result.one_sided.items()):
        yield {"source": result.source, "side": side, "why": why, "figures": str(count)}


def accelerators() -> dict[str, Rows]:
    """Compare the accelerator sheet with the second sources."""
    sheet = sheets.load("accelerators")
    both = spec_lint.compared(sheet, sheets.load("second_sources"))
    close = pl.col("difference").abs() <= spec_lint.TOLERANCE
    different = both.filter(~close).sort("accelerator_id", "figure", "source")
    differences = [
        {
            "device": row["accelerator_id"],
            "figure": row["figure"],
            "sheet": f"{row['ours']:.10g}",
            "source": row["source"],
            "other": f"{row['value']:.10g}",
            "difference": f"{row['difference']:+.0%}",
            "why": row["explanation"],
        }
        for row in different.iter_rows(named=True)
    ]
    agreeing = dict(both.filter(close).group_by("accelerator_id").len().iter_rows())
    compared = set(both["accelerator_id"])
    not_verified = [
        {
            "device": row["accelerator_id"],
            "confidence": row["confidence"],
            "why": _why_not_verified(row, compared, agreeing),
        }
        for row in sheet.filter(~pl.col("verified")).iter_rows(named=True)
    ]
    return {"accelerators": differences, "not-verified": not_verified}


def _why_not_verified(
    row: Mapping[str, Any], compared: set[str], agreeing: Mapping[str, int]
) -> str:
    device = row["accelerator_id"]
    if row["disclosure"] == "none":
        return "the maker publishes no data sheet"
    if row["confidence"] == "low":
        return "low confidence is never verified"
    if device not in compared:
        return "no second source yet"
    if agreeing.get(device, 0) < spec_lint.AGREEING_FIGURES:
        return f"fewer than {spec_lint.AGREEING_FIGURES} figures agree"
    return "the second source goes back to the same page"


TEXT = """# Checks against others

hwprices compares its figures with those that others collected. The CSV files in
[docs/crosschecks](crosschecks/summary.csv) have every line, and a test fails when a difference has
no explanation. Codes such as G13 are [known wrong numbers](known-wrong-numbers.md).

`python -m tools.crosschecks ../shared` writes the page and the files. `../shared` is the research
folder with the other collectors' lists of AWS, Azure and Google Cloud; without it their lines stay.

## Prices and specs

{summary}

All figures are equal for {equal}.

- **AWS, Google Cloud**: Linux prices of July 2026: on-demand in us-east-1 and us-central1
  (Karpenter, Apache-2.0; Cloudspecs, MIT) and all purchase options in four regions (composed).
  Cloudspecs is independent. The sample's AWS prices come from Karpenter's list, except `.metal`
  (A13), and its Google Cloud rates from the composed prices: agreement with these two shows only
  that the prices are read correctly.
- **Azure**: Linux on-demand prices of 20 August 2026 in francecentral and westeurope, compared with
  a public list of June 2026.
- **Specs**: vCPUs, memory, instruction set and number of accelerators, each counted as one figure.
- **Other clouds**: every row of `tests/recordings/others`, equal if price, vCPUs, memory and number
  of GPUs are. The rows come from
  [gpu-index](https://github.com/getcomputable/gpu-index) (Apache-2.0),
  [gpurentalprices.com](https://gpurentalprices.com) (CC BY 4.0) and
  [Cloudspecs](https://github.com/TUM-DIS/cloudspecs) (MIT). Oracle's prices are independent: the
  other source composed them itself. For the others, agreement shows only that the source was read
  correctly.
- **SageMaker** (not in the table): the sample's hosting prices are those of another collector of
  20 May 2026 (flexera-public/policy_templates, MIT). They are 1.15 to 1.40 times EC2's in us-east-1
  (208 of 218 types). The ten of `ml.r8g` are 2.40, twice that collector's figures of us-east-2:
  only AWS's list can tell which is right. No EC2 prices of eu-west-1 (193 types) are at hand.
- **Vertex AI**: the sample has the A3 of a bill, at 1.15 times Compute Engine's rates. The 720
  figures of that collector add the management fee (0.15).

## Why figures differ

For Google Cloud, the other figure follows from the sample's rates once its mistake is repeated.
Causes of more than three figures; every line is in [differences.csv](crosschecks/differences.csv).

{causes}

[one-sided.csv](crosschecks/one-sided.csv) counts the {one_sided:,} figures that only one side has,
by reason, [not-collected.csv](crosschecks/not-collected.csv) the {cloud_rows} rows of {clouds} more
clouds that only the others collect, with the reason.

## The accelerator sheet

A figure agrees if it is within 3 % of the other source: {agreeing} of {compared} do, of {second}
devices with a second source, and the other {different} have a reason. A device is *verified* if at
least three figures agree with a source other than the one that the row was read from, and its
confidence is not low: {verified} of {devices} devices ({confidence} of high / medium / low
confidence). [accelerators.csv](crosschecks/accelerators.csv) has the differences and the reason for
each choice, [not-verified.csv](crosschecks/not-verified.csv) the other devices:

{not_verified}

Exceptions: `data/specs/ratio_exceptions.csv` (rates that do not double when the width halves) and
`data/specs/sparse_figures.csv` (sparse rates that makers print).
"""

FEW_FIGURES = 3
"""A cause of at most this many figures is in differences.csv only."""


def page(data: Mapping[str, Rows]) -> str:
    """Return the page for the rows of the CSV files, ending with a line break."""
    sheet = sheets.load("accelerators")
    both = spec_lint.compared(sheet, sheets.load("second_sources"))
    confidence = Counter(sheet["confidence"])
    different = len(data["accelerators"])
    return TEXT.format(
        summary=_table("source | compared | equal | different", _cells(data["summary"])),
        equal=_equal(data["summary"]),
        causes=_table("source | why they differ | figures", _causes(data["differences"])),
        one_sided=sum(int(row["figures"]) for row in data["one-sided"]),
        clouds=len(data["not-collected"]),
        cloud_rows=sum(int(row["rows"]) for row in data["not-collected"]),
        devices=sheet.height,
        confidence=" / ".join(str(confidence[level]) for level in ("high", "medium", "low")),
        verified=sheet.filter("verified").height,
        second=both["accelerator_id"].n_unique(),
        compared=both.height,
        agreeing=both.height - different,
        different=different,
        not_verified=_table(
            "why not verified | devices",
            Counter(row["why"] for row in data["not-verified"]).most_common(),
        ),
    )


def _cells(rows: Rows) -> Iterator[tuple[str, ...]]:
    """Write the rows of sources with a difference."""
    for row in rows:
        if row["different"] != "0":
            yield tuple(f"{int(cell):,}" if cell.isdigit() else cell for cell in row.values())


def _equal(rows: Rows) -> str:
    """List the sources without a difference, with their figures."""
    equal = [row for row in rows if row["different"] == "0"]
    return "; ".join(f"{row['source']} ({int(row['compared']):,})" for row in equal)


def _causes(differences: Rows) -> Iterator[tuple[object, ...]]:
    """Count the differences by source and reason; a few are in the CSV file only."""
    counts = Counter((row["source"], row["why"], bool(row["sample"])) for row in differences)
    for (source, why, has_figure), count in counts.items():
        if count > FEW_FIGURES:
            yield source, why if has_figure else f"no price in the sample: {why}", count


def _table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    columns = head.split(" | ")
    lines: list[Iterable[object]] = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def csv_text(name: str, rows: Rows) -> str:
    """Return rows as CSV with the columns of the file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS[name], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` compare them. Returns the exit status."""
    folders = [Path(argument) for argument in arguments if argument != "--check"]
    data = tables(folders[0] if folders else None)
    texts = {FOLDER / f"{name}.csv": csv_text(name, rows) for name, rows in data.items()}
    texts[PAGE] = page(data)
    return max(write_or_check(target, text, arguments) for target, text in texts.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
