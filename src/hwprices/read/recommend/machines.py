"""List the machines that a job might run on, from the cloud and to buy, with the same columns."""

import polars as pl

from hwprices.read.currency import offers_in_usd
from hwprices.read.find.search import machine_types
from hwprices.read.overlays import apply, rules
from hwprices.read.ownership import Ownership, has_cpus_alone, has_old_price, owned
from hwprices.read.recommend import places
from hwprices.read.recommend.question import OPTIONS, Limits
from hwprices.release.real_prices import is_private_host
from hwprices.release.release import Tables
from hwprices.specs.machine_cpus import KEY, machine_cpus
from hwprices.units import NUMBER_FORMATS

USABLE = 0.9
"""Share of a device's memory that a job may fill; the driver and fragmentation take the rest. It is
vLLM's default gpu_memory_utilization: https://docs.vllm.ai/en/latest/configuration/engine_args/"""

USABLE_UNIFIED = 0.75
"""Share of a memory that the CPU and its system use too. Metal's recommended working set is about
three quarters of the memory of large Macs:
https://developer.apple.com/documentation/metal/mtldevice/recommendedmaxworkingsetsize"""

FORMATS = ("fp32", "fp16", "bf16", "fp8", "fp4", "int8")
"""Number formats in which a language model computes."""

SHEET_COLUMNS = [
    *("kind", "product_line", "architecture", "interconnect_gbs", "memory_bandwidth_gbs"),
    *(NUMBER_FORMATS[number_format] for number_format in FORMATS),
    *(f"{number_format}_support" for number_format in FORMATS),
]
"""Columns of the accelerator sheet that are joined to each machine."""

COLUMNS = [
    "where",  # cloud or local
    "provider",  # for a local machine its vendor
    "region",
    "machine",  # instance_type or device_id
    "private_host",  # is a community host: see real_prices
    "government",  # is in a region for governments
    "availability_unknown",  # the vendor does not say whether it can be had
    *("accelerator_id", "accelerator_count"),
    *("cpu_id", "vcpus"),  # of a machine without accelerators
    "devices",  # that the job can be divided over
    "usable_bytes",  # of one device
    "machine_memory_gib",
    "clusters",  # a fast network joins several machines
    "network_gbps",
    "inference_only",
    *("purchase_option", "usd_per_hour", "spot_usd_per_hour"),
    *("best_1y_usd_per_hour", "best_3y_usd_per_hour", "best_1y_option", "best_3y_option"),
    *("on_demand_price_id", "spot_price_id"),
    *("purchase_price_usd", "purchase_price_date"),
    *("energy_usd_per_hour", "energy_kwh_per_hour", "operational_gco2e_per_hour"),
    "obstacle",  # code of what rules the machine out for every job; see exclusions.sentences
    "no_price",  # code of why a machine without usd_per_hour has none
    *("currency", "on_demand_reason"),
    *SHEET_COLUMNS,
]
"""Columns of ``rented`` and ``to_buy``."""

TPU_SLICE = {
    "google-tpu-v4": 4096,
    "google-tpu-v5e": 256,
    "google-tpu-v5p": 8960,
    "google-tpu-v6e": 256,
    "google-tpu-v7x": 9216,
}
"""Most chips that the links of a slice join: https://cloud.google.com/tpu/docs/system-architecture-tpu-vm"""

SINGLE_HOST_TPU, SERVING_TPU = r"^ct5l-|-(1|8)t$", r"^ct5l-"
"""TPU machines that cannot be joined to a slice (those for serving, and of one and eight chips),
and those sold for serving. https://cloud.google.com/tpu/docs/v5e#tpu-v5e-config"""

FLEX = r"-flex\."
"""AWS machines that keep their full speed for a part of the time, as burstable ones do:
https://www.vantage.sh/blog/m7i-flex-vs-t-series-cost"""

NOT_FOR_MODELS = ("fpga", "media")  # kinds of accelerators that do not run language models

NO_LLM_SOFTWARE = ("aws-inferentia1", "google-coral-edge-tpu", "hailo-8")
"""Accelerators without software for language models: AWS' NxD Inference begins with Inferentia2,
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/nxd-inference/"""


def candidates(dataset: Tables, limits: Limits, ownership: Ownership) -> pl.DataFrame:
    """List every offer in the requested places, and every machine to buy. Columns: COLUMNS.

    Those to rent are listed also where only those to buy are requested: what renting costs decides
    when owning pays.

    Raises:
        HwpricesError: the release has no such place.
    """
    frames = [_rented(dataset, limits)]
    if limits.where != "cloud" and limits.machines != "cpus":
        frames.append(_to_buy(dataset, ownership))
    both = pl.concat([frame.collect() for frame in frames], how="diagonal_relaxed")
    if limits.accelerator and (asked := places.search(dataset, limits)):
        both = both.filter(pl.col("accelerator_id").is_in(sorted(asked.accelerators)))
    missing = [name for name in COLUMNS if name not in both.columns]
    flags = ("private_host", "government", "availability_unknown", "clusters")
    return (
        both.with_columns(pl.lit(None).alias(name) for name in missing)
        .with_columns(pl.col(name).cast(pl.Boolean).fill_null(False) for name in flags)
        .select(COLUMNS)
    )


def _rented(dataset: Tables, limits: Limits) -> pl.LazyFrame:
    """List offers, with accelerators or without any as the limits say."""
    col = pl.col
    has_accelerators = (col.accelerator_count > 0).fill_null(False)
    is_cpu = (col.accelerator_kind == "none").fill_null(False)
    wanted = {"accelerators": has_accelerators, "cpus": is_cpu, "all": has_accelerators | is_cpu}
    offers = places.offers(dataset, limits)
    overlays = rules.given(limits.overlays)
    priced = (
        offers_in_usd(offers, limits.rates)
        if overlays is None
        else apply.apply_to_offers(offers, overlays, limits.rates)
    )
    kinds = dataset.scan("regions").select("provider", "region", region_kind="kind")
    # an eighth of a device counts as one device with an eighth of its memory
    devices = pl.max_horizontal(col.accelerator_count, 1.0)
    gib = pl.when(is_cpu).then("memory_gib").otherwise(
        pl.coalesce("accelerator_memory_gib", "type_gib")
    )  # fmt: skip
    usable = pl.when(is_cpu).then(USABLE_UNIFIED).otherwise(USABLE)
    is_slice = (col.kind == "tpu") & ~col.instance_type.str.contains(SINGLE_HOST_TPU)
    return (
        priced.filter(wanted[limits.machines])
        .join(machine_types(dataset).select(*KEY, type_gib="accelerator_memory_gib"), KEY, "left")
        .join(_cpus(dataset), KEY, "left")
        .join(kinds, ["provider", "region"], "left")
        .join(_sheet(dataset), "accelerator_id", "left")
        .with_columns(
            *_prices(limits),
            where=pl.lit("cloud"),
            machine=col.instance_type,
            private_host=is_private_host(),
            government=col.region_kind == "gov",
            availability_unknown=col.flags.list.contains("availability_unknown"),
            cpu_id=pl.when(is_cpu).then("cpu_id"),
            devices=devices,
            usable_bytes=gib * 2**30 * usable / devices,
            machine_memory_gib=gib,
            clusters=(col.rdma != "none") | is_slice,
            network_gbps=col.network_gbps_max,
            inference_only=_inference_only() | col.instance_type.str.contains(SERVING_TPU),
            obstacle=pl.when(is_cpu).then(_cpu_obstacle()).otherwise(_obstacle(gib)),
        )
        .select(name for name in COLUMNS if name not in _TO_BUY)
    )  # fmt: skip


_TO_BUY = ("purchase_price_usd", "purchase_price_date", "energy_usd_per_hour")


def _cpus(dataset: Tables) -> pl.LazyFrame:
    """Return KEY, cpu_id and whether it is burstable, of the machine types."""
    types = dataset.scan("instance_types")
    named = types.select(*KEY, "family", "series", "cpu_models").collect()
    sheet, families = (dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
    known = machine_cpus(named, sheet, families, "cpu_id").lazy()
    return types.select(*KEY, "burstable").join(known, KEY, "left")


def _prices(limits: Limits) -> list[pl.Expr]:
    """Return what an offer costs under the option, and the code of why it has no price."""
    col, lit = pl.col, pl.lit
    options = OPTIONS[limits.option]
    prices = {option: f"{option}_usd_per_hour" for option in options}
    cheapest = pl.min_horizontal(prices.values())
    others = [f"{option}_usd_per_hour" for option in OPTIONS["any"] if option not in options]
    has_other = pl.any_horizontal(col(price).is_not_null() for price in others) if others else False
    return [
        pl.coalesce(
            pl.when(col(price) == cheapest).then(lit(option)) for option, price in prices.items()
        ).alias("purchase_option"),
        cheapest.alias("usd_per_hour"),
        pl.when((col.currency != "USD") & ~col.currency.is_in(list(limits.rates)))
        .then(lit("other_currency"))
        .when(has_other)
        .then(lit("other_option"))
        .otherwise(lit("no_on_demand_price"))
        .alias("no_price"),
    ]


def _obstacle(gib: pl.Expr) -> pl.Expr:
    """Return the code of what rules out accelerators for every job; null if nothing does."""
    col = pl.col
    return (
        pl.when(col.accelerator_id.is_null())
        .then(pl.lit("accelerators_unclear"))
        .when(col.kind.is_in(NOT_FOR_MODELS) | col.accelerator_id.is_in(NO_LLM_SOFTWARE))
        .then(pl.lit("not_for_models"))
        .when(gib.is_null())
        .then(pl.lit("memory_unknown"))
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


def _to_buy(dataset: Tables, ownership: Ownership) -> pl.LazyFrame:
    """List machines to buy; their price is what owning them costs for an hour of use."""
    col, lit = pl.col, pl.lit
    devices = pl.max_horizontal(col.accelerator_count, 1.0)
    usable = pl.when(col.unified_memory).then(USABLE_UNIFIED).otherwise(USABLE)
    return (
        owned(dataset, ownership)
        .drop("kind")  # the kind of machine; the sheet has the kind of accelerator
        .lazy()
        .join(_sheet(dataset), "accelerator_id", "left")
        .select(
            "accelerator_id",
            "accelerator_count",
            "network_gbps",
            "purchase_price_usd",
            "energy_usd_per_hour",
            "energy_kwh_per_hour",
            "operational_gco2e_per_hour",
            *SHEET_COLUMNS,
            where=lit("local"),
            provider=col.vendor,
            machine=col.device_id,
            purchase_option=lit("tco"),
            usd_per_hour=col.tco_usd_per_hour,
            purchase_price_date=col.price_date,
            devices=devices,
            usable_bytes=col.accelerator_memory_gb * 2**30 * usable / devices,
            machine_memory_gib=col.accelerator_memory_gb,  # makers write GB and mean 2^30 bytes
            inference_only=_inference_only(),
            obstacle=pl.when((col.accelerator_count < 1) | has_cpus_alone())
            .then(lit("no_accelerator"))
            .when(~col.complete)
            .then(lit("needs_host"))
            .when(has_old_price())
            .then(lit("old_price"))
            .otherwise(_obstacle(col.accelerator_memory_gb)),
            no_price=pl.when(col.price.is_null())
            .then(lit("no_price"))
            .when(col.purchase_price_usd.is_null())
            .then(lit("other_currency"))
            .otherwise(lit("power_unknown")),
            currency=col.price_currency,
        )
    )


def _sheet(dataset: Tables) -> pl.LazyFrame:
    return dataset.scan("accelerators").select("accelerator_id", *SHEET_COLUMNS)


def _inference_only() -> pl.Expr:
    is_inference = (pl.col.kind == "inference") | (pl.col.product_line == "Inferentia")
    return is_inference.fill_null(False)
