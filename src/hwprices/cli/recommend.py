"""The command ``hwprices recommend``: machines for a model."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import Field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from math import isinf
from typing import Any, NamedTuple, get_args

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_frame
from hwprices.cli.tables import RANGES, money, number, place, ranged, rounded, table
from hwprices.cli.tco import NEVER, within_lifetime, year
from hwprices.errors import HwpricesError, install_command
from hwprices.read import token_prices as tokens
from hwprices.read.currency import ECB_RATES
from hwprices.read.dataset import Dataset
from hwprices.read.find import covers
from hwprices.read.find.offers import ranked_notes, with_price_ids
from hwprices.read.find.search import USUAL
from hwprices.read.find.words import MAX_WORDS
from hwprices.read.ownership import DEFAULTS, Ownership
from hwprices.read.past import shortages
from hwprices.read.recommend import machines, media
from hwprices.read.recommend import table as table_of
from hwprices.read.recommend.job import Job, make_job
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.question import ABOUT, Question
from hwprices.read.recommend.recommend import PRIVATE_HOST, REASONS, other_currencies, rank
from hwprices.read.recommend.serve_command import PLACEHOLDER

SIZES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def read_number(kind: type, text: str) -> Any:
    """Read 1e12, 1T or 128k; ``kind`` is int for an integer."""
    digits = text.strip().lower()
    size = digits[-1:] if digits[-1:] in SIZES else ""
    try:
        value = Decimal(digits.removesuffix(size)) * SIZES[size]
        if kind is int and (isinf(float(value)) or value != int(value)):
            raise ValueError
        return kind(value)
    except (ValueError, ArithmeticError):
        raise typer.BadParameter(f"{text} is not a number: write 1e9, 1B or 128k") from None


def _option(one: Field[Any]) -> inspect.Parameter:
    """Make the command-line option for a field of a question."""
    about = ABOUT[one.name]
    kind: Any = list[str] if about["repeated"] else next(iter(get_args(one.type)), one.type)
    shown = typer.Option(
        *(about["flags"] or "").split(),
        help=about["help"],
        rich_help_panel=about["panel"],
        parser=partial(read_number, kind) if kind in (int, float) else None,
        metavar=f"<{kind.__name__}>" if kind in (int, float) else None,
        autocompletion=filters.COMPLETERS.get(one.name) if about["repeated"] else None,
    )
    return filters.parameter(one.name, kind | None, None, shown)


QUESTION = [_option(one) for one in fields(Question) if one.name in ABOUT]


SHOWN = 8  # machines: those worth a second look


@filters.add_options("usd_per")
@filters.replaced("asked", QUESTION)
@described(model=filters.models)
def recommend(
    *,
    model: str,
    words: list[str] | None = None,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
    top: int | None = None,
    asked: filters.Options,
) -> None:
    """Rank machines for a model, to rent and to buy."""
    rates = options["usd_per"]
    model, places = _model_and_places(model, words or [])
    given = {name: value for name, value in asked.items() if value is not None}
    question = Question.of(
        model,
        **given | _budgets(given.get("budget") or []),
        usd_per={**ECB_RATES, **rates},
        overlays=overlays,
        words=" ".join(places),
    )
    job = None if media.benchmark(question) else make_job(question)
    dataset = open_dataset()
    listed = machines.candidates(dataset, question, Ownership(usd_per=rates))
    frame = with_price_ids(rank(listed, dataset, question, job), dataset)
    shown = top or SHOWN
    ranked = frame.filter(pl.col("excluded").is_null()).head(shown)
    notes = list(ranked_notes(dataset, ranked))
    sold_out = list(_sold_out(dataset, ranked))
    search = machines.search(dataset, question)
    if search is not USUAL and frame.filter(where="cloud").is_empty():
        notes += covers.why_nothing(dataset, search)
    by_place = pl.int_range(pl.len()).over("where")
    print_frame(
        frame.filter(by_place < top) if top and call().for_programs else frame,
        lambda rows: render_recommendation(
            rows, shown, notes, top, _beside(dataset, question, job, listed), sold_out
        ),
        notes=[*notes, *sold_out],
    )


def _model_and_places(model: str, words: list[str]) -> tuple[str, list[str]]:
    """Join the words of a model's name: deepseek v3, llama 3.3 70b."""
    counts = [0, *range(min(len(words), MAX_WORDS), 0, -1)]
    names = {count: " ".join([model, *words[:count]]) for count in counts}
    # where none is known, the error is about the name with its size: llama 70b
    has_size = bool(words) and re.fullmatch(r"\d[\d.]*[bm]", words[0].lower()) is not None
    used = next((count for count, name in names.items() if _is_known(name)), int(has_size))
    return names[used], words[used:]


def _is_known(model: str) -> bool:
    try:
        return bool(media.benchmark(Question(model)) or model_shape(model))
    except HwpricesError:
        return False


def _sold_out(dataset: Dataset, ranked: pl.DataFrame) -> Iterator[str]:
    """Note the machines that their vendor did not have when its stock was last read."""
    rows = shortages(dataset, ranked.rename({"machine": "instance_type"}))
    for row in rows.filter(pl.col("ended_at").is_null()).iter_rows(named=True):
        machine = f"{row['instance_type']} at {place(row, 'provider', 'region')}"
        yield f"{machine}: none in stock on {row['observed_at']:%Y-%m-%d}."


BUDGETS = {"": "budget", "/month": "budget_per_month", "tobuy": "budget_to_buy"}


def _budgets(values: list[str]) -> dict[str, Any]:
    """Read --budget: each amount, by the field of Question that it is for.

    Raises:
        HwpricesError: a value is not an amount.
    """
    found: dict[str, Any] = {"budget": None}
    for value in values:
        match = re.fullmatch(r"(\d+\.?\d*)(/month|tobuy)?", re.sub(r"[$\s]", "", value))
        if match is None:
            raise HwpricesError(
                f"--budget {value}: this is not an amount", "Write 20, 600/month or '5000 to buy'."
            )
        found[BUDGETS[match[2] or ""]] = float(match[1])
    return found


class Beside(NamedTuple):
    """What is shown beside the ranking of machines for a service."""

    alone: pl.DataFrame  # the machines to rent for one user, the fastest first
    job: Job


def _beside(
    dataset: Dataset, question: Question, job: Job | None, listed: pl.DataFrame
) -> Beside | None:
    """Rank the listed machines for one user; None if the job is not to generate text."""
    if job is None or question.workload != "inference" or job.model.embeds:
        return None
    one_user = replace(
        question,
        objective="speed",
        where="cloud",
        concurrency=1,
        requests_per_second=None,
        min_tokens_per_second=None,
    )
    rented = listed.filter(where="cloud")
    return Beside(rank(rented, dataset, one_user, make_job(one_user)), job)


HEADINGS = table_of("headings")
"""Columns that are shown when any machine has them, and their headings, in this order. Some are
left out of a training, of a service, or of machines to buy, so that a row fits a line."""

AS_THEY_ARE = {"concurrency": number, "spot_usd_per_hour": money}
"""Figures that are not rounded to three digits."""


def render_recommendation(
    frame: pl.DataFrame,
    top: int = 10,
    notes: Sequence[str] = (),
    top_to_buy: int | None = None,
    beside: Beside | None = None,
    sold_out: Sequence[str] = (),
) -> RenderableType:
    """Draw the first ``top`` machines to rent, and the first to buy, of ``recommend.recommend``.

    Without ``top_to_buy`` at most five of the latter are beside those to rent.
    Above them stand those that are ``sold_out`` and what the answer assumes, below them ``notes``.
    A figure that no machine has (hours, for inference) gets no column.
    ``beside``: what is shown beside the ranking.
    """
    left_out = frame.drop_nulls("excluded")
    recommended = frame.filter(pl.col("excluded").is_null())
    rented, bought = (recommended.filter(where=where) for where in ("cloud", "local"))
    currencies = other_currencies(left_out)
    sentence = "; ".join(filter(None, [_headline(rented, bought), currencies]))
    parts: list[RenderableType] = [f"{sentence[0].upper()}{sentence[1:]}."] if sentence else []
    parts += sold_out
    if frame.height:
        parts.append(f"Assumed: {frame['assumed'][0].removesuffix(f'; {currencies}')}.")
    if beside:
        parts += _three_ways(rented, beside.alone)
    parts += _ranking("To rent", rented, frame.filter(where="cloud"), top)
    parts += _private_hosts(left_out)
    shown = top_to_buy or (min(top, 5) if rented.height else top)
    parts += _ranking("To buy", bought, frame.filter(where="local"), shown)
    if bought.height and not bought["rent_usd_per_hour"].count():
        parts.append("Payback is unknown because no rented machine fits.")
    if beside:
        parts += _tokens(rented, beside.job)
    if not frame.height:
        parts.append(f"{_count(frame)}.")
    elif recommended["usd_per_million_output_tokens"].count():
        parts.append(
            "$/1M tokens: input and output together, for the users shown; half of all measurements"
            " are within the range, whose upper end ranks; tok/s, also per user, and TTFT: its"
            " cautious end, output"
        )
    if any(recommended[name].count() for name in HEADINGS["column"] if "gco2e" in name):
        # of making most accelerators nothing is published
        parts.append(
            "gCO2e: of the electricity, by the yearly average of the place's grid; making the"
            " hardware is not in it"
        )
    return Group(*parts, *notes)


def _headline(rented: pl.DataFrame, bought: pl.DataFrame) -> str:
    """State in one sentence which machine to rent, or else to buy, and what it does for how much.

    Empty if none fits.
    """
    for row in (rented if rented.height else bought).head(1).iter_rows(named=True):
        verb, per_user = "Run", row["tokens_per_second_per_user"]
        if row["hours"] is not None:
            figure = f"${ranged(row, 'usd')}, up to {rounded(row['hours'])} h"
        elif row["usd_per_million_tokens"] is not None:
            at = f" at {rounded(per_user, 2)} tok/s per user" if per_user else ""
            verb, figure = "Serve", f"${ranged(row, 'usd_per_million_tokens')} per 1M tokens{at}"
        else:
            figure = f"${rounded(row['usd_per_thousand_samples'])} for 1,000 samples"
        if row["where"] == "local":
            return f"Buy {_machine(row)} for ${money(row['purchase_price_usd'])}: {figure}"
        return f"{verb} it on {_machine(row)}: {figure}"
    return ""


def _three_ways(rented: pl.DataFrame, alone: pl.DataFrame) -> Iterator[RenderableType]:
    """Show the cheapest, the fastest and the smallest machine for a service, and how to start it.

    ``alone``: the answer for one user, fastest first. Nothing for a job with an end, which has one
    best machine.
    """
    serving = rented.filter(pl.col("hours").is_null(), pl.col("concurrency").is_not_null())
    if serving.is_empty():
        return
    ways = {
        "cheapest": serving.sort("usd_per_million_tokens", maintain_order=True),
        "smallest bill": serving.sort("usd_per_hour", maintain_order=True),
        "fastest, one user": alone.filter(pl.col("excluded").is_null(), where="cloud"),
    }
    rows = [
        [
            name,
            _machine(row),
            money(row["usd_per_hour"]),
            ranged(row, "usd_per_million_tokens"),
            rounded(row["tokens_per_second_per_user"], 2),
            row["basis"],
        ]
        for name, machines in ways.items()
        for row in machines.head(1).iter_rows(named=True)
    ]
    headings = ["", "machine", "USD/h", "$/1M\ntokens", "tok/s\nper user", "basis"]
    yield table(headings, rows, right=headings[2:5], wrap=["machine"], least=())
    if command := serving["serve_command"][0]:
        both = filter(None, (command, serving["sglang_command"][0]))
        commands = "\n      or: ".join(both)
        yield Text(f"Start it: {commands}\n", no_wrap=True, overflow="ignore")
        if f" {PLACEHOLDER} " in command:
            stored = serving["precision"][0]
            yield f"{PLACEHOLDER}: the repository or folder of the weights, in {stored}."


MOST_VENDORS = 5  # of tokens: those worth a second look


def _tokens(rented: pl.DataFrame, job: Job) -> Iterator[RenderableType]:
    """Show what vendors ask for the model's tokens, and the load above which renting is cheaper."""
    source = tokens.source()
    if source is None:
        yield f"Tokens to buy are not shown: {install_command('tokens')}."
        return
    prices = tokens.token_prices(job, datetime.now(UTC))
    if not prices:
        return
    headings = ["vendor", "$/1M tokens", "input", "output"]
    yield table(
        headings,
        [
            [price.vendor, money(price.blended), money(price.input), money(price.output)]
            for price in prices[:MOST_VENDORS]
        ],
        title=f"Tokens to buy ({len(prices)} vendors; {source}, not a release of ours)",
        right=headings[1:],
    )
    for row in rented.filter(pl.col("concurrency").is_not_null()).head(1).iter_rows(named=True):
        requests = tokens.crossing(
            job, prices[0], row["usd_per_hour"], row["tokens_per_second_low"]
        )
        machine = _machine(row)
        if requests is None:
            yield f"{machine} costs more than the cheapest tokens, however many are needed."
        else:
            yield (
                f"{machine} costs less than the cheapest tokens above"
                f" {rounded(requests, 2)} requests a second."
            )


def _machine(row: dict[str, Any]) -> str:
    """Write a machine: how many if more than one, where, and what its price is if not on demand."""
    machine = row["machine"] if row["nodes"] == 1 else f"{row['nodes']} × {row['machine']}"
    if row["where"] == "local":
        return machine
    unknown = " ?" if row["availability_unknown"] else ""
    option = str(row.get(f"{row['purchase_option']}_option") or row["purchase_option"])
    bought = "" if option == "on_demand" else f", {option.replace('_', ' ')}"
    return f"{machine} at {place(row, 'provider', 'region')}{bought}{unknown}"


def _cell(row: dict[str, Any], column: str) -> str:
    """Write a figure of a row."""
    if column in RANGES:
        return ranged(row, column)
    return AS_THEY_ARE.get(column, rounded)(row[column])


def _count(machines: pl.DataFrame) -> str:
    """Count the machines that the job fits on, and the others."""
    left_out = machines["excluded"].count()
    return f"{machines.height - left_out:,} machines fit, {left_out:,} do not"


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
    hints = reasons.join(REASONS, "excluded_reason", maintain_order="left")["hint"].drop_nulls()
    yield from (f"  Try: {hint}." for hint in hints.head(1))


WORK_PRICES = [
    ("usd_per_million_tokens", "USD/1M tokens"),
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
            " Add the word community to rank them."
        ]
    return []


def _ranking(
    title: str, ranked: pl.DataFrame, everything: pl.DataFrame, top: int
) -> Iterator[RenderableType]:
    """Draw machines to rent or to buy; where none fits, why."""
    if ranked.is_empty():
        if everything.height:
            yield from _why_none_fits(title, everything)
        return
    shown, to_buy = ranked.head(top), title == "To buy"
    of_job = pl.col("training" if ranked["hours"].count() else "service")
    listed = HEADINGS.filter(of_job, pl.col("to_buy") | (not to_buy)).rows()
    shown_headings = {name: heading for name, heading, *_ in listed if shown[name].count()}
    figures, headings = [*shown_headings], [*shown_headings.values()]
    has_rent = bool(ranked["rent_usd_per_hour"].count())
    marks = "; ?: the vendor does not say whether it is free"
    if to_buy:
        marks = "; costs are per hour of use"
        marks += ", break-even is after hours of this work" if has_rent else ""
    elif not shown["availability_unknown"].any():
        marks = ""
    own = ["USD\nto buy", "price\nof", *(["break-even\nafter"] if has_rent else [])]
    own = own if to_buy else ["USD/h", "$/GPU"]
    yield table(
        ["", "machine", "GPUs", *own, *headings, "basis", "weights"],
        [
            [
                *(str(row["rank"]), _machine(row), number(row["total_accelerators"])),
                *(_own(row)[heading] for heading in own),
                *(_cell(row, name) for name in figures),
                "measured, untuned" if row["basis"] == "reference" else row["basis"],
                row["precision"] or "",
            ]
            for row in shown.iter_rows(named=True)
        ],
        title=f"{title} ({_count(everything)}){marks}",
        right=["", "GPUs", *own, *headings],
        wrap=["machine"],
        # the first figure is the price of the work, by which machines are ranked
        least=["weights", "price\nof", *reversed(headings[1:]), "USD/h"],
    )


def _own(row: dict[str, Any]) -> dict[str, str]:
    """Write what machines to rent, or those to buy, have of their own, by heading."""
    if row["where"] == "cloud":
        accelerators, hour = row["total_accelerators"], row["usd_per_hour"]
        each = money(hour / Decimal(repr(accelerators))) if accelerators else ""
        return {"USD/h": money(hour), "$/GPU": each}
    rent, hours = row["rent_usd_per_hour"], row["payback_hours"]
    pays = NEVER if hours is None else within_lifetime(float(f"{hours:.2g}"), DEFAULTS)
    return {
        "USD\nto buy": money(row["purchase_price_usd"]),
        "price\nof": year(row["purchase_price_usd"], row["purchase_price_date"]),
        "break-even\nafter": "" if rent is None else pays,
    }
