"""Draw a recommendation, and the comparison of owning with renting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table

from hwprices.read.terminal.tables import money, number, place, table


@dataclass(frozen=True)
class Figure:
    """A column of ``recommend.recommend`` that is shown when any machine has it."""

    heading: str
    column: str
    formatted: Callable[[Any], str]


FIGURES = [
    Figure("spot", "spot_usd_per_hour", money),
    Figure("1 year", "best_1y_usd_per_hour", money),
    Figure("3 years", "best_3y_usd_per_hour", money),
    Figure("hours", "hours", number),
    Figure("USD in all", "usd", money),
    Figure("tokens/s", "tokens_per_second", number),
    Figure("USD/M tok", "usd_per_million_tokens", money),
    Figure("kWh", "energy_kwh", number),
    Figure("gCO2e", "operational_gco2e", number),
]

NOT_FOR_TRAINING = ("tokens_per_second", "best_3y_usd_per_hour", "usd_per_million_tokens")
NOT_FOR_INFERENCE = ("usd",)
"""Figures left out so that a row fits a line: a training is compared by its cost, a service by its
speed."""

BREAK_EVEN_HEADINGS = [
    "machine",
    "USD",
    "USD/h owned",
    "USD/h cloud",
    "cheapest offer",
    "pays after",
    "",
]


def render_recommendation(frame: pl.DataFrame, top: int = 10, excluded: int = 0) -> Table:
    """Draw the first ``top`` machines of ``recommend.recommend``.

    Below them come ``excluded`` of those left out, with the reason. A figure that no machine has
    (hours, for inference) gets no column.
    """
    recommended = frame.filter(pl.col("excluded").is_null())
    left_out = frame.drop_nulls("excluded")
    shown = recommended.head(top)
    omitted = NOT_FOR_TRAINING if recommended["hours"].count() else NOT_FOR_INFERENCE
    figures = [
        figure
        for figure in FIGURES
        if shown[figure.column].count() and figure.column not in omitted
    ]
    needed = number(recommended["memory_needed_gib"].min(), "GiB") or "more than any has"
    count = f"{recommended.height} machines fit, {left_out.height} do not"
    reasons = [
        f"{row['machine']}: {row['excluded']}"
        for row in left_out.head(excluded).iter_rows(named=True)
    ]
    headings = [figure.heading for figure in figures]
    return table(
        ["", "machine", "where", "×", "USD/h", "how", *headings],
        [_machine(row, figures) for row in shown.iter_rows(named=True)],
        title=f"{count}; the job needs at least {needed}",
        right=["", "×", "USD/h", *headings],
        caption="\n".join(reasons),
    )


def _machine(row: dict[str, Any], figures: list[Figure]) -> list[str]:
    """Write the cells of one machine."""
    return [
        str(row["rank"]),
        row["machine"],
        place(row, "provider", "region"),
        str(row["nodes"]),
        money(row["usd_per_hour"]),
        str(row["purchase_option"]).replace("_", " "),
        *(figure.formatted(row[figure.column]) for figure in figures),
    ]


def render_break_even(frame: pl.DataFrame) -> Table:
    """Draw ``ownership.break_even``: what owning costs, and when it beats the cheapest offer."""
    rows = [
        [
            row["name"],
            money(row["purchase_price_usd"]),
            money(row["tco_usd_per_hour"]),
            money(row["cloud_usd_per_hour"]),
            row["cloud_offer"] or "",
            number(row["break_even_hours"], "h"),
            number(row["break_even_years"], "years"),
        ]
        for row in frame.iter_rows(named=True)
    ]
    return table(
        BREAK_EVEN_HEADINGS,
        rows,
        title="Owning against renting",
        right=[heading for heading in BREAK_EVEN_HEADINGS if heading.startswith("USD")],
        wrap=["machine"],
    )
