"""Machine types with what the spec sheets say of them: their accelerator, their CPU's microarchitecture, their power."""

import re

import polars as pl
import polars.selectors as cs

from hwprices import formulas

CARRIED = [
    *(
        "provider",
        "instance_type",
        "family",
        "arch",
        "vcpus",
        "memory_gib",
        "local_disk_gib",
        "network_gbps_max",
        "rdma",
    ),
    *(
        "accelerator_kind",
        "accelerator_count",
        "accelerator_memory_gib",
        "accelerator_interconnect",
    ),
]
"""Columns of instance_types that offers carries as they are."""

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
"""Column of offers (or of the working below): column of the accelerator sheet."""


def machines(
    types: pl.LazyFrame,
    accelerators: pl.DataFrame,
    cpus: pl.DataFrame,
    families: pl.DataFrame,
    coefficients: pl.DataFrame,
) -> pl.DataFrame:
    """One row per (provider, instance_type): offers' machine, spec and power columns, and ``uniform`` (all accelerators alike)."""
    frame = types.select(
        *CARRIED, "series", "cpu_models", "local_disk_kind", *_one_accelerator()
    ).collect()
    frame = _with_specs(frame, accelerators)
    frame = frame.join(
        microarchitectures(frame, cpus, families), on=["provider", "instance_type"], how="left"
    )
    return _with_watts(_with_coefficients(frame, coefficients)).drop(
        "series", "cpu_models", "local_disk_kind", "tdp_estimate_w", "power_limit_default_w"
    )


def _one_accelerator() -> list[pl.Expr]:
    """accelerator_id where a machine has one kind only, and whether it has: mixed machines are never divided."""
    devices = pl.col("accelerators")
    ids = devices.list.eval(pl.element().struct.field("accelerator_id"))
    names = devices.list.eval(pl.element().struct.field("vendor_name"))
    alike = (ids.list.n_unique() == 1) & (names.list.n_unique() == 1)
    return [
        pl.when(ids.list.n_unique() == 1).then(ids.list.first()).alias("accelerator_id"),
        alike.alias("uniform"),
    ]


def _with_specs(frame: pl.DataFrame, accelerators: pl.DataFrame) -> pl.DataFrame:
    specs = accelerators.select(
        "accelerator_id", *(pl.col(source).alias(name) for name, source in SPEC_COLUMNS.items())
    )
    # a rate of 0 means that the device does not compute in that format: nothing to divide by
    rates = [name for name in SPEC_COLUMNS if name.endswith(("_tflops", "_tops"))]
    specs = specs.with_columns(formulas.known_positive(pl.col(name)).alias(name) for name in rates)
    power = pl.coalesce("power_limit_default_w", "accelerator_tdp_w").alias("accelerator_power_w")
    return frame.join(specs, on="accelerator_id", how="left").with_columns(power)


def microarchitectures(
    frame: pl.DataFrame, cpus: pl.DataFrame, families: pl.DataFrame
) -> pl.DataFrame:
    """provider, instance_type, cpu_microarchitecture: from the models the vendor names for the type, else from its family's.

    A type that may come with one of several microarchitectures gets null.
    """
    keys = ["provider", "instance_type"]
    named = _of_models(
        frame.select(*keys, "cpu_models")
        .explode("cpu_models", empty_as_null=True)
        .drop_nulls("cpu_models"),
        cpus,
    )
    by_family = families.join(cpus.select("cpu_id", "microarchitecture"), on="cpu_id").select(
        "provider", "family", "microarchitecture"
    )
    spellings = pl.concat(
        [frame.select(*keys, family=pl.col(name)) for name in ("series", "family")]
    ).drop_nulls()
    of_family = spellings.join(by_family, on=["provider", "family"]).select(
        *keys, "microarchitecture"
    )
    return (
        frame.select(keys)
        .join(_only(named, keys), on=keys, how="left")
        .join(_only(of_family, keys), on=keys, how="left", suffix="_family")
        .select(
            *keys,
            pl.coalesce("microarchitecture", "microarchitecture_family").alias(
                "cpu_microarchitecture"
            ),
        )
    )


def _of_models(named: pl.DataFrame, cpus: pl.DataFrame) -> pl.DataFrame:
    """Vendors' CPU strings through the sheet's patterns; a string without a match stays, as null, so that it counts as another."""
    patterns = [
        (re.compile(p, re.IGNORECASE), micro)
        for p, micro in cpus.select("model_pattern", "microarchitecture").drop_nulls().iter_rows()
    ]
    known = {
        model: next((micro for p, micro in patterns if p.fullmatch(model)), None)
        for model in named["cpu_models"].unique().to_list()
    }
    return named.with_columns(
        microarchitecture=pl.col("cpu_models").replace_strict(
            known, return_dtype=pl.String, default=None
        )
    ).drop("cpu_models")


def _only(frame: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """keys, microarchitecture: where all rows of a key agree on one."""
    value = pl.col("microarchitecture")
    return frame.group_by(keys).agg(pl.when(value.n_unique() == 1).then(value.first()))


def _with_coefficients(frame: pl.DataFrame, coefficients: pl.DataFrame) -> pl.DataFrame:
    """cpu_min/max_watts_per_vcpu, power_basis, and W/GB and W/TB: the provider's coefficient, else the one for any provider."""
    frame = frame.with_columns(average=pl.lit("average"), any=pl.lit("any"))
    tries = [
        ("provider", "cpu_microarchitecture"),
        ("any", "cpu_microarchitecture"),
        ("provider", "average"),
        ("any", "average"),
    ]
    vcpu = coefficients.filter(component="vcpu").select(
        "provider", "microarchitecture", low="min_watts", high="max_watts"
    )
    for number, (provider, micro) in enumerate(tries):
        found = vcpu.rename({"low": f"low{number}", "high": f"high{number}"})
        frame = frame.join(
            found, left_on=[provider, micro], right_on=["provider", "microarchitecture"], how="left"
        )
    basis = (
        pl.when(pl.any_horizontal(pl.col("low0", "low1").is_not_null()))
        .then(pl.lit("microarchitecture"))
        .when(pl.any_horizontal(pl.col("low2", "low3").is_not_null()))
        .then(pl.lit("average"))
    )
    disks = {kind: pl.lit(_any(coefficients, kind), dtype=pl.Float64) for kind in ("ssd", "hdd")}
    return frame.with_columns(
        basis.alias("power_basis"),
        pl.coalesce("^low[0-3]$").alias("cpu_min_watts_per_vcpu"),
        pl.coalesce("^high[0-3]$").alias("cpu_max_watts_per_vcpu"),
        pl.lit(_any(coefficients, "memory"), dtype=pl.Float64).alias("watts_per_gb"),
        pl.when(pl.col("local_disk_kind") == "hdd")
        .then(disks["hdd"])
        .otherwise(disks["ssd"])
        .alias("watts_per_tb"),
    ).drop(cs.matches("^(low|high)[0-3]$"), "average", "any")


def _any(coefficients: pl.DataFrame, component: str) -> float | None:
    """The one coefficient of memory or disk: it does not depend on the cloud."""
    found = coefficients.filter(pl.col("component") == component, pl.col("provider") == "any")[
        "max_watts"
    ]
    return found.item() if len(found) == 1 else None


def _with_watts(frame: pl.DataFrame) -> pl.DataFrame:
    c = pl.col
    frame = frame.with_columns(
        cpu_utilisation=pl.lit(formulas.CPU_UTILISATION),
        accelerator_utilisation=pl.lit(formulas.ACCELERATOR_UTILISATION),
        embodied_lifetime_hours=pl.lit(float(formulas.EMBODIED_LIFETIME_HOURS)),
    ).with_columns(
        cpu_watts=formulas.cpu_watts(
            c.vcpus, c.cpu_min_watts_per_vcpu, c.cpu_max_watts_per_vcpu, c.cpu_utilisation
        ),
        memory_watts=formulas.memory_watts(c.memory_gib, c.watts_per_gb),
        local_disk_watts=formulas.disk_watts(c.local_disk_gib, c.watts_per_tb),
        accelerator_watts=formulas.accelerator_watts(
            c.accelerator_count, c.accelerator_power_w, c.accelerator_utilisation
        ),
        estimated_accelerator_watts=formulas.accelerator_watts(
            c.accelerator_count, c.tdp_estimate_w, c.accelerator_utilisation
        ),
        embodied_gco2e_per_hour=formulas.embodied_gco2e_per_hour(
            c.accelerator_count, c.accelerator_embodied_kgco2e, c.embodied_lifetime_hours
        ),
        tflops_per_watt_bf16=formulas.tflops_per_watt(
            c.accelerator_bf16_tflops, c.accelerator_tdp_w
        ),
    )
    host = [c.cpu_watts, c.memory_watts, c.local_disk_watts]
    estimate = pl.when(c.accelerator_watts.is_null()).then(
        formulas.machine_watts(*host, c.estimated_accelerator_watts)
    )
    return frame.with_columns(
        estimated_watts=formulas.machine_watts(*host, c.accelerator_watts),
        estimated_watts_from_tdp_estimate=estimate,
    ).drop("watts_per_gb", "watts_per_tb", "estimated_accelerator_watts")
