"""Find offers: a question in words or options, answered with one row for each price."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Unpack

import polars as pl
import polars.selectors as cs

from hwprices.formulas import first_of
from hwprices.read.find import covers, request
from hwprices.read.find import search as searching
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.options import Options
from hwprices.read.find.search import Search
from hwprices.read.find.words import without_form
from hwprices.read.overlays import apply
from hwprices.read.overlays.apply import warn_unmatched
from hwprices.read.overlays.rules import Discounts, Overlays, as_overlays
from hwprices.release import wording
from hwprices.release.release import REAL, Release, Tables, scan_types
from hwprices.release.wording import counted
from hwprices.schemas import PLACE_KEY, PURCHASE_KEY
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS

FIRST = ("instance_type", "region", "purchase_option", "effective_hourly", "currency")
"""First columns of a frame of prices, because polars prints the first four and the last four."""

COLUMNS = [
    *FIRST,
    "provider",
    *(name for name in PLACE_KEY if name not in ("provider", *FIRST)),
    *("country", "continent", "region_name", "family", "arch", "vcpus", "memory_gib"),
    *("accelerator_kind", "accelerator_id", "accelerator_count", "accelerator_memory_gib"),
    *("local_disk_gib", "network_gbps_max", "rdma"),
    *(name for name in PURCHASE_KEY if name not in FIRST),
    *("hourly", "upfront", "usd_per_hour", "usd_per_accelerator_hour", "usd_per_vcpu_hour"),
    *("gco2e_per_hour", "flags", "observed_at", "stale", "price_id"),
]

LEADING = (
    *("instance_type", "region", "provider", "country"),
    *("accelerator_name", "accelerator_count", "accelerator_memory_gib", "vcpus", "memory_gib"),
    *("on_demand_usd_per_hour", "usd_per_accelerator_hour", "spot_usd_per_hour", "spot_discount"),
    *("best_1y_usd_per_hour", "best_1y_option", "best_1y_discount"),
    *("best_3y_usd_per_hour", "best_3y_option"),
    *("on_demand_hourly", "currency", "local_disk_gib", "network_gbps_max"),
    *("gco2e_per_hour", "flags", "observed_at"),
)
"""The 25 most used columns of offers, which come first."""


def leading(offers: pl.LazyFrame, *, few: bool = False) -> pl.LazyFrame:
    """Move the columns of LEADING to the front; with ``few`` leave out the others."""
    first = cs.by_name(*LEADING, require_all=False)
    return offers.select(first) if few else offers.select(first, ~first)


OVERLAY_COLUMNS = ["list_effective_hourly", "overlay"]
"""With an overlay: the list price, in the row's currency, and the rule that changed it."""


@dataclass(frozen=True)
class OfferAnswer:
    """The sorted offers, notes on them, and the search as it was understood.

    ``sheets``: the providers with a price sheet. The notes state its age for all their rows.
    ``currencies``: the first of the notes: prices in currencies without a rate.
    """

    rows: pl.DataFrame
    notes: tuple[str, ...]
    search: Search
    sheets: tuple[str, ...] = ()
    currencies: tuple[str, ...] = ()


def answer(
    dataset: Release,
    text: str = "",
    *,
    sort: str = "price",
    descending: bool = False,
    overlays: Discounts = None,
    shown: int | None = None,
    **options: Unpack[Options],
) -> OfferAnswer:
    """Find offers. ``options`` are those of ``Options``; ``shown`` as in ``run``.

    Raises:
        HwpricesError: a word or option is not understood, or ``sort`` is unknown.
    """
    rules = as_overlays(overlays)
    search = request.request(ReleaseWords.of(dataset), text, **options)
    return run(dataset, search, sort=sort, descending=descending, overlays=rules, shown=shown)


def run(
    dataset: Release,
    search: Search,
    *,
    sort: str = "price",
    descending: bool = False,
    overlays: Overlays | None = None,
    shown: int | None = None,
) -> OfferAnswer:
    """Find the offers of a search. Notes state the age of the first ``shown`` rows, or of all."""
    listed = searching.prices(dataset, search).filter(*REAL)
    columns = COLUMNS
    if overlays is not None:
        warn_unmatched(dataset, overlays, ReleaseWords.of(dataset))
        listed = apply.apply(listed, overlays)
        columns = [*COLUMNS, *OVERLAY_COLUMNS]
    rows = searching.priced(listed, search).with_columns(stale=wording.stale(dataset))
    types = searching.types_of(dataset, search)
    place = ["provider", "region", "instance_type"]
    wanted = [*place, "gco2e_per_hour"]
    carbon = (
        dataset.scan("offers").select(wanted)
        if types is None
        else scan_types(dataset, "offers", types, wanted)
    )
    offers = rows.join(carbon, on=place, how="left").select(columns).collect()
    ordered = searching.sort(offers, sort, descending=descending)
    currencies = currency_notes(dataset, search, ordered)
    notes = (*currencies, *notes_of(dataset, search, ordered, ordered[:shown]))
    return OfferAnswer(ordered, notes, search, tuple(wording.sheets(dataset)), currencies)


def notes_of(
    dataset: Release, search: Search, rows: pl.DataFrame, shown: pl.DataFrame
) -> list[str]:
    """Explain why an answer is empty, what may be missing, and which rows are old."""
    unstated = covers.unstated(dataset, search)
    missing = [f"+ {counted(unstated, 'offer')} whose location is not stated"] if unstated else []
    if search.in_stock:
        stating = dataset.scan("stock").select(pl.col("provider").unique().sort()).collect()
        only = f"Only {', '.join(stating['provider'])} state their stock."
        missing.append(only if stating.height else "No cloud in this release states its stock.")
    if rows.is_empty():
        return [*covers.why_nothing(dataset, search), *missing]
    return [*_without_offer(search, rows), *missing, *age_notes(dataset, shown)]


def _without_offer(search: Search, rows: pl.DataFrame) -> list[str]:
    """Name the requested accelerators that no offer has; nothing if a word means many of them."""
    found = map(without_form, rows["accelerator_id"].drop_nulls())
    missing = sorted({*map(without_form, search.accelerators)} - {*found})
    has_unknown = rows["accelerator_id"].has_nulls()  # the vendor's H100 may be any of them
    if has_unknown or not 0 < len(missing) <= covers.MAX_NAMED:
        return []
    return [f"No offer with {', '.join(missing)} matches."]


def currency_notes(dataset: Release, search: Search, rows: pl.DataFrame) -> tuple[str, ...]:
    """Count the rows that are not ranked or are left out because they have no price in USD."""
    if rows.is_empty():
        return ()
    other = rows.filter(pl.col("usd_per_hour").is_null())
    counts: Mapping[str, int] = dict(other.group_by("currency").len().sort("currency").iter_rows())
    not_ranked = (
        f"{counted(count, 'offer')} in {currency} not ranked without --usd-per {currency}=…"
        for currency, count in counts.items()
    )
    return (*not_ranked, *covers.not_compared(dataset, search))


def age_notes(dataset: Release, rows: pl.DataFrame) -> tuple[str, ...]:
    """State which rows are stale, and how old the price sheets behind the others are."""
    return (
        *wording.stale_notes(rows, wording.sheets(dataset)),
        *wording.sheet_notes(dataset.release.providers, rows["provider"], datetime.now(UTC)),
    )


def ranked_notes(dataset: Release, ranked: pl.DataFrame) -> tuple[str, ...]:
    """State the ages of the prices of ranked machines, with ``machine`` and ``price_id``."""
    priced = ranked.drop_nulls("price_id")
    doubtful = priced.filter(pl.col("provider").is_in(wording.may_be_stale(dataset)))
    if doubtful.is_empty():
        return wording.sheet_notes(dataset.release.providers, priced["provider"], datetime.now(UTC))
    columns = ["price_id", "instance_type", "observed_at"]
    seen = scan_types(dataset, "prices", {*doubtful["machine"]}, columns).collect()
    rows = priced.join(seen, "price_id", "left", maintain_order="left")
    return age_notes(dataset, rows.with_columns(stale=wording.stale(dataset)))


def with_price_ids(ranked: pl.DataFrame, dataset: Tables) -> pl.DataFrame:
    """Add price_id to the ranked machines to rent (``where`` is cloud) of a frame of machines.

    It is from the table offers, whose row is ``offer``; ids of commitments and blocks, which offers
    lack, are from prices. Random ids are most of the bytes of both tables, so only those of ranked
    machines are read.
    """
    columns = [name for name in ranked.columns if name != "offer"]
    key = ["provider", "machine", "region", "purchase_option"]
    rented = ranked.filter(pl.col("rank").is_not_null(), where="cloud")
    if rented.is_empty():
        return ranked.select(columns)
    first, last = rented.select(pl.col("offer").min(), last=pl.col("offer").max()).row(0)
    ids = (
        dataset.scan("offers")
        .with_row_index("offer")
        .slice(first, last - first + 1)
        .select("offer", on_demand="on_demand_price_id", spot="spot_price_id")
        .unpivot(index="offer", variable_name="purchase_option", value_name="price_id")
        .collect()
    )
    found = rented.select("offer", *key).join(ids, ["offer", "purchase_option"]).drop("offer")
    others = rented.join(found, key, "anti")
    if others.height:
        found = pl.concat([found, _ids_of_prices(others, key, dataset)])
    joined = ranked.drop("price_id").join(found, key, "left", maintain_order="left")
    return joined.select(columns)


def _ids_of_prices(machines: pl.DataFrame, key: list[str], dataset: Tables) -> pl.DataFrame:
    """Return the id of the cheapest price of each machine and option, as offers choose it.

    Own discounts may have made another commitment the cheapest than that of the list prices.
    """
    plans = COMMITMENT_COLUMNS.items()
    is_committed = pl.col("purchase_option").is_in({option for _, (option, _) in plans})
    best = pl.when(is_committed).then(pl.format("best_{}y", pl.col("term_months") // 12))
    chosen = (pl.when(purchase_option=f"best_{n}y").then(f"best_{n}y_option") for n in (1, 3))
    begins = first_of(
        {
            name: (pl.col("purchase_option") == option) & (pl.col("commitment_plan") == plan)
            for name, (option, plan) in plans
        }
    )
    is_other = ~pl.col("chosen").str.starts_with(pl.col("begins")).fill_null(False)
    return (
        scan_types(dataset, "prices", machines["machine"])
        .rename({"instance_type": "machine"})
        .filter(*REAL, os="linux", software="none", license_model="included", tenancy="shared")
        .filter(~is_committed | (pl.col("commitment_plan") != "convertible"))
        .with_columns(begins=begins, purchase_option=best.otherwise("purchase_option"))
        .join(machines.lazy().select(*key, chosen=pl.coalesce(chosen)), key)
        .sort(is_other, "effective_hourly", "price_id")
        .unique(key, keep="first", maintain_order=True)
        .select(*key, "price_id")
        .collect()
    )
