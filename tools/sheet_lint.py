"""Check the sheets beside accelerators: benchmarks, local_hardware, interconnect_links.

``tools.spec_lint`` runs these checks together with its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

SYSTEM_NAMES = {
    "gb300": r"gb300|theia_|ars-121gl-nb3",
    "gb200": r"gb200|tyche_",
    "gh200": r"gh200",
    "b300": r"(?<!g)b300",
    "b200": r"(?<!g)b200",
    "h200": r"(?<!g)h200",
    "h100": r"h100",
    "l40s": r"l40s",
    "mi300x": r"mi300x",
    "mi325x": r"mi325x",
    "mi350x": r"mi350x",
    "mi355x": r"mi355x",
}
"""Accelerator: how the names of MLPerf's systems show it, in any case. theia and tyche are NVIDIA's
clusters of GB300 and GB200, ARS-121GL-NB3 is Supermicro's tray of GB300:
https://github.com/mlcommons/training_results_v5.1"""

LANGUAGE_MODELS = r"^(llama|mixtral|gptj|deepseek|gpt-oss)"
"""Benchmarks of MLPerf Inference that are measured in tokens."""

RATE_SCENARIOS = ("Offline", "Server", "Interactive")

WHISPER_OPERATIONS = 2 * 1500 * 32 * 12 * 1280**2
"""Operations of Whisper's encoder for one sample: 1,500 positions for 30 s, 32 layers of width
1,280 with 12 × width² weights each. The decoder comes on top: https://arxiv.org/abs/2212.04356"""

COMPLETE_COLUMNS = ("cpu", "arch", "cpu_cores", "memory_gib")
"""Columns that are filled for a complete machine: GPUs alone have none of them."""

LINK_TOLERANCE = 0.001
"""Makers multiply links and rate exactly; the sheet's figure may be rounded."""


@dataclass(frozen=True)
class Finding:
    """One mistake in a sheet."""

    rule: str
    accelerator_id: str
    message: str

    def __str__(self) -> str:
        return f"{self.accelerator_id or 'accelerators.csv'}: {self.message} ({self.rule})"


def benchmarks_of_other_devices(benchmarks: pl.DataFrame) -> Iterator[Finding]:
    """Find results whose system name shows another accelerator than the row's."""
    rows = benchmarks.select("accelerator_id", "system").unique().sort("accelerator_id", "system")
    for device, system in rows.iter_rows():
        shown = [
            name for name, pattern in SYSTEM_NAMES.items() if re.search(pattern, system.lower())
        ]
        if shown and not set(shown) & set(device.split("-")):
            yield Finding(
                "other_device", device, f"{system} has {shown[0]}: move its results to that device"
            )


def units_of_benchmarks(benchmarks: pl.DataFrame) -> Iterator[Finding]:
    """Find results of one benchmark in several units, and language models not in tokens."""
    tokens = pl.col("model").str.contains(LANGUAGE_MODELS) & (
        pl.col("scenario").is_in(RATE_SCENARIOS) & (pl.col("suite") == "mlperf_inference")
    )
    wrong = benchmarks.filter(tokens, pl.col("result_unit") != "Tokens/s")
    for device, model, unit in wrong.select("accelerator_id", "model", "result_unit").iter_rows():
        yield Finding("benchmark_unit", device, f"{model} is in {unit}; it is measured in Tokens/s")
    units = benchmarks.group_by("suite", "model", "scenario").agg(
        pl.col("result_unit").unique().sort()
    )
    several = units.filter(pl.col("result_unit").list.len() > 1).sort("model", "scenario")
    for row in several.iter_rows(named=True):
        benchmark, units_used = f"{row['model']} {row['scenario']}", ", ".join(row["result_unit"])
        yield Finding("benchmark_unit", "", f"benchmarks.csv: {benchmark} is in {units_used}")


def impossible_speech(benchmarks: pl.DataFrame, sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find results of Whisper with more samples a second than the peak rate has operations for.

    Those are tokens: MLCommons' summary names the tokens a second of Whisper "Samples/s".
    """
    peak = pl.max_horizontal("bf16_dense_tflops", "fp16_dense_tflops", "fp8_dense_tflops") * 1e12
    most = pl.max_horizontal(peak, pl.col("int8_dense_tops") * 1e12) / WHISPER_OPERATIONS
    rows = benchmarks.filter(model="whisper", result_unit="Samples/s")
    both = rows.join(sheet.select("accelerator_id", most=most), on="accelerator_id")
    for row in both.filter(pl.col("per_accelerator") > pl.col("most")).iter_rows(named=True):
        message = f"{row['per_accelerator']:g} samples/s of whisper are above its peak: tokens?"
        yield Finding("speech", row["accelerator_id"], message)


def incomplete_machines(machines: pl.DataFrame) -> Iterator[Finding]:
    """Find machines that are marked as complete and have no CPU or no memory."""
    for row in machines.filter("complete").iter_rows(named=True):
        empty = [name for name in COMPLETE_COLUMNS if row[name] is None]
        if empty:
            message = f"{row['device_id']} is marked as complete without {', '.join(empty)}"
            yield Finding("complete_machine", row["accelerator_id"] or "", message)


def links(sheet: pl.DataFrame, link_sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find interconnects that are not the number of links × the rate of one."""
    both = link_sheet.join(sheet, on="accelerator_id", how="left")
    for row in both.iter_rows(named=True):
        stated, product = row["interconnect_gbs"], row["links"] * row["link_gbs"]
        if stated is None or abs(stated / product - 1) > LINK_TOLERANCE:
            yield Finding(
                "links",
                row["accelerator_id"],
                f"{row['links']} links × {row['link_gbs']} GB/s = {product:g}, not {stated}",
            )


def undated_prices(sheet: pl.DataFrame) -> Iterator[Finding]:
    """Find purchase prices without a date whose source is not called undated, and the reverse."""
    priced = sheet.filter(pl.col("purchase_price_usd").is_not_null())
    undated = pl.col("purchase_price_source").str.contains("undated", literal=True)
    wrong = pl.col("purchase_price_date").is_null() != undated
    for device in priced.filter(wrong)["accelerator_id"]:
        yield Finding("undated", device, "a price has a date, or its source is called undated")
