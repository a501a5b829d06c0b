"""Declare the answer about one device: its columns (``columns.csv``), and what it leaves open."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.read.device.where_sold import WHERE_SOLD
from hwprices.units import Money


@dataclass(frozen=True)
class Column:
    """One column of the answer. ``unit`` is empty for text."""

    dtype: pl.DataType | type[pl.DataType]
    unit: str
    description: str


TEXTS = pl.List(pl.String)
RATES = pl.List(pl.Struct({"dtype": pl.String, "rate": pl.Float64, "unit": pl.String}))
TOKEN_PRICES = pl.List(
    pl.Struct(
        {
            "model": pl.String,
            "usd": Money,
            "basis": pl.String,
            "tokens_per_second": pl.Float64,
            "accelerators": pl.Float64,
            "measurement": pl.String,
            "input_tokens": pl.Float64,
            "output_tokens": pl.Float64,
        }
    )
)
"""From ``tokens_per_second`` on they are of the measured system: its rate, its size,
model/round/system, and the mean lengths of the requests."""

SAMPLE_PRICES = pl.List(pl.Struct({"model": pl.String, "usd": Money}))
MEASUREMENTS = pl.List(
    pl.Struct(
        {
            "model": pl.String,
            "scenario": pl.String,
            "round": pl.String,
            "per_accelerator": pl.Float64,
            "unit": pl.String,
            "system": pl.String,
            "source_url": pl.String,
            "result": pl.Float64,
            "result_unit": pl.String,
            "accelerators": pl.Float64,
            "input_tokens": pl.Float64,
            "output_tokens": pl.Float64,
            "vcpus": pl.Int64,
            "users": pl.Float64,
            "precision": pl.String,
            "software": pl.String,
        }
    )
)
"""``result`` is of the whole system, which has as many ``accelerators``. ``per_accelerator`` of a
training is minutes × accelerators, and of a latency the latency. The tokens are the mean lengths of
the requests. Results of a CPU are of machine types with so many ``vcpus``, and have no round."""

TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String,
    "texts": TEXTS,
    "int": pl.Int32,
    "float": pl.Float64,
    "bool": pl.Boolean,
    "date": pl.Date,
    "money": Money,
    "rates": RATES,
    "where_sold": pl.List(WHERE_SOLD),
    "measurements": MEASUREMENTS,
    "token_prices": TOKEN_PRICES,
    "sample_prices": SAMPLE_PRICES,
}

with Path(__file__).with_name("columns.csv").open(encoding="utf-8", newline="") as _file:
    COLUMNS = {
        row["column"]: Column(TYPES[row["type"]], row["unit"], row["description"])
        for row in csv.DictReader(_file)
    }
"""Columns of an answer, in order."""

SCHEMA = pl.Schema({name: column.dtype for name, column in COLUMNS.items()})


Values = dict[str, Any]
"""Values of an answer by column. A column without one is not known."""


def missing(row: Values) -> list[str]:
    """List each question without an answer, with the reason."""
    rentable = bool(row.get("providers"))
    rented_only = rentable and row.get("sold_locally") is False
    if any(
        sold["on_demand_per_hour"] is not None and sold["on_demand_usd_per_hour"] is None
        for sold in row.get("where_sold", ())
    ):
        no_rent = "no price in USD"
    elif rentable:
        no_rent = "no price in this release"
    else:
        no_rent = "no cloud here sells it, and no machine to buy has a price and a power"
    no_price = "it is rented only" if rented_only else "no price is known"
    no_tokens = "no measured rate, or no hourly price"
    if row["type"] == "cpu" and row.get("measured"):
        no_tokens = "`hwprices recommend NAME --machines cpus` estimates it"
    hourly = ("cheapest_usd_per_hour", "private_host_usd_per_hour", "part_usd_per_hour")
    questions = {
        (*hourly, "tco_usd_per_hour"): f"hourly cost: {no_rent}",
        ("purchase_price",): f"purchase cost: {no_price}",
        ("measured",): "measured performance: no published measurement",
        ("usd_per_million_tokens",): f"cost per million tokens: {no_tokens}",
        ("tflops_per_watt",): "TFLOPS/W: no dense rate or no TDP is published",
        ("gco2e_per_hour",): "gCO2e/h: no published power, or no grid and PUE of a region that"
        " sells it",
    }
    return [reason for names, reason in questions.items() if not any(map(row.get, names))]


def to_frame(row: Values, unanswered: Sequence[str] = ()) -> pl.DataFrame:
    """Make the one row of the answer, with the columns of SCHEMA.

    ``unanswered``: what to say, before ``missing``, of the name that was requested.
    """
    return pl.DataFrame([row | {"missing": [*unanswered, *missing(row)]}], schema=SCHEMA)
