"""Everything about one device in one row: what it is, where it is sold, what it costs, how fast and how clean it is."""

from typing import Any

import polars as pl

from hwprices.read.device import figures, lookup
from hwprices.read.ownership import DEFAULTS, Ownership, Tables, owned
from hwprices.units import HOURS_PER_YEAR, Money

DTYPES = {
    "fp64": "fp64_dense_tflops",
    "fp32": "fp32_dense_tflops",
    "tf32": "tf32_dense_tflops",
    "fp16": "fp16_dense_tflops",
    "bf16": "bf16_dense_tflops",
    "fp8": "fp8_dense_tflops",
    "fp4": "fp4_dense_tflops",
    "int8": "int8_dense_tops",
}
"""Number format: column of its dense rate in accelerators."""

CPU_DTYPES = {
    "fp16": ("amx_fp16", "avx512_fp16"),
    "bf16": ("amx_bf16", "avx512_bf16", "arm_bf16"),
    "int8": ("amx_int8", "avx512_vnni", "avx_vnni", "dotprod", "i8mm"),
}
"""Number format: features of cpus any of which computes in it."""

ANSWER: dict[str, pl.DataType | type[pl.DataType]] = {
    "device_id": pl.String,
    "name": pl.String,
    "vendor": pl.String,
    "type": pl.String,  # gpu, tpu, neuron …, cpu, or the kind of machine
    "architecture": pl.String,
    "release_year": pl.Int32,
    "memory_gb": pl.Float64,
    "memory_bandwidth_gbs": pl.Float64,
    "dtypes": pl.List(pl.String),  # it computes in
    "dtypes_unknown": pl.List(pl.String),  # nobody says whether
    "dense_rates": pl.List(pl.Struct({"dtype": pl.String, "rate": pl.Float64, "unit": pl.String})),
    "ai_features": pl.List(pl.String),
    "software": pl.List(pl.String),
    "clouds": pl.List(pl.String),
    "regions": pl.List(pl.String),  # provider/region
    "local_devices": pl.List(pl.String),  # machines with it that one can buy
    "sold_locally": pl.Boolean,
    "hourly_usd": Money,  # one device (one vCPU of a CPU), cheapest on-demand offer
    "hourly_offer": pl.String,  # provider/region/type
    "spot_hourly_usd": Money,
    "spot_offer": pl.String,
    "cheapest_usd": Money,  # in any way it is sold
    "cheapest_offer": pl.String,  # provider/region/type: purchase option
    "part_hourly_usd": Money,  # sold without the machine around it
    "yearly_usd": Money,  # the hourly price × 8760
    "purchase_amount": Money,  # in purchase_currency
    "purchase_currency": pl.String,
    "purchase_usd": Money,  # the same in USD; null where no exchange rate was given
    "purchase_basis": pl.String,
    "owned_hourly_usd": Money,  # TCO of one device in the cheapest machine to buy
    "measured": pl.List(
        pl.Struct(
            {
                "model": pl.String,
                "scenario": pl.String,
                "round": pl.String,
                "per_accelerator": pl.Float64,
                "unit": pl.String,
                "system": pl.String,
            }
        )
    ),
    "usd_per_million_tokens": pl.List(
        pl.Struct({"model": pl.String, "usd": Money, "basis": pl.String})
    ),
    "watts": pl.Float64,
    "watts_basis": pl.String,
    "tflops_per_watt": pl.Float64,  # dense, over the published TDP
    "tflops_per_watt_dtype": pl.String,  # bf16; fp16 or fp32 where it has no rate in bf16
    "gco2e_per_hour": pl.Float64,  # of one device with its share of the machine
    "gco2e_basis": pl.String,
    "missing": pl.List(pl.String),  # what is not known, and why
    "source_url": pl.String,
    "confidence": pl.String,
    "notes": pl.String,
}
"""Columns of an answer, in order."""


def device(dataset: Tables, name: str, ownership: Ownership = DEFAULTS) -> pl.DataFrame:
    """One row (columns ANSWER) about an accelerator, a CPU or a machine to buy.

    ``name``: an id (nvidia-l4), a name (RTX 4090), or enough words of one. Costs and emissions are of one device.

    Raises:
        HwpricesError: no device, or several, of that name; the line names the nearest ones.
    """
    sheets = [
        ("accelerators", "accelerator_id"),
        ("cpus", "cpu_id"),
        ("local_hardware", "device_id"),
    ]
    listed = [
        (table, dataset.scan(table).select(id=key, name="name", vendor="vendor").collect())
        for table, key in sheets
    ]
    sheet, key = lookup.find(listed, name)
    answer = {"accelerators": _accelerator, "cpus": _cpu, "local_hardware": _machine}[sheet](
        dataset, key, ownership
    )
    answer["missing"] = _missing(answer)
    return pl.DataFrame([{column: answer.get(column) for column in ANSWER}], schema=ANSWER)


def _row(dataset: Tables, table: str, column: str, key: str) -> dict[str, Any]:
    return dataset.scan(table).filter(pl.col(column) == key).collect().row(0, named=True)


def _accelerator(dataset: Tables, key: str, ownership: Ownership) -> dict[str, Any]:
    row = _row(dataset, "accelerators", "accelerator_id", key)
    offers = dataset.scan("offers").filter(pl.col("accelerator_id") == key).collect()
    speeds = figures.measured(dataset, key)
    answer = {
        **_common(row, key),
        **_formats(row),
        **figures.rent(offers, "usd_per_accelerator_hour", "spot_usd_per_accelerator_hour"),
    }
    answer |= figures.cheapest(offers, "accelerator_count")
    answer |= {
        "type": row["kind"],
        "architecture": row["architecture"],
        "ai_features": row["ai_features"],
        "clouds": row["providers"],
        "regions": row["regions"],
        "local_devices": row["local_devices"],
        "sold_locally": row["sold_locally"] or bool(row["local_devices"]),
        "part_hourly_usd": row["min_part_usd_per_hour"],
        "measured": speeds.select(
            "model", "scenario", "round", "per_accelerator", "unit", "system"
        ).to_dicts(),
        "usd_per_million_tokens": figures.token_prices(offers, speeds, answer["hourly_usd"]),
        **figures.power(row),
        **figures.carbon(offers),
        **figures.purchase(dataset, row, ownership),
    }
    answer |= {
        "purchase_amount": answer["purchase_usd"],
        "purchase_currency": None if answer["purchase_usd"] is None else "USD",
    }
    price = answer["hourly_usd"] or answer["part_hourly_usd"]
    return answer | {"yearly_usd": None if price is None else price * HOURS_PER_YEAR}


def _common(row: dict[str, Any], key: str) -> dict[str, Any]:
    same = (
        "name",
        "vendor",
        "release_year",
        "memory_gb",
        "memory_bandwidth_gbs",
        "source_url",
        "confidence",
        "notes",
    )
    return {
        "device_id": key,
        "software": row.get("software_stack"),
        **{name: row.get(name) for name in same},
    }


def _formats(row: dict[str, Any]) -> dict[str, Any]:
    rates = [
        {"dtype": d, "rate": row[c], "unit": "TOPS" if c.endswith("tops") else "TFLOPS"}
        for d, c in DTYPES.items()
        if row[c]
    ]
    support = {d: row[f"{d}_support"] for d in DTYPES}
    return {
        "dtypes": [d for d, known in support.items() if known == "supported"],
        "dtypes_unknown": [d for d, known in support.items() if known == "unknown"],
        "dense_rates": rates,
    }


def _cpu(dataset: Tables, key: str, _: Ownership) -> dict[str, Any]:
    row = _row(dataset, "cpus", "cpu_id", key)
    offers = (
        dataset.scan("offers")
        .filter(pl.col("cpu_microarchitecture") == row["microarchitecture"])
        .collect()
    )
    features = [name for name, value in row.items() if value == "supported"]
    states = {dtype: {row[feature] for feature in any_of} for dtype, any_of in CPU_DTYPES.items()}
    answer = {
        **_common(row, key),
        **figures.rent(offers.filter(accelerator_kind="none"), "usd_per_vcpu_hour", None),
    }
    answer |= figures.cheapest(offers.filter(accelerator_kind="none"), "vcpus")
    answer |= {
        "type": "cpu",
        "architecture": f"{row['microarchitecture']} ({row['isa'] or row['arch']})",
        "dtypes": [
            "fp64",
            "fp32",
            *(dtype for dtype, known in states.items() if "supported" in known),
        ],
        "dtypes_unknown": [
            dtype
            for dtype, known in states.items()
            if "supported" not in known and "unknown" in known
        ],
        "ai_features": features,
        "clouds": offers["provider"].unique().sort().to_list(),
        "watts": row["tdp_w"],
        "watts_basis": None if row["tdp_w"] is None else "TDP of the socket",
    }
    carbon = offers.filter(pl.col("accelerator_kind") == "none").with_columns(
        accelerator_count=pl.col("vcpus").cast(pl.Float64),
        usd_per_accelerator_hour="usd_per_vcpu_hour",
    )
    price = answer["hourly_usd"]
    return (
        answer
        | figures.carbon(carbon)
        | {"yearly_usd": None if price is None else price * HOURS_PER_YEAR}
    )


def _machine(dataset: Tables, key: str, ownership: Ownership) -> dict[str, Any]:
    """A machine to buy: what it is made of, with the formats and figures of its accelerator."""
    row = owned(dataset, ownership).filter(device_id=key).row(0, named=True)
    inside = (
        _accelerator(dataset, row["accelerator_id"], ownership) if row["accelerator_id"] else {}
    )
    kept = {
        name: inside.get(name)
        for name in (
            "dtypes",
            "dtypes_unknown",
            "dense_rates",
            "ai_features",
            "software",
            "measured",
            "tflops_per_watt",
            "tflops_per_watt_dtype",
        )
    }
    gco2e = (
        row["gco2e_per_hour"]
        if row["gco2e_per_hour"] is not None
        else row["operational_gco2e_per_hour"]
    )
    return {
        **kept,
        **_common(row, key),
        "software": inside.get("software"),
        "type": row["kind"],
        "architecture": inside.get("architecture") or row["cpu"],
        "memory_gb": row["accelerator_memory_gb"] or row["memory_gib"],
        "memory_bandwidth_gbs": inside.get("memory_bandwidth_gbs"),
        "clouds": [],
        "regions": [],
        "local_devices": [key],
        "sold_locally": True,
        "purchase_amount": row["price"],
        "purchase_currency": row["price_currency"],
        "purchase_usd": row["usd"],
        "purchase_basis": None
        if row["price"] is None
        else f"{row['price_kind']}, {row['price_date']}",
        "owned_hourly_usd": row["tco_usd_per_hour"],
        "watts": row["watts"],
        "watts_basis": row["watts_basis"],
        "gco2e_per_hour": gco2e,
        "gco2e_basis": None
        if gco2e is None
        else "electricity, your grid"
        if row["gco2e_per_hour"] is None
        else "SCI, your grid",
    }


def _missing(answer: dict[str, Any]) -> list[str]:
    """Each question without an answer, with the reason."""
    rentable, tokens = bool(answer.get("clouds")), answer.get("usd_per_million_tokens")
    asked = [
        (
            answer.get("cheapest_usd")
            or answer.get("part_hourly_usd")
            or answer.get("owned_hourly_usd"),
            "hourly cost: no price in this release"
            if rentable
            else "hourly cost: no cloud here sells it, and no machine to buy has a price and a power",
        ),
        (
            answer.get("purchase_amount"),
            "purchase cost: it is rented only"
            if rentable and answer.get("sold_locally") is False
            else "purchase cost: no price is known",
        ),
        (answer.get("measured"), "measured performance: no MLPerf result"),
        (tokens, "cost per million tokens: no measured rate, or no hourly price"),
        (answer.get("tflops_per_watt"), "TFLOPS/W: no dense rate or no TDP is published"),
        (
            answer.get("gco2e_per_hour"),
            "gCO2e/h: no published power, or no grid and PUE of a region that sells it",
        ),
    ]
    return [why for known, why in asked if not known]
