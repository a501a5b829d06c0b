"""Write docs/others-crosscheck.md: the sample compared with prices that others collected.

``python -m tools.others_crosscheck`` writes it; ``--check`` fails when the file is out of date. The
other figures are in tests/recordings/others, one file a cloud. Each difference has its line in
tools/others_explained.csv; one without a line, or a line without a difference, is an error.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get
from hwprices.stage import corrections
from tools.generated import PROJECT, write_or_check

TARGET = PROJECT / "docs" / "others-crosscheck.md"
SAMPLE = PROJECT / "data" / "sample"
FIGURES = PROJECT / "tests" / "recordings" / "others"
NAMES = PROJECT / "tools" / "others_names.csv"
"""What another source calls a machine, where it has a name of its own."""

EXPLAINED = PROJECT / "tools" / "others_explained.csv"

INTRODUCTION = """# Other clouds' prices compared with other collectors'

Written from the sample and `tests/recordings/others` by `make docs`; do not edit by hand.

Each row that others collected (a machine, or a GPU, with its price, vCPUs, memory and number of
GPUs) is looked up in the sample. A figure that the other source does not have is not compared.
Prices must be equal to the last digit. Every difference is explained below, one by one.

Oracle's prices are independent: the other source composed them by itself. The sample of the other
clouds has the figures of the same sources, or of the same vendor's answers of the same day. There
agreement shows that they are read as they were meant."""

COMPARED = ("price", "vcpus", "memory_gib", "count")


@dataclass(frozen=True)
class Difference:
    """One figure of one row that is not the same in the sample."""

    provider: str
    instance_type: str
    region: str
    field: str
    theirs: str
    ours: str


@dataclass(frozen=True)
class Comparison:
    """One provider: rows compared, the differences, and where the other figures are from."""

    provider: str
    title: str
    rows: int
    differences: list[Difference]
    sources: list[str]

    @property
    def agreeing(self) -> int:
        """Rows without a difference."""
        return self.rows - len({(d.instance_type, d.region) for d in self.differences})


def compare(figures: Path = FIGURES) -> list[Comparison]:
    """Compare every file of a folder with the sample, in the order of their names."""
    return [_compare_file(file) for file in sorted(figures.glob("*.csv"))]


def _compare_file(file: Path) -> Comparison:
    with file.open(newline="", encoding="utf-8") as text:
        rows = [_renamed(row) for row in csv.DictReader(text)]
    provider = get(file.stem)
    ours = _sample_rows(file.stem)
    regions = sorted({region for region, *_ in ours})
    differences = [difference for row in rows for difference in _differences(row, ours, regions)]
    sources = sorted({row["licence"] for row in rows})
    return Comparison(file.stem, provider.about.title, len(rows), differences, sources)


def _renamed(row: dict[str, str]) -> dict[str, str]:
    """Give a row our names. A name like ``a40 | secure`` has the region behind the bar."""
    name, _, platform = row["instance_type"].partition(" | ")
    ours = _names().get((row["provider"], name), name)
    return {**row, "instance_type": ours, "region": platform or row["region"]}


@cache
def _names() -> dict[tuple[str, str], str]:
    with NAMES.open(newline="", encoding="utf-8") as text:
        return {(row["provider"], row["theirs"]): row["ours"] for row in csv.DictReader(text)}


def _sample_rows(provider: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the sample's Linux rows by (region, instance type, purchase option)."""
    landing = Landing(SAMPLE)
    run = landing.latest_run(provider)
    if run is None:
        raise HwpricesError(f"the sample has no run of {provider}", "Write it with tools/sample.")
    frames: dict[str, list[pl.DataFrame]] = {"prices": [], "instance_types": []}
    for part in get(provider).normalise(Pages(run, landing)):
        if part.table in frames:
            frames[part.table].append(part.frame.lazy().collect())
    machines = corrections.apply(
        pl.concat(frames["instance_types"]), provider, corrections.load(provider)
    )
    prices = pl.concat(frames["prices"]).filter(os="linux", tenancy="shared")
    joined = prices.join(machines, on=["provider", "instance_type"], how="left")
    return {
        (row["region"], row["instance_type"], row["purchase_option"]): row
        for row in joined.to_dicts()
    }


def _differences(
    row: dict[str, str], ours: dict[tuple[str, str, str], dict[str, Any]], regions: list[str]
) -> Iterator[Difference]:
    """Yield each figure of a row that the sample has otherwise, or has not.

    The other source's region begins with ours: ``commercial (uniform)``.
    """
    name, option = row["instance_type"], row["purchase_option"]
    region = next((region for region in regions if row["region"].startswith(region)), "?")
    machine = ours.get((region, name, option))
    if machine is None:
        yield Difference(row["provider"], name, region, "row", row["price_hourly"], "none")
        return
    is_same_currency = machine["currency"] == row["currency"]
    pairs = {
        "price": (row["price_hourly"], machine["hourly"] if is_same_currency else None),
        "vcpus": (row["vcpus"], machine["vcpus"]),
        "memory_gib": (row["memory_gib"], machine["memory_gib"]),
        "count": (row["count"], machine["accelerator_count"]),
    }
    for field in COMPARED:
        theirs, figure = pairs[field]
        if theirs and (figure is None or Decimal(theirs) != Decimal(str(figure))):
            text = "none" if figure is None else f"{Decimal(str(figure)).normalize():f}"
            yield Difference(row["provider"], name, region, field, theirs, text)


def explanations(file: Path = EXPLAINED) -> dict[Difference, str]:
    """Read why each known difference is there."""
    with file.open(newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    return {
        Difference(**{name: value for name, value in row.items() if name != "why"}): row["why"]
        for row in rows
    }


def report() -> str:
    """Return the report as Markdown, ending with a line break.

    Raises:
        HwpricesError: a difference is not explained, or an explanation has no difference.
    """
    comparisons, reasons = compare(), explanations()
    differences = {one for comparison in comparisons for one in comparison.differences}
    if unexplained := sorted(map(str, differences - set(reasons))):
        raise HwpricesError(
            f"{len(unexplained)} differences are not explained, first: {unexplained[0]}",
            "Explain each in tools/others_explained.csv.",
        )
    if gone := sorted(map(str, set(reasons) - differences)):
        raise HwpricesError(f"nothing differs in {gone[0]}", "Remove its explanation.")
    lines = [INTRODUCTION, "", *_summary(comparisons), *_details(comparisons, reasons)]
    return "\n".join(lines) + "\n"


def _summary(comparisons: Iterable[Comparison]) -> Iterator[str]:
    yield "| cloud | rows | agree in all figures | explained below | other source |"
    yield "| --- | --- | --- | --- | --- |"
    for comparison in comparisons:
        explained = comparison.rows - comparison.agreeing
        cells = (comparison.title, comparison.rows, comparison.agreeing, explained)
        sources = "; ".join(comparison.sources)
        yield f"| {' | '.join(map(str, cells))} | {sources} |"


def _details(comparisons: Iterable[Comparison], reasons: dict[Difference, str]) -> Iterator[str]:
    for comparison in comparisons:
        if not comparison.differences:
            continue
        yield f"\n## {comparison.title}\n"
        yield "| machine | region | figure | other source | sample | why |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for one in comparison.differences:
            cells = (one.instance_type, one.region, one.field, one.theirs, one.ours, reasons[one])
            yield f"| {' | '.join(cells)} |"


def main() -> int:
    """Write the report, or check it."""
    return write_or_check(TARGET, report(), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
