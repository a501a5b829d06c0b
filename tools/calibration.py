"""Fit the efficiencies of recommend on the measurements, and show how far it is from them.

Writes the sheets efficiencies, utilisations and calibration, docs/calibration.svg and the tables
between the marks in docs/method.md. ``--check`` fails when one of them is out of date.
"""

import io
import math
import statistics
import sys
from dataclasses import dataclass

import polars as pl

from hwprices.formulas.serving import Efficiency
from hwprices.read.recommend import roofline, throughput
from hwprices.read.recommend.calibration import Calibration, calibration_from
from hwprices.read.recommend.cpu_speeds import load_cpu_speeds
from hwprices.read.recommend.devices import Device, device
from hwprices.read.recommend.machines import USABLE, USABLE_UNIFIED
from hwprices.read.recommend.measurements import Measurement, measurements
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import sheets
from tools import cpu_calibration, training_calibration
from tools.generated import PROJECT, write_or_check
from tools.training_calibration import training_speeds, tuning_spread, utilisations_sheet

SHEETS = PROJECT / "data" / "specs"
METHOD = PROJECT / "docs" / "method.md"
PLOT = PROJECT / "docs" / "calibration.svg"

BEGIN = "<!-- calibration: written by tools/calibration.py -->"
END = "<!-- end of calibration -->"

COMPUTE = [round(0.05 * 1.16**step, 4) for step in range(20)]
BANDWIDTH = [0.4, 0.5, 0.6, 0.7, 0.8]
SINGLE_USER_BANDWIDTH = [round(0.2 + 0.03 * step, 2) for step in range(27)]
"""Efficiencies that are tried."""

EXPERTS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]

USUAL = Efficiency(0.35, 0.65)
"""Where the measurements of a family do not tell two efficiencies apart, the nearer to these is
taken: PULL of the distance is added to the error."""

PULL = 0.03

KIND_NAMES = {"serving": "filled machine", "single_user": "one user"}
NAMES = KIND_NAMES | {
    "training": "training",
    "cpu_serving": "filled machine without accelerators",
    "cpu_single_user": "one user, without accelerators",
}


@dataclass(frozen=True)
class Point:
    """A measurement, and what it was measured on."""

    measurement: Measurement
    device: Device
    usable_bytes: float

    @property
    def has_experts(self) -> bool:
        """Whether the model is a mixture of experts."""
        return model_shape(self.measurement.workload.model_id).active_expert_share < 1

    def error(self, fitted: Calibration) -> float | None:
        """Return the natural logarithm of predicted over measured."""
        value = roofline.predicted(self.measurement, self.device, self.usable_bytes, fitted)
        return None if not value else math.log(value / self.measurement.per_device)


def usable_memory(row: dict[str, object]) -> float:
    """Return the usable bytes of one accelerator of the sheet."""
    share = USABLE_UNIFIED if row["kind"] == "soc" else USABLE
    return float(str(row["memory_gb"])) * 2**30 * share


def points(accelerators: pl.DataFrame, benchmarks: pl.DataFrame) -> list[Point]:
    """List the measurements of accelerators with a memory and a bandwidth."""
    rows = {row["accelerator_id"]: row for row in accelerators.iter_rows(named=True)}
    listed = []
    for measurement in measurements(benchmarks):
        row = rows[measurement.accelerator_id]
        if row["memory_gb"] and row["memory_bandwidth_gbs"]:
            listed.append(Point(measurement, device(row), usable_memory(row)))
    return listed


class Grid:
    """The error of every point for every efficiency that is tried, computed once."""

    def __init__(self, listed: list[Point], kind: str, flops_per_byte: float) -> None:
        self.flops_per_byte = flops_per_byte
        self.points = [p for p in listed if p.measurement.kind == kind]
        self.cells = serving_cells() if kind == "serving" else single_user_cells()
        self._errors: dict[tuple[int, float], list[float | None]] = {}

    def errors(self, index: int, experts: float) -> list[float | None]:
        """Return the errors of one point, cell by cell."""
        share = experts if self.points[index].has_experts else 1.0
        if (index, share) not in self._errors:
            self._errors[index, share] = [
                self.points[index].error(single(cell, share, self.flops_per_byte))
                for cell in self.cells
            ]
        return self._errors[index, share]

    def fit(self, indices: list[int], experts: float) -> tuple[Efficiency, float]:
        """Choose the efficiency with the smallest mean error on those points."""
        listed = [self.errors(index, experts) for index in indices]
        best, cost = self.cells[0], math.inf
        for number, cell in enumerate(self.cells):
            values = [abs(errors[number] or 0.0) for errors in listed]
            distance = abs(math.log(cell.compute / USUAL.compute))
            distance += abs(math.log(cell.bandwidth / USUAL.bandwidth))
            total = statistics.fmean(values) + PULL * distance
            if total < cost:
                best, cost = cell, total
        return best, cost


def serving_cells() -> list[Efficiency]:
    """List the efficiencies that are tried for a filled machine."""
    return [Efficiency(compute, bandwidth) for compute in COMPUTE for bandwidth in BANDWIDTH]


def single_user_cells() -> list[Efficiency]:
    """List those tried for one user, whose tokens wait for the memory alone."""
    return [Efficiency(1.0, bandwidth) for bandwidth in SINGLE_USER_BANDWIDTH]


def single(cell: Efficiency, experts: float, flops_per_byte: float) -> Calibration:
    """Make a calibration with one efficiency for every family and kind."""
    return Calibration(
        {"other": cell}, {"other": cell.bandwidth}, frozenset(), experts, flops_per_byte, {}, {}
    )


def fit_flops_per_byte(listed: list[Point]) -> float:
    """Fit the operations per byte of devices without a published rate, on their prompts."""
    ratios = []
    for point in listed:
        if point.measurement.kind == "prompt" and not point.device.rates:
            model = model_shape(point.measurement.workload.model_id)
            rate = point.measurement.per_device * 2 * model.active_parameters
            ratios.append(rate / (point.device.bytes_per_second or math.inf))
    return round(statistics.median(ratios), 1)


def by_family(grid: Grid, leave_out: str | None = None) -> dict[str, list[int]]:
    """List the points of each family, without those of one accelerator."""
    families: dict[str, list[int]] = {}
    for index, point in enumerate(grid.points):
        if point.device.accelerator_id != leave_out:
            families.setdefault(point.device.family, []).append(index)
    return families


def fit_experts(grid: Grid) -> float:
    """Fit the share of the efficiency that a mixture of experts keeps, over all families."""
    families = by_family(grid)

    def cost(experts: float) -> float:
        return sum(grid.fit(indices, experts)[1] * len(indices) for indices in families.values())

    return min(EXPERTS, key=cost)


def fit_families(grid: Grid, experts: float) -> dict[str, Efficiency]:
    """Fit every family on all its points; ``other`` is the lowest of the families."""
    fitted = {
        name: grid.fit(indices, experts)[0]
        for name, indices in by_family(grid).items()
        if name != "other"
    }
    return fitted | {"other": pooled(grid, fitted)}


def pooled(grid: Grid, fitted: dict[str, Efficiency]) -> Efficiency:
    """Return the efficiency of a family that nobody measured: the lowest of the others.

    So a device that nobody measured does not go before one that was. A family of which one
    accelerator was measured says too little to count: a card in a Raspberry Pi reached a third of
    what the others did.
    """
    families = by_family(grid)
    broad = [
        cell
        for name, cell in fitted.items()
        if len({grid.points[index].device.accelerator_id for index in families[name]}) > 1
    ]
    return Efficiency(min(cell.compute for cell in broad), min(cell.bandwidth for cell in broad))


def efficiencies_sheet(serving: Grid, single_user: Grid, experts: float) -> pl.DataFrame:
    """Fit every family. One that was measured for one kind alone has the lowest for the other."""
    filled, alone = fit_families(serving, experts), fit_families(single_user, experts)
    rows: list[tuple[str, float, float | None, float | None, int, int, int]] = []
    for name in sorted({*filled, *alone}):
        both = filled.get(name, filled["other"])
        bandwidth = alone.get(name, alone["other"]).bandwidth
        used = [
            [p for p in grid.points if p.device.family == name] for grid in (serving, single_user)
        ]
        devices = len({p.device.accelerator_id for of_kind in used for p in of_kind})
        filled_count, alone_count = map(len, used)
        efficiencies = (name, both.compute, both.bandwidth, bandwidth)
        rows.append((*efficiencies, filled_count, alone_count, devices))
    mixtures = [p for p in serving.points if p.has_experts]
    devices = len({p.device.accelerator_id for p in mixtures})
    rows.append(("experts", experts, None, None, len(mixtures), 0, devices))
    rows.append(("flops_per_byte", serving.flops_per_byte, None, None, 0, 0, 0))
    return pl.DataFrame(
        rows,
        schema=[
            "family",
            "compute",
            "bandwidth",
            "single_user_bandwidth",
            "serving_measurements",
            "single_user_measurements",
            "devices",
        ],
        orient="row",
    )


Predictions = dict[str, list[tuple[Point, float]]]
"""Basis: measurements, and the logarithm of predicted over measured."""


def left_out(grid: Grid, experts: float, fitted: Calibration) -> Predictions:
    """Predict every point without itself: scaled, modelled, and as of a family never measured."""
    answers: Predictions = {"scaled": [], "modelled": [], "unmeasured_family": []}
    complete = fit_families(grid, experts)
    for index, point in enumerate(grid.points):
        scaled = _scaled(grid, index, fitted)
        if scaled is not None:
            answers["scaled"].append((point, scaled))
        family = by_family(grid, point.device.accelerator_id).get(point.device.family)
        if family and point.device.family != "other":
            cell, _ = grid.fit(family, experts)
            answers["modelled"].append((point, _at(grid, index, cell, experts)))
        others = {
            name: cell
            for name, cell in complete.items()
            if name not in (point.device.family, "other")
        }
        nearest = _nearest_cell(grid, pooled(grid, others))
        answers["unmeasured_family"].append((point, _at(grid, index, nearest, experts)))
    return answers


def _scaled(grid: Grid, index: int, fitted: Calibration) -> float | None:
    """Predict a point from the other models that were measured on its accelerator."""
    point = grid.points[index]
    others = [
        p.measurement
        for number, p in enumerate(grid.points)
        if number != index
        and p.device.accelerator_id == point.device.accelerator_id
        and p.measurement.kind == point.measurement.kind
        and p.measurement.workload.model_id != point.measurement.workload.model_id
    ]
    if not others:
        return None
    memory = {point.device.accelerator_id: point.usable_bytes}
    estimator = throughput.Estimator(others, memory, fitted)
    factor = estimator.nearest_factor(
        roofline.Host(point.device, point.measurement.devices, point.usable_bytes),
        model_shape(point.measurement.workload.model_id),
        point.measurement.kind,
        throughput.measured_format(point.device, point.measurement),
    )
    error = point.error(fitted)
    return None if error is None else error + math.log(factor)


def _at(grid: Grid, index: int, cell: Efficiency, experts: float) -> float:
    return grid.errors(index, experts)[grid.cells.index(cell)] or 0.0


def _nearest_cell(grid: Grid, wanted: Efficiency) -> Efficiency:
    """Find the tried efficiency that is nearest."""
    return min(
        grid.cells,
        key=lambda cell: (
            abs(math.log(cell.compute / wanted.compute))
            + abs(math.log(cell.bandwidth / wanted.bandwidth))
        ),
    )


def spread(benchmarks: pl.DataFrame) -> dict[str, list[float]]:
    """List how far each system is from the one that represents its accelerator and benchmark."""
    spreads: dict[str, list[float]] = {"serving": [], "single_user": []}
    for chosen in measurements(benchmarks):
        if chosen.kind == "prompt":
            continue
        scenario = "Offline" if chosen.kind == "serving" else "SingleUser"
        label_round = chosen.label.split("/")[1]
        same = benchmarks.filter(
            accelerator_id=chosen.accelerator_id,
            model=chosen.label.split("/")[0],
            scenario=scenario,
            round=label_round,
        )
        if chosen.precision is not None:
            same = same.filter(precision=chosen.precision)
        rates = same["per_accelerator"].drop_nulls().to_list()
        if len(rates) > 1:
            spreads[chosen.kind] += [abs(chosen.per_device / rate - 1) for rate in rates]
    return spreads


def errors_sheet(
    answers: dict[str, Predictions],
    spreads: dict[str, list[float]],
    others: dict[str, dict[str, list[float]]],
) -> pl.DataFrame:
    """Summarise the errors by basis and kind; ``others`` are those of further kinds."""
    rows = []
    for kind, of_kind in answers.items():
        by_basis = {"measured": spreads[kind]} | {
            basis: [abs(math.exp(error) - 1) for _, error in listed]
            for basis, listed in of_kind.items()
        }
        for basis, values in by_basis.items():
            rows.append((basis, kind, len(values), *_quantiles(values)))
    for kind, by_basis in others.items():
        for basis, values in by_basis.items():
            rows.append((basis, kind, len(values), *_quantiles(values)))
    return pl.DataFrame(
        rows,
        schema=["basis", "kind", "measurements", "median_error", "p90_error"],
        orient="row",
    ).sort("basis", "kind")


def _quantiles(values: list[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile; 0.1 and 0.2 where nothing was repeated."""
    if len(values) < 3:
        return 0.1, 0.2
    ordered = sorted(values)
    at = min(len(ordered) - 1, math.ceil(0.9 * len(ordered)) - 1)
    return round(statistics.median(ordered), 3), round(ordered[at], 3)


@dataclass(frozen=True)
class Fitted:
    """What is written: three sheets, and the predictions behind them by kind."""

    efficiencies: pl.DataFrame
    utilisations: pl.DataFrame
    errors: pl.DataFrame
    answers: dict[str, Predictions]


def build() -> Fitted:
    """Fit everything."""
    benchmarks = sheets.load("benchmarks")
    accelerators = sheets.load("accelerators")
    listed = points(accelerators, benchmarks)
    flops_per_byte = fit_flops_per_byte(listed)
    grids = {kind: Grid(listed, kind, flops_per_byte) for kind in KIND_NAMES}
    experts = fit_experts(grids["serving"])
    efficiencies = efficiencies_sheet(grids["serving"], grids["single_user"], experts)
    fitted = calibration_from(efficiencies)
    answers = {kind: left_out(grid, experts, fitted) for kind, grid in grids.items()}
    speeds = training_speeds(sheets.load("training_speeds"), accelerators)
    tuning = {
        "measured": tuning_spread(benchmarks),
        **training_calibration.errors(speeds, accelerators, benchmarks),
    }
    others = {"training": tuning, **cpu_calibration.errors(load_cpu_speeds())}
    errors = errors_sheet(answers, spread(benchmarks), others)
    return Fitted(efficiencies, utilisations_sheet(speeds), errors, answers)


def table(errors: pl.DataFrame) -> str:
    """Write the table of docs/method.md."""
    lines = [
        "| basis | kind | measurements | median error | 90th percentile |",
        "|---|---|---|---|---|",
    ]
    for row in errors.iter_rows(named=True):
        lines.append(
            f"| {row['basis']} | {NAMES[row['kind']]} | {row['measurements']}"
            f" | {row['median_error']:.0%} | {row['p90_error']:.0%} |"
        )
    return "\n".join(lines)


SIZE, MARGIN = 420, 50
LOW, HIGH = 0.0, 5.0  # powers of ten of tokens/s


def plot(answers: list[tuple[Point, float]]) -> str:
    """Draw predicted against measured tokens/s of one accelerator, both in powers of ten."""

    def at(value: float) -> float:
        return round(MARGIN + (math.log10(value) - LOW) / (HIGH - LOW) * (SIZE - 2 * MARGIN), 1)

    dots = []
    for point, error in answers:
        measured = point.measurement.per_device
        colour = "#1f6feb" if point.measurement.kind == "serving" else "#d29922"
        name = f"{point.device.accelerator_id}: {point.measurement.benchmark}"
        dots.append(
            f'<circle cx="{at(measured)}" cy="{SIZE - at(measured * math.exp(error))}" r="3"'
            f' fill="{colour}" fill-opacity="0.7"><title>{name}</title></circle>'
        )
    ticks = []
    for power in range(int(LOW), int(HIGH) + 1):
        place = at(10**power)
        ticks.append(f'<text x="{place}" y="{SIZE - 30}" text-anchor="middle">{10**power}</text>')
        ticks.append(f'<text x="45" y="{SIZE - place + 4}" text-anchor="end">{10**power}</text>')
    low, high = at(10**LOW), at(10**HIGH)
    lines = [
        f'<line x1="{low}" y1="{SIZE - low}" x2="{high}" y2="{SIZE - high}" stroke="#888"/>',
        f'<text x="{SIZE / 2}" y="{SIZE - 10}" text-anchor="middle">measured, tokens/s of one'
        " accelerator</text>",
        '<text x="12" y="20">modelled without that accelerator; blue: filled, yellow: one user'
        "</text>",
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}"'
            ' font-family="sans-serif" font-size="11">',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *lines,
            *ticks,
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


def main(arguments: list[str]) -> int:
    """Write or check every file; returns the exit status."""
    fitted = build()
    modelled = [pair for of_kind in fitted.answers.values() for pair in of_kind["modelled"]]
    method = with_table(METHOD.read_text(encoding="utf-8"), table(fitted.errors))
    files = {
        SHEETS / "efficiencies.csv": csv_text(fitted.efficiencies),
        SHEETS / "utilisations.csv": csv_text(fitted.utilisations),
        SHEETS / "calibration.csv": csv_text(fitted.errors),
        PLOT: plot(modelled),
        METHOD: method,
    }
    return max(write_or_check(target, text, arguments) for target, text in files.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
