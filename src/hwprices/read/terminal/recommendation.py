"""Draw a recommendation, and the comparison of owning with renting."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.read.ownership import (
    COMMITTED_YEARS,
    DEFAULTS,
    NOT_COMPARED,
    OVERLAY_COLUMNS,
    Ownership,
)
from hwprices.read.recommend.exclusions import PRIVATE_HOST
from hwprices.read.terminal.tables import money, number, place, table


@dataclass(frozen=True)
class Figure:
    """A column of ``recommend.recommend`` that is shown when any machine has it."""

    heading: str
    column: str
    formatted: Callable[[Any], str]


FIGURES = [
    Figure("USD/M tok", "usd_per_million_tokens", money),
    Figure("in", "usd_per_million_input_tokens", money),
    Figure("out", "usd_per_million_output_tokens", money),
    Figure("USD/1000", "usd_per_thousand_samples", money),
    Figure("USD in total", "usd", money),
    Figure("hours", "hours", number),
    Figure("tokens/s", "tokens_per_second", number),
    Figure("samples/s", "samples_per_second", number),
    Figure("users", "concurrency", number),
    Figure("each", "tokens_per_second_per_user", number),
    Figure("first s", "seconds_to_first_token", number),
    Figure("gCO2e/M", "gco2e_per_million_tokens", number),
    Figure("gCO2e/1000", "gco2e_per_thousand_samples", number),
    Figure("gCO2e", "operational_gco2e", number),
    Figure("spot/h", "spot_usd_per_hour", money),
    Figure("1 year/h", "best_1y_usd_per_hour", money),
]
"""Figures in the order in which they are shown."""

GRAMS = [figure.column for figure in FIGURES if figure.heading.startswith("gCO2e")]

NOT_FOR_TRAINING = ("tokens_per_second_per_user",)
NOT_FOR_SERVING = ("usd", "operational_gco2e", "spot_usd_per_hour", "best_1y_usd_per_hour")
NOT_TO_BUY = ("usd_per_million_input_tokens", "usd_per_million_output_tokens")
"""Figures left out so that a row fits a line."""

BASES = {
    "measured": "measured",
    "scaled": "scaled",
    "modelled": "modelled",
    "unmeasured_family": "modelled, family not measured",
    "reference": "measured, untuned software",
}

OWNED_HEADINGS = ["machine", "USD", "price of", "USD/h owned"]
RENTED_HEADINGS = ["USD/h cloud", "cheapest offer", "pays after", ""]
COMMITTED_HEADINGS = ["machine", "USD/h cloud", "commitment", "cheapest offer", "pays after", ""]

OPERATIONAL = (
    "gCO2e: of the electricity, by the yearly average of the place's grid; making the hardware is"
    " not in it"
)
"""What emissions of an answer are of: of making most accelerators nothing is published."""


def render_recommendation(
    frame: pl.DataFrame,
    top: int = 10,
    excluded: int = 0,
    notes: Sequence[str] = (),
    ownership: Ownership = DEFAULTS,
    top_to_buy: int | None = None,
) -> RenderableType:
    """Draw the first ``top`` machines to rent, and the first to buy, of ``recommend.recommend``.

    Without ``top_to_buy`` at most five of the latter are beside those to rent.
    Above them stands what the answer assumes; below them ``notes``, and ``excluded`` of those left
    out, with the reason. A figure that no machine has (hours, for inference) gets no column.
    ``ownership`` is that of the answer: it says how long a machine to buy is used.
    """
    recommended = frame.filter(pl.col("excluded").is_null())
    left_out = frame.drop_nulls("excluded")
    reasons = [
        f"{row['machine']}: {row['excluded']}"
        for row in left_out.head(excluded).iter_rows(named=True)
    ]
    parts: list[RenderableType] = []
    if frame.height:
        parts.append(f"Assumed: {frame['assumed'][0]}.")
    rented = recommended.filter(where="cloud")
    bought = recommended.filter(where="local")
    counts = {where: _count(frame.filter(where=where)) for where in ("cloud", "local")}
    if rented.height:
        parts.append(_rented(rented, top, counts["cloud"]))
        parts += _commitments(rented.head(top))
    elif frame.filter(where="cloud").height:
        parts += _why_none_fits("To rent", frame.filter(where="cloud"))
    parts += _private_hosts(left_out)
    if bought.height:
        shown = top_to_buy or (min(top, 5) if rented.height else top)
        parts.append(_machines_to_buy(bought, shown, counts["local"], ownership))
        if not bought["rent_usd_per_hour"].count():
            parts.append("After how many hours one pays is not known: no machine to rent fits.")
    elif frame.filter(where="local").height:
        parts += _why_none_fits("To buy", frame.filter(where="local"))
    if not frame.height:
        parts.append(f"{_count(frame)}.")
    elif recommended["usd_per_million_output_tokens"].count():
        parts.append("USD/M tok: a million tokens of output with their input; in, out: each alone")
    if any(recommended[name].count() for name in GRAMS if name in recommended.columns):
        parts.append(OPERATIONAL)
    return Group(*parts, *notes, *reasons)


def _count(machines: pl.DataFrame) -> str:
    """Count the machines that the job fits on, and the others."""
    left_out = machines["excluded"].count()
    return f"{machines.height - left_out:,} machines fit, {left_out:,} do not"


HINTS = {
    "too_small": "--max-nodes joins several machines; --precision, --context and --batch need less",
    "too_many_machines": "--max-nodes joins more of them; --days gives a training more time",
    "too_many_copies": "ask for fewer users or requests",
    "too_slow": "ask for less of --min-tokens-per-second or --max-seconds-to-first-token",
    "too_late": "--days gives it more time",
    "too_large_for_cpus": "--machines accelerators runs larger models",
    "no_training_on_cpus": "--machines accelerators trains",
}
"""What to ask for instead, by the reason that leaves out the most machines."""


def _why_none_fits(heading: str, left_out: pl.DataFrame) -> Iterator[str]:
    """Count the machines of each reason, with the one that comes nearest as its example.

    That is the one with the most memory that can be used.
    """
    reasons = (
        left_out.sort("memory_usable_gib", descending=True, nulls_last=True, maintain_order=True)
        .group_by("excluded_reason", maintain_order=True)
        .agg(pl.len(), pl.first("machine", "excluded"))
        .sort("len", descending=True, maintain_order=True)
    )
    yield f"{heading}: {_count(left_out)}:"
    for row in reasons.iter_rows(named=True):
        yield f"  {row['len']:,} such as {row['machine']}: {row['excluded']}"
    hint = next((HINTS[code] for code in reasons["excluded_reason"] if code in HINTS), None)
    if hint:
        yield f"  Try: {hint}."


WORK_PRICES = [
    ("usd_per_million_tokens", "USD/M tok"),
    ("usd_per_thousand_samples", "USD/1000"),
    ("usd", "USD in total"),
]
"""Columns with the price of the work, and their units; the first that a machine has counts."""


def _private_hosts(left_out: pl.DataFrame) -> list[str]:
    """Return the cheapest community host among those left out, in one line."""
    private = left_out.filter(excluded_reason=PRIVATE_HOST)
    for column, unit in WORK_PRICES:
        if not private[column].count():
            continue
        row = private.sort(column, nulls_last=True).row(0, named=True)
        return [
            f"Community hosts ({private.height}) are not ranked; the cheapest:"
            f" {row['machine']}, {place(row, 'provider', 'region')},"
            f" {money(row['usd_per_hour'])} USD/h, {money(row[column])} {unit}."
            " --community ranks them."
        ]
    return []


def _figures(shown: pl.DataFrame, omitted: tuple[str, ...]) -> list[Figure]:
    return [
        figure
        for figure in FIGURES
        if figure.column in shown.columns
        and shown[figure.column].count()
        and figure.column not in omitted
    ]


def _omitted(machines: pl.DataFrame) -> tuple[str, ...]:
    return NOT_FOR_TRAINING if machines["hours"].count() else NOT_FOR_SERVING


def _rented(machines: pl.DataFrame, top: int, count: str) -> RenderableType:
    """Draw the machines to rent."""
    shown = machines.head(top)
    figures = _figures(shown, _omitted(machines))
    headings = [figure.heading for figure in figures]
    unknown = "; ?: the vendor does not say whether it is free"
    marked = unknown if shown["availability_unknown"].any() else ""
    return table(
        ["", "machine", "where", "×", "USD/h", *headings, "basis"],
        [
            [
                str(row["rank"]),
                row["machine"],
                place(row, "provider", "region") + (" ?" if row["availability_unknown"] else ""),
                str(row["nodes"]),
                with_option(row),
                *(figure.formatted(row[figure.column]) for figure in figures),
                basis(row),
            ]
            for row in shown.iter_rows(named=True)
        ],
        title=f"To rent ({count}){marked}",
        right=["", "×", "USD/h", *headings],
        wrap=["machine"],
        # the first figure is the price of the work, by which machines are ranked
        least=["basis", *reversed(headings[1:]), "×", "USD/h", "where"],
    )


def _commitments(shown: pl.DataFrame) -> Iterator[str]:
    """List the commitments of the prices of one year, with the ranks of their machines."""
    figures = {figure.column: figure for figure in _figures(shown, _omitted(shown))}
    if "best_1y_usd_per_hour" not in figures:
        return
    of = shown.drop_nulls("best_1y_usd_per_hour").group_by("best_1y_option", maintain_order=True)
    plans = [
        f"{str(option).replace('_', ' ')} ({', '.join(map(str, machines['rank']))})"
        for (option,), machines in of
    ]
    yield f"{figures['best_1y_usd_per_hour'].heading}: {'; '.join(plans)}"


def _machines_to_buy(
    machines: pl.DataFrame, top: int, count: str, ownership: Ownership
) -> RenderableType:
    """Draw the machines to buy, with their price and, where a rent is known, when one pays."""
    shown = machines.head(top)
    figures = _figures(shown, (*_omitted(machines), *NOT_TO_BUY, "usd"))
    headings = [figure.heading for figure in figures]
    has_rent = bool(machines["rent_usd_per_hour"].count())
    pays_after = ["pays after"] if has_rent else []
    explained = ", pays after: hours of this work" if has_rent else ""
    return table(
        ["", "machine", "×", "USD to buy", "price of", *pays_after, *headings, "basis"],
        [
            [
                str(row["rank"]),
                row["machine"],
                str(row["nodes"]),
                money(row["purchase_price_usd"]),
                _year(row["purchase_price_usd"], row["purchase_price_date"]),
                *([payback(row, ownership)] if has_rent else []),
                *(figure.formatted(row[figure.column]) for figure in figures),
                basis(row),
            ]
            for row in shown.iter_rows(named=True)
        ],
        title=f"To buy ({count}); costs are of an hour in use{explained}",
        right=["", "×", "USD to buy", "pays after", *headings],
    )


def _year(price: Decimal | None, day: date | None) -> str:
    """Write the year of a price to buy; empty without a price."""
    if price is None:
        return ""
    return "undated" if day is None else str(day.year)


def with_option(row: dict[str, Any]) -> str:
    """Write the price of an hour, and what it is if it is not on demand.

    The best price of 1 or 3 years is named by its commitment.
    """
    price = money(row["usd_per_hour"])
    option = str(row["purchase_option"])
    named = str(row.get(f"{option}_option") or option).replace("_", " ")
    return price if named == "on demand" else f"{price} {named}"


def basis(row: dict[str, Any]) -> str:
    """Write how a speed is known, and the error to expect."""
    if row["basis"] is None:
        return ""
    text = BASES[row["basis"]]
    precision = f" {row['precision']}" if row["precision"] else ""
    error = "" if row["error"] is None else f" ±{row['error']:.0%}"
    return f"{text}{precision}{error}"


def payback(row: dict[str, Any], ownership: Ownership) -> str:
    """Write after how many hours of this work a machine pays; empty without a rent."""
    if row["rent_usd_per_hour"] is None:
        return ""
    return NEVER if row["payback_hours"] is None else _in_its_life(row["payback_hours"], ownership)


NEVER = "never"  # the electricity alone costs more than renting


def _in_its_life(hours: float, ownership: Ownership) -> str:
    """Write the hours of use after which a machine pays, if it is used that long."""
    if hours <= ownership.hours_of_use:
        return number(hours, "h")
    years = f"{ownership.lifetime_years:g}"
    return f"not within {years} year{'' if years == '1' else 's'}"


def render_break_even(frame: pl.DataFrame, ownership: Ownership = DEFAULTS) -> RenderableType:
    """Draw ``ownership.break_even``: what owning costs, and when it beats the cheapest offer.

    ``ownership`` is that of the answer: it says how long a machine is used.
    """
    emissions = frame["operational_gco2e_per_hour"].count() > 0
    grams = ["gCO2e/h"] if emissions else []
    rows = [
        [
            row["name"],
            money(row["purchase_price_usd"]),
            _year(row["purchase_price_usd"], row["price_date"]),
            money(row["tco_usd_per_hour"]),
            *([number(row["operational_gco2e_per_hour"])] if emissions else []),
            money(row["cloud_usd_per_hour"]),
            row["cloud_offer"] or "",
            *_break_even(row, ownership),
        ]
        for row in frame.iter_rows(named=True)
    ]
    headings = [*OWNED_HEADINGS, *grams, *RENTED_HEADINGS]
    drawn = table(
        headings,
        rows,
        title="Owning against renting on demand",
        right=[heading for heading in headings if heading.startswith(("USD", "gCO2e"))],
        wrap=["machine"],
        least=["cheapest offer", "price of", "", "gCO2e/h", "USD", "USD/h owned"],
    )
    private = (Text(line, "dim") for line in _of_private_hosts(frame))
    own = (Text(line, "dim") for line in _own_discounts(frame))
    return Group(drawn, *_against_commitments(frame, ownership), *private, *own)


def _own_discounts(frame: pl.DataFrame) -> Iterator[str]:
    """State which own discounts the rents include; nothing where none were requested."""
    if not set(OVERLAY_COLUMNS) <= set(frame.columns):
        return
    columns = (frame[name].drop_nulls() for name in OVERLAY_COLUMNS)
    applied = list(dict.fromkeys(rules for column in columns for rules in column))
    if not applied:
        yield "Own discounts changed none of these prices."
        return
    yield (
        f"USD/h cloud includes own discounts ({'; '.join(applied)}); prices to buy and electricity"
        " are not discounted."
    )


def _break_even(row: dict[str, Any], ownership: Ownership) -> tuple[str, str]:
    """Write after how many hours of use, and years, owning is cheaper; else why that is unknown."""
    hours = row["break_even_hours"]
    if hours is None:
        return (NEVER, "") if row["not_compared"] is None else ("", _not_compared(row))
    return _in_its_life(hours, ownership), _years(hours, row["break_even_years"], ownership)


def _years(hours: float, years: float, ownership: Ownership) -> str:
    """Write the years after which a machine pays; empty if it is not used that long."""
    return "" if hours > ownership.hours_of_use else number(float(f"{years:.2g}"), "years")


def _against_commitments(frame: pl.DataFrame, ownership: Ownership) -> Iterator[RenderableType]:
    """Draw when owning costs less than the cheapest commitments, of machines with a cost alone."""
    rows = []
    for row in frame.drop_nulls("tco_usd_per_hour").iter_rows(named=True):
        for years in COMMITTED_YEARS:
            if row[f"cloud_{years}y_usd_per_hour"] is None:
                continue
            hours = row[f"break_even_{years}y_hours"]
            pays = (NEVER, "")
            if hours is not None:
                in_years = _years(hours, row[f"break_even_{years}y_years"], ownership)
                pays = (_in_its_life(hours, ownership), in_years)
            rows.append(
                [
                    row["name"],
                    money(row[f"cloud_{years}y_usd_per_hour"]),
                    str(row[f"cloud_{years}y_option"]).replace("_", " "),
                    row[f"cloud_{years}y_offer"],
                    *pays,
                ]
            )
    if rows:
        used = f"{ownership.utilisation:.0%} used"
        yield table(
            COMMITTED_HEADINGS,
            rows,
            title=f"Owning against commitments, paid for all hours; {used}",
            right=COMMITTED_HEADINGS[1:2],
            wrap=["machine"],
            least=["cheapest offer", "", "commitment"],
        )


def _not_compared(row: dict[str, Any]) -> str:
    """Write why a machine has no break-even."""
    named = {"other_currency": row["price_currency"], "not_rented": row["accelerator_id"]}
    code = row["not_compared"]
    return NOT_COMPARED[code].format(named.get(code) or "an unknown currency")


def _of_private_hosts(frame: pl.DataFrame) -> Iterator[str]:
    """List the community hosts that cost less than a data center."""
    less = pl.col("private_host_usd_per_hour") < pl.col("cloud_usd_per_hour")
    only = pl.col("private_host_usd_per_hour").is_not_null() & pl.col("cloud_offer").is_null()
    cheaper = frame.filter(less | only)
    if cheaper.height:
        yield "Community hosts cost less, but may not be free:"
    for row in cheaper.iter_rows(named=True):
        price = money(row["private_host_usd_per_hour"])
        yield f"  {row['name']}: {price} USD/h, {row['private_host_offer']}"
