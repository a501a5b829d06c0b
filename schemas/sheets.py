"""Curated sheets that are never published: language models, and vendors' names of accelerators."""

import polars as pl

from hwprices.schemas import columns
from hwprices.schemas.columns import Table, column


class LanguageModels(Table):
    """Published language models and the dimensions that their memory is computed from."""

    model_id: pl.String = column("Stable id.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    name: pl.String = column("Name of the model.")
    parameters_b: pl.Float64 = column("Parameters.", unit="10^9", gt=0)
    active_parameters_b: pl.Float64 = column(
        "Parameters that one token uses; fewer than all in a mixture of experts.",
        unit="10^9",
        gt=0,
    )
    layers: pl.Int32 = column("Transformer layers.", gt=0)
    hidden_size: pl.Int32 = column("Width of the hidden state.", gt=0)
    heads: pl.Int32 = column("Attention heads of a layer.", gt=0)
    kv_heads: pl.Int32 = column(
        "Heads of keys and values that the cache keeps; 1 for latent attention, whose one vector"
        " all heads share.",
        gt=0,
    )
    kv_elements_per_layer: pl.Int32 = column(
        "Numbers that the key-value cache keeps for one token in one layer.", gt=0
    )
    attention_width: pl.Int32 = column("Attention heads × width of a head.", gt=0)
    ffn_size: pl.Int32 = column(
        "Width of the feed-forward layer; null for a mixture of experts.", nullable=True, gt=0
    )
    vocab_size: pl.Int32 = column("Tokens of the vocabulary.", gt=0)
    experts: pl.Int32 = column("Experts of a layer; null for a dense model.", nullable=True, gt=0)
    active_experts: pl.Int32 = column(
        "Routed experts at work for a token; null for a dense model.", nullable=True, gt=0
    )
    context_limit: pl.Int32 = column("Longest context it was trained for.", unit="tokens", gt=0)
    window_tokens: pl.Int32 = column(
        "Tokens that layers with a sliding window keep; null where there are none.",
        unit="tokens",
        nullable=True,
        gt=0,
    )
    full_attention_layers: pl.Int32 = column(
        "Layers without a window; null where no layer has one.", nullable=True, gt=0
    )
    release_precision: pl.String = column("Number format of the published weights.")
    license: pl.String = column("License of the weights: an SPDX name, or the maker's own.")
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "models"
        metadata = {"key": ["model_id"]}


class BenchmarkWorkloads(Table):
    """What a benchmark of a language model asks: the model, and how long its requests are."""

    benchmark: pl.String = column("benchmarks.model.", str_matches=r"^[a-z0-9.-]+$")
    model_id: pl.String = column("Key of models.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    input_tokens: pl.Float64 = column("Mean length of a prompt.", unit="tokens", gt=0)
    output_tokens: pl.Float64 = column("Mean length of an answer.", unit="tokens", gt=0)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "benchmark_workloads"
        metadata = {"key": ["benchmark"]}


class TrainingSpeeds(Table):
    """How fast a language model was trained, as published."""

    accelerator_id: pl.String = columns.accelerator_id()
    model: pl.String = column("The model, as the source names it.")
    model_id: pl.String = column(
        "Key of models; null for a model whose shape is not there.",
        nullable=True,
        str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$",
    )
    workload: pl.String = column("pretrain, full_finetune or lora.")
    precision: pl.String = column("Number format of the matrices: bf16 or fp8.")
    accelerators: pl.Float64 = column("Accelerators that trained together.", gt=0)
    context: pl.Float64 = column("Length of a sequence.", unit="tokens", nullable=True, gt=0)
    tokens_per_second: pl.Float64 = column(
        "Tokens per second of one accelerator.", unit="tokens/s", nullable=True, gt=0
    )
    model_tflops: pl.Float64 = column(
        "Operations per second of one accelerator, without recomputing, as the source counts them.",
        unit="TFLOPS",
        nullable=True,
        gt=0,
    )
    mfu: pl.Float64 = column(
        "Share of the peak rate, where the source gives that alone.", nullable=True, gt=0, le=1
    )
    software: pl.String = column("Software, or who trained.")
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "training_speeds"
        metadata = {
            "key": [
                *("accelerator_id", "workload", "model", "precision"),
                *("accelerators", "context", "software"),
            ]
        }


class CpuSpeeds(Table):
    """How fast a rented machine without accelerators ran a language model, as published."""

    provider: pl.String = column("The cloud.")
    instance_type: pl.String = column("The machine type.")
    cpu_id: pl.String = column("Key of cpus.")
    vcpus: pl.Int32 = column("vCPUs of the machine.", gt=0)
    model_id: pl.String = column("Key of models.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    kind: pl.String = column(
        "single_user (tokens generated for one user), prompt (tokens of a prompt read) or serving"
        " (tokens generated for many users)."
    )
    precision: pl.String = column("Number format of the weights: q4_k_m or bf16.")
    input_tokens: pl.Float64 = column("Tokens of a prompt.", unit="tokens", gt=0)
    output_tokens: pl.Float64 = column("Tokens of an answer.", unit="tokens", gt=0)
    users: pl.Float64 = column("Requests that were served at once, in the mean.", gt=0)
    tokens_per_second: pl.Float64 = column("Of all users.", unit="tokens/s", gt=0)
    software: pl.String = column("Program and version.")
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    notes: pl.String = columns.notes()

    class Config:
        name = "cpu_speeds"
        metadata = {"key": ["provider", "instance_type", "model_id", "kind", "precision"]}


class Efficiencies(Table):
    """Shares of the peak rates that programs reach, fitted by tools/calibration.py."""

    family: pl.String = column(
        "Family of devices (read/recommend/devices.py); experts and flops_per_byte are figures of"
        " all families.",
        str_matches=r"^[a-z_]+$",
    )
    compute: pl.Float64 = column("Share of the peak rate, or the figure.", gt=0)
    bandwidth: pl.Float64 = column("Share of the memory bandwidth.", nullable=True, gt=0, le=1)
    single_user_bandwidth: pl.Float64 = column(
        "The same of programs for one user, such as llama.cpp.", nullable=True, gt=0, le=1
    )
    serving_measurements: pl.Int32 = column(
        "Measurements of filled machines it was fitted on; 0: the lowest of the other families.",
        ge=0,
    )
    single_user_measurements: pl.Int32 = column("The same of one user.", ge=0)
    devices: pl.Int32 = column("Accelerators they are of.", ge=0)

    class Config:
        name = "efficiencies"
        metadata = {"key": ["family"]}


class Utilisations(Table):
    """Share of the peak rate that dense models reach in training, by tools/calibration.py."""

    accelerator_id: pl.String = columns.accelerator_id()
    precision: pl.String = column("Number format of the matrices: bf16 or fp8.")
    mfu: pl.Float64 = column("Middle share of the dense peak rate.", gt=0, le=1)
    measurements: pl.Int32 = column("Rows of training_speeds that it is of.", gt=0)

    class Config:
        name = "utilisations"
        metadata = {"key": ["accelerator_id", "precision"]}


class CalibrationErrors(Table):
    """How far answers are from measurements that they were not fitted on."""

    basis: pl.String = column("measured, scaled, modelled, or unmeasured_family.")
    kind: pl.String = column(
        "serving, single_user or training; cpu_serving and cpu_single_user without accelerators."
    )
    measurements: pl.Int32 = column("Measurements compared.", ge=0)
    median_error: pl.Float64 = column("Median of |answer / measured - 1|.", ge=0)
    p90_error: pl.Float64 = column("90th percentile of the same.", ge=0)

    class Config:
        name = "calibration"
        metadata = {"key": ["basis", "kind"]}


class AcceleratorNames(Table):
    """Rules that find the accelerator of a machine from a vendor's words.

    A rule with a name and a pattern goes before a rule with one of them.
    """

    vendor_name: pl.String = column(
        "The accelerator as the vendor's API names it; null where the pattern decides alone.",
        nullable=True,
    )
    instance_type_pattern: pl.String = column(
        "Regular expression for the whole machine type; null where the name decides alone.",
        nullable=True,
    )
    accelerator_id: pl.String = columns.accelerator_id()
    count: pl.Float64 = column(
        "Devices of the machine, where the vendor does not say or is wrong.", nullable=True, gt=0
    )
    memory_gib: pl.Float64 = column(
        "Memory of one device, where the vendor does not say or is wrong.",
        unit="GiB",
        nullable=True,
        gt=0,
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "accelerator_names"
        metadata = {"key": ["vendor_name", "instance_type_pattern"]}
