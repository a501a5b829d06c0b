"""Add measured performance to offers: of a system with the same accelerators, and as many."""

import polars as pl

from hwprices import formulas
from hwprices.formulas import FINE_TUNING, TOKEN_MODELS

SYSTEM = ["accelerator_id", "accelerator_count"]

MINUTES = f"minutes_per_{FINE_TUNING}"


def tokens(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """Choose one measured Offline rate for each system size and model.

    ``benchmarks`` is the sheet. Returns accelerator_id, accelerator_count, name (a key of
    TOKEN_MODELS), tokens_per_second of the whole system, and label (model/round/system).

    Of several systems of a round, official results count before copies, of those the fastest
    software by its median system, and of that the median system (the lower of two middle ones):
    each price is based on one system that can be looked up. Of several rounds the one with the best
    of these counts, as a rule the newest: what the hardware did once it can do.
    """
    names = {spelling: name for name, spelling in TOKEN_MODELS.items()}
    rates = formulas.with_benchmark(benchmarks).filter(
        pl.col("scenario") == "Offline",
        pl.col("result_unit") == "Tokens/s",
        pl.col("benchmark").is_in(list(names)),
    )
    name = pl.col("benchmark").replace_strict(names, return_dtype=pl.String)
    named = rates.with_columns(name=name)
    return _median_systems(named, ["name"]).rename({"result": "tokens_per_second"})


def fine_tuning(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """Choose one measured time of MLPerf Training's LoRA fine-tuning of Llama 2 70B for each size.

    Returns accelerator_id, accelerator_count, minutes, label. See ``tokens`` for the choice.
    """
    times = benchmarks.filter(pl.col("model") == FINE_TUNING, pl.col("result_unit") == "minutes")
    return _median_systems(times, []).rename({"result": "minutes"})


def _median_systems(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Choose one row per (accelerator, count, *by): official, fastest software, median, best round.

    Returns accelerator_id, accelerator_count, the columns ``by``, result and label.
    """
    key = [*SYSTEM, *by]
    of_round = [*key, "round"]
    # the open division may change the model: its rates are not comparable
    closed = pl.col("division").ne_missing("open")
    rows = rows.drop_nulls(["accelerator_count", "result"]).filter(closed)
    best = rows.filter(pl.col("official") == pl.col("official").max().over(of_round))
    best = _fastest_software(best, of_round)
    rank = pl.int_range(pl.len()).over(of_round)
    medians = best.sort(*of_round, "result", "system").filter(
        rank == (pl.len().over(of_round) - 1) // 2
    )
    speed = pl.when(pl.col("result_unit") == "minutes").then(-pl.col("result")).otherwise("result")
    newness = formulas.benchmark_round_order(pl.col("round"))
    chosen = medians.sort(speed, newness, descending=True).unique(
        key, keep="first", maintain_order=True
    )
    return chosen.sort(key).select(
        "accelerator_id",
        pl.col("accelerator_count").cast(pl.Float64),
        *by,
        "result",
        pl.format("{}/{}/{}", "model", "round", "system").alias("label"),
    )


def _fastest_software(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Keep the systems with the software whose median system is the fastest of its key.

    A system with untuned software says nothing about the accelerator: 948 tokens/s beside 3,718 on
    the same eight L40S. ``rows`` are rates, or minutes, in result.
    """
    program = pl.col("software").fill_null("").str.extract(r"^([A-Za-z]+)").str.to_lowercase()
    rows = rows.with_columns(program=program.fill_null(""))
    median = pl.col("result").median().over(*key, "program")
    is_time = pl.col("result_unit") == "minutes"
    speed = pl.when(is_time).then(-median).otherwise(median)
    rows = rows.with_columns(speed=speed)
    fastest = pl.col("speed") == pl.col("speed").max().over(key)
    return rows.filter(fastest).drop("program", "speed")


def with_measured(offers: pl.DataFrame, benchmarks: pl.DataFrame) -> pl.DataFrame:
    """Add to offers what tokens and a fine-tuning cost, and the measurements behind it.

    ``offers`` has accelerator_id, accelerator_count and on_demand_usd_per_hour. Adds
    usd_per_million_tokens_<model>, minutes_per_llama2_70b_lora, usd_per_llama2_70b_lora and
    benchmark_rounds (labels). A machine with fewer or more accelerators than a measured system, or
    with mixed ones, gets null.
    """
    price = pl.col("on_demand_usd_per_hour")
    of_tokens = {
        f"usd_per_million_tokens_{name}": formulas.usd_per_million_tokens(price, pl.col(name))
        for name in TOKEN_MODELS
    }
    of_run = {f"usd_per_{FINE_TUNING}": formulas.usd_per_run(price, pl.col(MINUTES))}
    return (
        offers.join(_measured(benchmarks), on=SYSTEM, how="left")
        .with_columns(pl.col("benchmark_rounds").fill_null([]), **of_tokens, **of_run)
        .drop(TOKEN_MODELS)
    )


def _measured(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """Collect the measurements of each system in one row.

    Returns SYSTEM, tokens per second in a column for each of TOKEN_MODELS, MINUTES, and the labels
    of all of them in benchmark_rounds.
    """
    rates = tokens(benchmarks)
    times = fine_tuning(benchmarks).rename({"minutes": MINUTES, "label": "label_tuning"})
    measured = pl.concat([rates.select(SYSTEM), times.select(SYSTEM)]).unique()
    for name in TOKEN_MODELS:
        of_model = rates.filter(name=name).select(
            *SYSTEM, pl.col("tokens_per_second").alias(name), pl.col("label").alias(f"label_{name}")
        )
        measured = measured.join(of_model, on=SYSTEM, how="left")
    measured = measured.join(times, on=SYSTEM, how="left")
    labels = [*(f"label_{name}" for name in TOKEN_MODELS), "label_tuning"]
    rounds = pl.concat_list(*labels).list.drop_nulls().alias("benchmark_rounds")
    return measured.with_columns(rounds).drop(labels)
