"""Spec sheets: what a device is, from its maker's own pages, with source and date in every row.

The sheets are curated by hand under ``data/specs`` and read by ``hwprices.specs``. Three rules hold
everywhere: a figure that is null is not known, ``confidence`` says how good the source is, and
``verified`` says that an independent second source agrees (``data/specs/second_sources.csv``).
"""

from typing import Any

import pandera.polars as pa
import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import CURRENCY_PATTERN, ID_PATTERN, Table, column, measure
from hwprices.units import Money


def _rate(number_format: str, unit: str = "TFLOPS", more: str = "") -> Any:
    return column(
        f"Peak {number_format} rate of one device, dense (no structured sparsity).{more}",
        unit=unit,
        nullable=True,
        ge=0,
    )


def _support(number_format: str) -> Any:
    return column(f"Whether the device computes in {number_format}.", values=vocabulary.SUPPORT)


class Sourced(Table):
    """The base of curated tables, which end with source_url, as_of, confidence, verified, notes."""

    @pa.dataframe_check(name="low_is_never_verified")
    def low_is_never_verified(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A row of low confidence is never marked as verified."""
        return data.lazyframe.select(~(pl.col("verified") & (pl.col("confidence") == "low")))


class Accelerators(Sourced):
    """Accelerators: one row is one device as the cloud counts it.

    That is half a board for K80 and M60, and one chip for TPU, Trainium and Inferentia.
    """

    accelerator_id: pl.String = column(
        "Stable id; keeps form factor and memory, because those are different devices.",
        str_matches=ID_PATTERN,
    )
    name: pl.String = column("Name the maker sells it under.")
    vendor: pl.String = column("Maker.")
    product_line: pl.String = column("Product line.", nullable=True)
    kind: pl.String = column("What kind of accelerator it is.", values=vocabulary.SPEC_KINDS)
    architecture: pl.String = column("Microarchitecture or chip generation.", nullable=True)
    form_factor: pl.String = column(
        "sxm, oam, pcie, superchip, chip, card, module, board, wafer …", nullable=True
    )
    counted_as: pl.String = column(
        "What one device is, where the maker's product and the cloud's count differ: half_board,"
        " chip, gpu_of_superchip.",
        nullable=True,
    )
    release_year: pl.Int32 = columns.release_year()
    memory_gb: pl.Float64 = measure(
        "Memory of one device as the maker writes it. Most makers write GB and mean 2^30 bytes; a"
        " part of it is reserved.",
        "GB",
    )
    memory_type: pl.String = column("Kind of memory.", nullable=True)
    memory_bandwidth_gbs: pl.Float64 = measure("Peak memory bandwidth of one device.", "GB/s")
    memory_bus_bits: pl.Int32 = measure("Width of the memory bus.", "bit")
    memory_gbit_per_pin: pl.Float64 = measure(
        "Data rate of one pin of the memory bus: bus bits / 8 × this = bandwidth.", "Gbit/s"
    )
    fp64_dense_tflops: pl.Float64 = _rate("FP64", more=" Vector units only.")
    fp64_matrix_dense_tflops: pl.Float64 = _rate("FP64", more=" Matrix units.")
    fp32_dense_tflops: pl.Float64 = _rate(
        "FP32", more=" Vector units, where the maker tells them apart."
    )
    tf32_dense_tflops: pl.Float64 = _rate("TF32")
    fp16_dense_tflops: pl.Float64 = _rate(
        "FP16", more=" FP32 accumulate; matrix units where there are some."
    )
    bf16_dense_tflops: pl.Float64 = _rate("BF16", more=" FP32 accumulate.")
    fp8_dense_tflops: pl.Float64 = _rate("FP8", more=" FP32 accumulate.")
    fp4_dense_tflops: pl.Float64 = _rate("FP4")
    int8_dense_tops: pl.Float64 = _rate("INT8", unit="TOPS")
    fp64_support: pl.String = _support("FP64")
    fp32_support: pl.String = _support("FP32")
    tf32_support: pl.String = _support("TF32")
    fp16_support: pl.String = _support("FP16")
    bf16_support: pl.String = _support("BF16")
    fp8_support: pl.String = _support("FP8")
    fp4_support: pl.String = _support("FP4")
    int8_support: pl.String = _support("INT8")
    structured_sparsity: pl.String = column(
        "Structured sparsity for which the maker quotes higher rates (2:4 …); none; null when not"
        " known.",
        nullable=True,
    )
    tensor_generation: pl.String = column(
        "Matrix unit and its generation: Tensor Core 4, Matrix Core 3, MXU …; none.", nullable=True
    )
    ai_features: pl.List(pl.String) = column(
        "Features that matter to AI work, in the maker's words, shortened."
    )
    software_stack: pl.List(pl.String) = column(
        "Software that runs on it: cuda, rocm, neuron, jax_xla, pytorch_xla, synapseai, cann, mlx,"
        " openvino …"
    )
    interconnect: pl.String = column(
        "Link between devices and its generation; none; null when not known.", nullable=True
    )
    interconnect_gbs: pl.Float64 = measure(
        "Bandwidth of that link, one device, both directions together.", "GB/s"
    )
    tdp_w: pl.Float64 = measure(
        "Thermal design or board power that the maker publishes; null where it publishes none.", "W"
    )
    tdp_estimate_w: pl.Float64 = measure(
        "An estimate where the maker publishes none. Never part of tdp_w.", "W"
    )
    tdp_estimate_source: pl.String = column("Who made the estimate.", nullable=True)
    power_limit_default_w: pl.Float64 = measure(
        "Power limit the maker sets for a configuration that clouds use, where it is not tdp_w.",
        "W",
    )
    power_limit_source: pl.String = columns.url("Where that limit is published.")
    measured_power_mean_w: pl.Float64 = measure(
        "Mean power under load that the maker measured and published.", "W"
    )
    measured_power_max_w: pl.Float64 = measure(
        "Highest power that the maker measured and published.", "W"
    )
    measured_power_source: pl.String = columns.url("Where that measurement is published.")
    launch_price_usd: Money = measure("Price at launch.", "USD")
    launch_price_source: pl.String = columns.url("Where the launch price is published.")
    sold_locally: pl.Boolean = column(
        "The device, or a machine with it, can be bought; null when not known.", nullable=True
    )
    purchase_price_usd: Money = measure("What one device was offered for.", "USD")
    purchase_price_date: pl.Date = column(
        "Day, or first day of the year or month, of that price; null where the source has"
        " no date, which purchase_price_source then says (undated).",
        unit="date",
        nullable=True,
    )
    purchase_price_source: pl.String = column("Who offered or reported it.", nullable=True)
    embodied_kgco2e: pl.Float64 = measure("Emissions of making one device.", "kgCO2e")
    embodied_source: pl.String = columns.url("Where the embodied emissions are published.")
    disclosure: pl.String = column("How much the maker publishes.", values=vocabulary.DISCLOSURES)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    class Config:
        name = "accelerators"
        metadata = {"key": ["accelerator_id"]}


class Cpus(Sourced):
    """CPU models that the clouds run.

    By model and not by machine family: one family in eight mixes models.
    """

    cpu_id: pl.String = column("Stable id.", str_matches=ID_PATTERN)
    name: pl.String = column("Name of the model.")
    vendor: pl.String = column("Maker.")
    model_pattern: pl.String = column(
        "Regular expression for the names that clouds and /proc/cpuinfo give this model; it matches"
        " the whole name, in any case.",
        nullable=True,
    )
    microarchitecture: pl.String = column("Microarchitecture; key of power_coefficients.")
    arch: pl.String = column("Instruction set.", values=vocabulary.ARCHITECTURES)
    isa: pl.String = column(
        "Level of the instruction set: x86-64-v3, x86-64-v4, armv8.2-a, armv9.0-a …", nullable=True
    )
    release_year: pl.Int32 = columns.release_year()
    cores: pl.Int32 = measure("Physical cores of one socket.")
    threads_per_core: pl.Int32 = columns.threads_per_core()
    base_ghz: pl.Float64 = measure("Base clock.", "GHz")
    boost_ghz: pl.Float64 = measure("Highest clock of one core.", "GHz")
    all_core_boost_ghz: pl.Float64 = measure(
        "Highest clock of all cores together, as the cloud states it.", "GHz"
    )
    tdp_w: pl.Float64 = measure(
        "TDP of one socket that the maker publishes; null for models made for one cloud.", "W"
    )
    amx_int8: pl.String = _support("AMX INT8 tiles")
    amx_bf16: pl.String = _support("AMX BF16 tiles")
    amx_fp16: pl.String = _support("AMX FP16 tiles")
    avx512: pl.String = _support("AVX-512 (F)")
    avx512_vnni: pl.String = _support("AVX-512 VNNI")
    avx512_bf16: pl.String = _support("AVX-512 BF16")
    avx512_fp16: pl.String = _support("AVX-512 FP16")
    avx_vnni: pl.String = _support("AVX-VNNI (256 bit)")
    avx2: pl.String = _support("AVX2")
    dotprod: pl.String = _support("Arm dot product (asimddp)")
    i8mm: pl.String = _support("Arm I8MM")
    arm_bf16: pl.String = _support("Arm BF16")
    sve: pl.String = _support("SVE")
    sve2: pl.String = _support("SVE2")
    sme: pl.String = _support("SME")
    sme2: pl.String = _support("SME2")
    software_stack: pl.List(pl.String) = column(
        "Inference and math software made for it: openvino, onednn, zendnn, acl, kleidiai,"
        " onnxruntime …"
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    class Config:
        name = "cpus"
        metadata = {"key": ["cpu_id"]}


class CpuFamilies(Sourced):
    """Which CPU models a family of machine types runs on, where the vendor says so."""

    provider: pl.String = columns.provider()
    family: pl.String = column("Series of machine types: m7i (AWS), c3 (GCP), Dsv6 (Azure).")
    cpu_id: pl.String = column("A CPU model it runs on; key of cpus.", str_matches=ID_PATTERN)
    only: pl.Boolean = column(
        "The vendor promises this model; false where it may give one of several."
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    class Config:
        name = "cpu_families"
        metadata = {"key": ["provider", "family", "cpu_id"]}


class LocalHardware(Sourced):
    """Machines to buy, from a Raspberry Pi to a DGX."""

    device_id: pl.String = column("Stable id.", str_matches=ID_PATTERN)
    name: pl.String = column("Name.")
    vendor: pl.String = column("Maker or seller.")
    kind: pl.String = column("What kind of machine it is.", values=vocabulary.LOCAL_KINDS)
    release_year: pl.Int32 = columns.release_year()
    complete: pl.Boolean = column(
        "A complete machine; false for a board or card that needs a host."
    )
    accelerator_id: pl.String = column(
        "Its accelerator; key of accelerators. Null where it has none.",
        nullable=True,
        str_matches=ID_PATTERN,
    )
    accelerator_count: pl.Float64 = column("How many; 0 where there is none.", ge=0)
    accelerator_memory_gb: pl.Float64 = measure(
        "Accelerator memory of the machine; unified memory counts here too.", "GB"
    )
    unified_memory: pl.Boolean = column("CPU and accelerator share one memory.")
    cpu: pl.String = column("CPU.", nullable=True)
    arch: pl.String = columns.arch()
    cpu_cores: pl.Int32 = measure("Physical CPU cores of the machine.")
    memory_gib: pl.Float64 = measure("Main memory (the unified memory where there is one).", "GiB")
    storage_tb: pl.Float64 = measure("Storage that comes with it.", "TB")
    network_gbps: pl.Float64 = measure(
        "Network for traffic between machines, over all ports.", "Gbit/s"
    )
    max_power_w: pl.Float64 = measure(
        "Highest power the maker states; null where it states none.", "W"
    )
    power_estimate_w: pl.Float64 = measure(
        "Estimate of the power under load where the maker states none.", "W"
    )
    power_estimate_source: pl.String = column("How the estimate was made.", nullable=True)
    price: Money = measure("What the machine costs as described, without tax.", "currency")
    price_high: Money = measure("Upper end, where the source gives a range.", "currency")
    price_currency: pl.String = column(
        "Currency of the price, ISO 4217.",
        focus="PricingCurrency",
        nullable=True,
        str_matches=CURRENCY_PATTERN,
    )
    price_date: pl.Date = column(
        "Day, or first day of the year or month, of the price; null where the source has no"
        " date, which price_source then says (undated).",
        unit="date",
        nullable=True,
    )
    price_kind: pl.String = column(
        "Where the price comes from.", nullable=True, values=vocabulary.PRICE_KINDS
    )
    price_source: pl.String = column("URL of the price, or who gave it.", nullable=True)
    embodied_kgco2e: pl.Float64 = measure("Emissions of making the machine.", "kgCO2e")
    embodied_source: pl.String = columns.url("Where the embodied emissions are published.")
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="price_has_its_date_and_source")
    def price_has_its_date_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A price has a currency, a kind, a source, and a date unless its source is undated."""
        described = pl.all_horizontal(
            pl.col("price_currency", "price_kind", "price_source").is_not_null()
        )
        undated = pl.col("price_source").str.contains("undated", literal=True)
        dated = pl.col("price_date").is_not_null() != undated
        return data.lazyframe.select(pl.col("price").is_null() | (described & dated))

    class Config:
        name = "local_hardware"
        metadata = {"key": ["device_id"]}
