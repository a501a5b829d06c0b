"""The wide table offers, and the accelerator sheet with the places where each device is sold.

All formulas are in ``hwprices.formulas``; docs/method.md computes examples by hand. A figure is
null if an input is missing.
"""

from typing import Any

import pandera.polars as pa
import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import Table, column, list_column, measure
from hwprices.schemas.spec import Accelerators
from hwprices.units import Money, Timestamp


def _usd(description: str) -> Any:
    return measure(
        description + " Linux, shared tenancy, license included.", "USD/h", focus="ListUnitPrice"
    )


_RESERVED = {
    "no": "nothing or a month at a time paid.",
    "partial": "part paid upfront: effective hourly.",
    "all": "all paid upfront: effective hourly.",
}


def _reserved(term: str, upfront: str) -> Any:
    return _usd(f"Standard reservation, {term}, {_RESERVED[upfront]}")


def _compute_plan(terms: str) -> Any:
    return _usd(f"Compute savings plan, {terms} upfront.")


def _ec2_plan(terms: str) -> Any:
    return _usd(f"EC2 Instance savings plan, {terms} upfront.")


def _discount(description: str) -> Any:
    return column(
        description + " 1 - price / on-demand price; negative where the price is higher.",
        unit="ratio",
        nullable=True,
        le=1,
    )


def _tokens(model: str, lengths: str) -> Any:
    return measure(
        f"On-demand price of a million generated tokens of {model}, including their prompts"
        f" ({lengths}): MLPerf Inference, Offline, measured on a system with the same number of the"
        " same accelerators; null if none was measured.",
        "USD/10^6 tokens",
    )


class Offers(Table):
    """One machine type in one region with its prices side by side: Linux, shared tenancy.

    Columns named usd are null where the region is priced in another currency; currencies are never
    mixed. Prices of commitments are effective hourly prices: hourly + upfront / (years × 8760).
    Prices flagged as placeholders are left out.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    instance_type: pl.String = columns.instance_type()
    country: pl.String = columns.country()
    family: pl.String = column(
        "Family the vendor groups the type in.",
        nullable=True,
        focus="SkuPriceDetails.InstanceSeries",
    )
    arch: pl.String = columns.arch()
    cpu_microarchitecture: pl.String = column(
        "CPU microarchitecture, where the vendor commits the type to one.", nullable=True
    )
    vcpus: pl.Int32 = measure("vCPUs as sold.", focus="SkuPriceDetails.CoreCount")
    memory_gib: pl.Float64 = measure("Main memory.", "GiB", focus="SkuPriceDetails.MemorySize")
    local_disk_gib: pl.Float64 = column(
        "Total local disk of the machine; 0 where there is none.",
        unit="GiB",
        nullable=True,
        ge=0,
        focus="SkuPriceDetails.DiskSpace",
    )
    network_gbps_max: pl.Float64 = measure(
        "Highest network bandwidth, over all cards.",
        "Gbit/s",
        focus="SkuPriceDetails.NetworkMaxThroughput",
    )
    rdma: pl.String = column("Remote direct memory access it offers; none.", nullable=True)
    accelerator_kind: pl.String = column(
        "What kind of accelerator the machine has.",
        nullable=True,
        values=vocabulary.ACCELERATOR_KINDS,
    )
    accelerator_id: pl.String = column(
        "Its accelerator; key of accelerators. Null where there is none, where kinds are mixed, or"
        " where the vendor's name has no match; also null where the machine is not described (flag"
        " machine_unknown).",
        nullable=True,
    )
    accelerator_name: pl.String = column("Name of the accelerator.", nullable=True)
    accelerator_count: pl.Float64 = column(
        "Accelerators of the machine; fractions are real; 0 where there is none.",
        nullable=True,
        ge=0,
        focus="SkuPriceDetails.GpuCount",
    )
    accelerator_memory_gib: pl.Float64 = measure(
        "Accelerator memory of the whole machine, as the cloud reports it.", "GiB"
    )
    accelerator_interconnect: pl.String = column(
        "How the accelerators of one machine are connected.", nullable=True
    )
    accelerator_memory_bandwidth_gbs: pl.Float64 = measure(
        "Memory bandwidth of one accelerator.", "GB/s"
    )
    accelerator_fp16_tflops: pl.Float64 = measure("Dense FP16 rate of one accelerator.", "TFLOPS")
    accelerator_bf16_tflops: pl.Float64 = measure("Dense BF16 rate of one accelerator.", "TFLOPS")
    accelerator_fp8_tflops: pl.Float64 = measure("Dense FP8 rate of one accelerator.", "TFLOPS")
    accelerator_int8_tops: pl.Float64 = measure("Dense INT8 rate of one accelerator.", "TOPS")
    accelerator_tdp_w: pl.Float64 = measure(
        "Thermal design power of one accelerator that its maker publishes.", "W"
    )
    accelerator_power_w: pl.Float64 = measure(
        "Power of one accelerator at full load: its default power limit where the maker states one,"
        " else its TDP.",
        "W",
    )
    accelerator_embodied_kgco2e: pl.Float64 = measure(
        "Emissions of making one accelerator.", "kgCO2e"
    )

    currency: pl.String = columns.currency()
    on_demand_hourly: Money = measure(
        "On-demand price in the currency of the row.", "currency/h", focus="ListUnitPrice"
    )
    on_demand_usd_per_hour: Money = _usd("On-demand price.")
    on_demand_usd_per_year: Money = measure("On-demand price × 8760.", "USD/year")
    on_demand_reason: pl.String = column(
        "Why the on-demand price is null; null where it is known. Several reasons are joined by a"
        " comma.",
        nullable=True,
        values=vocabulary.ON_DEMAND_REASONS,
    )
    spot_usd_per_hour: Money = _usd("Spot price of the cheapest zone.")
    spot_zone: pl.String = column(
        "That zone; null where spot is priced by region.", focus="AvailabilityZone", nullable=True
    )
    spot_discount: pl.Float64 = _discount("Spot against on-demand.")
    low_priority_usd_per_hour: Money = _usd("Low-priority price (Azure Batch and scale sets).")
    dev_test_usd_per_hour: Money = _usd("Price for development and test subscriptions.")
    reserved_1y_no_upfront_usd_per_hour: Money = _reserved("1 year", "no")
    reserved_1y_partial_upfront_usd_per_hour: Money = _reserved("1 year", "partial")
    reserved_1y_partial_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    reserved_1y_all_upfront_usd_per_hour: Money = _reserved("1 year", "all")
    reserved_1y_all_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    reserved_3y_no_upfront_usd_per_hour: Money = _reserved("3 years", "no")
    reserved_3y_partial_upfront_usd_per_hour: Money = _reserved("3 years", "partial")
    reserved_3y_partial_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    reserved_3y_all_upfront_usd_per_hour: Money = _reserved("3 years", "all")
    reserved_3y_all_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    reserved_5y_no_upfront_usd_per_hour: Money = _reserved("5 years", "no")
    reserved_5y_partial_upfront_usd_per_hour: Money = _reserved("5 years", "partial")
    reserved_5y_partial_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    reserved_5y_all_upfront_usd_per_hour: Money = _reserved("5 years", "all")
    reserved_5y_all_upfront_usd: Money = measure("What is paid upfront for that.", "USD")
    compute_savings_plan_1y_no_upfront_usd_per_hour: Money = _compute_plan("1 year, nothing")
    compute_savings_plan_1y_partial_upfront_usd_per_hour: Money = _compute_plan("1 year, half")
    compute_savings_plan_1y_all_upfront_usd_per_hour: Money = _compute_plan("1 year, all")
    compute_savings_plan_3y_no_upfront_usd_per_hour: Money = _compute_plan("3 years, nothing")
    compute_savings_plan_3y_partial_upfront_usd_per_hour: Money = _compute_plan("3 years, half")
    compute_savings_plan_3y_all_upfront_usd_per_hour: Money = _compute_plan("3 years, all")
    ec2_instance_savings_plan_1y_no_upfront_usd_per_hour: Money = _ec2_plan("1 year, nothing")
    ec2_instance_savings_plan_1y_partial_upfront_usd_per_hour: Money = _ec2_plan("1 year, half")
    ec2_instance_savings_plan_1y_all_upfront_usd_per_hour: Money = _ec2_plan("1 year, all")
    ec2_instance_savings_plan_3y_no_upfront_usd_per_hour: Money = _ec2_plan("3 years, nothing")
    ec2_instance_savings_plan_3y_partial_upfront_usd_per_hour: Money = _ec2_plan("3 years, half")
    ec2_instance_savings_plan_3y_all_upfront_usd_per_hour: Money = _ec2_plan("3 years, all")
    committed_use_1y_usd_per_hour: Money = _usd("Resource-based committed use discount, 1 year.")
    committed_use_3y_usd_per_hour: Money = _usd("Resource-based committed use discount, 3 years.")
    flexible_committed_use_1y_usd_per_hour: Money = _usd(
        "Flexible (spend-based) committed use discount, 1 year."
    )
    flexible_committed_use_3y_usd_per_hour: Money = _usd(
        "Flexible (spend-based) committed use discount, 3 years."
    )
    capacity_block_usd_per_hour: Money = _usd("Capacity Block for ML, cheapest offering.")
    dws_calendar_usd_per_hour: Money = _usd("Dynamic Workload Scheduler, calendar mode.")
    dws_flex_start_usd_per_hour: Money = _usd("Dynamic Workload Scheduler, flex start.")
    dws_defined_duration_usd_per_hour: Money = _usd("Dynamic Workload Scheduler, defined duration.")
    best_1y_usd_per_hour: Money = _usd("Cheapest of the 1-year commitments above.")
    best_1y_option: pl.String = column(
        "Which one: the column's name without _usd_per_hour.", nullable=True
    )
    best_1y_discount: pl.Float64 = _discount("Cheapest 1-year commitment against on-demand.")
    best_3y_usd_per_hour: Money = _usd("Cheapest of the 3-year commitments above.")
    best_3y_option: pl.String = column(
        "Which one: the column's name without _usd_per_hour.", nullable=True
    )
    best_3y_discount: pl.Float64 = _discount("Cheapest 3-year commitment against on-demand.")

    usd_per_vcpu_hour: Money = measure(
        "On-demand price / vcpus; only for machines without accelerators.", "USD/(vCPU·h)"
    )
    usd_per_accelerator_hour: Money = measure(
        "On-demand price / accelerator_count.", "USD/(accelerator·h)"
    )
    spot_usd_per_accelerator_hour: Money = measure(
        "Spot price / accelerator_count.", "USD/(accelerator·h)"
    )
    usd_per_gib_accelerator_memory_hour: Money = measure(
        "On-demand price / accelerator_memory_gib.", "USD/(GiB·h)"
    )
    usd_per_pflop_hour_bf16: Money = measure(
        "On-demand price / dense BF16 PFLOPS of all accelerators.", "USD/(PFLOPS·h)"
    )
    usd_per_pflop_hour_fp8: Money = measure(
        "On-demand price / dense FP8 PFLOPS of all accelerators.", "USD/(PFLOPS·h)"
    )
    tflops_per_watt_bf16: pl.Float64 = measure(
        "Dense BF16 rate / TDP of one accelerator, at the peak.", "TFLOPS/W"
    )

    power_basis: pl.String = column(
        "Which CPU coefficient the watts use.", nullable=True, values=vocabulary.POWER_BASES
    )
    cpu_min_watts_per_vcpu: pl.Float64 = column(
        "Power of one vCPU at idle.", unit="W/vCPU", nullable=True, ge=0
    )
    cpu_max_watts_per_vcpu: pl.Float64 = measure("Power of one vCPU at full load.", "W/vCPU")
    cpu_utilisation: pl.Float64 = column(
        "CPU utilisation the watts assume.", unit="ratio", in_range={"min_value": 0, "max_value": 1}
    )
    accelerator_utilisation: pl.Float64 = column(
        "Share of the accelerators' power the watts assume.",
        unit="ratio",
        in_range={"min_value": 0, "max_value": 1},
    )
    cpu_watts: pl.Float64 = measure("vcpus × (idle + utilisation × (full load - idle)).", "W")
    memory_watts: pl.Float64 = measure("memory_gib × W/GiB.", "W")
    local_disk_watts: pl.Float64 = column("Local disk in TB × W/TB.", unit="W", nullable=True, ge=0)
    accelerator_watts: pl.Float64 = column(
        "accelerator_count × accelerator_power_w × utilisation; 0 without accelerators.",
        unit="W",
        nullable=True,
        ge=0,
    )
    estimated_watts: pl.Float64 = measure(
        "Estimated power of the machine without the building's share: CPU + memory + local disk +"
        " accelerators.",
        "W",
    )
    estimated_watts_from_tdp_estimate: pl.Float64 = measure(
        "The same from an estimate of the accelerator's TDP, where its maker publishes no power."
        " Never part of estimated_watts.",
        "W",
    )
    pue: pl.Float64 = columns.pue()
    grid_gco2e_per_kwh: pl.Float64 = columns.grid_gco2e_per_kwh()
    energy_kwh_per_hour: pl.Float64 = measure(
        "Watts / 1000 × pue (E of SCI). The watts are estimated_watts, else those from an estimated"
        " TDP, else the parts that are known; flags say which.",
        "kWh/h",
    )
    operational_gco2e_per_hour: pl.Float64 = column("E × I.", unit="gCO2e/h", nullable=True, ge=0)
    embodied_lifetime_hours: pl.Float64 = column(
        "Service life over which making the machine is spread.", unit="h", gt=0
    )
    embodied_gco2e_per_hour: pl.Float64 = column(
        "Making the accelerators / service life (M of SCI); null where it is not published.",
        unit="gCO2e/h",
        nullable=True,
        ge=0,
    )
    gco2e_per_hour: pl.Float64 = column(
        "Software Carbon Intensity for one hour: E × I + M; null where one of them is.",
        unit="gCO2e/h",
        nullable=True,
        ge=0,
    )

    usd_per_million_tokens_llama2_70b: Money = _tokens(
        "Llama 2 70B (llama2-70b-99)", "294 tokens in, 294 out on average"
    )
    usd_per_million_tokens_llama3_1_8b: Money = _tokens(
        "Llama 3.1 8B", "778 tokens in, 128 out on average"
    )
    usd_per_million_tokens_llama3_1_405b: Money = _tokens(
        "Llama 3.1 405B", "9,428 tokens in, 684 out on average"
    )
    usd_per_million_tokens_mixtral_8x7b: Money = _tokens(
        "Mixtral 8x7B", "290 tokens in, 145 out on average"
    )
    usd_per_million_tokens_deepseek_r1: Money = _tokens(
        "DeepSeek-R1", "800 tokens in, 3,880 out on average"
    )
    usd_per_million_tokens_gpt_oss_120b: Money = _tokens("gpt-oss-120b", "lengths not known")
    benchmark_rounds: pl.List(pl.String) = column(
        "The measurements those prices use: model/round/system of the benchmarks table."
    )
    minutes_per_llama2_70b_lora: pl.Float64 = measure(
        "Minutes of one LoRA fine-tuning of Llama 2 70B: MLPerf Training, measured on a system with"
        " the same number of the same accelerators.",
        "min",
    )
    usd_per_llama2_70b_lora: Money = measure("On-demand price of those minutes.", "USD")

    flags: pl.List(pl.String) = list_column(
        "Flags of the on-demand and spot rows of prices, and of the machine, its power and its"
        " place, sorted; empty when there is nothing.",
        vocabulary.FLAGS,
    )
    on_demand_price_id: pl.String = column(
        "The row of prices that holds the on-demand price.", nullable=True
    )
    spot_price_id: pl.String = column("The row of prices that holds the spot price.", nullable=True)
    observed_at: Timestamp = column("Oldest fetch among the prices of the row.", unit="UTC")
    block_storage_gbps_baseline: pl.Float64 = columns.block_storage_gbps_baseline()
    block_storage_gbps_max: pl.Float64 = columns.block_storage_gbps_max()
    block_storage_iops_baseline: pl.Int32 = columns.block_storage_iops_baseline()
    block_storage_iops_max: pl.Int32 = columns.block_storage_iops_max()

    serverless_usd_per_hour: Money = _usd(
        "An hour of the machine under a managed service that bills the time it runs."
    )

    @pa.dataframe_check(name="one_currency")
    def one_currency(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Columns in USD are filled only where the region is priced in USD."""
        usd = [name for name in data.lazyframe.collect_schema() if "usd" in name]
        return data.lazyframe.select(
            (pl.col("currency") == "USD") | pl.all_horizontal(pl.col(usd).is_null())
        )

    @pa.dataframe_check(name="on_demand_or_reason")
    def on_demand_or_reason(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A row has either an on-demand price or the reason why there is none."""
        return data.lazyframe.select(
            pl.col("on_demand_hourly").is_null() == pl.col("on_demand_reason").is_not_null()
        )

    @pa.dataframe_check(name="flags_are_declared")
    def flags_are_declared(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Every flag is in the vocabulary."""
        return data.lazyframe.select(columns.elements_declared("flags", vocabulary.FLAGS))

    class Config:
        name = "offers"
        metadata = {"key": ["provider", "region", "instance_type"]}


class SoldAccelerators(Accelerators):
    """The accelerator sheet, with the places where each device is sold in this release.

    One row is one device as the cloud counts it.
    """

    providers: pl.List(pl.String) = column(
        "Clouds that have a machine type with it, sorted; empty where none has."
    )
    instance_type_count: pl.Int32 = column("Machine types with it, over all clouds.", ge=0)
    regions: pl.List(pl.String) = column(
        "Where a cloud lists a machine type with it, or prices one: provider/region, sorted."
    )
    region_count: pl.Int32 = column("How many regions these are, over all clouds.", ge=0)
    min_usd_per_accelerator_hour: Money = measure(
        "Cheapest on-demand price of one device in any machine and region, without community"
        " hosts (RunPod's Community Cloud) and regions that lack the machine.",
        "USD/(accelerator·h)",
    )
    min_spot_usd_per_accelerator_hour: Money = measure(
        "Cheapest spot price of one device, of the same machines.", "USD/(accelerator·h)"
    )
    min_part_usd_per_hour: Money = measure(
        "Cheapest on-demand price of one device sold as a part (a GPU to attach, a TPU chip),"
        " without the machine around it.",
        "USD/h",
    )
    local_devices: pl.List(pl.String) = column(
        "Machines with it that can be bought; key of local_hardware, sorted."
    )

    class Config:
        name = "accelerators"
        metadata = {"key": ["accelerator_id"]}
