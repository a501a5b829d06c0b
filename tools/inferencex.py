"""Turn a file of InferenceX's results into rows of the sheet serving_speeds.

``python -m tools.inferencex FILE`` prints them as CSV; tools/calibration.py fits on that sheet.
FILE is what https://inferencex.semianalysis.com/api/v1/benchmarks?model=… answers, a list of rows,
in the format of https://github.com/SemiAnalysisAI/InferenceX (Apache-2.0). Not yet run live.
"""

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl

ACCELERATORS = {
    **{"h100": "nvidia-h100-sxm5-80gb", "h200": "nvidia-h200-sxm"},
    **{name: f"nvidia-{name}" for name in ("b200", "b300", "gb200", "gb300")},
    **{name: f"amd-{name}" for name in ("mi300x", "mi325x", "mi355x")},
}
"""Hardware as the rows name it: accelerator."""

MODELS = {
    **{"dsr1": "deepseek-r1", "dsv4": "deepseek-v4-pro", "gptoss120b": "gpt-oss-120b"},
    **{"llama70b": "llama-3.3-70b", "kimik2.5": "kimi-k2.5", "minimaxm3": "minimax-m3"},
    **{"qwen3.5": "qwen3.5-397b-a17b", "glm5": "glm-5"},
}
"""Model as the rows name it: model of the sheet models."""

SOFTWARE = {"trt": "TensorRT-LLM", "vllm": "vLLM", "sglang": "SGLang", "atom": "ATOM"}

MEAN_LENGTH = 0.9
"""Lengths are drawn between 0.8 of the nominal one and all of it (--random-range-ratio 0.8)."""

LARGEST_SYSTEM = 8  # accelerators: larger systems are several machines

CASE = ["accelerator_id", "accelerators", "model_id", "precision", "input_tokens"]
CASE += ["output_tokens", "users"]


def serving_speeds(rows: list[dict[str, object]], today: date) -> pl.DataFrame:
    """Return the newest run of each case, of one day the fastest, with serving_speeds' columns.

    Left out: several machines, prefill and decode apart, speculative decoding, agents' traces, and
    hardware, models or programs that are not in the lists above.
    """
    col, lit = pl.col, pl.lit
    metrics = [{"rate": row["metrics"]["output_tput_per_gpu"]} for row in rows]  # type: ignore[index]
    columns = ["hardware", "model", "framework", "precision", "spec_method", "benchmark_type"]
    columns += ["disagg", "is_multinode", "num_decode_gpu", "isl", "osl", "conc", "date", "run_url"]
    frame = pl.DataFrame([{name: row[name] for name in columns} for row in rows])
    known = {"hardware": ACCELERATORS, "model": MODELS, "framework": SOFTWARE}
    return (
        frame.hstack(pl.DataFrame(metrics))
        .filter(
            *(col(name).is_in(list(names)) for name, names in known.items()),
            ~col.disagg & ~col.is_multinode,
            col.num_decode_gpu <= LARGEST_SYSTEM,
            spec_method="none",
            benchmark_type="single_turn",
        )
        .select(
            accelerator_id=col.hardware.replace_strict(ACCELERATORS, return_dtype=pl.String),
            accelerators=col.num_decode_gpu,
            model_id=col.model.replace_strict(MODELS, return_dtype=pl.String),
            precision="precision",
            input_tokens=(col.isl * MEAN_LENGTH).round().cast(pl.Int64),
            output_tokens=(col.osl * MEAN_LENGTH).round().cast(pl.Int64),
            users="conc",
            tokens_per_second=(col.rate * col.num_decode_gpu).round(1),
            source=lit("inferencex"),
            software=col.framework.replace_strict(SOFTWARE, return_dtype=pl.String),
            source_url="run_url",
            as_of=lit(today),
            notes=pl.format("run of {}", "date"),
        )
        .sort(*CASE, "notes", "tokens_per_second")
        .unique(CASE, keep="last", maintain_order=True)
    )


def main(file: str) -> None:
    """Print the rows of a file, and count all that it has."""
    rows = json.loads(Path(file).read_text(encoding="utf-8"))
    speeds = serving_speeds(rows, datetime.now(UTC).date())
    sys.stdout.write(speeds.write_csv())
    sys.stderr.write(f"{speeds.height} of {len(rows)} rows\n")


if __name__ == "__main__":
    main(sys.argv[1])
