"""Find prices by the machine's specification, its region, and the purchase option."""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

import polars as pl

from hwprices.errors import HwpricesError, did_you_mean
from hwprices.read import currency
from hwprices.read.find.options import FIGURES
from hwprices.release.release import REAL, Tables, scan_types, stock_of
from hwprices.schemas import PRICE_KEY
from hwprices.specs import csv_rows
from hwprices.units import Money, WideMoney

ANY = "any"  # every operating system, or every software

COMMITMENT = "commitment"
"""Every purchase option with a term: reservations, savings plans, committed use."""

WITH_TERM = frozenset({"reserved", "savings_plan", "committed_use"})
"""The purchase options that COMMITMENT represents."""

NO_ACCELERATOR = "none"  # the accelerator_kind of machines without accelerators

ANY_RDMA = "rdma"
RDMA = ("infiniband", "roce", "efa", ANY_RDMA)
"""Words for remote direct memory access."""

SORTABLE = {
    "price": "usd_per_hour",
    "price_per_accelerator": "usd_per_accelerator_hour",
    "price_per_vcpu": "usd_per_vcpu_hour",
    "accelerators": "accelerator_count",
    "accelerator_memory": "accelerator_memory_gib",
    "memory": "memory_gib",
    "vcpu": "vcpus",
    "network": "network_gbps_max",
    "disk": "local_disk_gib",
    "carbon": "gco2e_per_hour",
}
"""Short names of figures to sort by: the columns of the answer."""

PER_PART = {"usd_per_accelerator_hour": "accelerator_count", "usd_per_vcpu_hour": "vcpus"}
"""Prices per part of a machine: the columns with the number of parts."""

MACHINE_COLUMNS = [
    *("provider", "instance_type", "family", "arch", "vcpus", "memory_gib", "accelerators"),
    *("accelerator_kind", "accelerator_count", "accelerator_memory_gib", "local_disk_gib"),
    *("network_gbps_max", "rdma"),
]

PRICE_COLUMNS = [
    *PRICE_KEY,
    *("hourly", "upfront", "effective_hourly", "price_reason", "flags", "observed_at"),
    "price_id",
]

TIE_BREAKERS = ["provider", "region", "instance_type", "term_months", "price_id"]
"""Order of rows with equal figures, so that answers are reproducible."""


@dataclass(frozen=True)
class Bounds:
    """Limits of a figure, inclusive; None does not limit it."""

    least: float | None = None
    most: float | None = None

    def holds(self, figure: pl.Expr) -> pl.Expr:
        """Return the condition on a figure; an unknown figure does not meet it."""
        conditions = [figure.is_not_null()]
        if self.least is not None:
            conditions.append(figure >= self.least)
        if self.most is not None:
            conditions.append(figure <= self.most)
        return pl.all_horizontal(conditions)


@dataclass(frozen=True, kw_only=True)
class Search:
    """Conditions on prices. A field that is None or empty sets no condition.

    A machine must match any one of these: ``accelerators`` (ids), ``unknown_accelerators``
    (machines: those whose accelerator has no id, by the vendor's name of it, and those that are
    named beside accelerators) or ``accelerator_kinds``, which may include NO_ACCELERATOR.
    ``accelerator_gib`` is the memory of one accelerator. ``machines`` are pairs of provider and
    instance type, as are ``cpu_machines``, the machines with a requested CPU. ``regions`` are pairs
    of provider and region. ``purchase_options`` may include COMMITMENT; ``payments`` apply to
    commitments. ``max_price`` is in USD per machine and hour, ``max_price_per_accelerator`` per
    accelerator and hour. ``rdma`` is one of RDMA. ``in_stock``: only machines that the table stock
    lists as available; most vendors do not state their stock.
    """

    accelerators: frozenset[str] = frozenset()
    unknown_accelerators: frozenset[tuple[str, str]] = frozenset()
    accelerator_kinds: frozenset[str] = frozenset()
    accelerator_count: Bounds | None = None
    accelerator_gib: Bounds | None = None
    vcpus: Bounds | None = None
    memory_gib: Bounds | None = None
    local_disk_gib: Bounds | None = None
    disk_kinds: frozenset[str] = frozenset()
    arch: str | None = None
    rdma: str | None = None
    bare_metal: bool = False
    cpu_machines: frozenset[tuple[str, str]] | None = None
    machines: frozenset[tuple[str, str]] | None = None
    providers: frozenset[str] = frozenset()
    regions: frozenset[tuple[str, str]] | None = None
    purchase_options: frozenset[str] = frozenset()
    terms: frozenset[int] = frozenset()
    payments: frozenset[str] = frozenset()
    os: str = "linux"
    software: str = "none"
    license_model: str | None = "included"
    tenancy: str | None = "shared"
    max_price: Decimal | None = None
    max_price_per_accelerator: Decimal | None = None
    in_stock: bool = False
    usd_per: currency.Rates = field(default_factory=dict)

    @property
    def names_accelerators(self) -> bool:
        """Whether accelerators, or kinds of machines by their accelerators, are named."""
        return bool(self.accelerators or self.unknown_accelerators or self.accelerator_kinds)


FIELDS = csv_rows(Path(__file__).with_name("fields.csv"))
"""Names of fields of a search in sentences; ``options.FIGURES`` has those of figures."""

USUAL = Search()
"""The default: Linux on shared hardware, without software."""

EVERY_WAY = Search(os=ANY, software=ANY, license_model=None, tenancy=None)
"""No condition: every system, software, license and tenancy."""

SYSTEM = ("os", "software", "license_model", "tenancy")
"""The fields in which USUAL and EVERY_WAY differ."""


def find(dataset: Tables, search: Search) -> pl.LazyFrame:
    """Return one row for each price of a search, in no particular order.

    Columns: the place (provider, region, country, continent), MACHINE_COLUMNS, PRICE_COLUMNS,
    ``usd_per_hour`` (null if the currency has no rate in ``usd_per``) and the prices of PER_PART.
    Unknown prices and placeholders are left out.
    """
    return priced(prices(dataset, search).filter(*REAL), search)


def prices(dataset: Tables, search: Search) -> pl.LazyFrame:
    """Return the prices of a search, also unknown ones, with their machines and regions."""
    machines = machine_types(dataset).filter(machine_conditions(search)).select(MACHINE_COLUMNS)
    rows = dataset.scan("prices")
    if (types := types_of(dataset, search)) is not None:
        rows = scan_types(dataset, "prices", types)
    rows = rows.select(PRICE_COLUMNS).filter(price_conditions(search))
    if search.in_stock:
        place = ["provider", "region", "instance_type"]
        stocked = stock_of(dataset).filter("available", pl.col("ended_at").is_null())
        rows = rows.join(stocked, on=place, how="semi")
    regions = dataset.scan("regions").select(
        "provider", "region", "country", "continent", region_name="display_name"
    )
    keep_all: Literal["left", "inner"] = "inner" if restricts_machines(search) else "left"
    joined = rows.join(machines, on=["provider", "instance_type"], how=keep_all)
    placed = joined.join(regions, on=["provider", "region"], how="left")
    return placed.with_columns(accelerator_id=only_accelerator()).drop("accelerators")


def types_of(dataset: Tables, search: Search) -> set[str] | None:
    """List the machine types of a search; None if it does not restrict them."""
    if search.machines is not None:
        return {name for _, name in search.machines}
    if not restricts_machines(search):
        return None
    machines = machine_types(dataset).filter(machine_conditions(search))
    return set(machines.select("instance_type").collect()["instance_type"])


def machine_types(dataset: Tables) -> pl.LazyFrame:
    """Return instance_types, with accelerator memory from the spec sheet if no vendor states it.

    Adds ``accelerator_gib``: the memory of one accelerator, or of the machine's part of one. The GB
    of a spec sheet are read as GiB, which is what makers mean.
    """
    first = pl.col("accelerators").list.first().struct
    sheet = dataset.scan("accelerators").select("accelerator_id", _sheet_gib="memory_gb")
    gib = pl.coalesce(first.field("memory_gib"), "_sheet_gib")
    is_one_kind = pl.col("accelerators").list.len() == 1
    total = pl.coalesce(
        "accelerator_memory_gib", pl.when(is_one_kind).then(gib * first.field("count"))
    )
    is_part = pl.col("accelerator_count") < 1
    return (
        dataset.scan("instance_types")
        .with_columns(_first_id=first.field("accelerator_id"))
        .join(sheet, left_on="_first_id", right_on="accelerator_id", how="left")
        .with_columns(
            accelerator_gib=pl.when(is_part).then(total).otherwise(gib),
            accelerator_memory_gib=total,
        )
        .drop("_first_id", "_sheet_gib")
    )


def priced(rows: pl.LazyFrame, search: Search) -> pl.LazyFrame:
    """Add the price in USD and the prices per part to rows of ``prices``; apply price limits."""
    usd = currency.to_usd(pl.col("effective_hourly"), pl.col("currency"), search.usd_per)
    per_part = rows.with_columns(usd_per_hour=usd).with_columns(
        _per(part, "usd_per_hour").alias(figure) for figure, part in PER_PART.items()
    )
    limits = {
        "usd_per_hour": search.max_price,
        "usd_per_accelerator_hour": search.max_price_per_accelerator,
    }
    for figure, limit in limits.items():
        if limit is not None:
            per_part = per_part.filter(pl.col(figure) <= pl.lit(limit).cast(Money))
    return per_part


def _per(part: str, price: str) -> pl.Expr:
    """Divide a price by the parts of the machine; by vCPUs only without accelerators."""
    is_divided = pl.col(part) > 0
    if part == "vcpus":
        is_divided &= pl.col("accelerator_kind") == NO_ACCELERATOR
    divisor = pl.when(is_divided).then(pl.col(part)).cast(WideMoney)
    return (pl.col(price).cast(WideMoney) / divisor).cast(Money)


def sort(rows: pl.DataFrame, by: str, *, descending: bool = False) -> pl.DataFrame:
    """Sort an answer by a figure; unknown figures come last.

    Prices without a rate come after the others, sorted by currency, then by the figure in it.

    Raises:
        HwpricesError: the answer has no such column.
    """
    name = by.strip().replace("-", "_").lower()
    column = SORTABLE.get(name, name)
    if column not in rows.columns:
        choices = [*SORTABLE, *rows.columns]
        raise HwpricesError(
            f"nothing to sort by is named {by!r}",
            did_you_mean(name, choices) or f"There are: {', '.join(SORTABLE)}.",
        )
    ties = [name for name in TIE_BREAKERS if name in rows.columns and name != column]
    keys = [(pl.col(column), descending)]
    if (figure := _in_native_currency(column)) is not None:
        native = pl.when(pl.col(column).is_null()).then(figure)
        currency_code = pl.when(native.is_not_null()).then("currency")
        keys += [(currency_code, False), (native, descending)]
    keys += [(pl.col(name), False) for name in ties]
    return rows.sort(
        [key for key, _ in keys], descending=[falls for _, falls in keys], nulls_last=True
    )


def _in_native_currency(column: str) -> pl.Expr | None:
    """Return a USD figure in the currency of the price; None for figures without a currency."""
    if column == "usd_per_hour":
        return pl.col("effective_hourly")
    if column in PER_PART:
        return _per(PER_PART[column], "effective_hourly")
    return None


def price_conditions(search: Search) -> list[pl.Expr]:
    """Return the conditions of a search on the table prices."""
    systems = {name: getattr(search, name) for name in SYSTEM}
    sets: dict[str, frozenset[str] | frozenset[int]] = {
        "provider": search.providers,
        "term_months": search.terms,
        "payment_option": search.payments,
    }
    conditions = [pl.lit(True)]
    conditions += [
        pl.col(name) == code for name, code in systems.items() if code not in (ANY, None)
    ]
    conditions += [pl.col(name).is_in(sorted(codes)) for name, codes in sets.items() if codes]
    if search.purchase_options:
        conditions.append(_purchase(search.purchase_options))
    if search.machines is not None:
        conditions.append(pairs("instance_type", search.machines))
    if search.regions is not None:
        conditions.append(pairs("region", search.regions))
    return conditions


def pairs(column: str, wanted: frozenset[tuple[str, str]]) -> pl.Expr:
    """Return the condition that ``provider`` and the column are one of the pairs."""
    by_provider: dict[str, list[str]] = {}
    for provider, value in sorted(wanted):
        by_provider.setdefault(provider, []).append(value)
    return pl.any_horizontal(
        pl.lit(False),
        *(
            (pl.col("provider") == provider) & pl.col(column).is_in(values)
            for provider, values in by_provider.items()
        ),
    )


def _purchase(options: frozenset[str]) -> pl.Expr:
    named = pl.col("purchase_option").is_in(sorted(options - {COMMITMENT}))
    return named | (pl.col("term_months") > 0) if COMMITMENT in options else named


def machine_conditions(search: Search) -> list[pl.Expr]:
    """Return the conditions of a search on the columns of ``machine_types``."""
    conditions = [pl.lit(True)]
    if search.names_accelerators:
        ids = pl.element().struct.field("accelerator_id").is_in(sorted(search.accelerators))
        known = pl.col("accelerators").list.eval(ids.fill_null(False)).list.any()
        kind = pl.col("accelerator_kind").is_in(sorted(search.accelerator_kinds)).fill_null(False)
        conditions.append(known | kind | pairs("instance_type", search.unknown_accelerators))
    for column in FIGURES:
        wanted = getattr(search, column)
        if wanted is not None:
            conditions.append(wanted.holds(pl.col(column)))
    if search.disk_kinds:
        conditions.append(pl.col("local_disk_kind").is_in(sorted(search.disk_kinds)))
    if search.arch is not None:
        conditions.append(pl.col("arch") == search.arch)
    if search.rdma is not None:
        rdma = pl.col("rdma")
        conditions.append(rdma != "none" if search.rdma == ANY_RDMA else rdma == search.rdma)
    if search.bare_metal:
        conditions.append(pl.col("bare_metal"))
    if search.cpu_machines is not None:
        conditions.append(pairs("instance_type", search.cpu_machines))
    return conditions


def restricts_machines(search: Search) -> bool:
    """Check whether a search has conditions that need a machine's specification."""
    return len(machine_conditions(search)) > 1


def only_accelerator() -> pl.Expr:
    """Return the id of a machine's only kind of accelerator; null for none or several kinds."""
    first = pl.col("accelerators").list.first().struct.field("accelerator_id")
    return pl.when(pl.col("accelerators").list.len() == 1).then(first)
