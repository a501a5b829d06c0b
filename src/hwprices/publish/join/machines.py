"""Add the spec sheets to machine types: accelerator, CPU microarchitecture, power."""

import polars as pl
import polars.selectors as cs

from hwprices import formulas
from hwprices.specs.machine_cpus import KEY, machine_cpus

CARRIED = [
    "provider",
    "instance_type",
    "family",
    "arch",
    "vcpus",
    "memory_gib",
    "local_disk_gib",
    "network_gbps_max",
    "rdma",
    "accelerator_kind",
    "accelerator_count",
    "accelerator_memory_gib",
    "accelerator_interconnect",
    "block_storage_gbps_baseline",
    "block_storage_gbps_max",
    "block_storage_iops_baseline",
    "block_storage_iops_max",
]
"""Columns of instance_types that offers has unchanged."""

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
    """Return accelerator_id, where a machine has one kind only, and uniform."""
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
    # a rate of 0 means that the device does not compute in that format: nothing to divide by
    rates = [name for name in SPEC_COLUMNS if name.endswith(("_tflops", "_tops"))]
    specs = specs.with_columns(formulas.known_positive(pl.col(name)).alias(name) for name in rates)
    power = pl.coalesce("power_limit_default_w", "accelerator_tdp_w").alias("accelerator_power_w")
    return frame.join(specs, on="accelerator_id", how="left").with_columns(power)


def _with_coefficients(frame: pl.DataFrame, coefficients: pl.DataFrame) -> pl.DataFrame:
    """Add cpu_min_watts_per_vcpu, cpu_max_watts_per_vcpu, power_basis, watts_per_gb, watts_per_tb.

    ``coefficients`` is the sheet. The provider's CPU coefficient goes before the one for any
    provider, that before the others', and the microarchitecture's before the average.
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
    own = by_cpu.select("provider", "microarchitecture", **watts)
    vcpu = pl.concat([own, _elsewhere(by_cpu).select("provider", "microarchitecture", **watts)])
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
"""Stands in the place of a provider for the mean over those that have a coefficient."""


def _elsewhere(by_cpu: pl.DataFrame) -> pl.DataFrame:
    """Average each microarchitecture's coefficients over the providers that have one.

    ``by_cpu`` are the sheet's rows of CPUs. Rows of low confidence are left out: they are not of
    the microarchitecture, but of another one that is in for the provider's own CPU.
    """
    measured = by_cpu.filter(
        pl.col("confidence") != "low", pl.col("microarchitecture") != "average"
    )
    watts = pl.col("min_watts", "max_watts").mean()
    means = measured.group_by("microarchitecture", maintain_order=True).agg(watts)
    return means.with_columns(provider=pl.lit(ELSEWHERE))


def _any_provider(coefficients: pl.DataFrame, component: str) -> float | None:
    """Return the full-load W of one unit of memory or disk, which do not depend on the cloud."""
    of_component = coefficients.filter(component=component, provider="any")["max_watts"]
    return of_component.item() if len(of_component) == 1 else None


def assumptions() -> dict[str, pl.Expr]:
    """Return the columns that hold the assumptions behind the watts and the carbon."""
    return {
        "cpu_utilisation": pl.lit(formulas.CPU_UTILISATION),
        "accelerator_utilisation": pl.lit(formulas.ACCELERATOR_UTILISATION),
        "embodied_lifetime_hours": pl.lit(float(formulas.EMBODIED_LIFETIME_HOURS)),
    }


def _with_watts(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the assumptions, the watts of parts and machine, embodied carbon, and TFLOPS/W.

    ``frame`` has the sizes of the machine, its specs and the coefficients, which are dropped if
    they are not columns of offers.
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
