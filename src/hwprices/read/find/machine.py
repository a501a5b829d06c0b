"""Answer about one machine type: its specification, its prices, and its prices in SageMaker."""

import re
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any, Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find import break_even, covers, names, request, words
from hwprices.read.find import search as searching
from hwprices.read.find.break_even import spot_moves
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.offers import COLUMNS, OVERLAY_COLUMNS, age_notes
from hwprices.read.find.options import Options, read
from hwprices.read.find.search import Search, price_conditions
from hwprices.read.overlays import apply
from hwprices.read.overlays.apply import warn_unmatched
from hwprices.read.overlays.rules import Discounts, Overlays, as_overlays
from hwprices.release import wording
from hwprices.release.release import IS_PLACEHOLDER, REAL, Release, names_of
from hwprices.release.wording import placeholders_left_out
from hwprices.schemas import PURCHASE_KEY


@dataclass(frozen=True)
class MachineAnswer:
    """A machine type with its specification and its prices.

    Attributes:
        machine: the machine type.
        specification: its row of ``search.machine_types``; None if the release has none.
        rows: its prices.
        notes: sentences on the prices.
        is_sheet: the prices are from a price sheet; the notes state its age.
        managed: its prices in SageMaker, as ``managed_prices`` returns them.
        billing: the rows of billing_terms for the purchase options of its prices, if known.
        names_system: the question names a system, software, license or tenancy.
    """

    machine: names.NamedMachine
    specification: dict[str, Any] | None
    rows: pl.DataFrame
    notes: tuple[str, ...]
    is_sheet: bool = False
    managed: pl.DataFrame = field(default_factory=pl.DataFrame)
    billing: pl.DataFrame = field(default_factory=pl.DataFrame)
    names_system: bool = False


def answer(
    dataset: Release,
    name: str,
    text: str = "",
    *,
    overlays: Discounts = None,
    **options: Unpack[Options],
) -> MachineAnswer:
    """Return every price of a machine type, the cheapest first.

    Unknown prices and placeholders come last. ``break_even_utilisation`` is the share of hours from
    which a commitment costs less than on demand in the same place. Spot prices have MOVES, of the
    last 90 days.

    ``text``: which prices, in words. ``options``: those of ``Options``. Without ``os``, ``license``
    or ``tenancy``, all of them.

    Raises:
        HwpricesError: there is no such machine type, or an option is not understood.
    """
    rules = as_overlays(overlays)
    names = ReleaseWords.of(dataset)
    values = read(options)
    providers = request.providers(names, values.pop("provider", None))
    search = request.request(names, text, searching.EVERY_WAY, **values)
    (machine,), notes = words.resolve_machines(names, [name], providers or search.providers)
    if text and (search.machines is not None or searching.restricts_machines(search)):
        raise HwpricesError(
            f"price shows one machine type: {name}, but {text!r} asks for others",
            f"Write: hwprices compare {quote(name)} {quote(text)}.",
        )
    if rules is not None:
        warn_unmatched(dataset, rules, names)
    found = run(dataset, machine, search, rules)
    anything = searching.EVERY_WAY
    names_system = any(getattr(search, n) != getattr(anything, n) for n in searching.SYSTEM)
    return replace(found, notes=(*notes, *found.notes), names_system=names_system)


def run(
    dataset: Release,
    machine: names.NamedMachine,
    search: Search,
    overlays: Overlays | None = None,
) -> MachineAnswer:
    """Answer about a machine type and the prices of a search."""
    provider = frozenset({machine.provider})
    search = replace(search, machines=frozenset({machine}), providers=provider)
    rows = _rows(dataset, search, overlays)
    hosts = covers.hosts_of(dataset, machine) if rows.is_empty() else []
    if hosts:
        host_types = frozenset((machine.provider, host) for host in hosts)
        rows = _rows(dataset, replace(search, machines=host_types), overlays)
    if rows.is_empty():
        notes = _why_nothing(dataset, machine, search)
    else:
        name = machine.instance_type
        host_notes = (f"{name} is sold only as a dedicated host, {h}: its prices." for h in hosts)
        notes = (*host_notes, *_placeholder_note(rows), *age_notes(dataset, rows))
    return MachineAnswer(
        machine,
        specification(dataset, machine),
        rows,
        notes,
        is_sheet=machine.provider in wording.sheets(dataset),
        managed=managed_prices(dataset, machine, rows),
        billing=_billing(dataset, rows),
    )


def _billing(dataset: Release, rows: pl.DataFrame) -> pl.DataFrame:
    options = rows.select("provider", "purchase_option").unique().lazy()
    terms = dataset.scan("billing_terms").join(
        options, on=["provider", "purchase_option"], how="semi"
    )
    return terms.collect()


def _rows(dataset: Release, search: Search, overlays: Overlays | None) -> pl.DataFrame:
    """Return the prices of a search, the cheapest first, with break-even."""
    listed = searching.prices(dataset, search)
    columns = [name for name in COLUMNS if name != "gco2e_per_hour"]
    if overlays is not None:
        listed = apply.apply(listed, overlays)
        columns += OVERLAY_COLUMNS
    marked = searching.priced(listed, search).with_columns(stale=wording.stale(dataset))
    collected = marked.select(*columns, "price_reason").collect()
    rows = searching.sort(collected, "price").sort(IS_PLACEHOLDER, maintain_order=True)
    rows = break_even.with_break_even(dataset, rows, search, overlays)
    spot = rows.filter(purchase_option="spot")
    if spot.is_empty():
        return rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in MOVES)
    moves = spot_moves(dataset, spot).select("price_id", *MOVES)
    return rows.join(moves, "price_id", "left", maintain_order="left")


MOVES = ("spot_days", "spot_volatility", "spot_below_on_demand")
"""Columns of ``spot_moves``, null for other purchase options."""


def _why_nothing(dataset: Release, machine: names.NamedMachine, search: Search) -> tuple[str, ...]:
    sentences = covers.why_nothing(dataset, search)
    priced = names_of(dataset).filter("priced", instance_type=machine.instance_type)
    regions = priced["region"].unique().sort().to_list()
    if regions:
        sentences.append(f"It has prices in {', '.join(regions[: covers.MAX_NAMED])}.")
    return tuple(sentences)


def _placeholder_note(rows: pl.DataFrame) -> tuple[str, ...]:
    """Count the prices that are left out as placeholders."""
    count = rows.filter(IS_PLACEHOLDER).height
    if not count:
        return ()
    return (f"{placeholders_left_out(count)} --json and --csv have every row.",)


def specification(dataset: Release, machine: names.NamedMachine) -> dict[str, Any] | None:
    """Return the row of ``search.machine_types``; None if the release has only a price."""
    rows = (
        searching.machine_types(dataset)
        .filter(provider=machine.provider, instance_type=machine.instance_type)
        .collect()
    )
    return rows.row(0, named=True) if rows.height else None


def price_ranges(rows: pl.DataFrame) -> pl.DataFrame:
    """Summarize the real prices of a machine: one row for each purchase option.

    Columns: PURCHASE_KEY; ``regions`` and ``prices`` (how many); ``lowest`` and ``highest``
    effective hourly price in the row's currency; ``region``, ``price_id``, ``flags``, ``upfront``,
    ``break_even_utilisation`` and MOVES of the lowest price; ``saving`` of the lowest price against
    on demand in its region (null without one); ``stale`` (how many) and ``stale_since`` (when the
    oldest stale price was seen).
    """
    known = rows.filter(*REAL).sort("effective_hourly", "region", "price_id")
    return (
        known.group_by(PURCHASE_KEY, maintain_order=True)
        .agg(
            pl.col("region", "price_id", "flags", "upfront", break_even.COLUMN, *MOVES).first(),
            regions=pl.col("region").n_unique(),
            lowest=pl.col("effective_hourly").first(),
            highest=pl.col("effective_hourly").last(),
            prices=pl.len(),
            stale=pl.col("stale").sum(),
            stale_since=pl.col("observed_at").filter("stale").min(),
        )
        .join(_on_demand(known), on=[*SAME_SYSTEM, "region"], how="left", nulls_equal=True)
        .with_columns(saving=1 - pl.col("lowest").cast(float) / pl.col("on_demand").cast(float))
        .drop("on_demand")
        .sort("lowest", *PURCHASE_KEY, nulls_last=True)
    )


SAME_SYSTEM = ("currency", "os", "software", "license_model", "tenancy")
"""Columns in which a commitment and the on-demand price to compare with must agree."""


def _on_demand(known: pl.DataFrame) -> pl.DataFrame:
    same = [*SAME_SYSTEM, "region"]
    rows = known.filter(purchase_option="on_demand")
    return rows.group_by(same).agg(on_demand=pl.col("effective_hourly").min())


def by_region(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the real prices as a matrix: a row for each region, a column for each option.

    Columns have names like ``linux on_demand`` or ``windows reserved 3y``. A cell is the lowest
    price of all zones, plans and payments. Prices of dedicated machines and of extra software are
    left out.
    """
    plain = rows.filter(*REAL, *price_conditions(Search(os=searching.ANY)))
    if plain.is_empty():
        return pl.DataFrame(schema={"region": pl.String})
    years = pl.when(pl.col("term_months") > 0).then(pl.format(" {}y", pl.col("term_months") // 12))
    title = pl.format("{} {}{}", "os", "purchase_option", years.fill_null(""))
    return (
        plain.with_columns(column=title)
        .sort("os", "term_months", "purchase_option")
        .pivot(
            "column",
            index=["region", "currency"],
            values="effective_hourly",
            aggregate_function="min",
        )
        .sort("currency", "region")
    )


def require_prices(answer: MachineAnswer) -> pl.DataFrame:
    """Return the rows of an answer.

    Raises:
        HwpricesError: there are none; the message states why.
    """
    if answer.rows.is_empty():
        raise HwpricesError(f"no price of {answer.machine.instance_type}", " ".join(answer.notes))
    return answer.rows


SAGEMAKER = "AmazonSageMaker"

USES = {
    "Host": "hosting",
    "AsyncInf": "asynchronous inference",
    "Tsform": "batch transform",
    "Train": "training",
    "Cluster": "HyperPod",
    "Processing": "processing",
    "Notebk": "notebook",
}
"""SageMaker's usage types in the words of its price page; others keep AWS's word.
https://aws.amazon.com/sagemaker/ai/pricing/"""


def managed_prices(
    dataset: Release, machine: names.NamedMachine, prices: pl.DataFrame
) -> pl.DataFrame:
    """Return the hourly prices of a machine in SageMaker, compared with on demand in the region.

    ``prices``: those of the machine, as ``answer`` returns them.

    Returns:
        ``use`` (hosting, training, … or AWS's word: Studio:JupyterLab), ``region``, ``hourly``,
        ``currency``, ``factor`` (of plain Linux on demand in the region; null without a price
        there) and ``sku_price_id``, sorted by use, currency and price. No rows if AWS lists none,
        and in releases before 2026-12, which have no services.
    """
    components = dataset.scan("component_prices")
    if machine.provider != "aws" or "service" not in components.collect_schema():
        return pl.DataFrame(schema={"use": pl.String})
    name = re.escape(machine.instance_type)
    use = pl.col("component").str.extract(rf"^usage:([^/]+)[:-]ml\.{name}(?:/|$)")
    of_machine = {"provider": machine.provider, "service": SAGEMAKER, "per": "hour"}
    listed = (
        components.filter(**of_machine).with_columns(use=use).filter(pl.col("use").is_not_null())
    )
    plain = prices.filter(*REAL, price_conditions(Search()), purchase_option="on_demand")
    on_demand = plain.group_by("region", "currency").agg(pl.col("effective_hourly").min())
    joined = listed.collect().join(on_demand, on=["region", "currency"], how="left")
    factor = pl.col("hourly").cast(float) / pl.col("effective_hourly").cast(float)
    return joined.select(
        pl.col("use").replace(USES),
        "region",
        "hourly",
        "currency",
        factor.alias("factor"),
        "sku_price_id",
    ).sort("use", "currency", "hourly", "region")
