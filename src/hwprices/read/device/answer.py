"""Declare the answer about one device: its columns, and the groups of values that fill them.

Each group is a dataclass whose fields are columns of the answer. A value that is not known is None.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
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

COLUMNS = {
    "device_id": Column(pl.String, "", "Key in accelerators, cpus or local_hardware."),
    "name": Column(pl.String, "", "Product name."),
    "vendor": Column(pl.String, "", "Maker."),
    "type": Column(pl.String, "", "gpu, tpu, neuron, …; cpu; or the kind of a machine to buy."),
    "architecture": Column(pl.String, "", "Architecture or microarchitecture."),
    "release_year": Column(pl.Int32, "year", "Year of release."),
    "memory_gb": Column(pl.Float64, "GB", "Memory of one device."),
    "memory_bandwidth_gbs": Column(pl.Float64, "GB/s", "Memory bandwidth of one device."),
    "dtypes": Column(TEXTS, "", "Number formats that it computes in."),
    "dtypes_unknown": Column(TEXTS, "", "Number formats for which no source says whether it does."),
    "dense_rates": Column(RATES, "see unit", "Peak rate without sparsity, by number format."),
    "ai_features": Column(TEXTS, "", "Features for AI, such as tensor cores or AMX."),
    "software": Column(TEXTS, "", "Software that supports it."),
    "providers": Column(TEXTS, "", "Cloud providers that rent it out."),
    "regions": Column(TEXTS, "", "Regions with an offer: provider/region."),
    "where_sold": Column(
        pl.List(WHERE_SOLD), "see its fields", "Each cloud's cheapest prices of one device."
    ),
    "local_devices": Column(TEXTS, "", "Machines with it that one can buy: local_hardware."),
    "sold_locally": Column(pl.Boolean, "", "One can buy it, alone or in a machine."),
    "on_demand_usd_per_hour": Column(
        Money,
        "USD/h",
        "Cheapest on-demand price of one device, or of one vCPU of a CPU, in a data center.",
    ),
    "on_demand_offer": Column(pl.String, "", "That offer: provider/region/instance_type."),
    "spot_usd_per_hour": Column(Money, "USD/h", "Cheapest spot price of one device."),
    "spot_offer": Column(pl.String, "", "That offer: provider/region/instance_type."),
    "cheapest_usd_per_hour": Column(
        Money, "USD/h", "Cheapest price under any purchase option, of one device or vCPU."
    ),
    "cheapest_offer": Column(
        pl.String, "", "That offer: provider/region/instance_type: purchase option."
    ),
    "private_host_usd_per_hour": Column(
        Money, "USD/h", "Cheapest price of one device in a private person's machine."
    ),
    "private_host_offer": Column(
        pl.String, "", "That offer: provider/region/instance_type: purchase option."
    ),
    "part_usd_per_hour": Column(Money, "USD/h", "Price of the device without the machine."),
    "prices_observed": Column(pl.Date, "", "Day of the oldest price but the part's."),
    "usd_per_year": Column(
        Money,
        "USD/year",
        "Cheapest way to have one device or vCPU for a year: always on, or committed.",
    ),
    "usd_per_year_basis": Column(pl.String, "", "That way: the offer and its option."),
    "launch_price_usd": Column(Money, "USD", "What the maker or reports said at launch."),
    "machine_share_usd": Column(
        Money, "USD", "Its share of the cheapest machine with it that one can buy."
    ),
    "machine_share_basis": Column(pl.String, "", "That machine, and the day of its price."),
    "purchase_price": Column(Money, "purchase_currency", "Price of buying one device."),
    "purchase_currency": Column(pl.String, "", "ISO 4217 code."),
    "purchase_price_usd": Column(Money, "USD", "The same in USD; null without exchange rate."),
    "purchase_basis": Column(pl.String, "", "What the purchase price is based on."),
    "tco_usd_per_hour": Column(
        Money, "USD/h", "Cost of owning one device in the cheapest machine with it, when in use."
    ),
    "measured": Column(
        MEASUREMENTS,
        "see unit",
        "The measured system that represents it in each benchmark and scenario: the one that a"
        " price of tokens is based on, for a machine one of its size where there is one. Of a CPU"
        " every measured machine type with it.",
    ),
    "usd_per_million_tokens": Column(
        TOKEN_PRICES,
        "USD/Mtoken",
        "Price of generated tokens with the prompts they answer, by model.",
    ),
    "usd_per_thousand_samples": Column(
        SAMPLE_PRICES, "USD/1000", "Price of a thousand images, pieces of speech or videos."
    ),
    "power_w": Column(pl.Float64, "W", "Power at full load."),
    "power_basis": Column(pl.String, "", "What the power is based on."),
    "tflops_per_watt": Column(pl.Float64, "TFLOPS/W", "Dense rate over the published TDP."),
    "tflops_per_watt_dtype": Column(
        pl.String, "", "Its number format: the one of bf16, fp16, fp8, int8, fp32 that is native."
    ),
    "tdp_w": Column(pl.Float64, "W", "The published TDP behind it."),
    "gco2e_per_hour": Column(
        pl.Float64,
        "gCO2e/h",
        "Emissions of one device with its share of the machine, or of one vCPU of a CPU.",
    ),
    "gco2e_basis": Column(pl.String, "", "What the emissions include, and the offer they are of."),
    "missing": Column(TEXTS, "", "Each question without an answer, with the reason."),
    "source_url": Column(pl.String, "", "Where the specifications were read."),
    "confidence": Column(pl.String, "", "high, medium or low: how good that source is."),
    "notes": Column(pl.String, "", "What to know before using the figures."),
}
"""Columns of an answer, in order."""

SCHEMA = pl.Schema({name: column.dtype for name, column in COLUMNS.items()})


@dataclass(frozen=True)
class Identity:
    """Which device it is, and where its specifications come from."""

    device_id: str
    name: str
    vendor: str
    type: str
    architecture: str | None
    release_year: int | None
    memory_gb: float | None
    memory_bandwidth_gbs: float | None
    source_url: str | None
    confidence: str | None
    notes: str | None


@dataclass(frozen=True)
class Capabilities:
    """What it computes in and which software supports it."""

    dtypes: list[str] | None = None
    dtypes_unknown: list[str] | None = None
    dense_rates: list[dict[str, Any]] | None = None
    ai_features: list[str] | None = None
    software: list[str] | None = None


@dataclass(frozen=True)
class DeviceAvailability:
    """Who rents it out and who sells it."""

    providers: list[str] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)
    where_sold: list[dict[str, Any]] = field(default_factory=list)
    local_devices: list[str] | None = None
    sold_locally: bool | None = None

    def is_priced_in_other_currency(self) -> bool:
        """Return whether a cloud has a price that no exchange rate turned into USD."""
        return any(
            row["on_demand_per_hour"] is not None and row["on_demand_usd_per_hour"] is None
            for row in self.where_sold
        )


@dataclass(frozen=True)
class Rent:
    """Prices of one device (of one vCPU of a CPU), in USD per hour and per year.

    Those of community hosts are apart: see private_hosts.
    """

    on_demand_usd_per_hour: Decimal | None = None
    on_demand_offer: str | None = None
    spot_usd_per_hour: Decimal | None = None
    spot_offer: str | None = None
    cheapest_usd_per_hour: Decimal | None = None
    cheapest_offer: str | None = None
    private_host_usd_per_hour: Decimal | None = None
    private_host_offer: str | None = None
    part_usd_per_hour: Decimal | None = None
    prices_observed: date | None = None
    usd_per_year: Decimal | None = None
    usd_per_year_basis: str | None = None


@dataclass(frozen=True)
class Purchase:
    """What one device costs to buy and to own."""

    launch_price_usd: Decimal | None = None
    machine_share_usd: Decimal | None = None
    machine_share_basis: str | None = None
    purchase_price: Decimal | None = None
    purchase_currency: str | None = None
    purchase_price_usd: Decimal | None = None
    purchase_basis: str | None = None
    tco_usd_per_hour: Decimal | None = None


@dataclass(frozen=True)
class Performance:
    """Measured speed, and the price of tokens that follows from it."""

    measured: list[dict[str, Any]] | None = None
    usd_per_million_tokens: list[dict[str, Any]] | None = None
    usd_per_thousand_samples: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Power:
    """Watts at full load, and the dense rate per watt."""

    power_w: float | None = None
    power_basis: str | None = None
    tflops_per_watt: float | None = None
    tflops_per_watt_dtype: str | None = None
    tdp_w: float | None = None


@dataclass(frozen=True)
class Emissions:
    """Emissions of one hour of use."""

    gco2e_per_hour: float | None = None
    gco2e_basis: str | None = None


@dataclass(frozen=True)
class DeviceAnswer:
    """Everything about one device, by group."""

    identity: Identity
    capabilities: Capabilities
    availability: DeviceAvailability
    rent: Rent
    purchase: Purchase
    performance: Performance
    power: Power
    emissions: Emissions

    def missing(self) -> list[str]:
        """List each question without an answer, with the reason."""
        rentable = bool(self.availability.providers)
        rented_only = rentable and self.availability.sold_locally is False
        if self.availability.is_priced_in_other_currency():
            no_rent = "no price in USD"
        elif rentable:
            no_rent = "no price in this release"
        else:
            no_rent = "no cloud here sells it, and no machine to buy has a price and a power"
        no_price = "it is rented only" if rented_only else "no price is known"
        any_hourly_cost = (
            self.rent.cheapest_usd_per_hour
            or self.rent.private_host_usd_per_hour
            or self.rent.part_usd_per_hour
            or self.purchase.tco_usd_per_hour
        )
        no_tokens = "no measured rate, or no hourly price"
        if self.identity.type == "cpu" and self.performance.measured:
            no_tokens = "`hwprices recommend NAME --machines cpus` estimates it"
        questions = [
            (any_hourly_cost, f"hourly cost: {no_rent}"),
            (self.purchase.purchase_price, f"purchase cost: {no_price}"),
            (self.performance.measured, "measured performance: no published measurement"),
            (self.performance.usd_per_million_tokens, f"cost per million tokens: {no_tokens}"),
            (self.power.tflops_per_watt, "TFLOPS/W: no dense rate or no TDP is published"),
            (
                self.emissions.gco2e_per_hour,
                "gCO2e/h: no published power, or no grid and PUE of a region that sells it",
            ),
        ]
        return [reason for value, reason in questions if not value]

    def to_frame(self, unanswered: Sequence[str] = ()) -> pl.DataFrame:
        """Make the one row of the answer, with the columns of SCHEMA.

        ``unanswered``: what to say, before ``missing``, of the name that was requested.
        """
        groups = [getattr(self, group.name) for group in fields(self)]
        row = {name: value for group in groups for name, value in vars(group).items()}
        row["missing"] = [*unanswered, *self.missing()]
        return pl.DataFrame([row], schema=SCHEMA)
