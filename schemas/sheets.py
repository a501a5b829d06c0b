"""Curated sheets besides the specs.

Language models, vendors' names of accelerators, benchmarks, the footprint of regions, and figures
that the accelerator sheet is checked against.
"""

import pandera.polars as pa
import polars as pl

from hwprices.schemas import columns, vocabulary
from hwprices.schemas.columns import PROVIDER_PATTERN, Noted, Table, column, measure
from hwprices.schemas.spec import Sourced


class LanguageModels(Noted):
    """Published language models and the dimensions that their memory is computed from."""

    model_id: pl.String = column("Stable id.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    name: pl.String = column("Name of the model.")
    kind: pl.String = column(
        "What it generates: text or embedding (one vector).", isin=["text", "embedding"]
    )
    parameters_b: pl.Float64 = column("Parameters.", unit="10^9", gt=0)
    active_parameters_b: pl.Float64 = column(
        "Parameters that one token uses; fewer than all in a mixture of experts.", unit="10^9", gt=0
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
    ffn_size: pl.Int32 = measure("Width of the feed-forward layer; null for a mixture of experts.")
    vocab_size: pl.Int32 = column("Tokens of the vocabulary.", gt=0)
    experts: pl.Int32 = measure("Experts of a layer; null for a dense model.")
    active_experts: pl.Int32 = measure(
        "Routed experts at work for a token; null for a dense model."
    )
    context_limit: pl.Int32 = column("Longest context it was trained for.", unit="tokens", gt=0)
    window_tokens: pl.Int32 = measure(
        "Tokens that layers with a sliding window keep; null where there are none.", "tokens"
    )
    full_attention_layers: pl.Int32 = measure(
        "Layers without a window; null where no layer has one."
    )
    release_precision: pl.String = column("Number format of the published weights.")
    repository: pl.String = column(
        "Name of the weights at huggingface.co, of those that follow instructions where there are"
        " such; null where none of them is there in a form that vLLM loads.",
        nullable=True,
    )
    license: pl.String = column("License of the weights: an SPDX name, or the maker's own.")

    class Config:
        name = "models"
        metadata = {"key": ["model_id"]}


class MediaModels(Noted):
    """Models of images, speech and video, for which answers use a benchmark's measurements."""

    benchmark: pl.String = column("benchmarks.model.", str_matches=r"^[a-z0-9.-]+$")
    names: pl.String = column("Names that people write, the first one the usual; separated by ;.")
    sample: pl.String = column("What one sample is.")
    setting: pl.String = column("How it was measured.")

    class Config:
        name = "media_models"
        metadata = {"key": ["benchmark"]}


class BenchmarkWorkloads(Noted):
    """Workloads of language model benchmarks: the model, and the length of its requests."""

    benchmark: pl.String = column("benchmarks.model.", str_matches=r"^[a-z0-9.-]+$")
    model_id: pl.String = column("Key of models.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    input_tokens: pl.Float64 = column("Mean length of a prompt.", unit="tokens", gt=0)
    output_tokens: pl.Float64 = column("Mean length of an answer.", unit="tokens", gt=0)

    class Config:
        name = "benchmark_workloads"
        metadata = {"key": ["benchmark"]}


class TrainingSpeeds(Noted):
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
    context: pl.Float64 = measure("Length of a sequence.", "tokens")
    tokens_per_second: pl.Float64 = measure("Tokens per second of one accelerator.", "tokens/s")
    model_tflops: pl.Float64 = measure(
        "Operations per second of one accelerator, without recomputing, as the source counts them.",
        "TFLOPS",
    )
    mfu: pl.Float64 = column(
        "Share of the peak rate, where the source gives that alone.", nullable=True, gt=0, le=1
    )
    software: pl.String = column("Software, or who trained.")

    class Config:
        name = "training_speeds"
        metadata = {
            "key": [
                *("accelerator_id", "workload", "model", "precision"),
                *("accelerators", "context", "software"),
            ]
        }


class CpuSpeeds(Noted):
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

    class Config:
        name = "cpu_speeds"
        metadata = {"key": ["provider", "instance_type", "model_id", "kind", "precision"]}


class ServingSpeeds(Noted):
    """How fast accelerators served a language model, as published."""

    accelerator_id: pl.String = columns.accelerator_id()
    accelerators: pl.Int32 = column("Accelerators of the machine.", gt=0)
    model_id: pl.String = column("Key of models.", str_matches=r"^[a-z0-9.]+(-[a-z0-9.]+)*$")
    precision: pl.String = column("Number format of the stored weights.")
    input_tokens: pl.Float64 = column("Tokens of a prompt.", unit="tokens", gt=0)
    output_tokens: pl.Float64 = column("Tokens of an answer.", unit="tokens", gt=0)
    users: pl.Float64 = measure("Requests served together; null: as many as fit.")
    tokens_per_second: pl.Float64 = column(
        "Output of all users of the machine.", unit="tokens/s", gt=0
    )
    source: pl.String = column(
        "Who measured: rows of one source are left out together when the error of recommend is"
        " computed."
    )
    software: pl.String = column("Program, with its version where the source states it.")

    class Config:
        name = "serving_speeds"
        metadata = {
            "key": [
                *("accelerator_id", "model_id", "accelerators", "precision", "input_tokens"),
                *("output_tokens", "users", "source_url"),
            ]
        }


class SpareCoresSpeeds(ServingSpeeds):
    """The same, measured by Spare Cores; CC BY-SA 4.0."""

    class Config:
        name = "spare_cores_speeds"
        metadata = ServingSpeeds.Config.metadata


class SpeedModels(Table):
    """Constants and factors for the speeds estimated by recommend; see tools/calibration.py."""

    kind: pl.String = column(
        "constant (seconds of a part of the roofline), factor (of the speed of a family) or range"
        " (factors of an estimate that contain measurements it was not fitted on)."
    )
    name: pl.String = column("The part, the family, or the basis of the estimate.")
    load: pl.String = column(
        "few or full, for a factor; p05, p25, p75 or p95, for a range.", nullable=True
    )
    value: pl.Float64 = column("The constant or factor.", gt=0)
    measurements: pl.Int32 = column("Measurements it is fitted on.", ge=0)

    class Config:
        name = "speed_model"
        metadata = {"key": ["kind", "name", "load"]}


class MeasuredSpeeds(Table):
    """Measured speeds of a network on an accelerator over modeled ones, by tools/calibration.py."""

    accelerator_id: pl.String = columns.accelerator_id()
    load: pl.String = column("one user, few (below 8) or full.")
    model_id: pl.String = column("Key of models: one of the models with that network.")
    factor: pl.Float64 = column("Measured over modeled speed, as far as it is believed.", gt=0)
    measurements: pl.Int32 = column("Measurements it is the middle of.", gt=0)
    measurement: pl.String = column("The one in the middle.")

    class Config:
        name = "measured_speeds"
        metadata = {"key": ["accelerator_id", "load", "model_id"]}


class Utilisations(Table):
    """Share of the peak rate that dense models reach in training, by tools/calibration.py."""

    accelerator_id: pl.String = columns.accelerator_id()
    precision: pl.String = column("Number format of the matrices: bf16 or fp8.")
    mfu: pl.Float64 = column("Middle share of the dense peak rate.", gt=0, le=1)
    measurements: pl.Int32 = column("Rows of training_speeds that it is of.", gt=0)

    class Config:
        name = "utilisations"
        metadata = {"key": ["accelerator_id", "precision"]}


class AcceleratorNames(Table):
    """Rules that find the accelerator of a machine from a vendor's words.

    A rule with both a name and a pattern takes precedence over a rule with one of them.
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
    count: pl.Float64 = measure(
        "Devices of the machine, where the vendor does not say or is wrong."
    )
    memory_gib: pl.Float64 = measure(
        "Memory of one device, where the vendor does not say or is wrong.", "GiB"
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()

    class Config:
        name = "accelerator_names"
        metadata = {"key": ["vendor_name", "instance_type_pattern"]}


class ToolNames(Table):
    """What other tools call accelerators, for ``hwprices export --as``."""

    tool: pl.String = column("The tool.", isin=["gpuhunt", "skypilot"])
    accelerator_id: pl.String = columns.accelerator_id()
    name: pl.String = column("The tool's name of it.")

    class Config:
        name = "tool_names"
        metadata = {"key": ["tool", "accelerator_id"]}


class RegionFootprint(Sourced):
    """Geography, grid and PUE by region, from which the regions table is completed.

    Curated by hand: not every region has every figure.
    """

    provider: pl.String = columns.provider()
    region: pl.String = columns.region()
    display_name: pl.String = columns.display_name()
    kind: pl.String = column("What kind of place it is.", values=vocabulary.REGION_KINDS)
    parent_region: pl.String = columns.parent_region()
    country: pl.String = columns.country()
    continent: pl.String = columns.continent()
    latitude: pl.Float64 = columns.latitude()
    longitude: pl.Float64 = columns.longitude()
    grid_gco2e_per_kwh: pl.Float64 = columns.grid_gco2e_per_kwh()
    grid_year: pl.Int32 = column("Year of the grid intensity.", unit="year", nullable=True)
    grid_source: pl.String = columns.url("Where the grid intensity is published.")
    grid_basis: pl.String = column(
        "What the grid intensity covers; null without one.",
        nullable=True,
        values=vocabulary.GRID_BASES,
    )
    pue: pl.Float64 = columns.pue()
    pue_year: pl.Int32 = column("Year of the PUE.", unit="year", nullable=True)
    pue_source: pl.String = columns.url("Where the PUE is published.")
    pue_basis: pl.String = column(
        "What the PUE covers; null without one.", nullable=True, values=vocabulary.PUE_BASES
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="grid_with_year_and_source")
    def grid_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A grid intensity, its year and its source are all given or all empty."""
        group = pl.col("grid_gco2e_per_kwh", "grid_year", "grid_source")
        return data.lazyframe.select(
            pl.all_horizontal(group.is_null()) | pl.all_horizontal(group.is_not_null())
        )

    @pa.dataframe_check(name="pue_with_year_and_source")
    def pue_with_year_and_source(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """A PUE, its year and its source are all given or all empty."""
        group = pl.col("pue", "pue_year", "pue_source")
        return data.lazyframe.select(
            pl.all_horizontal(group.is_null()) | pl.all_horizontal(group.is_not_null())
        )

    class Config:
        name = "region_footprint"
        metadata = {"key": ["provider", "region"]}


class PowerCoefficients(Sourced):
    """Power of the parts of a machine, by unit: the power model behind the estimated watts."""

    provider: pl.String = column(
        "Cloud provider the coefficient was computed for; any where it holds for all.",
        str_matches=PROVIDER_PATTERN,
    )
    component: pl.String = column("Part of the machine.", values=vocabulary.POWER_COMPONENTS)
    microarchitecture: pl.String = column(
        "Microarchitecture of the CPU (cpus.microarchitecture); any for other parts; average where"
        " the CPU is not known."
    )
    min_watts: pl.Float64 = column("Power of one unit at idle.", unit="W/unit", ge=0)
    max_watts: pl.Float64 = column("Power of one unit at full load.", unit="W/unit", gt=0)
    unit: pl.String = column("What one unit is.", values=vocabulary.POWER_UNITS)
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="idle_draws_no_more_than_full_load")
    def idle_draws_no_more_than_full_load(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """The power at idle is at most the power at full load."""
        return data.lazyframe.select(pl.col("min_watts") <= pl.col("max_watts"))

    class Config:
        name = "power_coefficients"
        metadata = {"key": ["provider", "component", "microarchitecture"]}


class BillingTerms(Sourced):
    """How a vendor bills a purchase option. Terms of a vendor without a row are not known."""

    provider: pl.String = columns.provider()
    purchase_option: pl.String = columns.purchase_option()
    machines: pl.String = column("Machines that the terms apply to; all for every machine.")
    increment_seconds: pl.Int32 = measure(
        "Use is rounded up to this; null where it is not known or the whole term is paid.", "s"
    )
    minimum_seconds: pl.Int32 = measure("Least that is billed; null where it is not known.", "s")
    when_stopped: pl.String = column(
        "Whether a stopped machine is billed.", values=vocabulary.WHEN_STOPPED
    )
    outlives_machine: pl.String = column(
        "What stays, and is billed, after the machine is deleted.", nullable=True
    )
    source_url: pl.String = columns.source_url()
    as_of: pl.Date = columns.as_of()
    confidence: pl.String = columns.confidence()
    verified: pl.Boolean = columns.verified()
    notes: pl.String = columns.notes()

    class Config:
        name = "billing_terms"
        metadata = {"key": ["provider", "purchase_option", "machines"]}


class Benchmarks(Table):
    """One measured result: a system, or the median of several systems with the same accelerator.

    Systems that mix accelerators are left out. Figures per accelerator are computed by hwprices:
    MLPerf has no such metric.
    """

    accelerator_id: pl.String = columns.accelerator_id()
    suite: pl.String = column("Benchmark suite.", values=vocabulary.SUITES)
    model: pl.String = column("Benchmark, as MLPerf spells it: llama2-70b-99, llama2_70b_lora …")
    scenario: pl.String = column(
        "MLPerf Inference scenario; training for MLPerf Training.", values=vocabulary.SCENARIOS
    )
    round: pl.String = column("Round: v4.1, v5.1 …", str_matches=r"^v\d+\.\d+$")
    system: pl.String = column(
        "submitter/system as submitted; the word median where the row covers several systems."
    )
    system_count: pl.Int32 = column(
        "Systems that the row covers: 1, or how many the median is of.", gt=0
    )
    accelerator_count: pl.Float64 = measure(
        "Accelerators of the system; null for a median over systems."
    )
    result: pl.Float64 = measure(
        "What was measured, for the whole system; null for a median over systems."
    )
    result_unit: pl.String = column(
        "Unit of result and of the per-accelerator figures: a rate, or minutes to train.",
        values=vocabulary.RESULT_UNITS,
    )
    per_accelerator: pl.Float64 = measure(
        "Rate per accelerator: result / accelerator_count, or the median of that over the systems."
        " Null for a time."
    )
    per_accelerator_best: pl.Float64 = measure("Highest rate per accelerator among the systems.")
    accelerator_hours: pl.Float64 = measure("Training: minutes × accelerators / 60.", "h")
    runs: pl.Int32 = measure("Training: runs the minutes are the mean of.")
    derived: pl.Boolean = column(
        "The row has a figure computed by hwprices (per accelerator, accelerator-hours), which"
        " MLPerf does not score."
    )
    official: pl.Boolean = column(
        "Read from MLCommons' own repository; false for an unofficial copy or an unscaled time."
    )
    precision: pl.String = column(
        "Number format of the weights, where the submission says.", nullable=True
    )
    software: pl.String = column("Software, where the submission says.", nullable=True)
    division: pl.String = column(
        "Division of MLPerf; null when the source does not say.",
        nullable=True,
        values=vocabulary.DIVISIONS,
    )
    source_url: pl.String = columns.url("Where the result was read.", nullable=False)
    as_of: pl.Date = column("Day it was read.", unit="date")
    confidence: pl.String = columns.confidence()
    notes: pl.String = columns.notes()

    @pa.dataframe_check(name="derived_is_marked")
    def derived_is_marked(cls, data: pa.PolarsData) -> pl.LazyFrame:
        """Rows with a figure per accelerator, which is not MLPerf's, are marked."""
        computed = pl.any_horizontal(
            pl.col("per_accelerator", "per_accelerator_best", "accelerator_hours").is_not_null()
        )
        return data.lazyframe.select(computed == pl.col("derived"))

    class Config:
        name = "benchmarks"
        metadata = {"key": ["accelerator_id", "model", "scenario", "round", "system"]}


class SecondSources(Table):
    """A figure of the accelerator sheet as another, independent source gives it."""

    accelerator_id: pl.String = columns.accelerator_id()
    figure: pl.String = column(
        "Column of accelerators that the value belongs to.", str_matches=r"^[a-z0-9_]+$"
    )
    source: pl.String = column("Name of the source.")
    value: pl.Float64 = column("The value, in the unit of the column.", gt=0)
    source_url: pl.String = columns.url("Where it is published.", nullable=False)
    as_of: pl.Date = column("Day the source was read, or the day of its edition.", unit="date")
    explanation: pl.String = column(
        "Why it differs by more than 3 %, and which one is right; null where it agrees.",
        nullable=True,
    )

    class Config:
        name = "second_sources"
        metadata = {"key": ["accelerator_id", "figure", "source"]}


class SparseFigures(Table):
    """Rates that a maker prints with structured sparsity, often without saying so.

    The dense columns of the accelerator sheet must not hold them.
    """

    accelerator_id: pl.String = columns.accelerator_id()
    figure: pl.String = column(
        "Dense column that must not hold the rate.", str_matches=r"^[a-z0-9]+_dense_t(fl)?ops$"
    )
    sparse_rate: pl.Float64 = column(
        "The rate as printed, for one device.", unit="TFLOPS or TOPS", gt=0
    )
    sparse_over_dense: pl.Float64 = column(
        "How many times the dense rate it is: 2 for 2:4 sparsity, with exceptions.", gt=1
    )
    source_url: pl.String = columns.url("Where it is printed.", nullable=False)
    as_of: pl.Date = column("Day it was read.", unit="date")
    notes: pl.String = column("How the figure for one device was worked out.", nullable=True)

    class Config:
        name = "sparse_figures"
        metadata = {"key": ["accelerator_id", "figure"]}


class InterconnectLinks(Table):
    """How many links an accelerator has to others, and the rate of one."""

    accelerator_id: pl.String = columns.accelerator_id()
    links: pl.Int32 = column("Number of links of one device.", gt=0)
    link_gbs: pl.Float64 = column("Rate of one link, both directions together.", unit="GB/s", gt=0)
    source_url: pl.String = columns.url("Where they are published.", nullable=False)
    as_of: pl.Date = column("Day the source was read, or the day of its edition.", unit="date")
    notes: pl.String = column("What is doubtful about them.", nullable=True)

    class Config:
        name = "interconnect_links"
        metadata = {"key": ["accelerator_id"]}


class RatioExceptions(Table):
    """Devices whose rates break a ratio between number formats, and why."""

    accelerator_id: pl.String = columns.accelerator_id()
    rule: pl.String = column("Name of the rule that does not hold.", str_matches=r"^[a-z0-9_]+$")
    reason: pl.String = column("Why it does not hold here.")

    class Config:
        name = "ratio_exceptions"
        metadata = {"key": ["accelerator_id", "rule"]}
