"""What answers about all kinds of models share: their columns, and when owning pays."""

import polars as pl

from hwprices import formulas
from hwprices.read.recommend.job import Limits
from hwprices.units import WideMoney

HOURLY_PRICES = [
    "usd_per_hour",
    "spot_usd_per_hour",
    "best_1y_usd_per_hour",
    "best_3y_usd_per_hour",
]

JOB_FIGURES = [
    "hours",
    "tokens_per_second",
    "tokens_per_second_per_user",
    "seconds_to_first_token",
    "concurrency",
    "usd",
    "spot_usd",
    "usd_per_month",
    "usd_per_million_tokens",
    "usd_per_million_input_tokens",
    "usd_per_million_output_tokens",
    "energy_kwh",
    "operational_gco2e",
    "gco2e_per_million_tokens",
    "rent_usd_per_hour",
    "payback_hours",
    "samples_per_second",
    "usd_per_thousand_samples",
    "gco2e_per_thousand_samples",
    "basis",
    "error",
    "error_p90",
    "measurement",
]

OUTPUT = [
    "rank",
    "where",
    "provider",
    "region",
    "machine",
    "availability_unknown",
    "nodes",
    "total_accelerators",
    "accelerator_id",
    "cpu_id",
    "precision",
    "compute_format",
    "memory_needed_gib",
    "memory_usable_gib",
    "purchase_option",
    *HOURLY_PRICES,
    "best_1y_option",
    "best_3y_option",
    "purchase_price_usd",
    "purchase_price_date",
    *JOB_FIGURES,
    "assumed",
    "excluded_reason",
    "excluded",
]
"""Columns of an answer.

- rank: among the machines to rent (where is cloud), and apart from them among those to buy (local).
- availability_unknown: the vendor does not say whether the machine can be had.
- nodes: machines used together; total_accelerators, memory and prices are of all of them.
- cpu_id: of a machine without accelerators, which then has no accelerator_id.
- precision, compute_format: how the weights are stored, and in which format they are computed.
- purchase_option: what usd_per_hour is the price of; tco for a machine that one owns.
- best_1y_option, best_3y_option: which commitment the best price of 1 and 3 years is of, as in
  offers: committed_use_1y, reserved_1y_no_upfront, compute_savings_plan_1y_all_upfront …
- purchase_price_date: day of the price to buy; many are of the launch.
- usd, energy_kwh, operational_gco2e: of the whole job, for a training with its setup; of one hour
  for inference. Emissions are those of the electricity, without those of making the machine.
- usd_per_month: of 730 hours; of a training that takes less, of its hours with the setup.
- tokens_per_second: the most that can be generated, for all users together; of a training, the
  tokens it learns from.
- usd_per_million_tokens, gco2e_per_million_tokens: for a million generated tokens, with the prompts
  they answer: of the tokens that the requests per second need where those are requested, else of
  tokens_per_second. The columns of input and output divide the same money by the time that reading
  prompts and generating take.
- samples_per_second, and USD and grams per thousand samples: of models of images, video and
  speech (media.py).
- rent_usd_per_hour: of a machine to buy: what the work that it does in an hour costs on the
  cheapest machine to rent in the requested places and option; null where none fits.
- payback_hours: hours of this work after which the machine has cost as much as that rent; may be
  more than its life. Null for machines to rent, where there is no rent, and where the electricity
  alone costs more than the rent.
- basis: measured (this model on this accelerator), scaled (from the nearest measurement of it),
  modelled (its family was measured), unmeasured_family, or assumed_mfu (training).
- error, error_p90: how far such answers were from measurements, in the middle and in one of ten.
- assumed: what the answer assumes beyond the question.
- excluded_reason, excluded: code and sentence of why the machine is left out; null if it is in.
"""


def with_payback(frame: pl.DataFrame, cost: str, work_per_hour: pl.Expr) -> pl.DataFrame:
    """Add rent_usd_per_hour, and payback_hours: purchase price / (rent - electricity).

    The rent is of the work that the machine to buy does in an hour; ``cost`` is the column with the
    price of a piece of work, and the cheapest rented machine counts. Both are null for rented
    machines and where no rented machine fits, payback_hours also where the electricity alone costs
    more than the rent.
    """
    col = pl.col
    rented = frame.filter(col.where == "cloud", col.excluded_reason.is_null())
    cheapest = rented[cost].cast(pl.Float64).min() if rented.height else None
    is_bought = col.where == "local"
    rent = pl.when(is_bought).then(pl.lit(cheapest, dtype=pl.Float64) * work_per_hour)
    saved = rent - col.energy_usd_per_hour.cast(pl.Float64) * col.nodes
    price = col.purchase_price_usd.cast(pl.Float64)
    return frame.with_columns(
        rent_usd_per_hour=rent.cast(WideMoney),
        payback_hours=price / formulas.known_positive(saved),
    )


def only_where(frame: pl.DataFrame, limits: Limits) -> pl.DataFrame:
    """Keep the machines to rent, or those to buy, where only these are requested."""
    return frame if limits.where is None else frame.filter(where=limits.where)
