"""Fit the speed model of recommend, and show its errors on measurements that were left out.

Writes the sheets speed_model, measured_speeds and utilisations, docs/calibration.svg and the table
between the marks in docs/method.md. ``--check`` fails if one of them is out of date.
"""

import hashlib
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hwprices.read.recommend import constants
from hwprices.read.recommend.inferencex import correction, measured_works
from hwprices.read.recommend.speed import (
    BUSY,
    LOAD,
    NETWORK,
    PARTS,
    RANGE,
    largest_batch,
    parts_of_seconds,
    seconds,
    shapes,
    with_cpu_rates,
    with_device,
    with_divisions,
)
from hwprices.specs import sheets
from tools.generated import PROJECT, write_or_check
from tools.measurements import ONE_COPY, TUNED, Measurement, measurements
from tools.training_calibration import training_errors, training_speeds, utilisations_sheet

BEGIN = "<!-- calibration: written by tools/calibration.py -->"
END = "<!-- end of calibration -->"

START = (2.0, 3.0, 1.2, 1.5, 75e-6, 1.5, 10e-6)
STEPS = (1.3, 1.1, 1.03, 1.01)
"""Constants are changed by these factors, one after the other, as long as the error decreases."""

OF_FACTOR = pl.col("load").replace("one", "few")
"""Load of a family's factor, which one user shares with a few."""

LARGEST_ERROR = 1.1
"""Limit of an error of the logarithm: one of three times counts as much as any larger one."""


class Points:
    """The measurements as arrays: the factors of the constants, per division of a machine."""

    def __init__(self, listed: Sequence[Measurement]) -> None:
        columns = ("accelerator_id", "accelerators", "model_id", "tokens_per_second", "source")
        work_columns = ("precision", "input_tokens", "output_tokens", "users", "kv_bytes")
        rows = [
            {name: getattr(row, name) for name in columns}
            | {name: getattr(row.work, name) for name in work_columns}
            # halves that are the same in every process
            | {"label": row.label, "half": str(_digest(repr(row)) % 2)}
            for row in listed
        ]
        works = measured_works(pl.DataFrame(rows, infer_schema_length=None))
        divided = with_divisions(works).with_columns(batch=largest_batch())
        is_whole = pl.col("division") == pl.col("devices")
        is_known = ~pl.col("source").is_in(ONE_COPY) | is_whole
        divided = divided.filter(pl.col("batch") >= 1, is_known)
        answered = BUSY * pl.col("batch") * pl.col("output_tokens")
        self._features = features(divided)
        self._answered = divided.select(answered).to_series().to_numpy()
        self.rows = works.join(divided, "number", "semi", maintain_order="left").with_columns(
            cell=pl.format("{}/{}", "family", OF_FACTOR), point=pl.int_range(pl.len())
        )
        point = dict(self.rows.select("number", "point").iter_rows())
        self._index = np.array([point[number] for number in divided["number"]])
        self.measured = np.log(self.rows["measured"].to_numpy())
        self.source, self.accelerator, self.cell, self.half = (
            np.array(self.rows[name].to_list())
            for name in ("source", "accelerator_id", "cell", "half")
        )
        key = ["accelerator_id", "load", *NETWORK]
        self.pairs = self.rows.join(
            self.rows, key, nulls_equal=True, suffix="_other", maintain_order="left_right"
        ).select("point", other="point_other", label="label_other")
        self.alike = [
            np.array(others)
            for others in self.pairs.group_by("point").agg("other").sort("point")["other"].to_list()
        ]

    def divide_tuned(self) -> float:
        """Divide the speeds of the tuned source by its median error; return its logarithm.

        The error is that of a fit on all other sources.
        """
        tuned = self.source == TUNED
        found, _ = errors(self, fit(self, ~tuned), ~tuned)
        middle = float(np.median(found[tuned]))
        self.measured = self.measured - middle * tuned
        return middle

    def residuals(self, fitted: Sequence[float]) -> np.ndarray:
        """Return ln(measured / roofline) of every measurement."""
        speeds = self._answered / (self._features @ np.array(fitted))
        best = np.zeros(len(self.rows))
        np.maximum.at(best, self._index, speeds)
        return np.asarray(self.measured - np.log(best))


def features(works: pl.DataFrame) -> np.ndarray:
    """Compute the seconds of a batch: a column for each of PARTS, of which they are a sum."""
    zero, total = dict.fromkeys(PARTS, 0.0), sum(seconds(pl.col("batch")))
    return np.hstack(
        [
            works.with_columns(**parts_of_seconds(zero | {name: 1.0})).select(total).to_numpy()
            for name in PARTS
        ]
    )


def _digest(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0]


@dataclass(frozen=True)
class Fit:
    """Constants, and the factor of each family and load as a logarithm."""

    constants: tuple[float, ...]
    factors: dict[str, float]


def fit(points: Points, kept: np.ndarray) -> Fit:
    """Fit on the kept measurements; a source with four times as many has twice the weight."""
    counts = {source: (points.source[kept] == source).sum() for source in points.source[kept]}
    weights = np.array([counts.get(source, 1) ** -0.5 for source in points.source]) * kept

    def loss(parts: Sequence[float]) -> float:
        error = np.minimum(np.abs(points.residuals(parts)), LARGEST_ERROR)
        return float((weights * error).sum() / weights.sum())

    best = list(START)
    error = loss(best)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for part in range(len(best)):
                for factor in (step, 1 / step):
                    tried = [*best[:part], best[part] * factor, *best[part + 1 :]]
                    if (found := loss(tried)) < error - 1e-5:
                        best, error, moved = tried, found, True
    fitted = tuple(float(f"{value:.3g}") for value in best)
    residuals = points.residuals(fitted)
    factors = {}
    for cell in sorted(set(points.cell[kept])):
        values = residuals[kept & (points.cell == cell)]
        factors[cell] = float(np.median(values)) * len(values) / (len(values) + constants.SHRINK)
    return Fit(fitted, factors)


def errors(points: Points, fitted: Fit, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ln(measured / estimate) of every measurement, and whether its basis is measured.

    An estimate is corrected by the kept measurements of the same network on the same accelerator.
    """
    residuals = points.residuals(fitted.constants)
    residuals = residuals - np.array([fitted.factors.get(cell, 0.0) for cell in points.cell])
    corrected = residuals.copy()
    measured = np.zeros(len(points.rows), dtype=bool)
    for number, alike in enumerate(points.alike):
        used = alike[kept[alike]]
        if len(used):
            share = len(used) / (len(used) + constants.SHRINK)
            corrected[number] -= np.median(residuals[used]) * share
            measured[number] = True
    return corrected, measured


@dataclass(frozen=True)
class LeftOut:
    """Errors of measurements, each from a fit without its group."""

    error: np.ndarray
    measured: np.ndarray

    @staticmethod
    def by(points: Points, groups: np.ndarray) -> "LeftOut":
        """Leave out each group in turn, and fit on the others."""
        error = np.zeros(len(points.rows))
        measured = np.zeros(len(points.rows), dtype=bool)
        for group in sorted(set(groups)):
            kept = groups != group
            found, corrected = errors(points, fit(points, kept), kept)
            error[~kept], measured[~kept] = found[~kept], corrected[~kept]
        return LeftOut(error, measured)


QUANTILES = (0.05, 0.25, 0.75, 0.95)

RANGED = ("source", "accelerator")
"""What is left out for the ranges. A random half knows the machines of the other half."""

LEVELS = (0.045, 0.2525, 0.76, 0.9525)
"""Quantiles of the errors of serving. With them, the inner range contains 45 to 54 % of the
measurements of a source that was left out, the outer 87 to 94 %. With QUANTILES, the inner range
contained 41 % of Spare Cores' vLLM, and the outer 83 % of its llama.cpp."""


def ranges(schemes: Sequence[LeftOut], chosen: np.ndarray) -> dict[str, tuple[np.ndarray, int]]:
    """Return the quantiles of the errors of the chosen measurements over every scheme, by basis."""
    found = {}
    for basis, flag in (("measured", True), ("modeled", False)):
        pooled = np.concatenate([s.error[chosen & (s.measured == flag)] for s in schemes])
        found[basis] = (np.quantile(pooled, LEVELS), len(pooled))
    return found


@dataclass(frozen=True)
class Coverage:
    """How many measurements of a source are in the ranges of all other sources."""

    source: str
    count: int
    inner: float
    outer: float
    middle: float
    """Median of estimate / measured - 1."""
    median_error: float
    p90_error: float


def coverage(
    points: Points, schemes: Sequence[LeftOut], tested: LeftOut, source: str | None
) -> Coverage:
    """Count the errors of a source within the ranges of the other sources; None for all."""
    everything = np.ones(len(points.rows), dtype=bool)
    chosen = everything if source is None else points.source == source
    inner = np.zeros(len(points.rows), dtype=bool)
    outer = inner.copy()
    for name in sorted(set(points.source[chosen])):
        is_source = points.source == name
        for basis, (ends, _) in ranges(schemes, ~is_source).items():
            mask = is_source & (tested.measured == (basis == "measured"))
            inner[mask] = (ends[1] <= tested.error[mask]) & (tested.error[mask] <= ends[2])
            outer[mask] = (ends[0] <= tested.error[mask]) & (tested.error[mask] <= ends[3])
    off = np.abs(np.expm1(-tested.error[chosen]))
    return Coverage(
        source or "all",
        int(chosen.sum()),
        float(inner[chosen].mean()),
        float(outer[chosen].mean()),
        float(np.expm1(-np.median(tested.error[chosen]))),
        float(np.median(off)),
        float(np.quantile(off, 0.9)),
    )


def cpu_errors() -> dict[str, list[float]]:
    """Return ln(measured / estimate) by load, of machine types that share a CPU with others."""
    col = pl.col
    sheet = sheets.load("cpu_speeds").filter(col.kind != "prompt").with_row_index("number")
    works = sheet.join(shapes(sheet["model_id"]), "model_id", maintain_order="left").with_columns(
        **{name: pl.lit(1.0) for name in ("division", "stages", "device_share")},
        bytes_per_second=pl.lit(None, pl.Float64),
        machine="instance_type",
        measured="tokens_per_second",
        batch="users",
        kv_bytes=2.0,
        family=pl.lit("cpu"),
        link_bytes_per_second=math.inf,
        load=LOAD.replace("one", "few"),
    )
    known = with_cpu_rates(works, of_others=True).drop_nulls("peak")
    timed = known.with_columns(
        **parts_of_seconds(dict.fromkeys(PARTS, 1.0))
    )  # replaced by the CPUs'
    prompt, answer = seconds(col.batch)
    rate = col.batch * (col.output_tokens / (prompt + answer))
    found = timed.select("load", error=(col.measured / rate).log())
    return {name: found.filter(load=name)["error"].to_list() for name in ("few", "full")}


Row = tuple[str, str, str | None, float, int]


def sheet(
    fitted: Fit, points: Points, found: dict[str, tuple[np.ndarray, int]], tuned: float
) -> pl.DataFrame:
    """Return the sheet speed_model."""
    count = len(points.rows)
    rows: list[Row] = [
        ("constant", name, None, value, count)
        for name, value in zip(PARTS, fitted.constants, strict=True)
    ]
    tuned_count = int((points.source == TUNED).sum())
    rows.append(("constant", TUNED, None, round(math.exp(tuned), 3), tuned_count))
    for cell, factor in fitted.factors.items():
        family, load = cell.split("/")
        cell_count = int((points.cell == cell).sum())
        rows.append(("factor", family, load, round(math.exp(factor), 3), cell_count))
    cpu = []
    for load, listed in cpu_errors().items():
        middle = float(np.median(listed))
        rows.append(("factor", "cpu", load, round(math.exp(middle), 3), len(listed)))
        cpu += [error - middle for error in listed]
    others = {"cpu": cpu} | {
        f"training {basis}": listed for basis, listed in training_errors().items()
    }
    all_ranges = found | {
        basis: (np.quantile(listed, QUANTILES), len(listed)) for basis, listed in others.items()
    }
    for basis, (ends, size) in all_ranges.items():
        for name, end in zip(RANGE, ends, strict=True):
            rows.append(("range", basis, name, round(float(np.exp(end)), 3), size))
    schema = ["kind", "name", "load", "value", "measurements"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def measured_sheet(fitted: Fit, points: Points) -> pl.DataFrame:
    """Return the sheet measured_speeds: by which factor each network was faster than modeled."""
    residuals = points.residuals(fitted.constants)
    residuals = residuals - np.array([fitted.factors.get(cell, 0.0) for cell in points.cell])
    error = pl.DataFrame({"other": range(len(residuals)), "error": residuals})
    networks = (
        points.pairs.join(error, "other", maintain_order="left")
        .group_by("point")
        .agg(
            **correction(pl.col("error"), pl.col("label")),
            first=pl.col("other").min(),
            measurements=pl.len(),
        )
        .filter(pl.col("point") == pl.col("first"))  # one row for all of them
    )
    key = ["accelerator_id", "load", "model_id"]
    return (
        points.rows.select("point", *key)
        .join(networks, "point")
        .select(
            *key,
            pl.col("known_factor").round(3).alias("factor"),
            "measurements",
            measurement="label",
        )
        .sort(key)
    )


def load_points() -> Points:
    """Load every measurement of the sheets."""
    accelerators = with_device(sheets.load("accelerators"))
    return Points(measurements(dict(accelerators.select("accelerator_id", "family").iter_rows())))


@dataclass(frozen=True)
class Calibration:
    """The sheet, and the errors of measurements left out."""

    sheet: pl.DataFrame
    measured: pl.DataFrame
    points: Points
    schemes: dict[str, LeftOut]
    """The errors by the group left out: source, accelerator, half."""

    @property
    def ranged(self) -> list[LeftOut]:
        """The errors whose quantiles are the ranges."""
        return [self.schemes[name] for name in RANGED]


def build() -> Calibration:
    """Fit everything."""
    points = load_points()
    tuned = points.divide_tuned()
    schemes = {
        "source": LeftOut.by(points, points.source),
        "accelerator": LeftOut.by(points, points.accelerator),
        "half": LeftOut.by(points, points.half),
    }
    everything = np.ones(len(points.rows), dtype=bool)
    found = ranges([schemes[name] for name in RANGED], everything)
    fitted = fit(points, everything)
    written = sheet(fitted, points, found, tuned)
    return Calibration(written, measured_sheet(fitted, points), points, schemes)


def table(calibration: Calibration) -> str:
    """Write the table of docs/method.md."""
    lines = [
        "| left out | measurements | estimate / measured, middle | median error |"
        " 90th percentile | in the inner range | in the outer range |",
        "|---|---|---|---|---|---|---|",
    ]
    sources = sorted(set(calibration.points.source))
    listed = [("source", source) for source in [*sources, None]]
    for scheme, source in [*listed, ("accelerator", None), ("half", None)]:
        tested = calibration.schemes[scheme]
        row = coverage(calibration.points, calibration.ranged, tested, source)
        name = f"{scheme} {row.source}" if source else f"each {scheme} in turn"
        lines.append(
            f"| {name} | {row.count} | {row.middle:+.0%} | {row.median_error:.0%} |"
            f" {row.p90_error:.0%} | {row.inner:.0%} | {row.outer:.0%} |"
        )
    return "\n".join(lines)


SIZE, MARGIN = 420, 50
LOW, HIGH = 0.0, 6.0  # powers of ten of tokens/s
COLORS = ("#1f6feb", "#d29922", "#2da44e", "#cf222e", "#8250df", "#57606a", "#bf3989")


def plot(calibration: Calibration) -> str:
    """Plot estimates against measured tokens/s, from fits without the measurement's source."""

    def at(value: float) -> float:
        return round(MARGIN + (value / math.log(10) - LOW) / (HIGH - LOW) * (SIZE - 2 * MARGIN), 1)

    points, errors_left = calibration.points, calibration.schemes["source"].error
    sources = sorted(set(points.source))
    dots = [
        f'<circle cx="{at(measured)}" cy="{round(SIZE - at(measured - error), 1)}" r="2"'
        f' fill="{COLORS[sources.index(source)]}" fill-opacity="0.6"/>'
        for measured, error, source in zip(points.measured, errors_left, points.source, strict=True)
    ]
    labels = []
    for power in range(int(LOW), int(HIGH) + 1):
        place = at(power * math.log(10))
        labels.append(f'<text x="{place}" y="{SIZE - 30}" text-anchor="middle">1e{power}</text>')
        labels.append(f'<text x="45" y="{SIZE - place + 4}" text-anchor="end">1e{power}</text>')
    for number, source in enumerate(sources):
        labels.append(
            f'<text x="60" y="{40 + 14 * number}" fill="{COLORS[number]}">{source}</text>'
        )
    low, high = at(LOW * math.log(10)), at(HIGH * math.log(10))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}"'
            ' font-family="sans-serif" font-size="11">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<line x1="{low}" y1="{SIZE - low}" x2="{high}" y2="{SIZE - high}" stroke="#888"/>',
            f'<text x="{SIZE / 2}" y="{SIZE - 10}" text-anchor="middle">measured tokens/s</text>',
            '<text x="12" y="20">estimated tokens/s, fitted without that source</text>',
            *labels,
            *dots,
            "</svg>\n",
        ]
    )


def with_table(text: str, written: str) -> str:
    """Write the table between the marks of docs/method.md."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{written}\n\n{END}{after}"


def csv_text(frame: pl.DataFrame) -> str:
    """Write a frame as CSV."""
    buffer = io.StringIO()
    frame.write_csv(buffer)
    return buffer.getvalue()


def written(calibration: Calibration, arguments: list[str]) -> int:
    """Write or check every file; return the exit status."""
    folder, method = PROJECT / "data" / "specs", PROJECT / "docs" / "method.md"
    files = {
        folder / "speed_model.csv": csv_text(calibration.sheet),
        folder / "measured_speeds.csv": csv_text(calibration.measured),
        folder / "utilisations.csv": csv_text(utilisations_sheet(training_speeds())),
        PROJECT / "docs" / "calibration.svg": plot(calibration),
        method: with_table(method.read_text(encoding="utf-8"), table(calibration)),
    }
    return max(write_or_check(target, text, arguments) for target, text in files.items())


if __name__ == "__main__":
    sys.exit(written(build(), sys.argv[1:]))
