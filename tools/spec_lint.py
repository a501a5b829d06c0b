"""Check the accelerator sheet against itself and second sources, and the sheets beside it.

``python -m tools.spec_lint`` prints what is wrong, one line each, naming the device and what to do.
Its exit status is 1 when there is something.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.specs import sheets
from hwprices.units import NUMBER_FORMATS
from tools import sheet_lint
from tools.sheet_lint import Finding

TOLERANCE = 0.03
"""Makers round (400 GB/s for 409.6) and quote other clocks within this; beyond it, two figures
describe two things."""

AGREEING_FIGURES = 3
"""Figures of a second source that must agree before a row is marked as verified: one or two may
agree because one source copied the other."""

RATIOS = [
    ("bf16_is_fp16", "bf16", "fp16", 1.0),
    ("tf32_is_half_fp16", "tf32", "fp16", 0.5),
    ("fp8_is_twice_fp16", "fp8", "fp16", 2.0),
    ("fp8_is_twice_bf16", "fp8", "bf16", 2.0),
    ("int8_is_twice_fp16", "int8", "fp16", 2.0),
    ("int8_is_twice_bf16", "int8", "bf16", 2.0),
    ("fp4_is_twice_fp8", "fp4", "fp8", 2.0),
]
"""Rule, numerator, denominator, expected ratio. Halving the width doubles the rate of a matrix
unit. The bf16 rules apply without an fp16 rate. Devices that break a rule are listed, with
the reason, in ratio_exceptions.csv."""

EXACT = 0.001
"""Tolerance of a ratio between two rates that the sheet gives with EXACT_DIGITS or more: rounding
explains no more. The slip of digits 2,309.6 for 2,306.9 of the MI350X was 0.0012."""

EXACT_DIGITS = 4

FP32_OVER_FP64 = {
    ("Maxwell", "GDDR"): 32,
    ("Pascal", "GDDR"): 32,
    ("Turing", "GDDR"): 32,
    ("Ampere", "GDDR"): 64,
    ("Ada Lovelace", "GDDR"): 64,
    ("Blackwell", "GDDR"): 64,
    ("Pascal", "HBM"): 2,
    ("Volta", "HBM"): 2,
    ("Ampere", "HBM"): 2,
    ("Hopper", "HBM"): 2,
    ("Blackwell", "HBM"): 2,
}
"""NVIDIA's architecture and the beginning of the memory's name, which tells its large chip with
full FP64 from the others: FP32 rate over FP64 rate. From the CUDA C++ Programming Guide, table of
arithmetic throughput: https://docs.nvidia.com/cuda/cuda-c-programming-guide/"""

FP64_RULE = "fp64_of_family"

FP64_TOLERANCE = 0.05
"""FP64 rates are small and printed with two digits: 0.07 TFLOPS."""

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
"""Bounds that a figure in a wrong unit (GFLOPS, TB/s, MiB) lies outside of."""

FIGURES_WITH_SOURCE = [
    ("tdp_estimate_w", "tdp_estimate_source"),
    ("power_limit_default_w", "power_limit_source"),
    ("measured_power_mean_w", "measured_power_source"),
    ("launch_price_usd", "launch_price_source"),
    ("purchase_price_usd", "purchase_price_source"),
    ("embodied_kgco2e", "embodied_source"),
]
"""Columns that are filled together or not at all."""


def lint(directory: Path | None = None) -> list[Finding]:
    """List everything wrong with accelerators.csv, its check sheets, benchmarks and machines.

    Raises:
        HwpricesError: a sheet cannot be read.
    """
    sheet = sheets.load("accelerators", directory)
    second = sheets.load("second_sources", directory)
    sparse = sheets.load("sparse_figures", directory)
    exceptions = sheets.load("ratio_exceptions", directory)
    check_sheets = {
        "second_sources": second,
        "sparse_figures": sparse,
        "ratio_exceptions": exceptions,
    }
    benchmarks = sheets.load("benchmarks", directory)
    links = sheets.load("interconnect_links", directory)
    findings = [
        *unknown_rows(sheet, check_sheets),
        *inexact_ratios(sheet),
        *fp64_of_family(sheet, exceptions),
        *sheet_lint.links(sheet, links),
        *sheet_lint.undated_prices(sheet),
        *sheet_lint.benchmarks_of_other_devices(benchmarks),
        *sheet_lint.units_of_benchmarks(benchmarks),
        *sheet_lint.impossible_speech(benchmarks, sheet),
        *sheet_lint.incomplete_machines(sheets.load("local_hardware", directory)),
        *implausible(sheet),
        *rates_without_support(sheet),
        *sparse_as_dense(sheet, sparse),
        *broken_ratios(sheet, exceptions),
        *bandwidth(sheet),
        *disagreements(compared(sheet, second)),
        *verified_without_second_source(sheet, second),
        *figures_without_source(sheet),
    ]
    return sorted(findings, key=lambda item: (item.accelerator_id, item.rule, item.message))


def unknown_rows(sheet: pl.DataFrame, check_sheets: dict[str, pl.DataFrame]) -> Iterator[Finding]:
    """Find check rows for devices or columns that the accelerator sheet does not have."""
    devices = sheet["accelerator_id"].to_list()
    for name, frame in check_sheets.items():
        unknown = frame.filter(~pl.col("accelerator_id").is_in(devices))
        for device in unknown["accelerator_id"]:
            yield Finding(
                "unknown_device", device, f"{name}.csv names it, accelerators.csv does not"
            )
        figures = frame["figure"].unique().to_list() if "figure" in frame.columns else []
        for figure in figures:
            if figure not in sheet.columns:
                yield Finding(
                    "unknown_figure", "", f"{name}.csv: accelerators has no column {figure}"
                )


def implausible(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find figures that look as if they were in another unit."""
    for name, (low, high) in PLAUSIBLE.items():
        for device, value in _where(sheet, ~pl.col(name).is_between(low, high), name):
            yield Finding("implausible", device, f"{name} {value} is not between {low} and {high}")


def rates_without_support(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find rates of formats that are not marked as supported."""
    columns = [*NUMBER_FORMATS.items(), ("fp64", "fp64_matrix_dense_tflops")]
    for number_format, rate in columns:
        support = f"{number_format}_support"
        wrong = pl.col(rate).is_not_null() & (pl.col(support) != "supported")
        for device, value in _where(sheet, wrong, support):
            yield Finding(
                "rate_of_unsupported", device, f"{number_format} is {value} and {rate} has a rate"
            )


def sparse_as_dense(sheet: pl.DataFrame, sparse: pl.DataFrame) -> Iterator[Finding]:
    """Find dense rates that are not the printed sparse rate divided by its factor."""
    dense = _long(sheet, sparse["figure"].unique().to_list())
    both = sparse.join(dense, on=["accelerator_id", "figure"], how="left")
    for row in both.iter_rows(named=True):
        device, figure, value = row["accelerator_id"], row["figure"], row["value"]
        factor, printed = row["sparse_over_dense"], row["sparse_rate"]
        if value is None:
            yield Finding(
                "sparse_without_dense", device, f"{figure} is empty, yet a sparse rate is printed"
            )
        elif not _close(value * factor, printed):
            yield Finding(
                "sparse_as_dense",
                device,
                f"{figure} {value} × {factor} is not the sparse rate {printed}",
            )


def broken_ratios(sheet: pl.DataFrame, exceptions: pl.DataFrame) -> Iterator[Finding]:
    """Find ratios that are broken without an exception, and exceptions that are not needed."""
    excused = set(exceptions.select("accelerator_id", "rule").iter_rows())
    for row in sheet.iter_rows(named=True):
        for rule, numerator, denominator, factor in RATIOS:
            exception = (row["accelerator_id"], rule) in excused
            top, bottom = row[NUMBER_FORMATS[numerator]], row[NUMBER_FORMATS[denominator]]
            if top is None or bottom is None or not _applies(row, denominator, exception):
                continue
            message = None
            if _close(top, bottom * factor) and exception:
                message = "listed as an exception, but the rule holds: remove the exception"
            elif not _close(top, bottom * factor) and not exception:
                message = (
                    f"{numerator} {top} is not {factor} × {denominator} {bottom};"
                    " correct it or list the exception"
                )
            if message:
                yield Finding(rule, row["accelerator_id"], message)


def _applies(row: dict[str, Any], denominator: str, exception: bool) -> bool:
    """Check whether a ratio rule applies to a device: the bf16 rules only without an fp16 rate."""
    return denominator != "bf16" or row[NUMBER_FORMATS["fp16"]] is None or exception


def inexact_ratios(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find two precise rates that miss their ratio by more than rounding: a slip of digits."""
    for row in sheet.iter_rows(named=True):
        for rule, numerator, denominator, factor in RATIOS:
            top, bottom = row[NUMBER_FORMATS[numerator]], row[NUMBER_FORMATS[denominator]]
            if not (_precise(top) and _precise(bottom) and _applies(row, denominator, False)):
                continue
            if EXACT < abs(top / bottom / factor - 1) <= TOLERANCE:
                message = f"{numerator} {top} is not exactly {factor} × {denominator} {bottom}"
                yield Finding("inexact_ratio", row["accelerator_id"], f"{message} ({rule})")


def _precise(rate: float | None) -> bool:
    """Check whether a rate has EXACT_DIGITS digits; zeros at the end of a whole number are none."""
    if rate is None:
        return False
    text = repr(float(rate)).removesuffix(".0")
    digits = text.replace(".", "").lstrip("0")
    return len(digits if "." in text else digits.rstrip("0")) >= EXACT_DIGITS


def fp64_of_family(sheet: pl.DataFrame, exceptions: pl.DataFrame) -> Iterator[Finding]:
    """Find FP64 rates that are not the share of FP32 that the chip's family has."""
    excused = exceptions.filter(rule=FP64_RULE)["accelerator_id"].to_list()
    rated = sheet.filter(vendor="NVIDIA").drop_nulls(["fp64_dense_tflops", "fp32_dense_tflops"])
    for row in rated.iter_rows(named=True):
        memory = next((kind for kind in ("GDDR", "HBM") if row["memory_type"].startswith(kind)), "")
        share = FP32_OVER_FP64.get((row["architecture"], memory))
        if share is None or row["accelerator_id"] in excused:
            continue
        expected = row["fp32_dense_tflops"] / share
        if abs(row["fp64_dense_tflops"] / expected - 1) > FP64_TOLERANCE:
            message = f"fp64 {row['fp64_dense_tflops']} is not 1/{share} of FP32: {expected:.3g}"
            yield Finding(FP64_RULE, row["accelerator_id"], message)


def bandwidth(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find bandwidths that are not bus width × rate of a pin, and halves of that pair."""
    for row in sheet.iter_rows(named=True):
        device, stated = row["accelerator_id"], row["memory_bandwidth_gbs"]
        bus, pin = row["memory_bus_bits"], row["memory_gbit_per_pin"]
        if (bus is None) != (pin is None):
            yield Finding("bandwidth", device, "bus width and rate of a pin go together")
        elif bus is not None and (stated is None or not _close(stated, bus / 8 * pin)):
            yield Finding(
                "bandwidth",
                device,
                f"{bus} bit × {pin} Gbit/s / 8 = {bus / 8 * pin:.1f} GB/s, not {stated}",
            )


def compared(sheet: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Place each figure of a second source beside the sheet's.

    Adds ``ours``, the figure of the sheet, and ``difference``: ours / value - 1.
    """
    ours = _long(sheet, second["figure"].unique().to_list()).rename({"value": "ours"})
    both = second.join(ours, on=["accelerator_id", "figure"], how="left", maintain_order="left")
    return both.with_columns(difference=pl.col("ours") / pl.col("value") - 1)


def disagreements(both: pl.DataFrame) -> Iterator[Finding]:
    """Find unexplained differences, needless explanations, and second sources of empty cells."""
    differs, explained = pl.col("difference").abs() > TOLERANCE, pl.col("explanation").is_not_null()
    for row in both.filter(differs & ~explained).iter_rows(named=True):
        figures = f"{row['figure']} is {row['ours']}, {row['source']} says {row['value']}"
        yield Finding("unexplained", row["accelerator_id"], f"{figures}: correct or explain it")
    for row in both.filter(~differs & explained).iter_rows(named=True):
        agrees = f"{row['figure']} agrees with {row['source']}"
        yield Finding(
            "needless_explanation", row["accelerator_id"], f"{agrees}: remove the explanation"
        )
    for row in both.filter(pl.col("ours").is_null()).iter_rows(named=True):
        yield Finding(
            "second_source_of_nothing",
            row["accelerator_id"],
            f"{row['figure']} is empty, {row['source']} says {row['value']}",
        )


def verified_without_second_source(sheet: pl.DataFrame, second: pl.DataFrame) -> Iterator[Finding]:
    """Find verified rows with too few agreeing figures, or of low confidence."""
    close = compared(sheet, second).filter(pl.col("difference").abs() <= TOLERANCE)
    agreeing = close.group_by("accelerator_id").len("agreeing")
    verified = sheet.filter("verified").join(agreeing, on="accelerator_id", how="left")
    verified = verified.with_columns(pl.col("agreeing").fill_null(0))
    for device, count in _where(verified, pl.col("agreeing") < AGREEING_FIGURES, "agreeing"):
        yield Finding(
            "verified",
            device,
            f"only {count} figures agree with a second source; {AGREEING_FIGURES} make it verified",
        )
    for device, _ in _where(verified, pl.col("confidence") == "low", "confidence"):
        yield Finding("verified", device, "low confidence is never verified")


def figures_without_source(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find figures without the source column that belongs to them, and the reverse."""
    for figure, source in FIGURES_WITH_SOURCE:
        unpaired = pl.col(figure).is_null() != pl.col(source).is_null()
        for device, _ in _where(sheet, unpaired, figure):
            yield Finding("source", device, f"{figure} and {source} go together")
    both = pl.col("tdp_w").is_not_null() & pl.col("tdp_estimate_w").is_not_null()
    for device, _ in _where(sheet, both, "tdp_w"):
        yield Finding("estimate", device, "an estimate beside a published TDP: remove it")


def _close(left: float, right: float) -> bool:
    return bool(abs(left / right - 1) <= TOLERANCE)


def _where(frame: pl.DataFrame, condition: pl.Expr, name: str) -> list[tuple[str, object]]:
    """Return accelerator_id and the column ``name`` of the rows that meet the condition."""
    return frame.filter(condition).select("accelerator_id", name).rows()


def _long(sheet: pl.DataFrame, figures: list[str]) -> pl.DataFrame:
    """Return accelerator_id, figure and value of the named columns, as floats, without nulls."""
    present = [name for name in figures if name in sheet.columns]
    wide = sheet.select("accelerator_id", pl.col(present).cast(pl.Float64))
    return wide.unpivot(index="accelerator_id", variable_name="figure").drop_nulls("value")


def main() -> int:
    """Print the findings. Returns the exit status."""
    findings = lint()
    sys.stderr.writelines(f"error: {finding}\n" for finding in findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
