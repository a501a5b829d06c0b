"""Holds the accelerator sheet against itself and against second sources. Every finding names the device and says what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hwprices.specs import sheets

DTYPES = ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"]
TOLERANCE = 0.03
"""Makers round (400 GB/s for 409.6) and quote other clocks within this; beyond it two figures are of two things."""

AGREEING_FIGURES = 3
"""How many figures of a second source must agree before a row is called verified: one or two agree by chance of copying."""

RATIOS = [
    ("bf16_is_fp16", "bf16", "fp16", 1.0),
    ("tf32_is_half_fp16", "tf32", "fp16", 0.5),
    ("fp8_is_twice_fp16", "fp8", "fp16", 2.0),
    ("fp8_is_twice_bf16", "fp8", "bf16", 2.0),
    ("int8_is_twice_fp16", "int8", "fp16", 2.0),
    ("int8_is_twice_bf16", "int8", "bf16", 2.0),
    ("fp4_is_twice_fp8", "fp4", "fp8", 2.0),
]
"""Halving the width doubles the rate of a matrix unit. The bf16 rules are asked only where there is no fp16 rate. Devices that
break a rule are named, with the reason, in ratio_exceptions.csv."""

PLAUSIBLE = {
    "memory_gb": (0.05, 1000.0),
    "memory_bandwidth_gbs": (10.0, 25_000_000.0),  # a Raspberry Pi; a Cerebras wafer
    "interconnect_gbs": (10.0, 5000.0),
    "tdp_w": (1.0, 2000.0),
    "fp64_dense_tflops": (0.01, 200.0),
    "fp32_dense_tflops": (0.5, 500.0),
    "fp16_dense_tflops": (0.05, 10_000.0),
    "bf16_dense_tflops": (10.0, 10_000.0),
    "fp8_dense_tflops": (100.0, 20_000.0),
    "fp4_dense_tflops": (100.0, 40_000.0),
    "int8_dense_tops": (1.0, 10_000.0),
}
"""Bounds that a figure in a wrong unit (GFLOPS, TB/s, MiB) leaves."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with the sheet."""

    rule: str
    accelerator_id: str
    message: str


def rate_column(dtype: str) -> str:
    """Name of the dense rate of a number format: ``fp16`` → fp16_dense_tflops, ``int8`` → int8_dense_tops."""
    return f"{dtype}_dense_tops" if dtype.startswith("int") else f"{dtype}_dense_tflops"


def lint(directory: Path | None = None) -> list[Finding]:
    """Everything wrong with accelerators.csv and its check sheets; empty when all is well.

    Raises:
        HwpricesError: a sheet cannot be read.
    """
    sheet = sheets.load("accelerators", directory)
    checks = {
        name: sheets.load(name, directory)
        for name in ("second_sources", "sparse_figures", "ratio_exceptions")
    }
    findings = [
        *strangers(sheet, checks),
        *implausible(sheet),
        *unsupported_with_figure(sheet),
        *sparse_as_dense(sheet, checks["sparse_figures"]),
        *broken_ratios(sheet, checks["ratio_exceptions"]),
        *bandwidth(sheet),
        *disagreements(compared(sheet, checks["second_sources"])),
        *verified_without_second_source(sheet, checks["second_sources"]),
        *figures_without_source(sheet),
    ]
    return sorted(findings, key=lambda f: (f.accelerator_id, f.rule, f.message))


def strangers(sheet: pl.DataFrame, checks: dict[str, pl.DataFrame]) -> Iterator[Finding]:
    """Check rows for devices or columns that the sheet does not have."""
    known = sheet["accelerator_id"].to_list()
    for name, frame in checks.items():
        for row in frame.filter(~pl.col("accelerator_id").is_in(known)).iter_rows(named=True):
            yield Finding(
                "unknown_device",
                row["accelerator_id"],
                f"{name}.csv names it, accelerators.csv does not",
            )
        for figure in frame["figure"].unique().to_list() if "figure" in frame.columns else []:
            if figure not in sheet.columns:
                yield Finding(
                    "unknown_figure", "", f"{name}.csv: accelerators has no column {figure}"
                )


def implausible(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Figures that look like another unit."""
    for name, (low, high) in PLAUSIBLE.items():
        for device, value in _where(sheet, ~pl.col(name).is_between(low, high), name):
            yield Finding("implausible", device, f"{name} {value} is not between {low} and {high}")


def unsupported_with_figure(sheet: pl.DataFrame) -> Iterator[Finding]:
    """A rate belongs to a supported format only; unsupported and unknown have none."""
    for dtype in DTYPES:
        has_rate = pl.col(rate_column(dtype)).is_not_null()
        for device, support in _where(
            sheet, has_rate & (pl.col(f"{dtype}_support") != "supported"), f"{dtype}_support"
        ):
            yield Finding("rate_of_unsupported", device, f"{dtype} is {support} and has a rate")
    matrix = pl.col("fp64_matrix_dense_tflops").is_not_null() & (
        pl.col("fp64_support") != "supported"
    )
    for device, _ in _where(sheet, matrix, "fp64_support"):
        yield Finding(
            "rate_of_unsupported", device, "fp64_matrix has a rate and fp64 is not supported"
        )


def sparse_as_dense(sheet: pl.DataFrame, sparse: pl.DataFrame) -> Iterator[Finding]:
    """A rate that is the maker's sparse one, or that is not the sparse one over its stated factor."""
    dense = _long(sheet, sparse["figure"].unique().to_list())
    for row in sparse.join(dense, on=["accelerator_id", "figure"], how="left").iter_rows(
        named=True
    ):
        device, figure, value = row["accelerator_id"], row["figure"], row["value"]
        if value is None:
            yield Finding(
                "sparse_without_dense", device, f"{figure} is empty, yet a sparse rate is printed"
            )
        elif not _close(value * row["sparse_over_dense"], row["sparse_rate"]):
            yield Finding(
                "sparse_as_dense",
                device,
                f"{figure} {value} × {row['sparse_over_dense']} is not the sparse rate {row['sparse_rate']}",
            )


def broken_ratios(sheet: pl.DataFrame, exceptions: pl.DataFrame) -> Iterator[Finding]:
    """Ratios between formats that do not hold and are not named, and named ones that do hold."""
    named = set(exceptions.select("accelerator_id", "rule").iter_rows())
    for row in sheet.iter_rows(named=True):
        for rule, numerator, denominator, factor in RATIOS:
            above, below = row[rate_column(numerator)], row[rate_column(denominator)]
            asked = (
                denominator != "bf16"
                or row["fp16_dense_tflops"] is None
                or (row["accelerator_id"], rule) in named
            )
            if above is None or below is None or not asked:
                continue
            holds, excused = _close(above, below * factor), (row["accelerator_id"], rule) in named
            if not holds and not excused:
                yield Finding(
                    rule,
                    row["accelerator_id"],
                    f"{numerator} {above} is not {factor} × {denominator} {below}; correct it or name the exception",
                )
            if holds and excused:
                yield Finding(
                    rule,
                    row["accelerator_id"],
                    "named as an exception, but the rule holds: remove the exception",
                )


def bandwidth(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Bandwidth is bus width × rate of a pin; one of the two without the other says nothing."""
    for row in sheet.iter_rows(named=True):
        bus, pin, stated = (
            row["memory_bus_bits"],
            row["memory_gbit_per_pin"],
            row["memory_bandwidth_gbs"],
        )
        if (bus is None) != (pin is None):
            yield Finding(
                "bandwidth", row["accelerator_id"], "bus width and rate of a pin go together"
            )
        elif bus is not None and (stated is None or not _close(stated, bus / 8 * pin)):
            yield Finding(
                "bandwidth",
                row["accelerator_id"],
                f"{bus} bit × {pin} Gbit/s / 8 = {bus / 8 * pin:.1f} GB/s, not {stated}",
            )


def compared(sheet: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Each figure of a second source beside ours: its columns, ``ours`` and ``difference`` (ours / theirs − 1)."""
    ours = _long(sheet, second["figure"].unique().to_list()).rename({"value": "ours"})
    both = second.join(ours, on=["accelerator_id", "figure"], how="left", maintain_order="left")
    return both.with_columns(difference=pl.col("ours") / pl.col("value") - 1)


def disagreements(both: pl.DataFrame) -> Iterator[Finding]:
    """Differences that nobody explained, explanations of nothing, second sources of an empty cell."""
    apart = pl.col("difference").abs() > TOLERANCE
    for row in both.filter(apart & pl.col("explanation").is_null()).iter_rows(named=True):
        yield Finding(
            "unexplained",
            row["accelerator_id"],
            f"{row['figure']} is {row['ours']}, {row['source']} says {row['value']}: correct or explain it",
        )
    for row in both.filter(~apart & pl.col("explanation").is_not_null()).iter_rows(named=True):
        yield Finding(
            "needless_explanation",
            row["accelerator_id"],
            f"{row['figure']} agrees with {row['source']}: remove the explanation",
        )
    for row in both.filter(pl.col("ours").is_null()).iter_rows(named=True):
        yield Finding(
            "second_source_of_nothing",
            row["accelerator_id"],
            f"{row['figure']} is empty, {row['source']} says {row['value']}",
        )


def verified_without_second_source(sheet: pl.DataFrame, second: pl.DataFrame) -> Iterator[Finding]:
    """Verified rows have enough figures that agree, and are never of low confidence."""
    agree = (
        compared(sheet, second)
        .filter(pl.col("difference").abs() <= TOLERANCE)
        .group_by("accelerator_id")
        .len("agreeing")
    )
    verified = (
        sheet.filter("verified")
        .join(agree, on="accelerator_id", how="left")
        .with_columns(pl.col("agreeing").fill_null(0))
    )
    for device, number in _where(verified, pl.col("agreeing") < AGREEING_FIGURES, "agreeing"):
        yield Finding(
            "verified",
            device,
            f"only {number} figures agree with a second source; {AGREEING_FIGURES} make it verified",
        )
    for device, _ in _where(verified, pl.col("confidence") == "low", "confidence"):
        yield Finding("verified", device, "low confidence is never verified")


def figures_without_source(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Figures that have a source column of their own: the one is not there without the other."""
    pairs = [
        ("tdp_estimate_w", "tdp_estimate_source"),
        ("power_limit_default_w", "power_limit_source"),
        ("measured_power_mean_w", "measured_power_source"),
        ("launch_price_usd", "launch_price_source"),
        ("purchase_price_usd", "purchase_price_source"),
        ("purchase_price_usd", "purchase_price_date"),
        ("embodied_kgco2e", "embodied_source"),
    ]
    for figure, source in pairs:
        for device, _ in _where(
            sheet, pl.col(figure).is_null() != pl.col(source).is_null(), figure
        ):
            yield Finding("source", device, f"{figure} and {source} go together")
    for device, _ in _where(
        sheet, pl.col("tdp_w").is_not_null() & pl.col("tdp_estimate_w").is_not_null(), "tdp_w"
    ):
        yield Finding("estimate", device, "an estimate beside a published TDP: remove it")


def _close(left: float, right: float) -> bool:
    return bool(abs(left / right - 1) <= TOLERANCE)


def _where(frame: pl.DataFrame, condition: pl.Expr, name: str) -> list[tuple[str, object]]:
    return frame.filter(condition).select("accelerator_id", name).rows()


def _long(sheet: pl.DataFrame, figures: list[str]) -> pl.DataFrame:
    """accelerator_id, figure, value (null left out) of the columns named, as floats."""
    there = [name for name in figures if name in sheet.columns]
    wide = sheet.select("accelerator_id", pl.col(there).cast(pl.Float64))
    return wide.unpivot(index="accelerator_id", variable_name="figure").drop_nulls("value")
