"""Estimate how fast machines serve a language model: one roofline for every machine.

The seconds in which a batch is answered are a sum of seven parts, each with a fitted constant (Pope
et al., https://arxiv.org/abs/2211.05102). A factor by family and load corrects it, and so do
measurements of the same network on the same accelerator. tools/calibration.py fits all of it;
docs/method.md shows how far the result is from measurements that it was not fitted on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import polars as pl

from hwprices.formulas import first_of, language_model
from hwprices.formulas.language_model import BITS_PER_WEIGHT, SHAPE
from hwprices.read.recommend import constants, table
from hwprices.read.recommend.model_shape import model_shape
from hwprices.specs import packaged_sheet
from hwprices.units import NUMBER_FORMATS

col = pl.col

FAMILIES = table("families").with_columns(col.architectures.str.split(";"))
"""Devices that run the same kernels: the architectures of a family (others are ``other``), whether
hardly any training on it was published, and flops_per_byte: dense operations in 16 bits while a
byte of memory is read, the fewest of its devices; those without a published rate do as many."""

FORMATS = table("formats").rows_by_key("format", named=True, unique=True)
"""Formats of weights: bits (of those that devices compute), other names, whether whole models are
trained in it, whether llama.cpp or vLLM runs it on CPUs, and the formats to compute in, the first
that the device supports. Devices with 16-bit arithmetic alone decompress weights of 8 and 4 bits as
they are read: https://docs.vllm.ai/en/latest/features/quantization/"""

COMPUTED = [(name, one) for name, row in FORMATS.items() for one in row["computed"].split(";")]
"""Stored format and one to compute in, the preferred first."""

WIDTH = {name: row["bits"] for name, row in FORMATS.items() if row["bits"]}
"""Bits of the formats that devices compute in."""

RATES = ("compute", "compute_experts", "bytes", "bytes_experts")
PARTS = (*RATES, "layer", "links", "token")
"""Constants: seconds for a second at the peak rate and at the peak bandwidth, of dense models and
of mixtures of experts; seconds of a layer; seconds for one at the peak of the links; seconds of
handling one generated token. Of machines without accelerators they are 1 and 0: measured rates are
what programs reach."""

NETWORK = ["layers", "hidden", "ffn", "heads", "kv_elements", "active_expert_share"]
"""Columns in which models that run equally fast agree, such as Llama 2 70B and Llama 3.3 70B."""

RANGE = ("p05", "p25", "p75", "p95")
"""Factors of an estimate between which half, and nine in ten, of held-out measurements are."""

# Expressions on the columns of ``with_device`` and ``fastest``:

BITS = col.precision.replace_strict(BITS_PER_WEIGHT, return_dtype=pl.Float64)
"""Of a weight in the format ``precision``, with its scales."""

COMPUTE_FORMAT = pl.coalesce(
    pl.when(col.precision == stored, col(f"{one}_support") == "supported").then(pl.lit(one))
    for stored, one in COMPUTED
)
"""In which weights stored in ``precision`` are computed; null if in none."""

_narrower = 16 / col.compute_format.replace_strict(WIDTH, default=None)
_rate = pl.coalesce(
    *(pl.when(compute_format=name).then(f"rate_{name}") for name in WIDTH),
    col.bytes_per_second * pl.coalesce(col.flops_per_byte * _narrower, constants.FLOPS_PER_BYTE),
)
PEAK = pl.max_horizontal(
    _rate, pl.when(col.compute_format.is_in(["bf16", "fp16"])).then("rate_fp32")
)
"""Rate in ``compute_format``: as published, else by flops_per_byte, else by FLOPS_PER_BYTE. Devices
that are faster in 32 bits than in 16, such as P40, serve in those."""

CACHE_BYTES = pl.when(col.compute_format.is_in(["fp8", "fp4"])).then(1.0).otherwise(2.0)
"""Of a number in the cache: one where the device computes in FP8 or FP4."""

LOAD = first_of({"one": col.users < 2, "few": col.users < constants.FEW_USERS}, "full")
"""How many users are served: below FEW_USERS memory bandwidth decides. One alone is a load of its
own, so that its speed is not taken for a measurement of several."""

BUSY = pl.min_horizontal("copies", "users")
"""Copies of the model that have a user."""

DEVICE = [
    *("family", "flops_per_byte", "few_trainings", "bytes_per_second", "link_bytes_per_second"),
    *(f"{what}{name}{end}" for what, end in (("rate_", ""), ("", "_support")) for name in WIDTH),
]
"""What the roofline needs of an accelerator: columns of ``with_device``."""


def with_device(accelerators: pl.DataFrame) -> pl.DataFrame:
    """Add what the roofline needs to rows with the columns of the accelerator sheet.

    Adds family and its columns, bytes_per_second (of the memory), link_bytes_per_second (in one
    direction, to the other devices) and rate_FORMAT: the dense peak in operations per second. Where
    a narrower format alone is published, that of 16 bits is in proportion: FP4 500 and FP16 125 on
    GB10.
    """
    listed = FAMILIES.explode("architectures").drop_nulls("architectures")
    families = dict(listed.select("architectures", "family").iter_rows())
    architecture = col.architecture.replace_strict(families, default="other").fill_null("other")
    family = pl.when(col.kind.is_in(["tpu", "neuron"])).then("kind").otherwise(architecture)
    # an SoC's memory is not that of a card
    is_jetson = (col.kind == "soc") & family.is_in(["ampere", "blackwell"])
    link = (col.interconnect_gbs / 2 * 1e9).fill_null(constants.PCIE_BYTES_PER_SECOND)
    rates = {f"rate_{name}": col(NUMBER_FORMATS[name]) * 1e12 for name in WIDTH}
    in_16_bits = [rates[f"rate_{name}"] * (bits / 16) for name, bits in WIDTH.items() if bits <= 16]
    rates |= {name: pl.coalesce(rates[name], *in_16_bits) for name in ("rate_bf16", "rate_fp16")}
    return accelerators.with_columns(
        family=pl.when(is_jetson).then(pl.lit("jetson")).otherwise(family),
        bytes_per_second=col.memory_bandwidth_gbs * 1e9,
        link_bytes_per_second=link,
        **rates,
    ).join(FAMILIES.drop("architectures"), "family", "left", maintain_order="left")


def with_divisions(works: pl.DataFrame) -> pl.DataFrame:
    """Repeat each row for every number of devices that a layer can be divided over.

    Powers of two over which the heads divide, and the KV heads or copies of them: vLLM refuses
    others, https://docs.vllm.ai/en/v0.15.0/api/vllm/model_executor/models/llama/. Adds division,
    copies (of the model on a machine), weight_bytes and sequence_bytes (a sequence's cache at its
    end) of a copy, and space_bytes (of work on each device).
    """
    most = int(works["devices"].max() or 1)  # type: ignore[arg-type]
    powers = pl.DataFrame({"division": [2.0**power for power in range(most.bit_length())]})
    divides = (col.kv_heads % col.division == 0) | (col.division % col.kv_heads == 0)
    context = col.input_tokens + col.output_tokens
    return (
        works.join(powers, how="cross", maintain_order="left_right")
        .filter(col.division <= col.devices, col.heads % col.division == 0, divides)
        .with_columns(
            copies=col.devices // col.division,
            weight_bytes=col.parameters * BITS / 8,
            sequence_bytes=language_model.kv_cache_bytes(context, 1, col.kv_bytes, col.division),
            space_bytes=language_model.prefill_bytes(col.input_tokens.floor().clip(1)),
        )
    )


def largest_batch() -> pl.Expr:
    """Count the sequences whose cache fits beside the weights of a copy, up to its share of users.

    At most MAX_SEQUENCES in each stage. Columns: those of ``with_divisions``, and users and stages.
    """
    free = (col.usable_bytes - col.space_bytes) * col.division * col.stages - col.weight_bytes
    fitting = (free // col.sequence_bytes).clip(0)
    wanted = (col.users / col.copies).ceil()
    return pl.min_horizontal(fitting, constants.MAX_SEQUENCES * col.stages, wanted)


def parts_of_seconds(fitted: Mapping[str, float]) -> dict[str, pl.Expr]:
    """Return the columns that ``seconds`` needs, of one copy, from those of ``with_divisions``.

    Seconds of each prompt and token; of a step, a token of all sequences, if it read all experts;
    and of reading all experts.
    """
    is_cpu, has_experts = col.family == "cpu", col.active_expert_share < 1
    of = {n: pl.when(is_cpu).then(float(n in RATES)).otherwise(fitted[n]) for n in PARTS}
    share = col.division * col.device_share
    compute, read = (
        pl.when(has_experts).then(of[f"{name}_experts"]).otherwise(of[name]) / rate / share
        for name, rate in (("compute", col.peak), ("bytes", col.bytes_per_second))
    )
    context = col.input_tokens + col.output_tokens / 2  # half way through, near the mean
    cache = language_model.kv_cache_bytes(context, 1, col.kv_bytes, col.division)
    # two all-reduces a layer of 16-bit states: Megatron-LM, https://arxiv.org/abs/1909.08053
    bytes_sent = 2 * col.layers * 2 * (col.division - 1) / col.division * col.hidden * 2
    sent = of["links"] * bytes_sent / col.link_bytes_per_second
    sent = pl.when(col.division > 1).then(sent).otherwise(0.0)
    prompt = compute * language_model.prompt_flops(col.input_tokens) + sent * col.input_tokens
    token = compute * language_model.token_flops(context) + read * cache + of["token"] + sent
    return {
        "prompt_seconds": prompt * (col.input_tokens > 1),
        "token_seconds": token,
        "step_seconds": read * col.parameters * BITS / 8 + of["layer"] * col.layers,
        "expert_seconds": read * language_model.expert_parameters() * BITS / 8,
    }


def seconds(batch: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Compute how long one copy takes for the prompts and for the answers of a batch.

    Of several stages each works on its share of the sequences at a time.
    """
    group = (batch / col.stages).clip(1)
    unread = col.expert_seconds * (1 - col.active_expert_share) ** group
    step = col.step_seconds + group * col.token_seconds - unread
    return group * col.prompt_seconds, col.output_tokens * step


def fastest(works: pl.DataFrame, fitted: Mapping[str, float]) -> pl.DataFrame:
    """Find the division of each machine that generates the most tokens/s within its two limits.

    Each copy has the largest batch that gives each user the speed, which never rises with the
    batch. Of rows with the same ``number`` the fastest is kept, of equally fast ones the first; one
    that serves nothing is dropped.

    ``works`` has, of a machine, number, family, devices, device_share (of an accelerator, if less
    than one), usable_bytes (of a device), stages (machines over which the layers are divided),
    peak, bytes_per_second and link_bytes_per_second; of its work SHAPE, precision, kv_bytes (of a
    number in the cache), input_tokens, output_tokens, users (null: as many as fit), min_per_user
    (tokens/s), max_first_token (seconds) and factor, which multiplies the speed. ``fitted``: PARTS.

    Adds division, batch, users_served, tokens_per_second (of all these users) and of one user,
    seconds_to_first_token (on a free machine) and prompt_share (of the time).
    """

    def per_user(batch: pl.Expr) -> pl.Expr:
        prompt, answer = seconds(batch)
        return col.output_tokens / (prompt + answer) * col.factor

    frame = with_divisions(works).with_columns(most=largest_batch(), batch=0.0)
    most = int(frame["most"].max() or 0)  # type: ignore[arg-type]
    lazy = frame.lazy().with_columns(**parts_of_seconds(fitted))
    for power in reversed(range(most.bit_length())):
        tried = col.batch + 2**power
        fits = (tried <= col.most) & (per_user(tried) >= col.min_per_user)
        lazy = lazy.with_columns(batch=pl.when(fits).then(tried).otherwise("batch"))
    (prompt, answer), (read, written) = (seconds(n) for n in (col.batch, pl.lit(1.0)))
    first_token = (read + written / col.output_tokens) / col.factor
    return (
        lazy.filter(col.batch > 0, first_token <= col.max_first_token)
        .with_columns(
            users_served=col.batch * BUSY,
            tokens_per_second=col.batch * per_user(col.batch) * BUSY,
            tokens_per_second_per_user=per_user(col.batch),
            seconds_to_first_token=first_token,
            prompt_share=prompt / (prompt + answer),
        )
        .sort("tokens_per_second", descending=True, maintain_order=True)
        .unique("number", keep="first", maintain_order=True)
        .collect()
    )


def shapes(models: Iterable[str]) -> pl.DataFrame:
    """Return model_id and the columns SHAPE of models of the sheet."""
    rows = [{"model_id": name} | vars(model_shape(name)) for name in dict.fromkeys(models)]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.select("model_id", pl.col(SHAPE).cast(pl.Float64))


@dataclass(frozen=True)
class SpeedModel:
    """What tools/calibration.py fitted."""

    constants: dict[str, float]  # by the names of PARTS
    factors: pl.DataFrame  # family, load and factor, of the speed
    ranges: pl.DataFrame  # range (measured, modeled, cpu or of trainings) and the columns RANGE
    measured: pl.DataFrame
    """Networks that were measured: accelerator_id, load, known_factor (how much faster than the
    roofline), label (one of the measurements), basis (what an estimate from it is called), SHAPE.
    Of several rows of the same network the first counts: runs of a file precede the sheet."""
    runs: str = ""  # how many runs of a file corrected it, of how many


@cache
def speed_model() -> SpeedModel:
    """Read the sheets that tools/calibration.py writes."""
    sheet, measured = packaged_sheet("speed_model"), packaged_sheet("measured_speeds")
    fitted = dict(sheet.filter(kind="constant").select("name", "value").iter_rows())
    factors, ranges = (sheet.filter(kind=kind) for kind in ("factor", "range"))
    of_one = factors.filter(load="few").with_columns(load=pl.lit("one"))
    networks = measured.rename({"factor": "known_factor", "measurement": "label"})
    described = shapes(measured["model_id"]).with_columns(basis=pl.lit("measured"))
    return SpeedModel(
        constants={name: fitted[name] for name in PARTS},
        factors=pl.concat([factors, of_one]).select("load", family="name", factor="value"),
        ranges=ranges.select("load", "value", range="name").pivot("load", values="value"),
        measured=networks.join(described, "model_id", maintain_order="left"),
    )


def estimated(works: pl.DataFrame, model: SpeedModel) -> pl.DataFrame:
    """Estimate the speed of each machine: ``fastest``, as it was measured where it was.

    Without a number of users a machine is filled, or has a few if it is fast enough for those only.
    A few are not faster than one was measured.
    The limits hold at the cautious speed, and tokens_per_second_per_user and seconds_to_first_token
    are at it; tokens_per_second is the middle of the range.

    ``works``: as for ``fastest``, with accelerator_id; without accelerators with basis and label of
    their rates. Adds basis, measurement (one of the measurements behind) and RANGE.
    """
    few = works.filter(col.users.is_null(), col.family != "cpu")
    works = pl.concat([works, few.with_columns(users=pl.lit(constants.FEW_USERS - 1.0))])
    is_cpu, is_modeled = col.family == "cpu", col.known_factor.is_null()
    key = ["accelerator_id", "load", *NETWORK]
    slower = pl.min_horizontal("known_factor", 1.0).alias("slower")
    of_one = model.measured.filter(load="one").with_columns(slower, load=pl.lit("few"))
    works = (
        works.with_columns(load=LOAD)
        .join(model.measured, key, "left", nulls_equal=True, maintain_order="left_right")
        .join(of_one.select(*key, "slower"), key, "left", nulls_equal=True, maintain_order="left")
        .unique(["number", "load"], keep="first", maintain_order=True)
        .join(model.factors, ["family", "load"], "left", maintain_order="left")
        .with_columns(
            range=first_of({"cpu": is_cpu, "modeled": is_modeled}, "measured"),
            basis=pl.coalesce("basis", "basis_right", pl.lit("modeled")),
            measurement=pl.coalesce("label", "label_right"),
        )
        .join(model.ranges, "range", "left", maintain_order="left")
        .with_columns(
            factor=col.factor.fill_null(1.0) * pl.coalesce("known_factor", "slower", 1.0) * col.p25
        )
    )
    return fastest(works, model.constants).with_columns(col.tokens_per_second / col.p25)


@cache
def cpu_rates() -> pl.DataFrame:
    """Return the sheet cpu_speeds with the two rates.

    rate: of a single user bytes, of a prompt operations per second; token_bytes and token_flops: of
    a token; measured_parameters: at work for a token.
    """
    sheet = packaged_sheet("cpu_speeds").filter(precision="q4_k_m")  # of which each was measured
    context = col.input_tokens + col.output_tokens / 2
    weights = language_model.parameters_read(pl.lit(1.0)) * BITS
    of_prompt = language_model.prompt_flops(col.input_tokens) / col.input_tokens
    of_rate = pl.when(kind="prompt").then(of_prompt).otherwise("token_bytes")
    return (
        sheet.join(shapes(sheet["model_id"]), "model_id", maintain_order="left")
        .with_columns(token_bytes=weights / 8 + language_model.kv_cache_bytes(context))
        .select(
            *("cpu_id", "token_bytes"),
            measure="kind",
            own_cloud="provider",
            own_type="instance_type",
            size=col.vcpus.cast(pl.Float64),
            rate=of_rate * col.tokens_per_second,
            token_flops=language_model.token_flops(context),
            measured_parameters="active_parameters",
            label=pl.format("{}/{}/{}", "model_id", "software", "instance_type"),
        )
    )


def with_cpu_rates(machines: pl.DataFrame, *, of_others: bool = False) -> pl.DataFrame:
    """Add bytes_per_second, peak, and basis and label of what they were measured on.

    A machine's own measurements count (the basis is measured), else those of its cloud, else all of
    its CPU; of several models the nearest in size. Null where one of the rates was not measured.
    Machines with accelerators (no cpu_id) keep their bytes_per_second.

    ``machines``: number, provider, machine, cpu_id, vcpus, active_parameters and bytes_per_second.
    ``of_others``: leave out what was measured on the machine's own type.
    """
    of, is_other_type = ["number", "measure"], col.own_type != col.machine
    distance = (col.measured_parameters / col.active_parameters).log().abs()
    order = pl.struct(is_other_type, other_cloud=col.own_cloud != col.provider, distance=distance)
    nearest = (col.size - col.vcpus).abs(), col.own_type
    measured_on = ("label", "token_bytes", "token_flops", "is_other_type")
    found = (
        machines.join(cpu_rates(), "cpu_id", maintain_order="left_right")
        .filter(is_other_type | (not of_others))
        .filter(order.rank("min").over(of) == 1)
        .with_columns(
            is_other_type=is_other_type, rate=col.rate.quantile(0.5, "lower").over(*of, "size")
        )
        .sort("size", maintain_order=True)
        .group_by(of)
        .agg(
            at_size().alias("rate"),
            pl.col(measured_on).sort_by(nearest, maintain_order=True).first(),
        )
    )
    one_user, prompt = (found.filter(measure=name) for name in ("single_user", "prompt"))
    rates = one_user.join(prompt.select("number", peak="rate"), "number")
    # the time of a token is that of reading and computing together: take computing out of it
    computing = (col.token_flops / col.peak) / (col.token_bytes / col.rate)
    read = col.rate / (1 - computing).clip(constants.LEAST_READING)
    basis = first_of({"measured": ~col.is_other_type, "modeled": col.is_other_type})
    return machines.join(rates, "number", "left", maintain_order="left").with_columns(
        bytes_per_second=pl.coalesce("bytes_per_second", read),
        basis=basis,
    )


def at_size() -> pl.Expr:
    """Read a rate at a number of vCPUs from the rates at others, sorted by size.

    Between two sizes it is interpolated (both axes logarithmic); a smaller machine than all has its
    share of the smallest, a larger one no more than the largest.
    """
    vcpus, is_below, both = col.vcpus.first(), col.size <= col.vcpus, (col.size, col.rate)
    below, rate_below = (one.filter(is_below).last() for one in both)
    above, rate_above = (one.filter(~is_below).first() for one in both)
    share = (vcpus / below).log() / (above / below).log()
    between = rate_below ** (1 - share) * rate_above**share
    return pl.coalesce(between, rate_below, rate_above * vcpus / above)
