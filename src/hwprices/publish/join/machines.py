"""Add the spec sheets to machine types, and find where accelerators are sold.

A measurement applies to machines with the same type and number of accelerators.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl
import polars.selectors as cs

from hwprices import formulas
from hwprices.formulas import FINE_TUNING, TOKEN_MODELS
from hwprices.release.release import is_private_host
from hwprices.rows import frames
from hwprices.schemas.tables import InstanceTypes, Offers, SoldAccelerators
from hwprices.specs.rules import KEY, machine_cpus

CARRIED = [name for name in InstanceTypes.dtypes if name in set(Offers.dtypes) - {"observed_at"}]
"""Columns of instance_types that offers copies."""

SPEC_COLUMNS = {
    "accelerator_name": "name",
    "accelerator_memory_bandwidth_gbs": "memory_bandwidth_gbs",
    "accelerator_fp16_tflops": "fp16_dense_tflops",
    "accelerator_bf16_tflops": "bf16_dense_tflops",
    "accelerator_fp8_tflops": "fp8_dense_tflops",
    "accelerator_int8_tops": "int8_dense_tops",
    "accelerator_tdp_w": "tdp_w",
    "accelerator_embodied_kgco2e": "embodied_kgco2e",
    "tdp_estimate_w": "tdp_estimate_w",
    "power_limit_default_w": "power_limit_default_w",
}
"""Column of offers (or of the steps below): column of the accelerator sheet."""


def machines(
    types: pl.LazyFrame,
    accelerators: pl.DataFrame,
    cpus: pl.DataFrame,
    families: pl.DataFrame,
    coefficients: pl.DataFrame,
) -> pl.DataFrame:
    """Join instance_types with the sheets accelerators, cpus, cpu_families and power_coefficients.

    Returns one row per provider and instance_type, with the columns of offers that describe the
    machine, its specs and its power, and ``uniform``: all its accelerators are of one kind.
    """
    inputs = ["series", "cpu_models", "local_disk_kind"]
    frame = types.select(*CARRIED, *inputs, *_one_accelerator()).collect()
    frame = _with_specs(frame, accelerators)
    microarchitectures = machine_cpus(frame, cpus, families, "microarchitecture")
    names = microarchitectures.rename({"microarchitecture": "cpu_microarchitecture"})
    frame = frame.join(names, on=KEY, how="left")
    frame = _with_watts(_with_coefficients(frame, coefficients))
    return frame.drop(*inputs, "tdp_estimate_w", "power_limit_default_w")


def _one_accelerator() -> list[pl.Expr]:
    """Return accelerator_id, null unless the machine has one type only, and uniform."""
    devices = pl.col("accelerators")
    ids = devices.list.eval(pl.element().struct.field("accelerator_id"))
    names = devices.list.eval(pl.element().struct.field("vendor_name"))
    uniform = (ids.list.n_unique() == 1) & (names.list.n_unique() == 1)
    return [
        pl.when(ids.list.n_unique() == 1).then(ids.list.first()).alias("accelerator_id"),
        uniform.alias("uniform"),
    ]


def _with_specs(frame: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    """Add SPEC_COLUMNS and accelerator_power_w from the accelerator sheet, by accelerator_id."""
    columns = (pl.col(source).alias(name) for name, source in SPEC_COLUMNS.items())
    specs = accelerators.select("accelerator_id", *columns)
    # a rate of 0 means that the device does not support the format: do not divide by it
    rates = [name for name in SPEC_COLUMNS if name.endswith(("_tflops", "_tops"))]
    specs = specs.with_columns(formulas.known_positive(pl.col(name)).alias(name) for name in rates)
    power = pl.coalesce("power_limit_default_w", "accelerator_tdp_w").alias("accelerator_power_w")
    return frame.join(specs, on="accelerator_id", how="left").with_columns(power)


def _with_coefficients(frame: pl.DataFrame, coefficients: pl.DataFrame) -> pl.DataFrame:
    """Add cpu_min_watts_per_vcpu, cpu_max_watts_per_vcpu, power_basis, watts_per_gb, watts_per_tb.

    ``coefficients`` is the sheet. A CPU coefficient of the provider is preferred to one for any
    provider and that to the mean of other providers; a coefficient of the microarchitecture is
    preferred to an average.
    """
    frame = _with_cpu_coefficients(frame, coefficients)
    memory, ssd, hdd = (
        pl.lit(_any_provider(coefficients, component), dtype=pl.Float64)
        for component in ("memory", "ssd", "hdd")
    )
    disk = pl.when(pl.col("local_disk_kind") == "hdd").then(hdd).otherwise(ssd)
    return frame.with_columns(watts_per_gb=memory, watts_per_tb=disk)


def _with_cpu_coefficients(frame: pl.DataFrame, coefficients: pl.DataFrame) -> pl.DataFrame:
    """Add cpu_min_watts_per_vcpu, cpu_max_watts_per_vcpu and power_basis (see POWER_BASES)."""
    names = ("any", "average", ELSEWHERE)
    frame = frame.with_columns(pl.lit(name).alias(name) for name in names)
    attempts = [
        ("provider", "cpu_microarchitecture"),
        ("any", "cpu_microarchitecture"),
        (ELSEWHERE, "cpu_microarchitecture"),
        ("provider", "average"),
        ("any", "average"),
    ]
    watts = {"low": "min_watts", "high": "max_watts"}
    by_cpu = coefficients.filter(component="vcpu")
    columns = ("provider", "microarchitecture")
    listed, means = by_cpu.select(*columns, **watts), _elsewhere(by_cpu).select(*columns, **watts)
    vcpu = pl.concat([listed, means])
    for number, (provider, microarchitecture) in enumerate(attempts):
        frame = frame.join(
            vcpu.rename({"low": f"low{number}", "high": f"high{number}"}),
            left_on=[provider, microarchitecture],
            right_on=["provider", "microarchitecture"],
            how="left",
        )
    specific = pl.any_horizontal(pl.col("low0", "low1").is_not_null())
    elsewhere = pl.col("low2").is_not_null()
    general = pl.any_horizontal(pl.col("low3", "low4").is_not_null())
    by_microarchitecture = pl.when(specific).then(pl.lit("microarchitecture"))
    basis = by_microarchitecture.when(elsewhere).then(pl.lit("microarchitecture_elsewhere"))
    return frame.with_columns(
        power_basis=basis.when(general).then(pl.lit("average")),
        cpu_min_watts_per_vcpu=pl.coalesce("^low[0-4]$"),
        cpu_max_watts_per_vcpu=pl.coalesce("^high[0-4]$"),
    ).drop(cs.matches("^(low|high)[0-4]$"), *names)


ELSEWHERE = "elsewhere"
"""Used instead of a provider for the mean of all providers with a coefficient."""


def _elsewhere(by_cpu: pl.DataFrame) -> pl.DataFrame:
    """Average each microarchitecture's coefficients over the providers that have one.

    ``by_cpu`` are the sheet's rows of CPUs. Rows of low confidence are left out, because they are
    figures of another microarchitecture that represents the provider's CPU.
    """
    measured = by_cpu.filter(
        pl.col("confidence") != "low", pl.col("microarchitecture") != "average"
    )
    watts = pl.col("min_watts", "max_watts").mean()
    means = measured.group_by("microarchitecture", maintain_order=True).agg(watts)
    return means.with_columns(provider=pl.lit(ELSEWHERE))


def _any_provider(coefficients: pl.DataFrame, component: str) -> float | None:
    """Return the watts of one unit of memory or disk at full load, which all clouds share."""
    of_component = coefficients.filter(component=component, provider="any")["max_watts"]
    return of_component.item() if len(of_component) == 1 else None


def assumptions() -> dict[str, pl.Expr]:
    """Return the columns with the assumptions behind watts and carbon."""
    return {
        "cpu_utilisation": pl.lit(formulas.CPU_UTILISATION),
        "accelerator_utilisation": pl.lit(formulas.ACCELERATOR_UTILISATION),
        "embodied_lifetime_hours": pl.lit(float(formulas.EMBODIED_LIFETIME_HOURS)),
    }


def _with_watts(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the assumptions, the watts of parts and machine, embodied carbon, and TFLOPS/W.

    ``frame`` has the sizes of the machine, its specs and the coefficients. Those that are not
    columns of offers are dropped.
    """
    frame = frame.with_columns(**assumptions())
    frame = frame.with_columns(**_part_watts(), **_accelerator_figures())
    host = [pl.col("cpu_watts"), pl.col("memory_watts"), pl.col("local_disk_watts")]
    published = pl.col("accelerator_watts")
    from_estimate = formulas.machine_watts(*host, pl.col("estimated_accelerator_watts"))
    return frame.with_columns(
        estimated_watts=formulas.machine_watts(*host, published),
        estimated_watts_from_tdp_estimate=pl.when(published.is_null()).then(from_estimate),
    ).drop("watts_per_gb", "watts_per_tb", "estimated_accelerator_watts")


def _part_watts() -> dict[str, pl.Expr]:
    col = pl.col
    load = col.accelerator_utilisation
    return {
        "cpu_watts": formulas.cpu_watts(
            col.vcpus, col.cpu_min_watts_per_vcpu, col.cpu_max_watts_per_vcpu, col.cpu_utilisation
        ),
        "memory_watts": formulas.memory_watts(col.memory_gib, col.watts_per_gb),
        "local_disk_watts": formulas.disk_watts(col.local_disk_gib, col.watts_per_tb),
        "accelerator_watts": formulas.accelerator_watts(
            col.accelerator_count, col.accelerator_power_w, load
        ),
        "estimated_accelerator_watts": formulas.accelerator_watts(
            col.accelerator_count, col.tdp_estimate_w, load
        ),
    }


def _accelerator_figures() -> dict[str, pl.Expr]:
    col = pl.col
    return {
        "embodied_gco2e_per_hour": formulas.embodied_gco2e_per_hour(
            col.accelerator_count, col.accelerator_embodied_kgco2e, col.embodied_lifetime_hours
        ),
        "tflops_per_watt_bf16": formulas.tflops_per_watt(
            col.accelerator_bf16_tflops, col.accelerator_tdp_w
        ),
    }


DEVICE = "accelerator_id"
MACHINE = ["provider", "instance_type"]

NOT_OFFERED = "not_offered_here"
"""Flag of a price in a region whose list of machines lacks the machine."""


def accelerators(
    sheet: pl.DataFrame,
    *,
    types: pl.LazyFrame,
    availability: pl.LazyFrame,
    offers: pl.DataFrame,
    components: pl.LazyFrame,
    local: pl.DataFrame,
) -> pl.DataFrame:
    """Add to the accelerator sheet where each device is sold, and its lowest prices.

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
    """Return accelerator_id and providers, which have it in a machine or sell it as a part."""
    sold = pl.concat([contained.select(DEVICE, "provider"), parts.select(DEVICE, "provider")])
    return sold.group_by(DEVICE).agg(providers=pl.col("provider").unique().sort())


def _cheapest_machines(offers: pl.DataFrame) -> pl.DataFrame:
    """Return accelerator_id and the lowest on-demand and spot price of one device in a machine.

    Community hosts are excluded, because it is not known whether one is free, and so are prices in
    regions that lack the machine.
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

    Slices are excluded: their price includes cores and memory.
    """
    is_slice = pl.col("component").str.starts_with("slice:")
    priced = parts.filter(~is_slice, currency="USD", purchase_option="on_demand")
    lowest = formulas.known_positive(pl.col("hourly").min())
    return priced.group_by(DEVICE).agg(min_part_usd_per_hour=lowest)


def _regions(
    contained: pl.DataFrame, availability: pl.LazyFrame, offers: pl.DataFrame, parts: pl.DataFrame
) -> pl.DataFrame:
    """Return accelerator_id, regions (provider/region, sorted) and region_count.

    A region counts if the vendor lists a machine with the device there, has a price of such a
    machine (without the flag NOT_OFFERED), or sells the device as a part. ``contained`` has
    provider, instance_type and accelerator_id.
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

    Each has provider, vendor_name, accelerator_id (None if the name has no match) and
    instance_types. Sorted by the first three.
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

    Each rate is that of one system that can be looked up. In each round it is chosen by these
    rules: official results before copies, then the software whose median system is fastest, then
    its median system (the lower of two). The best round wins, usually the newest.
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

    Returns accelerator_id, accelerator_count, minutes, label. See ``tokens`` for the rules.
    """
    times = benchmarks.filter(pl.col("model") == FINE_TUNING, pl.col("result_unit") == "minutes")
    return _median_systems(times, []).rename({"result": "minutes"})


def _median_systems(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Choose one row per (accelerator, count, *by): official, fastest software, median, best round.

    Returns accelerator_id, accelerator_count, the columns ``by``, result and label.
    """
    key = [*SYSTEM, *by]
    of_round = [*key, "round"]
    # systems of the open division may change the model: their rates are not comparable
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

    Untuned software says nothing about the accelerator: 948 instead of 3,718 tokens/s on the same
    eight L40S. The column result has rates or minutes.
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
    """Add to offers the cost of tokens and of a fine-tuning run, and the measurements behind it.

    ``offers`` has accelerator_id, accelerator_count and on_demand_usd_per_hour. Adds
    usd_per_million_tokens_<model>, minutes_per_llama2_70b_lora, usd_per_llama2_70b_lora and
    benchmark_rounds (labels). Null for mixed accelerators, or if no system with the same number of
    accelerators was measured.
    """
    price = pl.col("on_demand_usd_per_hour")
    costs = {
        f"usd_per_million_tokens_{name}": formulas.usd_per_million_tokens(price, pl.col(name))
        for name in TOKEN_MODELS
    }
    costs[f"usd_per_{FINE_TUNING}"] = formulas.usd_per_run(price, pl.col(MINUTES))
    return (
        offers.join(_measured(benchmarks), on=SYSTEM, how="left")
        .with_columns(pl.col("benchmark_rounds").fill_null([]), **costs)
        .drop(TOKEN_MODELS)
    )


def _measured(benchmarks: pl.DataFrame) -> pl.DataFrame:
    """Collect the measurements of each system in one row.

    Returns SYSTEM, a column of tokens per second for each of TOKEN_MODELS, MINUTES, and the labels
    of all measurements in benchmark_rounds.
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
