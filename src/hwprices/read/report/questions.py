"""Prepare what the view "Which machine" computes with.

The page computes an answer with the formulas of ``hwprices.formulas`` and of ``read.recommend``
(tools/page/src/recommend/). What can be settled before a question is settled here: kinds
of machines, what their accelerators reach in each number format, and what was measured.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from hwprices.formulas import language_model, serving, training
from hwprices.formulas.language_model import BITS_PER_WEIGHT, BYTES_PER_WEIGHT, ModelShape
from hwprices.read.ownership import DEFAULTS
from hwprices.read.recommend import (
    estimates,
    exclusions,
    job,
    machines,
    measurements,
    roofline,
    throughput,
)
from hwprices.read.recommend.devices import Device, device
from hwprices.read.recommend.model_shape import model_shape, published_models
from hwprices.read.recommend.recommend import estimator
from hwprices.read.report import payload
from hwprices.release import real_prices as private_hosts
from hwprices.release.release import Tables

KIND = [*estimates.KIND, "machine_memory_gib", "obstacle"]
"""Columns that make a kind of machine for the page."""

LOCAL = [
    "provider",
    "machine",
    "usd_per_hour",
    "purchase_price_usd",
    "purchase_price_date",
    "energy_usd_per_hour",
    "no_price",
    "currency",
]
"""Columns of a machine to buy that the page needs beside its kind."""

CONSTANTS = {
    "input_tokens": job.INPUT_TOKENS,
    "output_tokens": job.OUTPUT_TOKENS,
    "reading_speed": job.READING_SPEED,
    "fine_tuning_tokens": job.FINE_TUNING_TOKENS,
    "tokens_per_parameter": job.TOKENS_PER_PARAMETER,
    "training_days": job.TRAINING_DAYS,
    "training_context": job.TRAINING_CONTEXT,
    "max_nodes": job.MAX_NODES,
    "options": job.OPTIONS,
    "private_hosts": private_hosts.PRIVATE_HOSTS,
    "bits_per_weight": {f: BITS_PER_WEIGHT[f] for f in BYTES_PER_WEIGHT},
    "bytes_per_weight": BYTES_PER_WEIGHT,
    "training_bytes": language_model.TRAINING_BYTES,
    "optimizer_bytes": language_model.OPTIMIZER_BYTES,
    "lora_rank": language_model.LORA_RANK,
    "prefill_tokens": language_model.PREFILL_TOKENS,
    "flops_per_parameter_and_token": language_model.FLOPS_PER_PARAMETER_AND_TOKEN,
    "logit_bytes": language_model.LOGIT_BYTES,
    "logit_tokens": language_model.LOGIT_TOKENS,
    "fast_link": serving.FAST_LINK,
    "all_reduce_seconds": serving.ALL_REDUCE_SECONDS,
    "all_reduces_per_layer": serving.ALL_REDUCES_PER_LAYER,
    "layer_seconds": serving.LAYER_SECONDS,
    "max_sequences": serving.MAX_SEQUENCES,
    "measured_batched": roofline.MEASURED_BATCHED,
    "most_copies": estimates.MOST_COPIES,
    "mfu": {
        "fast_link": training.MFU_FAST_LINK,
        "pcie": training.MFU_PCIE,
        "tpu": training.MFU_TPU,
        "other": training.MFU_OTHER,
        "narrow": training.NARROW_MFU,
        "experts": training.EXPERTS_SHARE,
        "unpacking": training.UNPACKING,
    },
    "weight_passes": training.WEIGHT_PASSES,
    "setup_hours": training.SETUP_HOURS,
    "checkpoint_hours_per_day": training.CHECKPOINT_HOURS_PER_DAY,
    "tuned_model": measurements.TUNED_MODEL,
    "tuning_tokens": measurements.TUNING_TOKENS,
    "tuning_context": measurements.TUNING_CONTEXT,
    "hours_per_month": exclusions.HOURS_PER_MONTH,
}
"""Figures of the formulas, by the page's name for them: the page has none of its own."""


@dataclass(frozen=True)
class WithOffers:
    """The tables of a dataset with other offers."""

    dataset: Tables
    offers: pl.DataFrame

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        return self.offers.lazy() if table == "offers" else self.dataset.scan(table)


class Questions:
    """What the page needs to answer questions about the offers of a release."""

    def __init__(self, dataset: Tables, offers: pl.DataFrame) -> None:
        self.offers = offers
        self._cloud = machines.cloud(WithOffers(dataset, offers), job.Limits())
        self._local = machines.local(dataset, DEFAULTS)
        self._estimator = estimator(dataset)
        self._factors: dict[tuple[str, str, bool, str | None], float] = {}

    @cached_property
    def _kinds(self) -> pl.DataFrame:
        """Kinds of machines, numbered from 1 in the column kind_number."""
        both = pl.concat([self._cloud, self._local], how="vertical_relaxed")
        # sorted, so that the same release gives the same page
        kinds = both.select(*KIND, *machines.SHEET_COLUMNS).unique(KIND).sort(KIND)
        return kinds.with_row_index("kind_number", offset=1)

    def kind_numbers(self) -> pl.Series:
        """Return the kind of each offer, in the order of the offers; null without accelerators."""
        key = ["provider", "region", "machine"]
        numbered = self._cloud.join(self._kinds, on=KIND, nulls_equal=True).select(
            *key, "kind_number"
        )
        return self.offers.join(
            numbered,
            left_on=["provider", "region", "instance_type"],
            right_on=key,
            how="left",
            maintain_order="left",
        )["kind_number"]

    def facts(self) -> dict[str, Any]:
        """Return everything but the tables, as JSON values."""
        local = self._local.join(self._kinds, on=KIND, nulls_equal=True).sort("provider", "machine")
        return {
            "constants": CONSTANTS,
            "models": [self._model(name) for name in published_models()["model_id"]],
            "kinds": payload.rows(self._kinds.select(KIND)),
            "devices": {d.accelerator_id: self._device(d, row) for d, row in self._devices()},
            "local": payload.rows(local.select("kind_number", *LOCAL)),
            "tunings": [
                {"accelerator_id": accelerator, "count": count, **asdict(tuning)}
                for (accelerator, count), tuning in sorted(self._estimator.tunings.items())
            ],
            "errors": self._estimator.fitted.errors,
        }

    def _model(self, name: str) -> dict[str, Any]:
        """Describe a model, and the lengths of requests and sequences that it has by default."""
        shape = model_shape(name)
        served, trained = job.make_job(job.Question(name)), job.make_job(job.Question(name, "lora"))
        return {
            "model_id": name,
            **{key: value for key, value in asdict(shape).items() if value is not None},
            "input_tokens": served.input_tokens,
            "output_tokens": served.output_tokens,
            "lengths_from": served.lengths_from or "",
            "training_context": trained.context,
        }

    def _devices(self) -> Iterator[tuple[Device, dict[str, Any]]]:
        rows = self._kinds.filter(pl.col("obstacle").is_null()).unique(
            "accelerator_id", maintain_order=True
        )
        for row in rows.iter_rows(named=True):
            yield device(row), row

    def _device(self, accelerator: Device, row: dict[str, Any]) -> dict[str, Any]:
        """Describe an accelerator: what it reaches, serving and training, in each format."""
        family = accelerator.family
        return {
            "kind": row["kind"],
            "bytes_per_second": accelerator.bytes_per_second,
            "link_bytes_per_second": accelerator.link_bytes_per_second,
            "serving": {f: self._serving(accelerator, f) for f in BYTES_PER_WEIGHT},
            "training": {f: _training(accelerator, f) for f in BYTES_PER_WEIGHT},
            "efficiency": {
                f"{experts}/{user}": asdict(
                    self._estimator.fitted.efficiency(
                        family, has_experts=experts == "experts", single_user=user == "single_user"
                    )
                )
                for experts in ("dense", "experts")
                for user in ("serving", "single_user")
            },
            "fitted": {
                kind: (family, kind) in self._estimator.fitted.measured
                for kind in ("serving", "single_user")
            },
            "is_small": family in estimates.SMALL_FAMILIES,
            "mfu": {
                name: self._estimator.fitted.utilisations.get((accelerator.accelerator_id, narrow))
                for name, narrow in (("wide", False), ("narrow", True))
            },
            "slice": machines.TPU_SLICE.get(accelerator.accelerator_id),
        }

    def _serving(self, accelerator: Device, precision: str) -> dict[str, Any]:
        reason = estimates.format_reason(accelerator, precision)
        number_format = accelerator.compute_format(precision)
        if reason or number_format is None or accelerator.bytes_per_second is None:
            return {"reason": reason}
        demand = roofline.Demand(model_shape("llama-3.1-8b"), 1, 1, precision)
        return {
            "compute_format": number_format,
            "peak": accelerator.rate(number_format),
            "rate": roofline.compute_rate(accelerator, number_format, self._estimator.fitted),
            "kv_bytes": roofline.kv_bytes(accelerator, demand),
        }

    def nearest(self) -> pl.DataFrame:
        """List for each accelerator, model and kind of measurement what is known from the nearest.

        compute_format: null in the row for every format without one of its own. factor:
        measured over modelled speed. label: the measurement. precision and most_work are those of a
        measurement of the same model: the format of its weights, and the operations per second of
        the fastest system.
        """
        rows = [
            row
            for accelerator, sheet in self._devices()
            for model in self._models
            for row in self._nearest(accelerator, sheet, *model)
        ]
        return pl.DataFrame(rows, schema=NEAREST, orient="row")

    @cached_property
    def _models(self) -> list[tuple[str, ModelShape]]:
        return [(name, model_shape(name)) for name in published_models()["model_id"]]

    def _nearest(
        self, accelerator: Device, sheet: dict[str, Any], name: str, model: ModelShape
    ) -> Iterator[tuple[Any, ...]]:
        if accelerator.bytes_per_second is None:
            return
        for kind in ("serving", "single_user"):
            exact = self._estimator.measurement(accelerator.accelerator_id, model, kind)
            precision = most_work = None
            if exact is not None and kind == "serving":
                precision = roofline.measured_precision(accelerator, exact)
                most_work = throughput.most_work(exact, model)
            key = (accelerator.accelerator_id, name, kind)
            usual = None
            for compute_format in dict.fromkeys(map(accelerator.compute_format, BYTES_PER_WEIGHT)):
                known = self._factor(accelerator, sheet, model, kind, compute_format)
                if known is None or known == usual:
                    continue
                yield *key, compute_format if usual else None, *known, precision, most_work
                usual = usual or known

    def _factor(
        self,
        accelerator: Device,
        sheet: dict[str, Any],
        model: ModelShape,
        kind: measurements.Kind,
        compute_format: str | None,
    ) -> tuple[float, str] | None:
        """Return the factor and the label of the nearest measurement; None without one.

        The factor is one of two for each measurement and format, and takes long to compute.
        """
        nearest = self._estimator.nearest(accelerator, model, kind, compute_format)
        if nearest is None:
            return None
        is_other = self._estimator.measurement(accelerator.accelerator_id, model, kind) is None
        which = (accelerator.accelerator_id, nearest.label, is_other, compute_format)
        if which not in self._factors:
            machine = estimates.machine_of(sheet, accelerator)
            self._factors[which] = self._estimator.nearest_factor(
                machine, model, kind, compute_format
            )
        return self._factors[which], nearest.label

    def measured(self) -> pl.DataFrame:
        """List the answers that are measurements: of a model on a machine, with defaults.

        One row for each model and kind of machine whose accelerator was measured with it.
        """
        rows = []
        possible = self._kinds.filter(pl.col("obstacle").is_null())
        for name, model in self._models:
            asked = job.make_job(job.Question(name))
            for row in possible.iter_rows(named=True):
                if self._estimator.measurement(row["accelerator_id"], model, "serving") is None:
                    continue
                answer = estimates.estimate(row, asked, self._estimator)
                rows.append({"kind_number": row["kind_number"], "model_id": name, **asdict(answer)})
        key = pl.Schema({"kind_number": pl.UInt32, "model_id": pl.String})
        return pl.DataFrame(rows, schema=pl.Schema({**key, **estimates.SCHEMA}))


NEAREST = {
    "accelerator_id": pl.String,
    "model_id": pl.String,
    "kind": pl.String,
    "compute_format": pl.String,
    "factor": pl.Float64,
    "label": pl.String,
    "precision": pl.String,
    "most_work": pl.Float64,
}


def _training(accelerator: Device, precision: str) -> dict[str, Any]:
    """Describe in which format a device trains weights stored in ``precision``, and how fast."""
    reason = estimates.training_format_reason(accelerator, precision)
    number_format = accelerator.compute_format(estimates.training_format(precision))
    return {
        "reason": reason,
        "compute_format": number_format,
        "rate": accelerator.rate(number_format) if number_format else None,
    }
