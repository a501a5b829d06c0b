"""Measured performance on a machine like the one offered: the same accelerators, and as many."""

import polars as pl

from hwprices import formulas

TOKEN_MODELS = {
    "llama2_70b": "llama2-70b-99",
    "llama3_1_8b": "llama3.1-8b",
    "llama3_1_405b": "llama3.1-405b",
    "mixtral_8x7b": "mixtral-8x7b",
    "deepseek_r1": "deepseek-r1",
    "gpt_oss_120b": "gpt-oss-120b",
}
"""Name in our columns: benchmark as MLPerf spells it. Of the two accuracy targets of Llama 2 70B, the 99 % one."""

FINE_TUNING = "llama2_70b_lora"


def tokens(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """accelerator_id, accelerator_count, name, tokens_per_second, label: Offline rates of whole systems.

    Of several systems the newest round counts, in it official results before copies, and then the middle system (the lower of two
    middle ones), so that each price rests on one system that can be looked up.
    """
    names = {spelling: name for name, spelling in TOKEN_MODELS.items()}
    rates = benchmarks.filter(
        pl.col("scenario") == "Offline",
        pl.col("result_unit") == "Tokens/s",
        pl.col("model").is_in(list(names)),
    )
    return _middle(
        rates.with_columns(name=pl.col("model").replace_strict(names, return_dtype=pl.String)),
        ["name"],
    ).rename({"result": "tokens_per_second"})


def fine_tuning(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """accelerator_id, accelerator_count, minutes, label: MLPerf Training's LoRA fine-tuning of Llama 2 70B."""
    times = benchmarks.filter(pl.col("model") == FINE_TUNING, pl.col("result_unit") == "minutes")
    return _middle(times, []).rename({"result": "minutes"})


def _middle(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """One measured system for each (accelerator, count): newest round, official first, the median by result."""
    key = ["accelerator_id", "accelerator_count", *by]
    # the open division may change the model: its rates are of something else
    rows = rows.drop_nulls(["accelerator_count", "result"]).filter(
        pl.col("division").ne_missing("open")
    )
    newest = rows.with_columns(age=formulas.benchmark_round_order(pl.col("round"))).filter(
        pl.col("age") == pl.col("age").max().over(key)
    )
    chosen = newest.filter(pl.col("official") == pl.col("official").max().over(key)).sort(
        *key, "result", "system"
    )
    place = pl.int_range(pl.len()).over(key)
    middle = chosen.filter(place == (pl.len().over(key) - 1) // 2)
    label = pl.format("{}/{}/{}", "model", "round", "system")
    return middle.select(
        *key[:1], pl.col("accelerator_count").cast(pl.Float64), *by, "result", label.alias("label")
    )


def with_measured(frame: pl.DataFrame, benchmarks: pl.DataFrame) -> pl.DataFrame:
    """offers with usd_per_million_tokens_*, minutes and usd of a fine-tuning, and benchmark_rounds: what they rest on.

    A machine with fewer or more accelerators than the system that was measured gets null, and so does one with mixed ones.
    """
    on = ["accelerator_id", "accelerator_count"]
    rates, labels = tokens(benchmarks), []
    for name in TOKEN_MODELS:
        one = rates.filter(name=name).select(
            *on, pl.col("tokens_per_second"), pl.col("label").alias(f"label_{name}")
        )
        price = formulas.usd_per_million_tokens(
            pl.col("on_demand_usd_per_hour"), pl.col("tokens_per_second")
        )
        frame = (
            frame.join(one, on=on, how="left")
            .with_columns(price.alias(f"usd_per_million_tokens_{name}"))
            .drop("tokens_per_second")
        )
        labels.append(f"label_{name}")
    tuned = fine_tuning(benchmarks).rename(
        {"minutes": f"minutes_per_{FINE_TUNING}", "label": "label_tuning"}
    )
    frame = frame.join(tuned, on=on, how="left")
    run = formulas.usd_per_run(
        pl.col("on_demand_usd_per_hour"), pl.col(f"minutes_per_{FINE_TUNING}")
    )
    rounds = pl.concat_list(*labels, "label_tuning").list.drop_nulls()
    return frame.with_columns(
        run.alias(f"usd_per_{FINE_TUNING}"), rounds.alias("benchmark_rounds")
    ).drop(*labels, "label_tuning")
