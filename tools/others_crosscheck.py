"""Write docs/others-crosscheck.md: the sample compared with prices that others collected.

``python -m tools.others_crosscheck`` writes it; ``--check`` fails when the file is out of date. The
other figures are in tests/recordings/others. Each difference has its line in
tools/others_explained.csv; one without a line, or a line without a difference, is an error. Where
the other source has its own names of machines, tools/others_names.csv says which of ours each is.
tools/others_not_collected.csv says why a cloud is not a provider.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get
from hwprices.stage import corrections
from tools.generated import PROJECT, write_or_check

TARGET = PROJECT / "docs" / "others-crosscheck.md"
SAMPLE = PROJECT / "data" / "sample"
FIGURES = PROJECT / "tests" / "recordings" / "others"
EXPLAINED = PROJECT / "tools" / "others_explained.csv"
NAMES = PROJECT / "tools" / "others_names.csv"
NOT_COLLECTED = PROJECT / "tools" / "others_not_collected.csv"

PER_GPU = "per GPU"
"""A row with these words in its note has the price of one GPU, whatever the machine has."""

Ours = dict[tuple[str, str, str], dict[str, Any]]
"""Region, instance type and purchase option: the sample's row."""

INTRODUCTION = """# Other clouds' prices compared with other collectors'

Written from the sample and `tests/recordings/others` by `make docs`; do not edit by hand.

Each row that others collected (a machine, or a GPU, with its price, vCPUs, memory and number of
GPUs) is looked up in the sample. A figure that the other source does not have is not compared.
Prices must be equal to the last digit; where the other source has the price of one GPU, ours is
divided by the number of GPUs. Every difference is explained below, one by one.

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
    """Compare the rows of all files of a folder with the sample, by provider."""
    names = _names()
    return [
        _compare(provider, rows, names)
        for provider, rows in sorted(_rows(figures).items())
        if provider in providers.names()
    ]


def not_collected(figures: Path = FIGURES) -> dict[str, list[dict[str, str]]]:
    """Return the rows of clouds that are no provider, by cloud."""
    rows = _rows(figures)
    return {name: rows[name] for name in sorted(rows) if name not in providers.names()}


def _rows(figures: Path) -> dict[str, list[dict[str, str]]]:
    """Read the rows of all files, by provider."""
    rows: dict[str, list[dict[str, str]]] = {}
    for file in sorted(figures.glob("*.csv")):
        for row in _read(file):
            rows.setdefault(row["provider"], []).append(row)
    return rows


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def _names() -> dict[tuple[str, str], dict[str, str]]:
    """Read which of our machines another source's name is, by provider and name."""
    return {(row["provider"], row["theirs"]): row for row in _read(NAMES)}


def _compare(
    name: str, rows: list[dict[str, str]], names: dict[tuple[str, str], dict[str, str]]
) -> Comparison:
    ours = _sample_rows(name)
    regions = sorted({region for region, *_ in ours})
    differences: list[Difference] = []
    for row in rows:
        alias = names.get((name, row["instance_type"]), {})
        differences += _differences(row, alias, ours, regions)
    sources = sorted({row["licence"] for row in rows})
    return Comparison(name, get(name).about.title, len(rows), differences, sources)


def _sample_rows(provider: str) -> Ours:
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
    row: dict[str, str], alias: dict[str, str], ours: Ours, regions: list[str]
) -> Iterator[Difference]:
    """Yield each figure of a row that the sample has otherwise, or has not.

    ``alias`` says which of our machines it is, where the names differ. The other source's region
    begins with ours (``commercial (uniform)``), but for case and spaces; a cloud with one region
    needs no name of it.
    """
    name, option = alias.get("instance_type", row["instance_type"]), row["purchase_option"]
    theirs_region = alias.get("region", row["region"]).lower().replace(" ", "-")
    only = regions[0] if len(regions) == 1 else "?"
    region = next((region for region in regions if theirs_region.startswith(region)), only)
    machine = ours.get((region, name, option))
    if machine is None:
        yield Difference(row["provider"], name, region, "row", row["price_hourly"], "none")
        return
    is_per_gpu = PER_GPU in row["note"] or "floor price" in row["note"]
    price = machine["hourly"] if machine["currency"] == row["currency"] else None
    if is_per_gpu and price is not None:
        price /= Decimal(str(machine["accelerator_count"]))
    pairs = {
        "price": (row["price_hourly"], price),
        "vcpus": (row["vcpus"], machine["vcpus"]),
        "memory_gib": (row["memory_gib"], machine["memory_gib"]),
        "count": ("" if is_per_gpu else row["count"], machine["accelerator_count"]),
    }
    for field in COMPARED:
        theirs, figure = pairs[field]
        if theirs and (figure is None or Decimal(theirs) != Decimal(str(figure))):
            text = "none" if figure is None else f"{Decimal(str(figure)).normalize():f}"
            yield Difference(row["provider"], name, region, field, theirs, text)


def explanations(file: Path = EXPLAINED) -> dict[Difference, str]:
    """Read why each known difference is there."""
    rows = _read(file)
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
    lines += _not_collected()
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


def _not_collected() -> Iterator[str]:
    """List the clouds that are no provider, each with its rows and the reason.

    Raises:
        HwpricesError: a cloud has no reason, or a reason has no cloud.
    """
    clouds = not_collected()
    reasons = {row["provider"]: row["why"] for row in _read(NOT_COLLECTED)}
    if unlike := sorted(set(clouds) ^ set(reasons)):
        raise HwpricesError(
            f"{unlike[0]} is in one of the others' figures and {NOT_COLLECTED.name} only",
            "Say why it is not collected, or remove its line.",
        )
    yield "\n## Not collected\n"
    yield "| cloud | rows | machines | why |"
    yield "| --- | --- | --- | --- |"
    for name, rows in clouds.items():
        machines = ", ".join(dict.fromkeys(row["instance_type"] for row in rows))
        yield f"| {name} | {len(rows)} | {machines.replace('|', chr(92) + '|')} | {reasons[name]} |"


def main() -> int:
    """Write the report, or check it."""
    return write_or_check(TARGET, report(), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
