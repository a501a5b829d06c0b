"""Machines that a job might run on, from the cloud and to buy, in one shape: memory of a device, rates, prices, what stands in the way."""

import polars as pl

from hwprices.read.ownership import Ownership, Tables, owned
from hwprices.units import Money

USABLE = 0.9
"""Share of a device's memory a job may fill, the rest being the driver's and fragments: vLLM's default gpu_memory_utilization,
https://docs.vllm.ai/en/latest/configuration/engine_args/"""

USABLE_UNIFIED = 0.75
"""Share of a memory that the CPU and its system use too: Metal's recommended working set is about three quarters of it on large Macs,
https://developer.apple.com/documentation/metal/mtldevice/recommendedmaxworkingsetsize"""

NOT_FOR_MODELS = ("fpga", "media")  # no language model is served from them

PRICE_ORDER = (
    "on_demand",
    "capacity_block",
    "dws_calendar",
    "dws_flex_start",
    "dws_defined_duration",
    "best_1y",
    "best_3y",
    "spot",
)
"""The price that a machine is ranked by: the first of these that it has. Some are not sold on demand at all."""

DEVICE = [
    *(
        "kind",
        "product_line",
        "memory_bandwidth_gbs",
        "fp32_dense_tflops",
        "fp16_dense_tflops",
        "bf16_dense_tflops",
        "fp8_dense_tflops",
    ),
    *(
        "fp4_dense_tflops",
        "int8_dense_tops",
        "fp32_support",
        "fp16_support",
        "bf16_support",
        "fp8_support",
        "fp4_support",
        "int8_support",
    ),
]


def cloud(dataset: Tables) -> pl.DataFrame:
    """Every offer with accelerators.

    where, provider, region, machine, accelerator_id, accelerator_count, devices, usable_bytes (of one device), machine_memory_gib,
    clusters, inference_only, price_basis, usd_per_hour and the other prices, kwh_per_hour, operational_gco2e_per_hour, obstacle, no_price, DEVICE.
    """
    c = pl.col
    columns = [f"{name}_usd_per_hour" for name in PRICE_ORDER]
    basis = pl.coalesce(
        pl.when(c(column).is_not_null()).then(pl.lit(name))
        for name, column in zip(PRICE_ORDER, columns, strict=True)
    )
    # an eighth of a device is one device with an eighth of its memory: nothing can be divided over it
    devices = pl.max_horizontal(c.accelerator_count, 1.0)
    obstacle = (
        pl.when(c.accelerator_id.is_null())
        .then(pl.lit("its accelerators are of several kinds, or have no spec sheet"))
        .when(c.kind.is_in(NOT_FOR_MODELS))
        .then(pl.format("{} does not run language models", c.accelerator_id))
        .when(c.accelerator_memory_gib.is_null())
        .then(pl.lit("its accelerator memory is not known"))
    )
    no_price = (
        pl.when(c.currency != "USD")
        .then(pl.format("priced in {}", c.currency))
        .otherwise(pl.format("no price: {}", c.on_demand_reason.fill_null("unknown")))
    )
    return (
        dataset.scan("offers")
        .filter(c.accelerator_count > 0)
        .rename({"instance_type": "machine"})
        .join(
            dataset.scan("accelerators").select("accelerator_id", *DEVICE),
            on="accelerator_id",
            how="left",
        )
        .with_columns(
            where=pl.lit("cloud"),
            price_basis=basis,
            usd_per_hour=pl.coalesce(columns),
            devices=devices,
            usable_bytes=c.accelerator_memory_gib * 2**30 * USABLE / devices,
            machine_memory_gib=c.accelerator_memory_gib,
            clusters=((c.rdma != "none") | (c.kind == "tpu")).fill_null(
                False
            ),  # TPU machines are wired to each other
            inference_only=_inference_only(),
            kwh_per_hour=c.energy_kwh_per_hour,
            obstacle=obstacle,
            no_price=no_price,
        )
        .collect()
    )


def local(dataset: Tables, ownership: Ownership) -> pl.DataFrame:
    """Every machine one can buy, in the shape of ``cloud``; its price is what owning it costs for an hour of use."""
    c = pl.col
    frame = owned(dataset, ownership).drop("kind").lazy()
    sheet = dataset.scan("accelerators").select("accelerator_id", *DEVICE)
    share = pl.when(c.unified_memory).then(USABLE_UNIFIED).otherwise(USABLE)
    obstacle = (
        pl.when(c.accelerator_id.is_null() | (c.accelerator_count < 1))
        .then(pl.lit("it has no accelerator"))
        .when(~c.complete)
        .then(pl.lit("it is a part that needs a host"))
        .when(c.accelerator_memory_gb.is_null())
        .then(pl.lit("its accelerator memory is not known"))
    )
    no_price = (
        pl.when(c.price.is_null())
        .then(pl.lit("no price"))
        .when(c.usd.is_null())
        .then(pl.format("priced in {}", c.price_currency))
    )
    return (
        frame.join(sheet, on="accelerator_id", how="left")
        .with_columns(
            where=pl.lit("local"),
            provider=c.vendor,
            region=pl.lit(None, dtype=pl.String),
            machine=c.device_id,
            price_basis=pl.lit("tco"),
            **dict.fromkeys(
                ("spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour"),
                pl.lit(None, dtype=Money),
            ),
            usd_per_hour=c.tco_usd_per_hour,
            devices=pl.max_horizontal(c.accelerator_count, 1.0),
            machine_memory_gib=c.accelerator_memory_gb,  # makers write GB and mean 2^30 bytes
            clusters=pl.lit(False),
            inference_only=_inference_only(),
            obstacle=obstacle,
            no_price=no_price.otherwise(pl.lit("its power is not known")),
        )
        .with_columns(usable_bytes=c.machine_memory_gib * 2**30 * share / c.devices)
        .collect()
    )


def _inference_only() -> pl.Expr:
    return ((pl.col("kind") == "inference") | (pl.col("product_line") == "Inferentia")).fill_null(
        False
    )
