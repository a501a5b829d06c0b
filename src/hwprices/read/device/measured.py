"""Choose the measured results that represent a device, and list who sells it.

A cloud's community hosts have a row of their own. When each price was seen is in prices:
offers.observed_at is the oldest of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.currency import HOURLY
from hwprices.read.find.search import Search, price_conditions
from hwprices.read.recommend.media import representative
from hwprices.release.release import Tables, is_private_host
from hwprices.release.wording import is_stale
from hwprices.specs import packaged_sheet
from hwprices.units import Money

SAMPLE_MODELS = ["stable-diffusion-xl", "whisper", "wan-2.2-t2v-a14b"]
"""Benchmarks of images, speech and video that have a price."""

LATENCY = "ms"
TIMES = ["minutes", LATENCY]  # Result units in which less is better; the others are rates

WITH_REQUESTS = ["Offline", "Server", "Interactive"]
"""Scenarios that send the requests of the benchmark, whose mean lengths are known."""

ALONE = ["SingleUser", "Prompt"]
"""Scenarios of one sequence. The format of the weights is part of what was measured, where under
the others it is the submitter's choice."""

PRICE_OF_ONE = "usd_per_accelerator_hour"

PRICE_COLUMNS: dict[str, str | None] = {
    **{f"usd_per_million_tokens_{name}": code for name, code in formulas.TOKEN_MODELS.items()},
    f"usd_per_{formulas.FINE_TUNING}": formulas.FINE_TUNING,
    PRICE_OF_ONE: None,
}
"""Columns of offers with a price of work or of an hour: the benchmark behind the former."""

Size = Callable[[str, str], float | None]
"""By accelerator and benchmark: how many accelerators the machine has that a result is shown for;
None where the result of any system will do."""


def cheapest_offers(offers: pl.DataFrame) -> pl.DataFrame:
    """Find the data center's offer with the lowest price, for each of PRICE_COLUMNS.

    ``offers``: rows of offers, of one accelerator or of many. Returns accelerator_id, price (a key
    of PRICE_COLUMNS), benchmark, accelerator_count and usd, a row for each accelerator and price.
    """
    key = ["accelerator_id", "price"]
    prices = (
        offers.filter(~is_private_host())
        .unpivot(
            [name for name in PRICE_COLUMNS if name in offers.columns],
            index=["accelerator_id", "accelerator_count", *OFFER_KEY],
            variable_name="price",
            value_name="usd",
        )
        .drop_nulls(["accelerator_id", "usd"])
    )
    cheapest = prices.sort("usd", *OFFER_KEY).unique(key, keep="first", maintain_order=True)
    benchmark = pl.col("price").replace_strict(PRICE_COLUMNS, return_dtype=pl.String)
    return cheapest.sort(key).select(*key, "accelerator_count", "usd", benchmark=benchmark)


def sizes_of(cheapest: pl.DataFrame) -> Size:
    """Return the sizes of the machines that prices are of; ``cheapest`` is of ``cheapest_offers``.

    Of a benchmark without a price it is the size of the machine with the lowest price of an hour.
    """
    sizes = {
        (accelerator_id, benchmark): count
        for accelerator_id, benchmark, count in cheapest.select(
            "accelerator_id", "benchmark", "accelerator_count"
        ).iter_rows()
    }

    def size(accelerator_id: str, benchmark: str) -> float | None:
        of_hour = sizes.get((accelerator_id, None))
        return sizes.get((accelerator_id, benchmark), of_hour)

    return size


def results(dataset: Tables, size: Size, accelerator_id: str | None = None) -> pl.DataFrame:
    """Choose the result that represents an accelerator in each benchmark and scenario.

    Of one sequence one in each format of the weights.

    Those of all accelerators where none is named: one query for each would take 10 ms.

    Results of systems of the machine's size go before those of other sizes, but for images, speech
    and video: there a machine has its share of the system that represents the accelerator, as
    ``recommend`` has it. The open division, which may change the model, is left out.

    Returns rows of benchmarks, sorted by accelerator, benchmark and scenario, with ``benchmark``
    (see ``formulas.with_benchmark``), ``per_accelerator`` filled in, ``unit``, and ``own_format``
    (the format, of one sequence alone). For a training it is minutes × accelerators, in
    accelerator-minutes; a latency is that of the system, because more accelerators do not divide
    it. ``input_tokens`` and ``output_tokens`` are the mean lengths of the requests, where they are
    known.
    """
    is_asked = pl.lit(True)
    if accelerator_id is not None:
        is_asked = pl.col("accelerator_id") == accelerator_id
    closed = pl.col("division").ne_missing("open")
    rows = (
        dataset.scan("benchmarks")
        .filter(is_asked, closed)
        .with_columns(per_accelerator=_per_accelerator(), unit=_unit())
    )
    own_format = pl.when(pl.col("scenario").is_in(ALONE)).then("precision")
    measured = formulas.with_benchmark(
        rows.drop_nulls("per_accelerator").with_columns(own_format=own_format).collect()
    ).filter(~pl.col("benchmark").str.ends_with("-99.9"))
    key = ["accelerator_id", "benchmark", "scenario", "result_unit", "own_format"]
    chosen = []
    for (device_id, benchmark, _, unit, _), group in measured.sort("system").group_by(
        key, maintain_order=True
    ):
        of_all_sizes = group.to_dicts()
        wanted = None if benchmark in SAMPLE_MODELS else size(str(device_id), str(benchmark))
        of_size = [row for row in of_all_sizes if wanted and row["accelerator_count"] == wanted]
        chosen.append(representative(of_size or of_all_sizes, less_is_better=unit in TIMES))
    return pl.DataFrame(chosen, schema=measured.schema).sort(key).with_columns(_lengths())


def results_of_offers(dataset: Tables, offers: pl.DataFrame) -> pl.DataFrame:
    """Choose the results of all accelerators, of the size of the machine with the lowest price.

    ``offers``: rows of offers. Returns what ``results`` does.
    """
    return results(dataset, sizes_of(cheapest_offers(offers)))


def _per_accelerator() -> pl.Expr:
    """Return the rate of one accelerator, the minutes of a training times them, or the latency."""
    return pl.coalesce(
        pl.when(pl.col("result_unit") == LATENCY).then("result"),
        "per_accelerator",
        pl.col("accelerator_hours") * 60,
        pl.col("result") / pl.col("accelerator_count"),
    )


def _unit() -> pl.Expr:
    unit = pl.col("result_unit")
    return (
        pl.when(unit == LATENCY)
        .then(unit)
        .when(unit.is_in(TIMES))
        .then("accelerator-" + unit)
        .otherwise(unit + " per accelerator")
    )


def _lengths() -> list[pl.Expr]:
    """Return the mean lengths of a benchmark's requests; null where they are not known."""
    has_requests = pl.col("scenario").is_in(WITH_REQUESTS)
    workloads = packaged_sheet("benchmark_workloads")
    lengths = {
        name: dict(zip(workloads["benchmark"], workloads[name], strict=True))
        for name in ("input_tokens", "output_tokens")
    }
    return [
        pl.when(has_requests)
        .then(pl.col("benchmark").replace_strict(known, default=None, return_dtype=pl.Float64))
        .alias(name)
        for name, known in lengths.items()
    ]


def label(row: Mapping[str, Any]) -> str:
    """Return the name of a row of benchmarks: model/round/system, as offers.benchmark_rounds."""
    return f"{row['model']}/{row['round']}/{row['system']}"


OFFER_KEY = ["provider", "region", "instance_type"]  # Key of a row of offers

DATED = ("on_demand", "spot")
"""Purchase options whose row of prices is named in offers: <option>_price_id."""


@dataclass(frozen=True)
class PriceDates:
    """When the Linux prices of some machine types were seen.

    ``prices`` has OFFER_KEY, price_id, currency, effective_hourly and observed_at.
    """

    prices: pl.DataFrame

    @classmethod
    def of(cls, dataset: Tables, offers: pl.DataFrame) -> "PriceDates":
        """Read those of the machine types of some offers."""
        types = offers["instance_type"].unique().to_list()
        rows = dataset.scan("prices").filter(
            pl.col("instance_type").is_in(types), *price_conditions(Search())
        )
        columns = [*OFFER_KEY, "price_id", "currency", "effective_hourly", "observed_at"]
        return cls(rows.select(columns).collect())

    def add_to(self, offers: pl.DataFrame) -> pl.DataFrame:
        """Add on_demand_observed_at and spot_observed_at to rows of offers."""
        for option in DATED:
            own = self.prices.select(
                pl.col("price_id").alias(f"{option}_price_id"),
                pl.col("observed_at").alias(f"{option}_observed_at"),
            )
            offers = offers.join(own, on=f"{option}_price_id", how="left", maintain_order="left")
        return offers

    def seen(self, offer: Mapping[str, str], usd_per_hour: Decimal) -> datetime | None:
        """Return when a price in USD of a machine was seen; the oldest of several that are equal.

        ``offer`` has the values of OFFER_KEY.
        """
        rows = self.prices.filter(
            pl.col("effective_hourly") == usd_per_hour, currency="USD", **offer
        )
        oldest = rows["observed_at"].min()
        return oldest if isinstance(oldest, datetime) else None


SPOT = "spot_usd_per_hour"

WHERE_SOLD = pl.Struct(
    {
        "provider": pl.String,
        "private_host": pl.Boolean,
        "currency": pl.String,
        "on_demand_per_hour": Money,
        "on_demand_usd_per_hour": Money,
        "on_demand_offer": pl.String,
        "spot_per_hour": Money,
        "spot_usd_per_hour": Money,
        "spot_offer": pl.String,
        "reason": pl.String,
        "seen": pl.Date,
        "stale": pl.Boolean,
    }
)
"""One cloud. Prices are of one device: in the vendor's currency, and in USD where it is USD or a
rate was given. ``reason`` says why the price is missing; ``seen`` is the older of both."""

PRICES = {"on_demand": ("on_demand_hourly", HOURLY), "spot": (SPOT, SPOT)}
"""Purchase option: the columns of offers with its price in the row's currency and in USD. Spot has
a price in USD only: no cloud with another currency has a spot market."""


def where_sold(
    offers: pl.DataFrame, providers: list[str], judged_at: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    """List the clouds, the cheapest on-demand price first, those without one last.

    Community hosts come after those of data centers.

    Args:
        offers: the rows of offers with the device, with the columns that PriceDates adds; those of
            other currencies converted, as far as the reader gave a rate.
        providers: the clouds that have it, some perhaps without an offer.
        judged_at: by provider, the time against which its prices may be stale; ``stale`` is null
            for one that is not named.
    """
    offers = offers.with_columns(private_host=is_private_host())
    rows = []
    for name in providers:
        of_cloud = offers.filter(provider=name)
        hosts = of_cloud["private_host"].unique().sort().to_list() or [False]
        rows += [
            _cloud(name, of_cloud.filter(private_host=host), host, judged_at.get(name))
            for host in hosts
        ]
    return sorted(rows, key=_order)


def _cloud(
    provider: str, offers: pl.DataFrame, private_host: bool, judged_at: datetime | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"provider": provider, "private_host": private_host, "currency": None}
    seen = []
    for option, (native, usd) in PRICES.items():
        cheapest = _cheapest(offers, native, usd, option)
        row[f"{option}_per_hour"] = cheapest.get("native")
        row[f"{option}_usd_per_hour"] = cheapest.get("usd")
        row[f"{option}_offer"] = cheapest.get("offer")
        row["currency"] = row["currency"] or cheapest.get("currency")
        seen += [cheapest["seen"]] if cheapest.get("seen") else []
    row["reason"] = None if row["on_demand_per_hour"] is not None else _reason(offers)
    row["seen"] = min(seen).date() if seen else None
    row["stale"] = is_stale(min(seen), judged_at) if seen and judged_at else None
    return row


def _cheapest(offers: pl.DataFrame, native: str, usd: str, option: str) -> dict[str, Any]:
    """Find the lowest price of one device, in USD where one is known; empty without a price."""
    count = pl.col("accelerator_count")
    priced = offers.select(
        "currency",
        seen=f"{option}_observed_at",
        offer=pl.concat_str("region", "instance_type", separator="/"),
        native=formulas.divide(pl.col(native), count).cast(Money),
        usd=formulas.divide(pl.col(usd), count).cast(Money),
    ).drop_nulls("native")
    first = priced.sort("usd", "currency", "native", "offer", nulls_last=True).head(1)
    return first.row(0, named=True) if first.height else {}


def _reason(offers: pl.DataFrame) -> str:
    reasons = offers["on_demand_reason"].drop_nulls().unique().sort()
    return ", ".join(reasons.to_list()) or "not_listed"


def _order(row: Mapping[str, Any]) -> tuple[bool, bool, Any, str]:
    price = row["on_demand_usd_per_hour"]
    return row["private_host"], price is None, price or 0, row["provider"]
