"""Choose the measured results that represent a device, and list who sells it.

Community hosts of a cloud have a separate row. The time of each price comes from the table prices,
because offers.observed_at is the oldest of several.
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
"""Benchmarks of images, speech and video for which a price is computed."""

LATENCY = "ms"
TIMES = ["minutes", LATENCY]  # Result units in which less is better; the others are rates

WITH_REQUESTS = ["Offline", "Server", "Interactive"]
"""Scenarios with requests of known mean lengths."""

ALONE = ["SingleUser", "Prompt"]
"""Scenarios of one sequence. Their results depend on the format of the weights; in the other
scenarios the submitter chooses it."""

PRICE_OF_ONE = "usd_per_accelerator_hour"

PRICE_COLUMNS: dict[str, str | None] = {
    **{f"usd_per_million_tokens_{name}": code for name, code in formulas.TOKEN_MODELS.items()},
    f"usd_per_{formulas.FINE_TUNING}": formulas.FINE_TUNING,
    PRICE_OF_ONE: None,
}
"""Columns of offers with a price of work or of an hour: the benchmark behind a price of work."""

Size = Callable[[str, str], float | None]
"""Returns the number of accelerators of the machine to find results for, by accelerator and
benchmark; None for a machine of any size."""


def cheapest_offers(offers: pl.DataFrame) -> pl.DataFrame:
    """Find the cheapest data center offer of each accelerator for each of PRICE_COLUMNS.

    ``offers``: rows of offers. Returns accelerator_id, price (a key of PRICE_COLUMNS), benchmark,
    accelerator_count and usd, a row for each accelerator and price.
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
    """Return the sizes of the machines of ``cheapest_offers``.

    For a benchmark without a price, it is the size of the machine with the lowest hourly price.
    """
    sizes = {
        (accelerator_id, benchmark): count
        for accelerator_id, benchmark, count in cheapest.select(
            "accelerator_id", "benchmark", "accelerator_count"
        ).iter_rows()
    }

    def size(accelerator_id: str, benchmark: str) -> float | None:
        by_hour = sizes.get((accelerator_id, None))
        return sizes.get((accelerator_id, benchmark), by_hour)

    return size


def results(dataset: Tables, size: Size, accelerator_id: str | None = None) -> pl.DataFrame:
    """Choose the result that represents an accelerator in each benchmark and scenario.

    Scenarios of one sequence have one result for each format of the weights. Without
    ``accelerator_id``, the results of all accelerators.

    Results of systems of the machine's size are preferred, except for images, speech and video:
    there a machine has its share of the system that represents the accelerator, as in
    ``recommend``. The open division, which may change the model, is left out.

    Returns rows of benchmarks, sorted by accelerator, benchmark and scenario, with ``benchmark``
    (see ``formulas.with_benchmark``), ``unit``, ``own_format`` (of scenarios of one sequence), and
    ``per_accelerator`` filled in: minutes × accelerators for a training, the latency of the system
    for a latency. ``input_tokens`` and ``output_tokens`` are the mean lengths of the requests, if
    known.
    """
    is_requested = pl.lit(True)
    if accelerator_id is not None:
        is_requested = pl.col("accelerator_id") == accelerator_id
    closed = pl.col("division").ne_missing("open")
    rows = (
        dataset.scan("benchmarks")
        .filter(is_requested, closed)
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
        any_size = group.to_dicts()
        wanted = None if benchmark in SAMPLE_MODELS else size(str(device_id), str(benchmark))
        same_size = [row for row in any_size if wanted and row["accelerator_count"] == wanted]
        chosen.append(representative(same_size or any_size, less_is_better=unit in TIMES))
    return pl.DataFrame(chosen, schema=measured.schema).sort(key).with_columns(_lengths())


def results_of_offers(dataset: Tables, offers: pl.DataFrame) -> pl.DataFrame:
    """Choose the results of all accelerators for their cheapest machines; see ``results``."""
    return results(dataset, sizes_of(cheapest_offers(offers)))


def _per_accelerator() -> pl.Expr:
    """Return the rate per accelerator, the accelerator-minutes of a training, or the latency."""
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
    """Return the mean lengths of a benchmark's requests; null if unknown."""
    has_requests = pl.col("scenario").is_in(WITH_REQUESTS)
    workloads = packaged_sheet("benchmark_workloads")
    lengths = {
        name: dict(zip(workloads["benchmark"], workloads[name], strict=True))
        for name in ("input_tokens", "output_tokens")
    }
    return [
        pl.when(has_requests)
        .then(pl.col("benchmark").replace_strict(means, default=None, return_dtype=pl.Float64))
        .alias(name)
        for name, means in lengths.items()
    ]


def label(row: Mapping[str, Any]) -> str:
    """Return the name of a row of benchmarks, model/round/system, as in offers.benchmark_rounds."""
    return f"{row['model']}/{row['round']}/{row['system']}"


OFFER_KEY = ["provider", "region", "instance_type"]  # Key of a row of offers

DATED = ("on_demand", "spot")
"""Purchase options with a price id in offers: <option>_price_id."""


@dataclass(frozen=True)
class PriceDates:
    """The times when Linux prices were seen.

    ``prices`` has OFFER_KEY, price_id, currency, effective_hourly and observed_at.
    """

    prices: pl.DataFrame

    @classmethod
    def of(cls, dataset: Tables, offers: pl.DataFrame) -> "PriceDates":
        """Read the times of the machine types of some offers."""
        types = offers["instance_type"].unique().to_list()
        rows = dataset.scan("prices").filter(
            pl.col("instance_type").is_in(types), *price_conditions(Search())
        )
        columns = [*OFFER_KEY, "price_id", "currency", "effective_hourly", "observed_at"]
        return cls(rows.select(columns).collect())

    def add_to(self, offers: pl.DataFrame) -> pl.DataFrame:
        """Add on_demand_observed_at and spot_observed_at to rows of offers."""
        for option in DATED:
            times = self.prices.select(
                pl.col("price_id").alias(f"{option}_price_id"),
                pl.col("observed_at").alias(f"{option}_observed_at"),
            )
            offers = offers.join(times, on=f"{option}_price_id", how="left", maintain_order="left")
        return offers

    def seen(self, offer: Mapping[str, str], usd_per_hour: Decimal) -> datetime | None:
        """Return when a price of a machine in USD was seen; the oldest time of equal prices.

        ``offer`` has the values of OFFER_KEY.
        """
        rows = self.prices.filter(
            pl.col("effective_hourly") == usd_per_hour, currency="USD", **offer
        )
        oldest = rows["observed_at"].min()
        return oldest if isinstance(oldest, datetime) else None


SPOT = "spot_usd_per_hour"

PRICES = {"on_demand": ("on_demand_hourly", HOURLY), "spot": (SPOT, SPOT)}
"""Purchase options: the columns of offers with the price in the row's currency and in USD. Spot
prices are always in USD, because no cloud with another currency has a spot market."""


def where_sold(
    offers: pl.DataFrame, providers: list[str], judged_at: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    """List the clouds, the cheapest on-demand price first; clouds without a price come last.

    Community hosts come after data centers. ``lists.csv`` describes the values of a cloud.

    ``offers`` have the columns that PriceDates adds, converted to USD if there is a rate.
    ``providers``: the clouds that have the device, even without an offer. ``judged_at``: by
    provider, the time for which to judge whether prices are stale; ``stale`` is null for other
    providers.
    """
    offers = offers.with_columns(private_host=is_private_host())
    rows = []
    for name in providers:
        cloud_offers = offers.filter(provider=name)
        hosts = cloud_offers["private_host"].unique().sort().to_list() or [False]
        rows += [
            _cloud(name, cloud_offers.filter(private_host=host), host, judged_at.get(name))
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
    """Find the lowest price of one device, preferably in USD; empty without a price."""
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
