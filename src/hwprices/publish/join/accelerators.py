"""Find where accelerators are sold, which have no sheet, and what was measured with them.

Measurements are of a system with the same accelerators, and as many.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.formulas import FINE_TUNING, TOKEN_MODELS
from hwprices.release.real_prices import is_private_host
from hwprices.rows import frames
from hwprices.schemas.offer import SoldAccelerators

DEVICE = "accelerator_id"
MACHINE = ["provider", "instance_type"]

NOT_OFFERED = "not_offered_here"
"""Flag of a price in a region whose list of machines, from the vendor, lacks the machine."""


def accelerators(
    sheet: pl.DataFrame,
    *,
    types: pl.LazyFrame,
    availability: pl.LazyFrame,
    offers: pl.DataFrame,
    components: pl.LazyFrame,
    local: pl.DataFrame,
) -> pl.DataFrame:
    """Add to the accelerator sheet where each device is sold.

    ``sheet`` is the accelerator sheet, ``local`` the sheet of local hardware; ``types``,
    ``availability`` and ``components`` are the tables instance_types, availability and
    component_prices; ``offers`` is the offers table. Returns the published accelerators table: one
    row per device of the sheet.
    """
    machines = accelerators_of_machines(types).drop_nulls(DEVICE).select(*MACHINE, DEVICE)
    contained = machines.unique().collect()
    parts = components.filter(pl.col(DEVICE).is_not_null()).collect()
    additions = [
        _providers(contained, parts),
        contained.group_by(DEVICE).agg(instance_type_count=pl.len()),
        _regions(contained, availability, offers, parts),
        _cheapest_machines(offers),
        _cheapest_parts(parts),
        local.drop_nulls(DEVICE).group_by(DEVICE).agg(local_devices=pl.col("device_id").sort()),
    ]
    for addition in additions:
        sheet = sheet.join(addition, on=DEVICE, how="left")
    sheet = sheet.with_columns(
        pl.col("providers", "regions", "local_devices").fill_null([]),
        pl.col("instance_type_count", "region_count").fill_null(0),
    )
    return frames.conform(sheet.lazy(), SoldAccelerators).collect()


def _providers(contained: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and providers: who has it in a machine or sells it as a part."""
    sold = pl.concat([contained.select(DEVICE, "provider"), parts.select(DEVICE, "provider")])
    return sold.group_by(DEVICE).agg(providers=pl.col("provider").unique().sort())


def _cheapest_machines(offers: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and the lowest on-demand and spot price of one device in a machine.

    Community hosts do not count, because whether one is free is not known, nor do prices
    in regions that lack the machine.
    """
    lacks_machine = pl.col("flags").list.contains(NOT_OFFERED)
    return (
        offers.filter(~is_private_host(), ~lacks_machine)
        .group_by(DEVICE)
        .agg(
            min_usd_per_accelerator_hour=pl.col("usd_per_accelerator_hour").min(),
            min_spot_usd_per_accelerator_hour=pl.col("spot_usd_per_accelerator_hour").min(),
        )
    )


def _cheapest_parts(parts: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and the lowest on-demand price of one device sold as a part.

    The price of a slice is that of the cores and memory of a machine too.
    """
    is_slice = pl.col("component").str.starts_with("slice:")
    priced = parts.filter(~is_slice, currency="USD", purchase_option="on_demand")
    lowest = formulas.known_positive(pl.col("hourly").min())
    return priced.group_by(DEVICE).agg(min_part_usd_per_hour=lowest)


def _regions(
    contained: pl.DataFrame, availability: pl.LazyFrame, offers: pl.DataFrame, parts: pl.DataFrame
) -> pl.DataFrame:
    """Return accelerator_id, regions (provider/region, sorted) and region_count.

    A region counts where the vendor lists a machine with the device, prices one that no list
    excludes, or sells the device as a part. ``contained`` has provider, instance_type and
    accelerator_id.
    """
    name = pl.concat_str("provider", "region", separator="/").alias("name")
    listed = availability.filter("offered").select(*MACHINE, "region").unique()
    price_columns = pl.col("on_demand_hourly", "^.*_usd_per_hour$")
    priced = offers.filter(
        pl.any_horizontal(price_columns.is_not_null()), ~pl.col("flags").list.contains(NOT_OFFERED)
    )
    sold = pl.concat(
        [
            listed.join(contained.lazy(), on=MACHINE).select(DEVICE, name).collect(),
            priced.select(*MACHINE, "region").join(contained, on=MACHINE).select(DEVICE, name),
            parts.select(DEVICE, name),
        ]
    )
    return sold.group_by(DEVICE).agg(
        regions=pl.col("name").unique().sort(), region_count=pl.col("name").n_unique()
    )


def accelerators_of_machines(types: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per machine type and accelerator.

    ``types`` is instance_types. The columns are provider, instance_type and the fields of the
    accelerator; machines without accelerators have no row.
    """
    machines = types.select(*MACHINE, "accelerators")
    equipped = machines.filter(pl.col("accelerators").list.len() > 0)
    return equipped.explode("accelerators").unnest("accelerators")


def unmatched(types: pl.LazyFrame, sheet: pl.DataFrame) -> tuple[Mapping[str, Any], ...]:
    """List the accelerators of instance_types that have no spec sheet, for the release report.

    Each has provider, vendor_name, accelerator_id (None: the name has no match) and instance_types;
    sorted by the first three.
    """
    has_sheet = pl.col(DEVICE).is_in(sheet[DEVICE].implode()).fill_null(False)
    by = ["provider", "vendor_name", DEVICE]
    missing = accelerators_of_machines(types).filter(~has_sheet).group_by(by)
    named = missing.agg(instance_types=pl.col("instance_type").unique().sort())
    return tuple(named.sort(by).collect().to_dicts())


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
