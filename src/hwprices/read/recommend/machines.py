"""List the machines that a job might run on, from the cloud and to buy, with the same columns."""

import polars as pl

from hwprices.read.currency import offers_in_usd
from hwprices.read.find.search import machine_types
from hwprices.read.overlays import apply, rules
from hwprices.read.ownership import Ownership, has_cpus_alone, owned
from hwprices.read.recommend import places
from hwprices.read.recommend.job import OPTIONS, Limits
from hwprices.release.real_prices import is_private_host
from hwprices.release.release import Tables
from hwprices.specs.machine_cpus import KEY, machine_cpus
from hwprices.units import NUMBER_FORMATS, Money

USABLE = 0.9
"""Share of a device's memory that a job may fill; the driver and fragmentation take the rest. It is
vLLM's default gpu_memory_utilization: https://docs.vllm.ai/en/latest/configuration/engine_args/"""

USABLE_UNIFIED = 0.75
"""Share of a memory that the CPU and its system use too. Metal's recommended working set is about
three quarters of the memory of large Macs:
https://developer.apple.com/documentation/metal/mtldevice/recommendedmaxworkingsetsize"""

NOT_FOR_MODELS = ("fpga", "media")  # kinds of accelerators that do not run language models

FORMATS = ("fp32", "fp16", "bf16", "fp8", "fp4", "int8")
"""Number formats in which a language model computes."""

SHEET_COLUMNS = [
    "kind",
    "product_line",
    "architecture",
    "interconnect_gbs",
    "memory_bandwidth_gbs",
    *(NUMBER_FORMATS[number_format] for number_format in FORMATS),
    *(f"{number_format}_support" for number_format in FORMATS),
]
"""Columns of the accelerator sheet that are joined to each machine."""

COLUMNS = [
    "where",  # cloud or local
    "provider",  # for a local machine its vendor
    "region",
    "machine",  # instance_type or device_id
    "private_host",  # is a community host: see private_hosts
    "availability_unknown",  # the vendor does not say whether it can be had
    "accelerator_id",
    "accelerator_count",
    "cpu_id",  # of a machine without accelerators
    "vcpus",
    "devices",  # that the job can be divided over
    "usable_bytes",  # of one device
    "machine_memory_gib",
    "clusters",  # a fast network joins several machines
    "network_gbps",
    "inference_only",
    "purchase_option",
    "usd_per_hour",
    "spot_usd_per_hour",
    "best_1y_usd_per_hour",
    "best_3y_usd_per_hour",
    "best_1y_option",
    "best_3y_option",
    "purchase_price_usd",
    "purchase_price_date",
    "energy_usd_per_hour",
    "energy_kwh_per_hour",
    "operational_gco2e_per_hour",
    "obstacle",  # code of what rules the machine out for every job; see exclusions.sentences
    "no_price",  # code of why a machine without usd_per_hour has none
    "currency",
    "on_demand_reason",
    *SHEET_COLUMNS,
]
"""Columns of ``cloud``, ``cpus`` and ``local``."""


TPU_SLICE = {
    "google-tpu-v4": 4096,
    "google-tpu-v5e": 256,
    "google-tpu-v5p": 8960,
    "google-tpu-v6e": 256,
    "google-tpu-v7x": 9216,
}
"""Most chips that the links of a slice join: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm"""

SINGLE_HOST_TPU = r"^ct5l-|-(1|8)t$"
"""TPU machines that cannot be joined to a slice: those for serving, and of one and eight chips.
https://cloud.google.com/tpu/docs/v5e#tpu-v5e-config"""

SERVING_TPU = r"^ct5l-"
"""TPU v5e machines that are sold for serving."""

FLEX = r"-flex\."
"""AWS machines that keep their full speed for a part of the time, as burstable ones do:
https://www.vantage.sh/blog/m7i-flex-vs-t-series-cost"""

NO_LLM_SOFTWARE = ("aws-inferentia1", "google-coral-edge-tpu", "hailo-8")
"""Accelerators without software for language models: AWS' NxD Inference begins with Inferentia2,
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/nxd-inference/"""


def cloud(dataset: Tables, limits: Limits) -> pl.DataFrame:
    """List every offer with accelerators in the requested places. Columns: COLUMNS.

    Raises:
        HwpricesError: the release has no such place.
    """
    col = pl.col
    # an eighth of a device counts as one device with an eighth of its memory
    devices = pl.max_horizontal(col.accelerator_count, 1.0)
    single_host = col.instance_type.str.contains(SINGLE_HOST_TPU)
    is_slice = (col.kind == "tpu") & ~single_host
    gib = "accelerator_memory_gib"
    return (
        _own_prices(places.offers(dataset, limits), limits)
        .filter(col.accelerator_count > 0)
        .join(machine_types(dataset).select(*KEY, type_gib=gib), on=KEY, how="left")
        .with_columns(pl.coalesce(gib, "type_gib").alias(gib))
        .join(_sheet(dataset), on="accelerator_id", how="left")
        .with_columns(
            *_cost_columns(limits),
            cpu_id=pl.lit(None, dtype=pl.String),
            devices=devices,
            usable_bytes=col.accelerator_memory_gib * 2**30 * USABLE / devices,
            machine_memory_gib=col.accelerator_memory_gib,
            clusters=((col.rdma != "none") | is_slice).fill_null(False),
            network_gbps=col.network_gbps_max,
            inference_only=_inference_only() | col.instance_type.str.contains(SERVING_TPU),
            obstacle=_cloud_obstacle(),
        )
        .select(COLUMNS)
        .collect()
    )


def cpus(dataset: Tables, limits: Limits) -> pl.DataFrame:
    """List every offer without accelerators in the requested places. Columns: COLUMNS.

    Raises:
        HwpricesError: the release has no such place.
    """
    col = pl.col
    nothing = {name: pl.lit(None, dtype=dtype) for name, dtype in _sheet_dtypes(dataset).items()}
    return (
        _own_prices(places.offers(dataset, limits), limits)
        .filter(col.accelerator_kind == "none")
        .join(_cpu_ids(dataset).lazy(), on=KEY, how="left")
        .join(dataset.scan("instance_types").select(*KEY, "burstable"), on=KEY, how="left")
        .with_columns(
            *_cost_columns(limits),
            **nothing,
            accelerator_id=pl.lit(None, dtype=pl.String),
            accelerator_count=pl.lit(0.0),
            devices=pl.lit(1.0),
            usable_bytes=col.memory_gib * 2**30 * USABLE_UNIFIED,
            machine_memory_gib=col.memory_gib,
            clusters=pl.lit(False),
            network_gbps=col.network_gbps_max,
            inference_only=pl.lit(True),
            obstacle=_cpu_obstacle(),
        )
        .select(COLUMNS)
        .collect()
    )


def _cpu_obstacle() -> pl.Expr:
    """Return the code of what rules out an offer without accelerators; null if nothing does."""
    col = pl.col
    return (
        pl.when(col.burstable.fill_null(False) | col.instance_type.str.contains(FLEX))
        .then(pl.lit("burstable"))
        .when(col.cpu_id.is_null())
        .then(pl.lit("cpu_unknown"))
        .when(col.memory_gib.is_null())
        .then(pl.lit("memory_unknown"))
    )


def _cpu_ids(dataset: Tables) -> pl.DataFrame:
    """Return KEY and cpu_id of the machine types whose CPU is known."""
    types = dataset.scan("instance_types").select(*KEY, "family", "series", "cpu_models").collect()
    sheet, families = (dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
    return machine_cpus(types, sheet, families, "cpu_id")


def _cost_columns(limits: Limits) -> list[pl.Expr]:
    """Return the columns of an offer that say what it costs under the option."""
    col = pl.col
    options = OPTIONS[limits.option]
    prices = [f"{option}_usd_per_hour" for option in options]
    cheapest = pl.min_horizontal(prices)
    cheapest_option = pl.coalesce(
        pl.when(col(price) == cheapest).then(pl.lit(option))
        for option, price in zip(options, prices, strict=True)
    )
    return [
        col.instance_type.alias("machine"),
        pl.lit("cloud").alias("where"),
        is_private_host().alias("private_host"),
        col.flags.list.contains("availability_unknown").alias("availability_unknown"),
        cheapest_option.alias("purchase_option"),
        cheapest.alias("usd_per_hour"),
        pl.lit(None, dtype=Money).alias("purchase_price_usd"),
        pl.lit(None, dtype=pl.Date).alias("purchase_price_date"),
        pl.lit(None, dtype=Money).alias("energy_usd_per_hour"),
        _cloud_no_price(limits).alias("no_price"),
    ]


def _own_prices(offers: pl.LazyFrame, limits: Limits) -> pl.LazyFrame:
    """Convert the prices of other currencies that have a rate, and apply own discounts."""
    overlays = rules.given(limits.overlays)
    if overlays is None:
        return offers_in_usd(offers, limits.rates)
    return apply.apply_to_offers(offers, overlays, limits.rates)


def _cloud_no_price(limits: Limits) -> pl.Expr:
    """Return the code of why an offer has no price under the option."""
    col = pl.col
    other = [
        f"{option}_usd_per_hour"
        for option in OPTIONS["any"]
        if option not in OPTIONS[limits.option]
    ]
    has_other = pl.any_horizontal(col(price).is_not_null() for price in other) if other else False
    return (
        pl.when((col.currency != "USD") & ~col.currency.is_in(list(limits.rates)))
        .then(pl.lit("other_currency"))
        .when(has_other)
        .then(pl.lit("other_option"))
        .otherwise(pl.lit("no_on_demand_price"))
    )


def _cloud_obstacle() -> pl.Expr:
    """Return the code of what rules out an offer for every job; null if nothing does."""
    col = pl.col
    return (
        pl.when(col.accelerator_id.is_null())
        .then(pl.lit("accelerators_unclear"))
        .when(col.kind.is_in(NOT_FOR_MODELS) | col.accelerator_id.is_in(NO_LLM_SOFTWARE))
        .then(pl.lit("not_for_models"))
        .when(col.accelerator_memory_gib.is_null())
        .then(pl.lit("memory_unknown"))
    )


def local(dataset: Tables, ownership: Ownership) -> pl.DataFrame:
    """List every machine that one can buy. Columns: COLUMNS.

    Its price is what owning it costs for an hour of use.
    """
    col = pl.col
    no_money = pl.lit(None, dtype=Money)
    usable = pl.when(col.unified_memory).then(USABLE_UNIFIED).otherwise(USABLE)
    return (
        owned(dataset, ownership)
        .drop("kind")  # the kind of machine; the sheet has the kind of accelerator
        .lazy()
        .join(_sheet(dataset), on="accelerator_id", how="left")
        .with_columns(
            where=pl.lit("local"),
            provider=col.vendor,
            region=pl.lit(None, dtype=pl.String),
            machine=col.device_id,
            private_host=pl.lit(False),
            availability_unknown=pl.lit(False),
            purchase_option=pl.lit("tco"),
            usd_per_hour=col.tco_usd_per_hour,
            purchase_price_date=col.price_date,
            spot_usd_per_hour=no_money,
            best_1y_usd_per_hour=no_money,
            best_3y_usd_per_hour=no_money,
            best_1y_option=pl.lit(None, dtype=pl.String),
            best_3y_option=pl.lit(None, dtype=pl.String),
            cpu_id=pl.lit(None, dtype=pl.String),
            vcpus=pl.lit(None, dtype=pl.Int32),
            devices=pl.max_horizontal(col.accelerator_count, 1.0),
            machine_memory_gib=col.accelerator_memory_gb,  # makers write GB and mean 2^30 bytes
            clusters=pl.lit(False),
            network_gbps=col.network_gbps,
            inference_only=_inference_only(),
            obstacle=_local_obstacle(),
            no_price=_local_no_price(),
            currency=col.price_currency,
            on_demand_reason=pl.lit(None, dtype=pl.String),
        )
        .with_columns(usable_bytes=col.machine_memory_gib * 2**30 * usable / col.devices)
        .select(COLUMNS)
        .collect()
    )


def _local_obstacle() -> pl.Expr:
    """Return the code of what rules out a machine for every job; null if nothing does."""
    col = pl.col
    return (
        pl.when((col.accelerator_count < 1) | has_cpus_alone())
        .then(pl.lit("no_accelerator"))
        .when(col.kind.is_in(NOT_FOR_MODELS) | col.accelerator_id.is_in(NO_LLM_SOFTWARE))
        .then(pl.lit("not_for_models"))
        .when(~col.complete)
        .then(pl.lit("needs_host"))
        .when(col.accelerator_memory_gb.is_null())
        .then(pl.lit("memory_unknown"))
    )


def _local_no_price() -> pl.Expr:
    """Return the code of why a machine has no cost per hour of use."""
    col = pl.col
    return (
        pl.when(col.price.is_null())
        .then(pl.lit("no_price"))
        .when(col.purchase_price_usd.is_null())
        .then(pl.lit("other_currency"))
        .otherwise(pl.lit("power_unknown"))
    )


def _sheet_dtypes(dataset: Tables) -> dict[str, pl.DataType]:
    """Return the dtypes of SHEET_COLUMNS."""
    schema = _sheet(dataset).collect_schema()
    return {name: schema[name] for name in SHEET_COLUMNS}


def _sheet(dataset: Tables) -> pl.LazyFrame:
    return dataset.scan("accelerators").select("accelerator_id", *SHEET_COLUMNS)


def _inference_only() -> pl.Expr:
    col = pl.col
    is_inference = (col.kind == "inference") | (col.product_line == "Inferentia")
    return is_inference.fill_null(False)
