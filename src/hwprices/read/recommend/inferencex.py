"""Correct estimates by measured speeds: of the sheets, or of a file of InferenceX's results.

The file is the answer of https://inferencex.semianalysis.com/api/v1/benchmarks?model=…, a list of
rows in the format of https://github.com/SemiAnalysisAI/InferenceX (Apache-2.0). Not yet run live.
"""

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.formulas.language_model import SHAPE
from hwprices.read.recommend import constants, table
from hwprices.read.recommend.speed import (
    CACHE_BYTES,
    COMPUTE_FORMAT,
    LOAD,
    PEAK,
    SpeedModel,
    fastest,
    shapes,
    speed_model,
    with_device,
)
from hwprices.specs import packaged_sheet

col = pl.col

SOURCE = "https://inferencex.semianalysis.com/api/v1/benchmarks?model=…"

NOT_RUN = "not yet run live"
"""Basis of speeds from a file: the program was tested with rows that others published."""

_names = table("inferencex")
ACCELERATORS, MODELS, SOFTWARE = (
    dict(_names.filter(kind=kind).select("name", "known_as").iter_rows())
    for kind in ("hardware", "model", "framework")
)
"""Names in the rows: accelerators and models of the sheets, and programs."""

CASE = ["accelerator_id", "accelerators", "model_id", "precision", "input_tokens"]
CASE += ["output_tokens", "users"]


def serving_speeds(rows: list[dict[str, object]], today: date) -> pl.DataFrame:
    """Return the newest run of each case, of one day the fastest, with serving_speeds' columns.

    Left out: several machines, prefill and decode apart, speculative decoding, agents' traces, runs
    without output, and hardware, models or programs that are not in the lists above.
    """
    lit = pl.lit
    columns = ["hardware", "model", "framework", "precision", "spec_method", "benchmark_type"]
    columns += ["disagg", "is_multinode", "num_decode_gpu", "isl", "osl", "conc", "date", "run_url"]
    frame = pl.DataFrame(
        [
            {name: row[name] for name in columns} | {"rate": row["metrics"]["output_tput_per_gpu"]}  # type: ignore[index]
            for row in rows
        ],
        infer_schema_length=None,  # a rate may be a whole number in the first rows
    )
    known = {"hardware": ACCELERATORS, "model": MODELS, "framework": SOFTWARE}
    return (
        frame.filter(
            *(col(name).is_in(list(names)) for name, names in known.items()),
            ~col.disagg & ~col.is_multinode,
            col.num_decode_gpu <= constants.LARGEST_SYSTEM,
            col.rate > 0,
            spec_method="none",
            benchmark_type="single_turn",
        )
        .select(
            accelerator_id=col.hardware.replace_strict(ACCELERATORS, return_dtype=pl.String),
            accelerators=col.num_decode_gpu,
            model_id=col.model.replace_strict(MODELS, return_dtype=pl.String),
            precision="precision",
            input_tokens=(col.isl * constants.MEAN_LENGTH).round().cast(pl.Int64),
            output_tokens=(col.osl * constants.MEAN_LENGTH).round().cast(pl.Int64),
            users="conc",
            tokens_per_second=(col.rate * col.num_decode_gpu).round(1),
            source=lit("inferencex"),
            software=col.framework.replace_strict(SOFTWARE, return_dtype=pl.String),
            source_url="run_url",
            as_of=lit(today),
            notes=pl.format("run of {}", "date"),
        )
        .sort(*CASE, "notes", "tokens_per_second", "software", "source_url")
        .unique(CASE, keep="last", maintain_order=True)
    )


def read_speeds(file: str | Path) -> tuple[pl.DataFrame, int]:
    """Read a file of results: ``serving_speeds`` of it, and how many runs it has.

    Raises:
        HwpricesError: the file cannot be read, has another format, or no row that is known here.
    """
    try:
        rows = json.loads(Path(file).read_text(encoding="utf-8"))
        speeds = serving_speeds(rows, datetime.now(UTC).date())
    except OSError as error:
        raise HwpricesError(f"{file}: {error.strerror}", "Name a file that can be read.") from error
    except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        text = f"{file} is not in InferenceX's format: {error!r}"
        raise HwpricesError(text, f"Save the answer of {SOURCE} as a file.") from error
    if speeds.is_empty():
        raise HwpricesError(
            f"no run of {file} is of one machine with a known accelerator, model and program",
            f"Known are {', '.join(ACCELERATORS)} and {', '.join(MODELS)}.",
        )
    return speeds, len(rows)


def measured_works(speeds: pl.DataFrame) -> pl.DataFrame:
    """Describe measured speeds as ``fastest`` takes them: those on known accelerators.

    ``speeds``: accelerator_id, accelerators, model_id, precision, input_tokens, output_tokens,
    users, kv_bytes (null: as the accelerator computes), and tokens_per_second, which becomes
    measured.
    """
    accelerators = packaged_sheet("accelerators").drop_nulls(["memory_gb", "memory_bandwidth_gbs"])
    usable = pl.when(kind="soc").then(constants.USABLE_UNIFIED).otherwise(constants.USABLE)
    return (
        speeds.rename({"tokens_per_second": "measured"})
        .join(with_device(accelerators), "accelerator_id", maintain_order="left")
        .join(shapes(speeds["model_id"]), "model_id", maintain_order="left")
        .with_row_index("number")
        .with_columns(
            load=LOAD,
            compute_format=COMPUTE_FORMAT,
            usable_bytes=col.memory_gb * 2**30 * usable,
            devices="accelerators",
            device_share=1.0,
            stages=1.0,
            min_per_user=0.0,
            max_first_token=math.inf,
        )
        .drop_nulls("compute_format")
        .with_columns(peak=PEAK, kv_bytes=pl.coalesce("kv_bytes", CACHE_BYTES))
    )


def correction(error: pl.Expr, label: pl.Expr) -> dict[str, pl.Expr]:
    """Return the factor that errors of a network (ln measured / estimate) correct an estimate by.

    The label is that of the middle measurement, of an even number the lower one.
    """
    trust = pl.len() / (pl.len() + constants.SHRINK)
    middle = label.sort_by(error.round(9), maintain_order=True).get((pl.len() - 1) // 2)
    return {"known_factor": (error.median() * trust).exp(), "label": middle}


def with_speeds(file: str | Path) -> SpeedModel:
    """Return the speed model whose networks are corrected by the runs of a file first.

    As tools/calibration.py corrects them by the measurements of the sheets. A run that by the
    estimate does not fit its accelerators corrects nothing.
    """
    model = speed_model()
    speeds, runs_in_file = read_speeds(file)
    works = (
        measured_works(speeds.with_columns(kv_bytes=pl.lit(None, pl.Float64)))
        .join(model.factors, ["family", "load"], "left", maintain_order="left")
        .with_columns(col.factor.fill_null(1.0))
    )
    answers = fastest(works, model.constants)
    error = (col.measured / col.tokens_per_second).log()
    key = ["accelerator_id", "load", "model_id", *SHAPE]
    corrected = (
        answers.sort("number")
        .with_columns(label=pl.format("{}/{}/{}", "model_id", "software", "source_url"))
        .group_by(key, maintain_order=True)
        .agg(**correction(error, col.label))
        .with_columns(basis=pl.lit(NOT_RUN))
    )
    return replace(
        model,
        measured=pl.concat([corrected, model.measured], how="diagonal"),
        runs=f"{answers.height:,} of {runs_in_file:,} runs",
    )
